"""Which column of a table holds which part of a paper, by the names in its header (``columns.toml``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import msgspec

_NO_NAME = re.compile(r"[\W_]+")


class Words(msgspec.Struct, frozen=True):
    """The contents of ``columns.toml``, see there."""

    attributes: dict[str, tuple[str, ...]]
    identifiers: dict[str, tuple[str, ...]]
    shared: dict[str, tuple[str, ...]]
    lists: dict[str, tuple[str, ...]]
    kept: dict[str, tuple[str, ...]]
    screening: dict[str, tuple[str, ...]]
    decisions: dict[str, tuple[str, ...]]
    types: dict[str, str]
    databases: dict[str, tuple[str, ...]]


@cache
def words() -> Words:
    """The words file, read once."""
    return msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=Words)


@cache
def known_names() -> frozenset[str]:
    """Every name of a column that is read."""
    held = words()
    groups = (held.attributes, held.identifiers, held.shared, held.lists, held.kept, held.screening)
    return frozenset(name for group in groups for names in group.values() for name in names)


def folded(name: str) -> str:
    """A name of a column as the words file spells it.

    >>> folded("Author(s) ID"), folded("publication_year"), folded(" Abstract Note ")
    ('author s id', 'publication year', 'abstract note')
    """
    return _NO_NAME.sub(" ", name.casefold()).strip()


@dataclass(frozen=True)
class Header:
    """The first row of a table.

    Attributes:
        names: of the columns as printed, each once; a column without a name is ``column N``.
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, cells: Sequence[str]) -> Header:
        """The header in a row: names are made unique, empty columns at its end left out."""
        last = max((number for number, cell in enumerate(cells, 1) if cell.strip()), default=0)
        names: dict[str, None] = {}
        for number, cell in enumerate(cells[:last], 1):
            wanted = " ".join(cell.split()) or f"column {number}"
            names[wanted if wanted not in names else f"{wanted} (column {number})"] = None
        return cls(tuple(names))

    @cached_property
    def keys(self) -> dict[str, list[int]]:
        """Folded name -> numbers of its columns from 0."""
        found: dict[str, list[int]] = {}
        for number, name in enumerate(self.names):
            found.setdefault(folded(name.partition(" (column ")[0]), []).append(number)
        return found

    def columns(self, spellings: Iterable[str]) -> list[int]:
        """Numbers of the columns that have one of these names, in the order of the names."""
        return [number for name in spellings for number in self.keys.get(name, ())]

    def group(self, names: Mapping[str, Iterable[str]]) -> dict[str, list[int]]:
        """:meth:`columns` of each group of names."""
        return {group: self.columns(spellings) for group, spellings in names.items()}

    @cached_property
    def known(self) -> int:
        """How many columns have a name that is read."""
        return sum(len(numbers) for name, numbers in self.keys.items() if name in known_names())

    @cached_property
    def titled(self) -> bool:
        """Whether a column holds titles."""
        return bool(self.columns(words().attributes["title"]))

    @cached_property
    def abstracted(self) -> bool:
        """Whether a column is named after abstracts; a summary may be one of anything."""
        named = [name for name in words().attributes["abstract"] if "abstract" in name]
        return bool(self.columns(named))

    @cached_property
    def identified(self) -> bool:
        """Whether a column holds identifiers by which a paper can be completed later."""
        schemes = ("doi", "pmid", "pmcid", "arxiv", "openalex", "s2", "acl")
        return any(self.columns(words().identifiers[scheme]) for scheme in schemes)
