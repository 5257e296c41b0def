"""The readers of a paper's research question, its method and its experiments, and one of the whole text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aspectra.papers.paper import Paper
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.readers._sections import central, lead, sections_of, sentences_of
from aspectra.views.readers.protocol import READERS, Reading


def _every(paper: Paper, spans: Sequence[TextSpan]) -> tuple[TextSpan, ...]:
    """All sentences."""
    return tuple(spans)


@dataclass(frozen=True)
class SectionReader:
    """About 200 words of the sections of one aspect, or as many as ``choose`` takes.

    Attributes:
        name, description, version: see :class:`~aspectra.views.readers.protocol.Reader`.
        choose: which sentences of these sections are read.
        whole: whether all sections are read, whatever their aspect.
    """

    name: str
    description: str
    choose: Callable[[Paper, Sequence[TextSpan]], tuple[TextSpan, ...]] = central
    whole: bool = False
    version: int = 1

    def read(self, paper: Paper) -> Reading:
        """See :class:`~aspectra.views.readers.protocol.Reader`."""
        sections = range(len(paper.sections)) if self.whole else sections_of(paper)[self.name]
        return Reading(self.choose(paper, sentences_of(paper, sections)))


for _reader in (
    SectionReader("question", "introductions and conclusions: their first sentences", choose=lead),
    SectionReader("method", "models, algorithms, systems and their parts: the central sentences"),
    SectionReader("experiment", "data, settings, results and their analysis: the central sentences"),
    SectionReader("base", "the central sentences of the whole text, the ablation of the others", whole=True),
    # PRISM (Park et al., 2025), footnote 5: full papers are truncated to the encoder's maximum length.
    SectionReader("first", "the text from its beginning, as far as the encoder reads", _every, whole=True),
):
    READERS.register(_reader.name)(_reader)
