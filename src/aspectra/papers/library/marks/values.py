"""Tags, notes, decisions and what else a searcher says about papers, as values.

Where records were read: one row for every record, also for those that changed nothing. Edits of a record:
kept beside it, so that they last when its file is added again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct

from aspectra.base.values import now
from aspectra.papers.library.rows import put_paper, stored_paper
from aspectra.papers.paper import Paper
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
    """The decision to include or exclude a paper.

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


class Edit(Struct, frozen=True):
    """The searcher's changes to the record of a paper.

    Attributes:
        given: field -> the searcher's value; JSON values, as in :meth:`Paper.to_dict`.
        file: field -> the value of the paper's file, which comes back when the edit is undone.
        file_hash: content hash of the record in that file.
        at: time of the last change, in ISO format.
    """

    given: Mapping[str, Any] = msgspec.field(default_factory=dict)
    file: Mapping[str, Any] = msgspec.field(default_factory=dict)
    file_hash: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """The place that a record of a paper was read from.

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


class Item(Struct, frozen=True):
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


class Action(Struct, frozen=True):
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


def counted_papers(papers: Collection[str]) -> str:
    """Name the paper, or count the papers, in the description of a step: ``paper owl``, ``12 papers``."""
    return f"paper {next(iter(papers))}" if len(papers) == 1 else f"{len(papers):,} papers"


# A record that is read again where it was keeps the time at which it was read first.
_PUT = (
    "INSERT INTO origins VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET place = excluded.place, "
    "database = excluded.database, source = excluded.source, pos = excluded.pos, "
    "at = CASE WHEN pos IS excluded.pos THEN at ELSE excluded.at END "
    "WHERE (place, database, source, pos) IS NOT (excluded.place, excluded.database, excluded.source, "
    "excluded.pos)"
)


def stated_database(paper: Paper) -> str:
    """The database that a record was exported from, where its source states it; else ""."""
    stated = paper.metadata.get("database")
    return stated.strip() if isinstance(stated, str) else ""


class OriginWriter:
    """Collects the origins of the records of one file, and stores them batch by batch.

    Records are numbered from 1. The rows of a file that is read again are replaced: nothing counts twice.

    Args:
        db: a writing connection.
        file: the file's path; without one, nothing is stored.
        source: the format that it is read as.
        whole: whether all records of the file are read. Else only those that changed come (another program's
            items): they are numbered on, and replace the rows of their papers.
    """

    def __init__(self, db: sqlite3.Connection, file: str, source: str, *, whole: bool = True) -> None:
        self._db = db
        self._file, self._source, self._whole = file, source, whole
        self._at = now()
        self._rows: list[tuple[object, ...]] = []
        self._number = 0
        if file and not whole:
            last = "SELECT coalesce(max(number), 0) FROM origins WHERE file = ?"
            (self._number,) = db.execute(last, (file,)).fetchone()

    def read(self, place: str, database: str, pos: int) -> None:
        """Note the origin of the next record.

        Args:
            place: the record's id in the file.
            database: that it was exported from, or "".
            pos: of the paper that it is now.
        """
        if self._file:
            self._number += 1
            row = (self._file, self._number, place, database, self._source, pos, self._at)
            self._rows.append(row)

    def store(self) -> None:
        """Store what was collected, within the caller's transaction."""
        if not self._whole:
            old = [(self._file, row[5]) for row in self._rows]
            self._db.executemany("DELETE FROM origins WHERE file = ? AND pos = ?", old)
        self._db.executemany(_PUT, self._rows)
        self._rows.clear()

    def finish(self) -> None:
        """Forget records that the file had before and has no longer, within the caller's transaction."""
        if self._file and self._whole:
            gone = "DELETE FROM origins WHERE file = ? AND number > ?"
            self._db.execute(gone, (self._file, self._number))


_EMPTY: Mapping[str, Any] = {"authors": [], "year": None, "identifiers": {}, "sentences": []}


def edited(paper: Paper, given: Mapping[str, Any]) -> Paper:
    """The paper with other values of some fields.

    Raises:
        msgspec.ValidationError: a value has the wrong type.
    """
    if not given:
        return paper
    whole = paper.to_dict()
    if "abstract" in given:
        whole["sentences"] = []  # they count in the abstract's characters
    return Paper.from_dict({**whole, **given})


def values_of(paper: Paper, fields: Collection[str]) -> dict[str, Any]:
    """Field -> JSON value of a paper; with the abstract come its sentence boundaries."""
    whole = paper.to_dict()
    wanted = [*fields, "sentences"] if "abstract" in fields else fields
    return {name: whole.get(name, _EMPTY.get(name, "")) for name in wanted}


def stored_edit(given: str, file: str, file_hash: str, at: str = "") -> Edit:
    """The edit in a row of the library."""
    return Edit(json.loads(given), json.loads(file), file_hash, at)


def edits_by_position(db: sqlite3.Connection) -> dict[int, Edit]:
    """Position -> edit, of all papers that have one."""
    rows = db.execute("SELECT pos, given, file, file_hash, at FROM edits")
    return {pos: stored_edit(*row) for pos, *row in rows}


def put_edit(db: sqlite3.Connection, pos: int, edit: Edit) -> None:
    """Store the edit of a paper; one without fields is removed."""
    db.execute("DELETE FROM edits WHERE pos = ?", (pos,))
    if edit.given:
        given, file = (json.dumps(one, ensure_ascii=False) for one in (edit.given, edit.file))
        db.execute("INSERT INTO edits VALUES (?, ?, ?, ?, ?)", (pos, given, file, edit.file_hash, edit.at))


def refile(db: sqlite3.Connection, pos: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the whole edit of a paper; returns the fields that were given before.

    Fields left out of ``given`` get the value of the paper's file again.

    Raises:
        msgspec.ValidationError: a value has the wrong type.
    """
    row = db.execute("SELECT given, file, file_hash FROM edits WHERE pos = ?", (pos,)).fetchone()
    before = stored_edit(*row) if row else Edit()
    paper = stored_paper(db, pos)
    base = edited(paper, before.file)
    put_paper(db, edited(base, given), pos)
    put_edit(db, pos, Edit(given, values_of(base, given), before.file_hash or paper.content_hash, now()))
    return dict(before.given)
