"""Groups of records that are versions of one work, kept as records come, change and go."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any

from aspectra.papers.library.links.likeness import Compared, compare, compared_at

__all__ = ["MOST_ALIKE", "group_versions", "regroup", "regroup_all", "regroup_ids", "version_keys"]

MOST_ALIKE = 50  # papers of one title, or one identifier, that a new one is compared with


def version_keys(db: sqlite3.Connection, pos: int) -> tuple[Any, ...]:
    """Everything of the paper at ``pos`` that decides on its versions and on the citations of it."""
    return tuple(compared_at(db, [pos])[pos])


def group_versions(db: sqlite3.Connection, pos: int) -> None:
    """Put the paper at ``pos``, which is new, into the group of its other versions, if the library holds any.

    See :mod:`~aspectra.papers.library.links.likeness` for the rules. What the user merged or split goes
    first: two papers that were split never share a group, whatever a third one is a version of.
    """
    merged, apart = _said(db, pos)
    others = _twins(db, pos) - merged - apart
    if not others and not merged:
        return
    members = _group(db, pos)
    for other in (*sorted(merged), *sorted(others)):
        if other in members:
            continue
        group = _group(db, other)
        if not _kept_apart(db, members, group):
            members |= group
    if len(members) == 1:
        return
    marks = ",".join("?" * len(members))
    (held,) = db.execute(
        f"SELECT min(version_group) FROM papers WHERE pos IN ({marks})", sorted(members)
    ).fetchone()
    # Never a number in use: the paper that a group was once named after may have left it.
    free = "SELECT coalesce(max(version_group), 0) + 1 FROM papers WHERE version_group IS NOT NULL"
    number = db.execute(free).fetchone()[0] if held is None else held
    db.executemany(
        "UPDATE papers SET version_group = ?1 WHERE pos = ?2 AND version_group IS NOT ?1",
        [(number, member) for member in sorted(members)],
    )


def regroup(db: sqlite3.Connection, group: int | None, *positions: int) -> None:
    """Group anew what was one group, and the papers at ``positions``: one of them changed or left."""
    members = set(positions)
    if group is not None:
        members |= {r[0] for r in db.execute("SELECT pos FROM papers WHERE version_group = ?", (group,))}
        db.execute("UPDATE papers SET version_group = NULL WHERE version_group = ?", (group,))
    for pos in sorted(members):
        group_versions(db, pos)


def regroup_ids(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Group these papers anew, and all that share a group with them: what the user said of them changed."""
    positions, groups = set(), set()
    for paper_id in ids:
        for pos, group in db.execute("SELECT pos, version_group FROM papers WHERE id = ?", (paper_id,)):
            positions.add(pos)
            groups.add(group)
    for group in groups - {None}:
        positions |= {r[0] for r in db.execute("SELECT pos FROM papers WHERE version_group = ?", (group,))}
    for group in groups - {None}:
        db.execute("UPDATE papers SET version_group = NULL WHERE version_group = ?", (group,))
    for pos in sorted(positions):
        group_versions(db, pos)


def regroup_all(db: sqlite3.Connection) -> None:
    """Group all papers anew."""
    db.execute("UPDATE papers SET version_group = NULL WHERE version_group IS NOT NULL")
    for (pos,) in db.execute("SELECT pos FROM papers ORDER BY pos").fetchall():
        group_versions(db, pos)


def _twins(db: sqlite3.Connection, pos: int) -> set[int]:
    """Positions of the papers that are surely the same work as one paper."""
    rows = db.execute(
        "SELECT o.pos FROM identifiers i JOIN identifiers o USING (scheme, value) WHERE i.pos = ?1 "
        "AND i.scheme IN ('doi', 'arxiv', 'pmid', 'pmcid') AND o.pos != ?1 LIMIT ?2",
        (pos, MOST_ALIKE),
    )
    near = {row[0] for row in rows}
    rows = db.execute(
        "SELECT o.pos FROM papers p JOIN papers o USING (title_key) "
        "WHERE p.pos = ?1 AND p.title_key != '' AND o.pos != ?1 LIMIT ?2",
        (pos, MOST_ALIKE),
    )
    near |= {row[0] for row in rows}
    if not near:
        return near
    held: dict[int, Compared] = compared_at(db, (pos, *sorted(near)))
    verdicts = ((other, compare(held[pos], held[other])) for other in near)
    return {other for other, verdict in verdicts if verdict is not None and verdict.kind == "one"}


def _group(db: sqlite3.Connection, pos: int) -> set[int]:
    """The paper at ``pos`` and its versions."""
    rows = db.execute(
        "SELECT o.pos FROM papers p JOIN papers o ON o.version_group = p.version_group WHERE p.pos = ?",
        (pos,),
    )
    return {pos, *(row[0] for row in rows)}


def _said(db: sqlite3.Connection, pos: int) -> tuple[set[int], set[int]]:
    """Positions of the papers that the user merged with one paper, and of those split from it."""
    merged, apart = set[int](), set[int]()
    rows = db.execute(
        "SELECT p.pos, x.same FROM papers own JOIN pairs x ON x.one = own.id JOIN papers p ON p.id = x.other "
        "WHERE own.pos = ?1 UNION ALL "
        "SELECT p.pos, x.same FROM papers own JOIN pairs x ON x.other = own.id JOIN papers p ON p.id = x.one "
        "WHERE own.pos = ?1",
        (pos,),
    )
    for other, same in rows:
        (merged if same else apart).add(other)
    return merged, apart


def _kept_apart(db: sqlite3.Connection, members: set[int], group: set[int]) -> bool:
    """Whether a paper of one set was split from one of the other set."""
    return any(_said(db, pos)[1] & group for pos in members)
