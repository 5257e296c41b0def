"""Citations inside the library: which paper an entry of a reference list is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

from aspectra.papers.identifiers import identifiers_in, normalise
from aspectra.papers.paper import normalise_title

_START = 4  # first words by which titles are found in printed references
_MANY = 5000  # lookups in the index of titles after which all titles are loaded
_PRINTED = "printed"  # the key of citations that only a title inside their printed text can link


def mark_unlinked(db: sqlite3.Connection, pos: int) -> None:
    """Mark a paper, so that the next :func:`link_citations` links its citations and those of it."""
    db.execute("INSERT OR IGNORE INTO unlinked VALUES (?)", (pos,))


def unlink(db: sqlite3.Connection, pos: int) -> None:
    """Unlink the citations of a paper that changed or is removed: they may mean another one."""
    db.execute("INSERT OR IGNORE INTO unlinked SELECT DISTINCT pos FROM citations WHERE target = ?", (pos,))
    db.execute(
        "UPDATE citations SET target = NULL, checksum = row_hash(pos, ordinal, NULL) WHERE target = ?", (pos,)
    )


def link_citations(db: sqlite3.Connection) -> int:
    """Link open citations to papers of the library; returns how many were linked.

    By identifier first, then by title: the one the source states, else a title of four words or more that
    occurs in the printed reference. This concerns the citations of the papers marked as unlinked, and other
    open citations that may mean one of these papers; each is compared with all papers.
    """
    titles = _Titles(db)
    linked = []
    own = db.execute(
        "SELECT c.pos, c.ordinal, c.record FROM citations c JOIN unlinked USING (pos) WHERE c.target IS NULL"
    )
    for pos, ordinal, text in own:
        record = json.loads(text)
        target = _target(db, record, titles)
        if target is not None and target != pos:
            linked.append((target, pos, ordinal))
        else:
            keys = [(key, pos, ordinal) for key in _keys(record)]
            db.executemany("INSERT OR IGNORE INTO citation_keys VALUES (?, ?, ?)", keys)
    linked += _meant(db, _waiting(db), titles)
    db.executemany(
        "UPDATE citations SET target = ?1, checksum = row_hash(pos, ordinal, ?1) "
        "WHERE pos = ?2 AND ordinal = ?3",
        linked,
    )
    db.executemany("DELETE FROM citation_keys WHERE pos = ? AND ordinal = ?", [row[1:] for row in linked])
    db.execute("DELETE FROM unlinked")
    return len(linked)


def open_links(db: sqlite3.Connection) -> list[tuple[int, int, int]]:
    """(target, pos, ordinal) of the open citations that mean a paper of any shard; nothing is written."""
    return _meant(db, _waiting(db, unlinked="", others="1"), _Titles(db))


def _meant(
    db: sqlite3.Connection, waiting: Iterable[tuple[int, int]], titles: _Titles
) -> list[tuple[int, int, int]]:
    """(target, pos, ordinal) of those citations that mean another paper."""
    out = []
    for pos, ordinal in sorted(waiting):
        (text,) = db.execute(
            "SELECT record FROM citations WHERE pos = ? AND ordinal = ?", (pos, ordinal)
        ).fetchone()
        target = _target(db, json.loads(text), titles)
        if target is not None and target != pos:
            out.append((target, pos, ordinal))
    return out


def _keys(record: dict[str, Any]) -> set[str]:
    """Keys of which the cited paper has at least one."""
    keys = {f"{scheme} {value}" for scheme, value in _identifiers(record)}
    if title := normalise_title(str(record.get("title", ""))):
        return {*keys, f"title {title}"}
    return {*keys, _PRINTED} if record.get("raw") else keys


def _identifiers(record: dict[str, Any]) -> list[tuple[str, str]]:
    """(scheme, value) of a citation, a paper's id in the collection (``id``) first."""
    stated = record.get("identifiers")
    named = dict(stated) if isinstance(stated, dict) else {}
    own = named.pop("id", None)
    found = {**identifiers_in(str(record.get("raw", ""))), **named}
    rest = [(scheme, normalise(scheme, value)) for scheme, value in found.items()]
    return [("id", own), *rest] if own else rest


def _waiting(
    db: sqlite3.Connection,
    unlinked: str = "JOIN unlinked USING (pos)",
    others: str = "pos NOT IN (SELECT pos FROM unlinked)",
) -> set[tuple[int, int]]:
    """(pos, ordinal) of the open citations of other papers that may mean one of the unlinked papers.

    Args:
        db: the library.
        unlinked: SQL that keeps those papers of all; "" for all.
        others: SQL that holds for the papers whose citations are looked at.
    """
    wanted = (
        f"SELECT 'id ' || id AS key FROM papers {unlinked} UNION "
        f"SELECT 'title ' || title_key FROM papers {unlinked} UNION "
        f"SELECT scheme || ' ' || value FROM identifiers {unlinked}"
    )
    found = set(
        db.execute(f"SELECT pos, ordinal FROM ({wanted}) JOIN citation_keys USING (key) WHERE {others}")
    )
    starts = _by_start(db.execute(f"SELECT title_key FROM papers {unlinked}"))
    if starts:
        printed = db.execute(
            "SELECT c.pos, c.ordinal, c.record FROM citation_keys k JOIN citations c USING (pos, ordinal) "
            f"WHERE k.key = ? AND {others}",
            (_PRINTED,),
        )
        found |= {(p, o) for p, o, text in printed if _within(json.loads(text)["raw"], starts.get)}
    return found


def _by_start(titles: Iterable[tuple[str]]) -> dict[str, list[str]]:
    """First four words -> titles that begin with them; shorter titles are left out."""
    out: dict[str, list[str]] = {}
    for (title,) in titles:
        if title.count(" ") >= _START - 1:
            out.setdefault(" ".join(title.split(" ", _START)[:_START]), []).append(title)
    return out


class _Titles:
    """Titles of the library by their beginning: from the index at first, from memory after many lookups."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._lookups = 0
        self._starts: dict[str, list[str]] | None = None

    def starting(self, words: str) -> list[str]:
        """The normalised titles that begin with these four words, the oldest paper's first."""
        self._lookups += 1
        if self._starts is None and self._lookups > _MANY:
            self._starts = _by_start(self._db.execute("SELECT title_key FROM papers ORDER BY pos"))
        if self._starts is None:
            rows = self._db.execute(
                "SELECT title_key FROM papers WHERE title_key = ?1 OR (title_key > ?1 || ' ' AND "
                "title_key < ?1 || '!') ORDER BY pos",
                (words,),
            )
            return [title for (title,) in rows]
        return self._starts.get(words, [])


def _target(db: sqlite3.Connection, record: dict[str, Any], titles: _Titles) -> int | None:
    """Position of the paper that a citation means, or None."""
    for scheme, value in _identifiers(record):
        row = db.execute(
            "SELECT pos FROM papers WHERE id = ?"
            if scheme == "id"
            else "SELECT min(pos) FROM identifiers WHERE scheme = ? AND value = ?",
            (value,) if scheme == "id" else (scheme, value),
        ).fetchone()
        if row and row[0] is not None:
            return int(row[0])
    title = normalise_title(str(record.get("title", "")))
    title = title or _within(str(record.get("raw", "")), titles.starting)
    if not title:
        return None
    (pos,) = db.execute("SELECT min(pos) FROM papers WHERE title_key = ?", (title,)).fetchone()
    return None if pos is None else int(pos)


def _within(printed: str, starting: Callable[[str], list[str] | None]) -> str:
    """The longest title of four words or more that occurs in a printed reference, or ""."""
    words = normalise_title(printed).split(" ")
    text = f" {' '.join(words)} "
    best = ""
    for at in range(len(words) - _START + 1):
        for title in starting(" ".join(words[at : at + _START])) or ():
            if len(title) > len(best) and f" {title} " in text:
                best = title
    return best
