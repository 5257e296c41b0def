"""Works and citations of a collection that reach over its shards.

Each shard groups and links its own papers. Here papers of different shards that may be one work are compared
by the same rules, and open citations are linked to papers of other shards. A citation that its own shard
linked keeps its target.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from aspectra.papers.library.links.citations import open_links
from aspectra.papers.library.links.versions import regroup_all
from aspectra.papers.library.shards import MOST, SPAN

_APART = f"HAVING min(pos / {SPAN}) < max(pos / {SPAN})"
_LISTED = "(SELECT value FROM json_each(?))"


def link_shards(db: sqlite3.Connection, few: sqlite3.Connection) -> None:
    """Write the tables ``works`` and ``links`` of a collection anew.

    Args:
        db: a writing connection to the collection, in autocommit mode.
        few: an empty database with the tables of a library, for the papers that are compared.
    """
    groups = _groups_across(db, few)
    links = [(pos, ordinal, target) for target, pos, ordinal in open_links(db)]
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute("DELETE FROM works")
        db.execute("DELETE FROM links")
        db.executemany("INSERT INTO works VALUES (?, ?)", groups)
        db.executemany("INSERT INTO links VALUES (?, ?, ?)", links)
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _groups_across(db: sqlite3.Connection, few: sqlite3.Connection) -> list[tuple[int, int]]:
    """(place, group) of the papers of groups with papers of several shards."""
    listed = [json.dumps(sorted(_in_several_shards(db)))]
    for table in ("papers", "identifiers", "authors"):
        _copy(db, few, table, f"FROM {table} WHERE pos IN {_LISTED}", listed)
    few.execute("UPDATE papers SET checksum = 0")
    _copy(db, few, "pairs", "FROM main.pairs")
    regroup_all(few)
    grouped = "SELECT pos, version_group FROM papers WHERE version_group IS NOT NULL"
    found = few.execute(grouped).fetchall()
    shards: dict[int, set[int]] = {}
    for pos, group in found:
        shards.setdefault(group, set()).add(pos // SPAN)
    return [(pos, MOST * SPAN + group) for pos, group in found if len(shards[group]) > 1]


def _copy(
    db: sqlite3.Connection, few: sqlite3.Connection, table: str, rows: str, values: Sequence[str] = ()
) -> None:
    """Copy rows of a table, all columns but checksums."""
    found = db.execute(f"SELECT * {rows}", values)
    columns = [name for name, *_ in found.description if name != "checksum"]
    selected = db.execute(f"SELECT {', '.join(columns)} {rows}", values)
    few.executemany(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", selected
    )


def _in_several_shards(db: sqlite3.Connection) -> set[int]:
    """Places of papers that share a title or an identifier with one of another shard, and of their works."""
    places: set[int] = set()

    def take(rows: Iterable[tuple[int]]) -> None:
        places.update(pos for (pos,) in rows)

    titles = f"SELECT title_key FROM papers WHERE title_key != '' GROUP BY title_key {_APART}"
    for (title,) in db.execute(titles).fetchall():
        take(db.execute("SELECT pos FROM papers WHERE title_key = ?", (title,)))
    sure = "scheme IN ('doi', 'arxiv', 'pmid', 'pmcid')"
    named = f"SELECT scheme, value FROM identifiers WHERE {sure} GROUP BY 1, 2 {_APART}"
    for row in db.execute(named).fetchall():
        take(db.execute("SELECT pos FROM identifiers WHERE scheme = ? AND value = ?", row))
    said = "SELECT p.pos FROM main.pairs x JOIN papers p ON p.id IN (x.one, x.other)"
    take(db.execute(said))
    groups = f"SELECT version_group FROM papers WHERE pos IN {_LISTED} AND version_group IS NOT NULL"
    numbers = [number for (number,) in db.execute(groups, [json.dumps(sorted(places))])]
    take(db.execute(f"SELECT pos FROM papers WHERE version_group IN {_LISTED}", [json.dumps(numbers)]))
    return places
