"""Where records were read: one row for every record, also for those that changed nothing."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

from aspectra.papers.paper import Paper

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
        self._at = datetime.now(UTC).isoformat(timespec="seconds")
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
