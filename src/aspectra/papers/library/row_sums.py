"""Checksums of what ``library.db`` holds, so that a damaged byte is an error and never another answer.

SQLite notices damage to the structure of its file, but not to what is stored in it. The table ``sums`` has a
checksum for each *bucket* of each *relation*: the exclusive or of the hashes of all its rows. A relation is
what one kind of lookup reads, such as the authors by family name, and a bucket the part of it that one lookup
reads. So a row that was changed is noticed, and so is one that can no longer be found.

Triggers of the writing connection keep the sums in the transaction of each change. Each changes a sum by the
hash of the row as it is, never by reading a bucket again: a row that was damaged before it was replaced
leaves a wrong sum behind.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import xor
from typing import Any

import msgspec
import xxhash
from msgspec import Struct

from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.folder.lock import remembering

# The columns of `papers`, in the order in which they are hashed.
PAPER_ROW = (
    *("pos", "id", "content_hash", "text_hash", "full_hash", "title", "abstract", "year", "venue"),
    *("language", "title_key", "version_group", "record"),
)
SUMMED = 4  # the first format of libraries that have sums
MARKED = 5  # the first that has what a searcher says about papers
_ENCODE = msgspec.msgpack.Encoder().encode
_POSITIVE = (1 << 63) - 1  # SQLite's integers are signed


class _Relation(Struct, frozen=True):
    """Rows that are summed up.

    Attributes:
        table: that holds them.
        row: columns that are hashed.
        bucket: SQL of a row's bucket; ``{r}`` stands for the row.
        inside: SQL that holds for the rows of bucket ``?1``, written so that an index serves it.
        held: SQL that holds for the rows that count; ``{r}`` as above.
        since: the first format whose libraries have the table.
    """

    table: str
    row: tuple[str, ...]
    bucket: str
    inside: str
    held: str = "1"
    since: int = SUMMED


def _by(table: str, column: str, row: str, held: str = "1", since: int = SUMMED) -> _Relation:
    """A relation whose buckets are the values of one column."""
    return _Relation(table, tuple(row.split()), f"{{r}}.{column}", f"{column} = ?1", held, since)


def _starting(table: str, column: str, length: int, row: str) -> _Relation:
    """A relation whose buckets are the first characters of one column; empty values do not count."""
    bucket = f"substr({{r}}.{column}, 1, {length})"
    after = "substr(?1, 1, length(?1) - 1) || char(unicode(substr(?1, -1)) + 1)"
    inside = f"{column} >= ?1 AND {column} < {after} AND {bucket.format(r=table)} = ?1"
    return _Relation(table, tuple(row.split()), bucket, inside, f"{{r}}.{column} != ''")


_SCHEME, _VALUE = "substr(?1, 1, instr(?1, ' ') - 1)", "substr(?1, instr(?1, ' ') + 1)"
_ID_LETTERS, _TITLE_LETTERS, _NAME_LETTERS, _VALUE_LETTERS = 12, 3, 2, 6
_RELATIONS: Mapping[str, _Relation] = {
    "paper": _by("papers", "pos", " ".join(PAPER_ROW)),
    "ids": _starting("papers", "id", _ID_LETTERS, "id pos"),
    "titles": _starting("papers", "title_key", _TITLE_LETTERS, "title_key pos"),
    "groups": _by("papers", "version_group", "version_group pos", "{r}.version_group IS NOT NULL"),
    "sections": _by("sections", "pos", "pos ordinal heading text"),
    "references": _by("citations", "pos", "pos ordinal record"),
    "cites": _by("citations", "pos", "pos ordinal target", "{r}.target IS NOT NULL"),
    "cited": _by("citations", "target", "pos ordinal target", "{r}.target IS NOT NULL"),
    "identifiers": _Relation(
        "identifiers",
        ("scheme", "value", "pos"),
        f"{{r}}.scheme || ' ' || substr({{r}}.value, 1, {_VALUE_LETTERS})",
        f"scheme = {_SCHEME} AND value >= {_VALUE} AND substr(value, 1, {_VALUE_LETTERS}) = {_VALUE} AND "
        f"value < substr({_VALUE}, 1, length({_VALUE}) - 1) || char(unicode(substr(?1, -1)) + 1)",
    ),
    "authors": _starting("authors", "family", _NAME_LETTERS, "name family pos"),
    "meta": _by("meta", "key", "key value"),
    "producers": _Relation("producers", ("id", "name", "version", "reads"), "0", "?1 = 0"),
    "derived": _by("derived", "rowid", "producer key data"),
    "schema": _Relation("sqlite_schema", ("type", "name", "tbl_name", "sql"), "0", "?1 = 0"),
    "tags": _by("tags", "pos", "pos tag source", since=MARKED),
    "notes": _by(
        "notes", "pos", "id pos kind text quote page colour source key created modified", since=MARKED
    ),
    "decisions": _by("decisions", "pos", "pos source decision reason at under", since=MARKED),
    "edits": _by("edits", "pos", "pos given file file_hash at", since=MARKED),
    "external": _by("external", "pos", "system library key pos version", since=MARKED),
    "origins": _Relation(
        "origins",
        ("file", "number", "place", "database", "source", "pos", "at"),
        "coalesce({r}.pos, 0)",
        "pos IS nullif(?1, 0)",
        since=MARKED,
    ),
    "pairs": _Relation("pairs", ("one", "other", "same", "leads", "at"), "0", "?1 = 0", since=MARKED),
    "saved": _by("saved", "name", "name query at ran last_pos ids", since=MARKED),
    "actions": _by("actions", "id", "id at verb what undone", since=MARKED),
    "action_parts": _by("action_parts", "action", "action number data", since=MARKED),
}


def row_hash(*row: Any) -> int:
    """Hash of the values of a row and their types; 63 bits, never 0.

    >>> row_hash("1") == row_hash(1)
    False
    """
    return xxhash.xxh3_64_intdigest(_ENCODE(row)) & _POSITIVE or 1


class _Total:
    """Exclusive or of the hashes of rows, as an SQL aggregate."""

    @remembering
    def __init__(self) -> None:
        self._total = 0

    @remembering
    def step(self, *row: Any) -> None:
        self._total ^= row_hash(*row)

    @remembering
    def finalize(self) -> int:
        return self._total


class _TotalOfTotals(_Total):
    """Exclusive or of sums."""

    @remembering
    def step(self, *row: Any) -> None:
        self._total ^= row[0]


def _sound(total: int | None, *row: Any) -> int:
    if total != row_hash(*row):
        raise LibraryCorrupt("a row has changed since it was written")
    return 1


def _same_total(found: int | None, stored: int | None) -> int:
    if (found or 0) != (stored or 0):
        raise LibraryCorrupt("a row has changed since it was written")
    return 1


def install(db: sqlite3.Connection) -> None:
    """Define the SQL functions that statements about sums use: ``row_hash``, ``sound``, totals."""
    for name, count, function in (
        ("row_hash", -1, row_hash),
        ("sound", -1, _sound),
        ("same_total", 2, _same_total),
    ):
        db.create_function(name, count, remembering(function), deterministic=True)
    db.create_aggregate("row_total", -1, _Total)
    db.create_aggregate("sum_total", 1, _TotalOfTotals)


def track(db: sqlite3.Connection) -> None:
    """Keep the sums up to date with every change that this connection makes from now on."""
    db.execute("PRAGMA recursive_triggers = ON")  # else REPLACE deletes rows without a trigger
    for name, one in _RELATIONS.items():
        if one.table == "sqlite_schema":
            continue
        columns = ", ".join(c for c in one.row if c != "rowid")
        for event, row in (("INSERT", "new"), ("DELETE", "old"), ("UPDATE", "old"), ("UPDATE", "new")):
            when = f"{event} OF {columns}" if event == "UPDATE" else event
            db.execute(
                f"CREATE TEMP TRIGGER sums_{name}_{event}_{row} AFTER {when} ON main.{one.table} "
                f"WHEN {one.held.format(r=row)} BEGIN {_change(name, one, row)} END"
            )


def _change(name: str, one: _Relation, row: str) -> str:
    bucket = one.bucket.format(r=row)
    hashed = f"row_hash({', '.join(f'{row}.{c}' for c in one.row)})"
    change = (
        f"INSERT INTO sums SELECT '{name}', {bucket}, {hashed} WHERE true ON CONFLICT DO UPDATE "
        "SET total = (total | excluded.total) - (total & excluded.total);"
    )
    if row == "new":
        return change
    return f"{change} DELETE FROM sums WHERE relation = '{name}' AND bucket = +({bucket}) AND total = 0;"


def write_all(
    db: sqlite3.Connection, names: Iterable[str] | None = None, *, number: int | None = None
) -> None:
    """Write the sums of all rows that there are, within the caller's transaction.

    Args:
        db: a writing connection.
        names: of relations; all that libraries of a format have where None.
        number: that format; the newest where None.
    """
    held = [name for name, one in _RELATIONS.items() if number is None or one.since <= number]
    for name in held if names is None else names:
        rows = ((name, bucket, total) for bucket, total in _totals(db, _RELATIONS[name]).items())
        db.execute("DELETE FROM sums WHERE relation = ?", (name,))
        db.executemany("INSERT INTO sums VALUES (?, ?, ?)", rows)


def sound_rows(
    fetch: Callable[[str, Sequence[Any]], list[Any]], name: str
) -> tuple[tuple[str, ...], dict[Any, list[tuple[Any, ...]]], list[Any]]:
    """All of a relation that is as it was written, to save it from a damaged library.

    Args:
        fetch: all rows of a reading statement.
        name: of the relation.

    Returns:
        The names of the columns, bucket -> sound rows, and the buckets with damage.
    """
    one = _RELATIONS[name]
    stored = dict(fetch("SELECT bucket, total FROM sums WHERE relation = ?", (name,)))
    found: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    bucket, held = one.bucket.format(r=one.table), one.held.format(r=one.table)
    for key, *row in fetch(f"SELECT {bucket}, {', '.join(one.row)} FROM {one.table} WHERE {held}", ()):
        found[key].append(tuple(row))
    totals = {key: reduce(xor, (row_hash(*row) for row in rows)) for key, rows in found.items()}
    wrong = [key for key in stored.keys() | totals.keys() if stored.get(key, 0) != totals.get(key, 0)]
    return one.row, {key: rows for key, rows in found.items() if key not in wrong}, sorted(wrong, key=str)


def _totals(db: sqlite3.Connection, one: _Relation) -> dict[Any, int]:
    """Bucket -> sum of its rows as they are now."""
    out: dict[Any, int] = defaultdict(int)
    columns = ", ".join(one.row)
    bucket, held = one.bucket.format(r=one.table), one.held.format(r=one.table)
    for key, *row in db.execute(f"SELECT {bucket}, {columns} FROM {one.table} WHERE {held}"):
        out[key] ^= row_hash(*row)
    return {key: total for key, total in out.items() if total}


def problems(db: sqlite3.Connection, number: int, but: Collection[str] = ()) -> Iterator[str]:
    """The checksums that do not match the database, by relation, from one snapshot.

    Args:
        db: a reading connection in autocommit mode.
        number: the library's format.
        but: relations that are left out.
    """
    db.execute("BEGIN")
    try:
        for name, one in _RELATIONS.items():
            if name in but or one.since > number:
                continue
            stored = dict(db.execute("SELECT bucket, total FROM sums WHERE relation = ?", (name,)))
            found = _totals(db, one)
            wrong = sorted(
                str(key) for key in stored.keys() | found.keys() if stored.get(key, 0) != found.get(key, 0)
            )
            if wrong:
                where = ", ".join(wrong[:3]) + (" and others" if len(wrong) > 3 else "")
                yield f"{name}: {len(wrong)} of {len(stored)} checksums do not fit ({where})"
    finally:
        db.execute("ROLLBACK")


def damaged(what: str) -> LibraryCorrupt:
    """The error for something in ``library.db`` that is not as it was written."""
    return LibraryCorrupt(
        f"{what} in library.db is damaged",
        why="its checksum does not fit: it is not as it was written",
        hint="aspectra doctor --verify names the damage; aspectra restore FILE brings back a backup",
    )


class RowSums:
    """Checks what a reader is about to use.

    Args:
        fetch: all rows of a reading statement.
        kept: whether the library has sums; the formats before 4 have none, and nothing is checked there.
    """

    def __init__(self, fetch: Callable[[str, Sequence[Any]], list[Any]], *, kept: bool) -> None:
        self._fetch = fetch
        self.kept = kept

    def sound(self, row: str) -> str:
        """SQL that holds for a sound row of ``papers``, and fails for one that has changed.

        Args:
            row: its alias in the statement.
        """
        if not self.kept:
            return "1"
        total = f"(SELECT total FROM sums WHERE relation = 'paper' AND bucket = +{row}.pos)"
        return f"sound({total}, {', '.join(f'{row}.{column}' for column in PAPER_ROW)})"

    def sound_sections(self, row: str) -> str:
        """SQL that holds for a row of ``papers`` with sound sections, and fails for another one."""
        if not self.kept:
            return "1"
        one = _RELATIONS["sections"]
        found = f"SELECT row_total({', '.join(f'x.{c}' for c in one.row)}) FROM sections x"
        stored = f"SELECT total FROM sums WHERE relation = 'sections' AND bucket = +{row}.pos"
        return f"same_total(({found} WHERE x.pos = {row}.pos), ({stored}))"

    def check(self, name: str, buckets: Iterable[Any] = (0,)) -> None:
        """Check parts of a relation before they are read.

        Args:
            name: of the relation.
            buckets: the parts.

        Raises:
            LibraryCorrupt: a row of them was changed, or is found no longer.
        """
        if not self.kept:
            return
        one = _RELATIONS[name]
        rows = f"SELECT row_total({', '.join(one.row)}) FROM {one.table} WHERE {one.inside} AND "
        rows += one.held.format(r=one.table)
        stored = "SELECT total FROM sums WHERE relation = ?2 AND bucket = ?1"
        for bucket in buckets:
            if bucket == "":  # empty values do not count
                continue
            ((found, wanted),) = self._fetch(f"SELECT ({rows}), ({stored})", (bucket, name))
            if (found or 0) != (wanted or 0):  # NULL where there is no row
                raise damaged(f"the table {one.table} ({bucket})" if bucket else f"the table {one.table}")

    def check_all(self, name: str) -> None:
        """Check all of a relation, in time proportional to its rows.

        Raises:
            LibraryCorrupt: as :meth:`check`.
        """
        if not self.kept:
            return
        one = _RELATIONS[name]
        rows = f"SELECT row_total({', '.join(one.row)}) FROM {one.table} WHERE {one.held.format(r=one.table)}"
        stored = "SELECT sum_total(total) FROM sums WHERE relation = ?"
        ((found, wanted),) = self._fetch(f"SELECT ({rows}), ({stored})", (name,))
        if (found or 0) != (wanted or 0):
            raise damaged(f"the table {one.table}")

    def ids(self, ids: Iterable[str]) -> None:
        """Check that ids which were not found are not in the library."""
        self.check("ids", {one[:_ID_LETTERS] for one in ids})

    def title(self, key: str) -> None:
        """Check the papers of a normalised title, and those of similar ones."""
        self.check("titles", [key[:_TITLE_LETTERS]])

    def identifier(self, scheme: str, value: str) -> None:
        """Check the papers of an identifier, and those of similar ones."""
        self.check("identifiers", [f"{scheme} {value[:_VALUE_LETTERS]}"])

    def family(self, family: str) -> None:
        """Check the papers of authors by their family name, and of those with similar ones."""
        self.check("authors", [family[:_NAME_LETTERS]])
