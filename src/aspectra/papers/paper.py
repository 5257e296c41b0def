"""A paper and the spans of its text.

A :class:`Paper` is a value: frozen, hashed by content, the same whatever file it came from. A text without
a title (a post, a BEIR document) is a paper whose abstract is the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from aspectra.base.display import Displayed
from aspectra.base.files import digest
from aspectra.base.values import converted, replace


class Remark(Struct, frozen=True):
    """Something the reader of the file should know about one record.

    Attributes:
        place: where, for a person: ``line 12``, ``entry smith2020``, ``record 3``, ``file``.
        reason: what is wrong and what was done about it.
        skipped: True when the record was left out, False when it was kept all the same.
    """

    place: str
    reason: str
    skipped: bool = True


class Section(Struct, frozen=True):
    """One section of the full text, in reading order. ``heading`` may be empty."""

    heading: str
    text: str


class Sentence(NamedTuple):
    """A sentence of the abstract that the source itself marked: ``abstract[start:end]``.

    ``role`` is one of background, objective, method, result, other, or "" where the source gave none.
    """

    start: int
    end: int
    role: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """One entry of a reference list, kept as a citation link where it can be resolved.

    Attributes:
        raw: the entry as printed, or "" when the source gives only ids.
        key: the source's own key (``{{cite:KEY}}``, a BibTeX key), or "".
        title: the cited title where the source states it, or "".
        identifiers: scheme -> value, schemes as in :attr:`Paper.identifiers`, and ``id`` for a paper id
            of the same collection.
    """

    raw: str = ""
    key: str = ""
    title: str = ""
    identifiers: Mapping[str, str] = field(default_factory=dict, hash=False)


class Unit(Struct, frozen=True):
    """A span of a paper's stored text: ``field_text(paper, field)[start:end]``.

    ``field`` is ``title``, ``abstract`` or ``section:N`` (N counts from 0).
    """

    paper: str
    field: str
    start: int
    end: int


_JSON_ORDER = (
    *("id", "title", "abstract", "venue", "url", "language", "year", "authors", "identifiers"),
    *("sections", "references", "sentences", "metadata"),
)
_EMPTY: tuple[Any, ...] = ("", None, (), [], {})


@dataclass(frozen=True)
class Paper(Displayed):
    """A paper as the library keeps it.

    Attributes:
        id: unique in a library; any printable text, never used as a file name.
        year: year of publication, or None when unknown.
        identifiers: scheme -> value for ``doi`` (lower case, without resolver), ``arxiv`` (without
            version), ``acl``, ``s2``, ``openalex``, ``pmid``, ``pmcid``, ``isbn``.
        language: BCP 47 primary tag (``en``, ``zh``) where the source states it, else "".
        sentences: the abstract's own sentence boundaries and roles where the source brings them.
        metadata: every other field of the record, losslessly, JSON values only.

    >>> Paper("owl", "Owls hunt at night", year=2019).to_dict()
    {'id': 'owl', 'title': 'Owls hunt at night', 'year': 2019}
    """

    id: str
    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    identifiers: Mapping[str, str] = field(default_factory=dict, hash=False)
    url: str = ""
    language: str = ""
    sections: tuple[Section, ...] = ()
    references: tuple[Reference, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @cached_property
    def content_hash(self) -> str:
        """Hash over everything but the id: equal content means nothing has to be recomputed."""
        return digest(self.to_dict(with_id=False))

    @property
    def has_full_text(self) -> bool:
        """True if any section has text."""
        return any(section.text.strip() for section in self.sections)

    @property
    def has_text(self) -> bool:
        """True if it has a title, an abstract or full text; otherwise only its identifiers are known."""
        return bool(self.title or self.abstract or self.has_full_text)

    def with_id(self, new: str) -> Paper:
        """The same paper under another id."""
        return replace(self, id=new)

    def to_dict(self, *, with_id: bool = True) -> dict[str, Any]:
        """JSON form (our own JSONL format); empty fields are left out. ``from_dict`` reads it back."""
        whole = msgspec.to_builtins(self)  # without the fields that `from_dict` left at their defaults
        whole["sentences"] = [list(sentence) for sentence in self.sentences]
        whole["references"] = [{k: v for k, v in r.items() if v} for r in whole.get("references", ())]
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name in _JSON_ORDER
            if (value := whole.get(name)) not in _EMPTY and (with_id or name != "id")
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Paper:
        """Inverse of :meth:`to_dict`.

        Raises:
            msgspec.ValidationError: a field has the wrong type or ``id`` is missing; the message names it.
        """
        return converted(data, cls)


def field_text(paper: Paper, name: str) -> str:
    """The stored text that the offsets of a :class:`Unit` count in.

    Raises:
        KeyError: this paper has no field ``name``.
    """
    if name == "title":
        return paper.title
    if name == "abstract":
        return paper.abstract
    kind, _, number = name.partition(":")
    if kind == "section" and number.isdigit() and int(number) < len(paper.sections):
        return paper.sections[int(number)].text
    raise KeyError(name)


_NOT_WORD = re.compile(r"[\W_]+")
_LONGEST_KEY = 100_000  # characters: one letter can become eighteen


def normalise_title(title: str) -> str:
    """Title reduced to what versions of one paper share: letters and digits, case and accents folded.

    Of a title of more than 100,000 characters these.

    >>> normalise_title("Attention Is All You Need.")
    'attention is all you need'
    """
    folded = unicodedata.normalize("NFKD", title[:_LONGEST_KEY]).casefold()[:_LONGEST_KEY]
    marks = [c for c in set(folded) if unicodedata.combining(c)]
    folded = folded.translate(dict.fromkeys(map(ord, marks))) if marks else folded
    return _NOT_WORD.sub(" ", folded).strip()
