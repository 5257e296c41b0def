"""The protocol of a writer: papers as one text in a format that other programs read.

To add a writer, write one module in ``papers/writers`` whose class has ``name``, ``suffix`` and ``write``,
register an instance of it, and name it in :data:`WRITERS` (a third party uses the entry point group
``aspectra.writer``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from aspectra.base.registry import Registry
from aspectra.papers.paper import Paper
from aspectra.papers.sources.fields import json_value, one_line
from aspectra.papers.sources.files import clean

__all__ = ["WRITERS", "NameParts", "Writer", "name_parts", "raw_record", "tidy"]


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

NameParts = tuple[str, str, str, str]
"""(given, particle, family, suffix), each "" when absent."""

_SUFFIXES = re.compile(r"(?:jr|sr|ii|iii|iv)\.?", re.I)
_INSTITUTION = re.compile(
    r"\b(?:organi[sz]ation|university|institute|association|committee|group|team|consortium|society|department"
    r"|ministry|council|foundation|centre|center|laborator\w*|collaboration|network|initiative|inc|ltd)\b",
    re.I,
)


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
        metadata=json_value(dict(paper.metadata)),
    )


def raw_record(paper: Paper, name: str) -> tuple[str, Any] | None:
    """(type, fields) as a source of the same format left them in the metadata, or None."""
    kept = paper.metadata.get(name)
    if isinstance(kept, dict) and isinstance(kept.get("type"), str) and kept.get("fields"):
        return kept["type"], kept["fields"]
    return None


def name_parts(name: str) -> NameParts | None:
    """A printed name taken apart; None for institutions and names of one word.

    >>> name_parts("Anna van der Berg"), name_parts("Martin Luther King Jr.")
    (('Anna', 'van der', 'Berg', ''), ('Martin Luther', '', 'King', 'Jr.'))
    >>> name_parts("World Health Organization") is None
    True
    """
    words: Sequence[str] = name.split()
    suffix = ""
    if len(words) > 2 and _SUFFIXES.fullmatch(words[-1]):
        suffix, words = words[-1], words[:-1]
    if not 2 <= len(words) <= 7 or "," in name or _INSTITUTION.search(name):
        return None
    start = len(words) - 1
    while start > 1 and words[start - 1].islower():
        start -= 1
    if words[0].islower():
        return None
    return " ".join(words[:start]), " ".join(words[start:-1]), words[-1], suffix
