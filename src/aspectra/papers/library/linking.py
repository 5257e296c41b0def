"""Links between papers: versions of one work, and citations inside the library."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from aspectra.papers.identifiers import identifiers_in, normalise
from aspectra.papers.paper import normalise_title

__all__ = ["group_versions", "regroup", "resolve_citations", "version_keys"]

_YEARS_APART = 3  # a journal version follows its preprint within this
_TITLE_WORDS = 3  # shorter titles ("Introduction") are shared by different works


def version_keys(db: sqlite3.Connection, pos: int) -> tuple[Any, ...]:
    """All that decides which works and citations the paper at ``pos`` belongs to."""
    row = db.execute("SELECT title_key, year FROM papers WHERE pos = ?", (pos,)).fetchone()
    named = db.execute("SELECT scheme, value FROM identifiers WHERE pos = ? ORDER BY 1, 2", (pos,)).fetchall()
    return (*row, tuple(named), tuple(sorted(_families(db, pos))))


def group_versions(db: sqlite3.Connection, pos: int) -> None:
    """Put the paper at ``pos``, which is new, into the group of its other versions, if the library holds any.

    Two papers are versions of one work when they share a DOI or arXiv id, or have the same normalised title
    of three words or more, no contradicting authors, and years at most three apart.
    """
    others = _twins(db, pos)
    if not others:
        return
    marks = ",".join("?" * len(others))
    groups = {
        row[0]
        for row in db.execute(
            f"SELECT DISTINCT version_group FROM papers WHERE pos IN ({marks}) AND version_group IS NOT NULL",
            sorted(others),
        )
    }
    # Never a number in use: the paper that a group was once named after may have left it.
    free = "SELECT coalesce(max(version_group), 0) + 1 FROM papers WHERE version_group IS NOT NULL"
    group = min(groups) if groups else db.execute(free).fetchone()[0]
    db.executemany(
        "UPDATE papers SET version_group = ? WHERE version_group = ?", [(group, g) for g in groups]
    )
    db.executemany("UPDATE papers SET version_group = ? WHERE pos = ?", [(group, p) for p in {*others, pos}])


def regroup(db: sqlite3.Connection, group: int | None, *positions: int) -> None:
    """Group anew what was one group, and the papers at ``positions``: one of them changed or left."""
    members = set(positions)
    if group is not None:
        members |= {r[0] for r in db.execute("SELECT pos FROM papers WHERE version_group = ?", (group,))}
        db.execute("UPDATE papers SET version_group = NULL WHERE version_group = ?", (group,))
    for pos in sorted(members):
        group_versions(db, pos)


def _twins(db: sqlite3.Connection, pos: int) -> set[int]:
    """Positions of the other versions of one paper, seen from it alone."""
    rows = db.execute(
        "SELECT o.pos FROM identifiers i JOIN identifiers o USING (scheme, value) "
        "WHERE i.pos = ?1 AND i.scheme IN ('doi', 'arxiv') AND o.pos != ?1",
        (pos,),
    )
    others = {row[0] for row in rows}
    title_key, year = db.execute("SELECT title_key, year FROM papers WHERE pos = ?", (pos,)).fetchone()
    if title_key.count(" ") + 1 >= _TITLE_WORDS:
        families = _families(db, pos)
        titled = db.execute(
            "SELECT pos, year FROM papers WHERE title_key = ? AND pos != ? LIMIT 50", (title_key, pos)
        ).fetchall()
        for other, theirs in titled:
            if year and theirs and abs(theirs - year) > _YEARS_APART:
                continue
            names = _families(db, other)
            if families and names and not families & names:
                continue
            others.add(other)
    return others


def _families(db: sqlite3.Connection, pos: int) -> set[str]:
    return {row[0] for row in db.execute("SELECT family FROM authors WHERE pos = ?", (pos,))}


def resolve_citations(db: sqlite3.Connection) -> int:
    """Link unresolved citations to papers of the library; returns how many were linked.

    By identifier first, then by title: the one the source states, else a title of four words or more that
    stands inside the printed reference.
    """
    open_links = db.execute("SELECT pos, ordinal, record FROM citations WHERE target IS NULL").fetchall()
    if not open_links:
        return 0
    titles: dict[str, int] = {}
    by_start: dict[str, list[str]] = {}
    for pos, key in db.execute("SELECT pos, title_key FROM papers WHERE title_key != '' ORDER BY pos"):
        if titles.setdefault(key, pos) == pos and key.count(" ") + 1 > _TITLE_WORDS:
            by_start.setdefault(" ".join(key.split(" ", 4)[:4]), []).append(key)
    linked = []
    for pos, ordinal, record in open_links:
        target = _target(db, json.loads(record), titles, by_start)
        if target is not None and target != pos:
            linked.append((target, pos, ordinal))
    db.executemany("UPDATE citations SET target = ? WHERE pos = ? AND ordinal = ?", linked)
    return len(linked)


def _target(
    db: sqlite3.Connection, record: dict[str, object], titles: dict[str, int], by_start: dict[str, list[str]]
) -> int | None:
    stated = record.get("identifiers")
    identifiers = dict(stated) if isinstance(stated, dict) else {}
    raw = str(record.get("raw", ""))
    if own := identifiers.pop("id", None):
        row = db.execute("SELECT pos FROM papers WHERE id = ?", (own,)).fetchone()
        if row:
            return int(row[0])
    for scheme, value in {**identifiers_in(raw), **identifiers}.items():
        row = db.execute(
            "SELECT min(pos) FROM identifiers WHERE scheme = ? AND value = ?",
            (scheme, normalise(scheme, value)),
        ).fetchone()
        if row[0] is not None:
            return int(row[0])
    if title := normalise_title(str(record.get("title", ""))):
        return titles.get(title)
    words = normalise_title(raw).split(" ")
    text = f" {' '.join(words)} "
    best = ""
    for at in range(len(words) - 3):
        for key in by_start.get(" ".join(words[at : at + 4]), ()):
            if len(key) > len(best) and f" {key} " in text:
                best = key
    return titles[best] if best else None
