"""What a paper says about the method: models, algorithms, systems and their parts."""

from __future__ import annotations

from aspectra.papers.paper import Paper
from aspectra.views.readers._sections import central, sections_of, sentences_of
from aspectra.views.readers.protocol import READERS, Reading

__all__ = ["MethodReader"]


class MethodReader:
    """The central sentences of the sections about it, about 200 words."""

    name = "method"
    version = 1

    def read(self, paper: Paper) -> Reading:
        """See :class:`~aspectra.views.readers.protocol.Reader`."""
        return Reading(central(paper, sentences_of(paper, sections_of(paper)[self.name])))


READERS.register("method")(MethodReader())
