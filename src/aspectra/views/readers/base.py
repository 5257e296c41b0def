"""One reading for everything: the ablation beside the readers of single aspects."""

from __future__ import annotations

from aspectra.papers.paper import Paper
from aspectra.views.readers._sections import central, sentences_of
from aspectra.views.readers.protocol import READERS, Reading

__all__ = ["BaseReader"]


class BaseReader:
    """The central sentences of the whole text, whatever their sections, about 200 words."""

    name = "base"
    version = 1

    def read(self, paper: Paper) -> Reading:
        """See :class:`~aspectra.views.readers.protocol.Reader`."""
        return Reading(central(paper, sentences_of(paper, range(len(paper.sections)))))


READERS.register("base")(BaseReader())
