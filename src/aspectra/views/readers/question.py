"""What a paper says about the research question: introductions, motivations, discussions and conclusions."""

from __future__ import annotations

from aspectra.papers.paper import Paper
from aspectra.views.readers._sections import lead, sections_of, sentences_of
from aspectra.views.readers.protocol import READERS, Reading

__all__ = ["QuestionReader"]


class QuestionReader:
    """The first sentences of the sections about it, about 200 words: introductions say it first."""

    name = "question"
    version = 1

    def read(self, paper: Paper) -> Reading:
        """See :class:`~aspectra.views.readers.protocol.Reader`."""
        return Reading(lead(paper, sentences_of(paper, sections_of(paper)[self.name])))


READERS.register("question")(QuestionReader())
