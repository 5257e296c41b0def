"""Tags, notes, decisions and what else a searcher says about papers, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aspectra.papers.text.cleaning import one_line

DECISIONS = ("include", "exclude", "maybe")
# Fields of a paper that a searcher can write.
EDITABLE = ("title", "abstract", "authors", "year", "venue", "identifiers", "url", "language")
KEPT_STEPS = 50  # that can be undone; the room of older ones is free again


@dataclass(frozen=True, slots=True)
class Note:
    """A note on a paper.

    Attributes:
        text: the searcher's words, or the comment of an annotation.
        quote: the sentence of the paper that it is about, or "".
        kind: ``note``, or ``annotation`` for a place in the paper.
        page: label of the page, or "".
        colour: as the other program has it, or "".
        source: where it comes from; "" for notes made here.
        key: of the other program, unique in its source; "" for notes made here.
        created, modified: times in ISO format, or "".
        number: of the note in the library; 0 for one that is not stored.
    """

    text: str
    quote: str = ""
    kind: str = "note"
    page: str = ""
    colour: str = ""
    source: str = ""
    key: str = ""
    created: str = ""
    modified: str = ""
    number: int = field(default=0, compare=False)

    @property
    def line(self) -> str:
        """It on one line: the quoted sentence, then the words."""
        quote = f"“{one_line(self.quote)}”" if self.quote.strip() else ""
        page = f"(p. {one_line(self.page)})" if self.page.strip() else ""
        return " ".join(part for part in (quote, page, one_line(self.text)) if part)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a paper is included.

    Attributes:
        decision: one of :data:`DECISIONS`.
        reason: in the searcher's words, or "".
        source: the file that it was imported from; "" for decisions made here.
        at: time in ISO format.
        under: the question under which the paper was found, or "".
    """

    decision: str
    reason: str = ""
    source: str = ""
    at: str = ""
    under: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """What the searcher changed in the record of a paper.

    Attributes:
        given: field -> the searcher's value; JSON values, as in :meth:`Paper.to_dict`.
        file: field -> the value of the paper's file, which comes back when the edit is undone.
        file_hash: content hash of the record in that file.
        at: time of the last change, in ISO format.
    """

    given: Mapping[str, Any] = field(default_factory=dict)
    file: Mapping[str, Any] = field(default_factory=dict)
    file_hash: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a record of a paper was read.

    Attributes:
        file: its path, or another program's address.
        number: of the record in it, from 1.
        place: the record's own id there.
        database: that the file was exported from, or "".
        source: the format.
        at: time in ISO format.
    """

    file: str
    number: int
    place: str
    database: str
    source: str
    at: str


@dataclass(frozen=True, slots=True)
class Item:
    """The item of another program that a paper is.

    Attributes:
        system: the program, as ``zotero``.
        library: of that program.
        key: of the item.
        version: that program's.
    """

    system: str
    library: str
    key: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class Action:
    """A step that can be undone.

    Attributes:
        number: counts the steps.
        at: time in ISO format.
        verb: the command.
        what: what was done, for a person.
        undone: whether it was undone.
    """

    number: int
    at: str
    verb: str
    what: str
    undone: bool = False
