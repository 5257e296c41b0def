"""Edits of a paper's record: kept beside it, so that they last when its file is added again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from aspectra.papers.library.marks.values import Edit
from aspectra.papers.library.rows import put_paper, stored_paper
from aspectra.papers.paper import Paper

_EMPTY: Mapping[str, Any] = {"authors": [], "year": None, "identifiers": {}, "sentences": []}


def edited(paper: Paper, given: Mapping[str, Any]) -> Paper:
    """The paper with other values of some fields.

    Raises:
        msgspec.ValidationError: a value has the wrong type.
    """
    if not given:
        return paper
    own: dict[str, Any] = (
        {"sentences": []} if "abstract" in given else {}
    )  # they count in the abstract's characters
    return Paper.from_dict({**paper.to_dict(), **own, **given})


def values_of(paper: Paper, fields: Collection[str]) -> dict[str, Any]:
    """Field -> JSON value of a paper; with the abstract come its sentence boundaries."""
    whole = paper.to_dict()
    wanted = [*fields, "sentences"] if "abstract" in fields else fields
    return {name: whole.get(name, _EMPTY.get(name, "")) for name in wanted}


def edits_by_position(db: sqlite3.Connection) -> dict[int, Edit]:
    """Position -> edit, of all papers that have one."""
    rows = db.execute("SELECT pos, given, file, file_hash, at FROM edits")
    return {
        pos: Edit(json.loads(given), json.loads(file), file_hash, at)
        for pos, given, file, file_hash, at in rows
    }


def put_edit(db: sqlite3.Connection, pos: int, edit: Edit) -> None:
    """Store the edit of a paper; one without fields is removed."""
    db.execute("DELETE FROM edits WHERE pos = ?", (pos,))
    if edit.given:
        given, file = (json.dumps(one, ensure_ascii=False) for one in (edit.given, edit.file))
        db.execute("INSERT INTO edits VALUES (?, ?, ?, ?, ?)", (pos, given, file, edit.file_hash, edit.at))


def refile(db: sqlite3.Connection, pos: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the whole edit of a paper; returns the fields that were given before.

    Fields that are no longer given have the value of the paper's file again.

    Raises:
        msgspec.ValidationError: a value has the wrong type.
    """
    row = db.execute("SELECT given, file, file_hash FROM edits WHERE pos = ?", (pos,)).fetchone()
    now = Edit(json.loads(row[0]), json.loads(row[1]), row[2]) if row else Edit()
    paper = stored_paper(db, pos)
    base = edited(paper, now.file)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    put_paper(db, edited(base, given), pos)
    put_edit(db, pos, Edit(given, values_of(base, given), now.file_hash or paper.content_hash, at))
    return dict(now.given)
