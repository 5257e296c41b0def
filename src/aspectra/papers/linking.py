"""Links between papers: versions of one work, and citations inside the library."""

from __future__ import annotations

import json
import sqlite3

from aspectra.papers.identifiers import identifiers_in, normalise
from aspectra.papers.paper import Paper, normalise_title
from aspectra.papers.rows import author_keys

__all__ = ["dissolve_singleton", "group_versions", "resolve_citations"]

_YEARS_APART = 3  # a journal version follows its preprint within this
_TITLE_WORDS = 3  # shorter titles ("Introduction") are shared by different works


def group_versions(db: sqlite3.Connection, pos: int, title_key: str, paper: Paper) -> None:
    """Put the paper at ``pos`` into the group of its other versions, if the library holds any.

    Two papers are versions of one work when they share a DOI or arXiv id, or have the same normalised title
    of three words or more, no contradicting first author, and years at most three apart.
    """
    others: set[int] = set()
    for scheme in ("doi", "arxiv"):
        if value := normalise(scheme, paper.identifiers.get(scheme)):
            rows = db.execute(
                "SELECT pos FROM identifiers WHERE scheme = ? AND value = ? AND pos != ?",
                (scheme, value, pos),
            )
            others.update(row[0] for row in rows)
    if title_key.count(" ") + 1 >= _TITLE_WORDS:
        families = {author_keys(name)[1] for name in paper.authors}
        titled = db.execute(
            "SELECT pos, year FROM papers WHERE title_key = ? AND pos != ? LIMIT 50", (title_key, pos)
        ).fetchall()
        for other, year in titled:
            if year and paper.year and abs(year - paper.year) > _YEARS_APART:
                continue
            theirs = {r[0] for r in db.execute("SELECT family FROM authors WHERE pos = ?", (other,))}
            if families and theirs and not families & theirs:
                continue
            others.add(other)
    old = db.execute("SELECT version_group FROM papers WHERE pos = ?", (pos,)).fetchone()[0]
    if not others:
        if old is not None:
            db.execute("UPDATE papers SET version_group = NULL WHERE pos = ?", (pos,))
            dissolve_singleton(db, old)
        return
    marks = ",".join("?" * len(others))
    groups = {
        row[0]
        for row in db.execute(
            f"SELECT DISTINCT version_group FROM papers WHERE pos IN ({marks}) AND version_group IS NOT NULL",
            sorted(others),
        )
    }
    group = min(groups) if groups else min(*others, pos)
    db.executemany(
        "UPDATE papers SET version_group = ? WHERE version_group = ?", [(group, g) for g in groups]
    )
    db.executemany("UPDATE papers SET version_group = ? WHERE pos = ?", [(group, p) for p in {*others, pos}])


def dissolve_singleton(db: sqlite3.Connection, group: int) -> None:
    """A group with one member left is no group."""
    members = db.execute("SELECT pos FROM papers WHERE version_group = ?", (group,)).fetchall()
    if len(members) == 1:
        db.execute("UPDATE papers SET version_group = NULL WHERE pos = ?", members[0])


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
