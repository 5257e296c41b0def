"""The protocol of a writer: papers as one text in a format that other programs read.

To add a writer, write one module in ``papers/export`` whose class has ``name``, ``suffix`` and ``write``, and
register an instance of it (a third party uses the entry point group ``aspectra.writer``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from aspectra.base.registry import Registry
from aspectra.papers.paper import Paper
from aspectra.papers.text.cleaning import clean, one_line, storable

__all__ = ["WRITERS", "Writer", "raw_record", "tidy"]


class Writer(Protocol):
    """Writes papers in one format."""

    name: str
    suffix: str

    def write(self, papers: Iterable[Paper]) -> str:
        """All papers, in the order given, as one text that ends with a line end (or is empty).

        Ids are kept where the format allows them; what the format cannot hold is said in the docstring
        of the writer's module.
        """
        ...


WRITERS: Registry[Writer] = Registry("writer", __package__)


def tidy(paper: Paper) -> Paper:
    """The same paper without what breaks a line-based format: control characters, stray line ends."""
    return replace(
        paper,
        id=one_line(paper.id),
        title=one_line(paper.title),
        abstract=clean(paper.abstract),
        authors=tuple(name for name in map(one_line, paper.authors) if name),
        venue=one_line(paper.venue),
        identifiers={one_line(k): one_line(v) for k, v in paper.identifiers.items() if one_line(v)},
        url=one_line(paper.url),
        language=one_line(paper.language),
        metadata=storable(dict(paper.metadata)),
    )


def raw_record(paper: Paper, name: str) -> tuple[str, Any] | None:
    """(type, fields) as a source of the same format left them in the metadata, or None."""
    kept = paper.metadata.get(name)
    if isinstance(kept, dict) and isinstance(kept.get("type"), str) and kept.get("fields"):
        return kept["type"], kept["fields"]
    return None
