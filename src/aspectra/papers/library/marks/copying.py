"""Marks of a damaged library, saved into a new one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from aspectra.papers.library.row_sums import MARKED, sound_rows

_OF_PAPERS = ("tags", "notes", "decisions", "edits", "external", "origins")
_OTHERS = ("pairs", "saved", "actions", "action_parts")


def copy_sound_marks(
    db: sqlite3.Connection, fetch: Callable[[str, Sequence[Any]], list[Any]], number: int
) -> list[str]:
    """Copy every mark that is as it was written; returns what was left out, for a person.

    Args:
        db: a writing connection of the new library, which has the same papers, within a transaction.
        fetch: all rows of a reading statement of the old library.
        number: the old library's format.
    """
    if number < MARKED:
        return []
    old = dict(fetch("SELECT pos, id FROM papers", ()))
    new = dict(db.execute("SELECT id, pos FROM papers"))
    left_out = []
    for table in (*_OF_PAPERS, *_OTHERS):
        columns, found, damaged = sound_rows(fetch, table)
        for key in damaged:
            whose = f" of {old[key]!r}" if table in _OF_PAPERS and key in old else ""
            left_out.append(f"{_NAMES.get(table, table)}{whose}")
        at = columns.index("pos") if table in _OF_PAPERS else None
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        for rows in found.values():
            for row in rows:
                moved = list(row)
                if at is not None and row[at] is not None:
                    moved[at] = new[old[row[at]]]
                if table == "action_parts" and not _has_action(db, row[0]):
                    continue
                db.execute(insert, moved)
    # A step is whole or cannot be undone.
    wrong = "SELECT id FROM actions WHERE id NOT IN (SELECT action FROM action_parts)"
    db.execute(f"DELETE FROM actions WHERE id IN ({wrong})")
    return left_out


_NAMES = {"edits": "edited fields", "external": "links to another program", "action_parts": "steps to undo"}


def _has_action(db: sqlite3.Connection, number: int) -> bool:
    return db.execute("SELECT 1 FROM actions WHERE id = ?", (number,)).fetchone() is not None
