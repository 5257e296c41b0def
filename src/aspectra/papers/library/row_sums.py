"""Checksums of records in ``library.db``, so that a damaged byte is an error and never another answer.

SQLite notices damage to the structure of its file, but not to what is stored in it. Each row of the tables
in :data:`ROWS` has a ``checksum``, the hash of its other columns, which is compared where the row is read.
The code that writes papers, citations, settings and derived values writes it with them. What a searcher says
about papers is changed by many statements and by SQLite itself, so there it is a generated column.

What only finds papers (SQLite's indexes, the tables of identifiers and authors) has no checksums. It is
stored twice, and SQLite's ``integrity_check`` compares the two.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import xxhash

from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.folder.lock import remembering

# The columns of `papers`, in the order in which they are hashed.
PAPER_ROW = (
    *("pos", "id", "content_hash", "text_hash", "full_hash", "title", "abstract", "year", "venue"),
    *("language", "title_key", "version_group", "record"),
)
# Table -> the columns that its checksums are of.
ROWS: Mapping[str, tuple[str, ...]] = {
    "papers": PAPER_ROW,
    "citations": ("pos", "ordinal", "target"),  # their records are in a checksum of the paper
    "meta": ("key", "value"),
    "producers": ("id", "name", "version", "reads"),
    "derived": ("producer", "key", "data"),
    "tags": ("pos", "tag", "source"),
    "notes": (
        *("id", "pos", "kind", "text", "quote", "page", "colour", "source", "key", "created", "modified"),
    ),
    "decisions": ("pos", "source", "decision", "reason", "at", "under"),
    "edits": ("pos", "given", "file", "file_hash", "at"),
    "external": ("system", "library", "key", "pos", "version"),
    "origins": ("file", "number", "place", "database", "source", "pos", "at"),
    "pairs": ("one", "other", "same", "leads", "at"),
    "saved": ("name", "query", "at", "ran", "last_pos", "ids"),
    "actions": ("id", "at", "verb", "what", "undone"),
    "action_parts": ("action", "number", "data"),
}
MARKED = 5  # the first format of libraries that have what a searcher says about papers
SUMMED = 6  # the first whose rows have these checksums
# SQL of the checksum of a paper whose version group becomes ``?1``; a damaged row's does not fit then either.
REGROUPED = f"regrouped(checksum, ?1, {', '.join(PAPER_ROW)})"
_GROUP = PAPER_ROW.index("version_group")
_ENCODE = msgspec.msgpack.Encoder().encode
_POSITIVE = (1 << 63) - 1  # SQLite's integers are signed


def row_hash(*row: Any) -> int:
    """Hash of the values of a row and their types; 63 bits, never 0.

    >>> row_hash("1") == row_hash(1)
    False
    """
    return xxhash.xxh3_64_intdigest(_ENCODE(row)) & _POSITIVE or 1


def damaged(what: str) -> LibraryCorrupt:
    """The error for something in ``library.db`` that is not as it was written."""
    return LibraryCorrupt(
        f"{what} in library.db is damaged",
        why="its checksum does not fit: it is not as it was written",
        hint="aspectra doctor --verify names the damage; aspectra restore FILE brings back a backup",
    )


def _sound(table: str, checksum: int | None, *row: Any) -> int:
    if checksum != row_hash(*row):
        raise damaged(f"a row of the table {table}")
    return 1


def _regrouped(checksum: int, group: int | None, *row: Any) -> int:
    return checksum ^ row_hash(*row) ^ row_hash(*row[:_GROUP], group, *row[_GROUP + 1 :])


def install(db: sqlite3.Connection) -> None:
    """Define the SQL functions that statements about checksums use."""
    for name, function in (("row_hash", row_hash), ("sound", _sound), ("regrouped", _regrouped)):
        db.create_function(name, -1, remembering(function), deterministic=True)


def schema_sum(definitions: Iterable[Sequence[Any]]) -> str:
    """Checksum of the definitions of all tables and indexes, as the setting ``schema`` has it."""
    return str(row_hash(*sorted(map(tuple, definitions))))


def changed_rows(db: sqlite3.Connection, table: str) -> Iterator[str]:
    """The beginnings of the rows of a table that are not as they were written."""
    for checksum, *row in db.execute(f"SELECT checksum, {', '.join(ROWS[table])} FROM {table}"):
        if checksum != row_hash(*row):
            yield " ".join(str(value)[:40] for value in row[:2])


class RowSums:
    """Checks what a reader is about to use.

    Args:
        fetch: all rows of a reading statement.
        kept: whether the library has checksums; older formats have none, and nothing is checked there.
    """

    def __init__(self, fetch: Callable[[str, Sequence[Any]], list[Any]], *, kept: bool) -> None:
        self._fetch = fetch
        self.kept = kept

    def sound(self, table: str, row: str = "") -> str:
        """SQL that holds for a sound row of a table, and fails for one that has changed.

        Args:
            table: its name.
            row: its alias in the statement; the name where empty.
        """
        columns = (f"{row or table}.{column}" for column in ("checksum", *ROWS[table]))
        return f"sound('{table}', {', '.join(columns)})" if self.kept else "1"

    def check_all(self, table: str) -> None:
        """Check all rows of a table, in time proportional to their size.

        Raises:
            LibraryCorrupt: a row was changed.
        """
        self._fetch(f"SELECT 1 FROM {table} WHERE NOT {self.sound(table)}", ())

    def check_schema(self) -> None:
        """Check the definitions of all tables and indexes.

        Raises:
            LibraryCorrupt: they were changed.
        """
        if self.kept:
            rows = self._fetch(
                "SELECT s.type, s.name, s.tbl_name, coalesce(s.sql, ''), m.value FROM sqlite_schema s "
                "LEFT JOIN meta m ON m.key = 'schema'",
                (),
            )
            if {row[-1] for row in rows} != {schema_sum(row[:-1] for row in rows)}:
                raise damaged("the schema")

    def absent(self, ids: Collection[str]) -> None:
        """Check that ids that were not found are not in the library, as SQLite's index of the ids says.

        Raises:
            LibraryCorrupt: the table holds one of them.
        """
        if ids and self.kept:
            held = "SELECT 1 FROM papers NOT INDEXED WHERE id IN (SELECT value FROM json_each(?))"
            if self._fetch(held, (msgspec.json.encode([*ids]).decode(),)):
                raise damaged("the index of the ids")


class CheckedLibrary(Protocol):
    """The part of :class:`~aspectra.papers.library.store.Store` that gives checked rows."""

    checksums: RowSums

    @property
    def format(self) -> int: ...

    def fetch(self, statement: str, values: Sequence[Any] = ()) -> list[Any]: ...
