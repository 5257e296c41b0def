"""The protocol of a reader: it chooses the spans of a paper about one aspect, once per paper.

A reading takes the place of what PRISM's agents write. It consists of sentences of the paper itself, so that
they can be shown and checked by slicing, and depends on the paper only. To add a reader, write one module in
``views/readers`` with an object registered by ``READERS.register(name)``; a third party names the module in
an entry point of the group ``aspectra.reader``.

Source: PRISM (Park et al., 2025), section 3: queries for the research question, the method and the
experiments of a full paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aspectra.base.registry import Registry
from aspectra.papers.paper import Paper, field_text
from aspectra.papers.text.references import strip_citations
from aspectra.views.lenses.protocol import TextSpan


@dataclass(frozen=True)
class Extract:
    """Result of a reader.

    Attributes:
        spans: of the stored text, in reading order; () where the paper says nothing about the aspect: its
            view then uses the whole paper.
    """

    spans: tuple[TextSpan, ...]


class Reader(Protocol):
    """One aspect of papers.

    Attributes:
        name: of the aspect and of its view, as in ``method``.
        description: one line on what is read, in lower case and without a stop.
        version: another number means that cached readings are made anew.
    """

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def version(self) -> int: ...

    def read(self, paper: Paper) -> Extract:
        """The spans about the aspect; none for a paper without full text."""
        ...


# PRISM's three aspects, in its order: what a new library reads.
ASPECT_READERS = ("question", "method", "experiment")
READERS: Registry[Reader] = Registry("reader", __package__)


def reading_text(paper: Paper, reading: Extract, citations: str = "strip") -> str:
    """The text that is encoded for a reading: its spans, joined.

    Args:
        paper: that was read.
        reading: of it.
        citations: ``strip`` or ``keep``.
    """
    parts = [field_text(paper, field)[start:end] for field, start, end in reading.spans]
    return " ".join(strip_citations(part).text if citations == "strip" else part for part in parts)
