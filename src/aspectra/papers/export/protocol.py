"""The protocol of a writer: papers as one text in a format that other programs read.

To add a writer, write one module in ``papers/export`` that registers an object with the members of
:class:`FormatWriter`: ``WRITERS.register("name")(...)``; a third party names the module in an entry point of
the group ``aspectra.writer``. ``tests/unit/papers/test_writers.py`` tests every member.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

from aspectra.base.registry import Registry
from aspectra.base.values import replace
from aspectra.papers.bibliography import SHARED, is_retracted, shared_list
from aspectra.papers.names import given_first, name_parts, stated_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, one_line, storable

NO_LIMIT = ReadOptions(max_text_chars=2**62)
"""For reading back what was written."""


class FormatWriter(Protocol):
    """Writes papers in one format.

    Attributes:
        name: what ``aspectra export --format`` takes.
        suffix: ending of file names that stands for the format, with the dot.
    """

    name: str
    suffix: str

    def write(self, papers: Iterable[Paper]) -> str:
        """All papers, in the order given, as one text that ends with a line end (or is empty).

        Ids are kept where the format allows them; what the format cannot hold is said in the docstring
        of the writer's module.
        """
        ...


WRITERS: Registry[FormatWriter] = Registry("writer", __package__)


def tidy(paper: Paper) -> Paper:
    """The same paper without what breaks a line-based format: control characters, stray line ends.

    A retraction that neither title nor keywords say is a keyword, by PubMed's name for it.
    """
    metadata, words = storable(dict(paper.metadata)), shared_list(paper.metadata, "keywords")
    if is_retracted(paper) and not is_retracted(replace(paper, metadata={"keywords": words})):
        metadata["keywords"] = [*words, "Retracted Publication"]
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
        metadata=metadata,
    )


def raw_record(paper: Paper, name: str) -> tuple[str, Any] | None:
    """(type, fields) as a source of the same format left them in the metadata, or None."""
    kept = paper.metadata.get(name)
    if isinstance(kept, dict) and isinstance(kept.get("type"), str) and kept.get("fields"):
        return kept["type"], kept["fields"]
    return None


class ReadBack:
    """A written record read back, and what it lacks of the paper.

    Args:
        paper: what was written.
        items: what the reader gives.
    """

    def __init__(self, paper: Paper, items: Iterable[Paper | Remark]) -> None:
        self._paper = paper
        self.read: Paper | None = None
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            self.read = next((item for item in items if isinstance(item, Paper)), None)

    def attributes(self, names: Iterable[str]) -> list[str]:
        """Those of the attributes that are not as the paper has them."""
        read = self.read
        return [n for n in names if read is None or getattr(read, n) != getattr(self._paper, n)]

    def identifiers(self) -> dict[str, str]:
        """The identifiers that the record does not give."""
        known = self.read.identifiers if self.read else {}
        return {scheme: v for scheme, v in self._paper.identifiers.items() if known.get(scheme) != v}

    def shared(self) -> list[str]:
        """Names of the shared metadata that the record does not give."""
        known, wanted = self.read.metadata if self.read else {}, self._paper.metadata
        return [name for name in SHARED if wanted.get(name) and known.get(name) != wanted.get(name)]


def plain_doi(paper: Paper, stated: str = "") -> str:
    """The DOI without address and markup, in the spelling of the record; "" if it has none.

    ``stated`` is kept if it extends the identifier, or if it looks like a DOI and no identifier is known.
    """
    doi, text = paper.identifiers.get("doi", ""), stated.replace("\\", "")
    if doi and text.casefold().endswith(doi):
        return text[-len(doi) :]
    return stated if stated.casefold().startswith(doi or "10.") else doi


def family_first(paper: Paper, names: Sequence[str]) -> list[str]:
    """Names as "Family, Given", a suffix last, where they are read back as they stand; else unchanged."""
    stated = stated_names(paper.metadata) if names else ()
    turned = [inverted(name, stated, suffix_last=True) for name in names]
    return [new if given_first(new) == name else name for name, new in zip(names, turned, strict=True)]


def inverted(name: str, stated: Collection[str] = (), *, suffix_last: bool = False) -> str:
    """A printed name as "Family, Given", "" where it cannot be taken apart; a suffix is second or last."""
    parts = name_parts(name, stated)
    if parts is None:
        return ""
    given, particle, family, suffix = parts
    whole = f"{particle} {family}".strip()
    if not suffix:
        return f"{whole}, {given}"
    return f"{whole}, {given}, {suffix}" if suffix_last else f"{whole}, {suffix}, {given}"
