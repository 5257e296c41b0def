"""Groups of records that are versions of one work, kept as records come, change and go.

The best record of a work, with what only the others have, and which of them the user chose to lead it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Literal, Protocol, TypeAlias

from aspectra.papers.bibliography import SHARED
from aspectra.papers.identifiers import normalise
from aspectra.papers.library.links.likeness import Compared, compare, compared_at, contradict
from aspectra.papers.library.row_sums import MARKED, RowSums
from aspectra.papers.paper import Paper
from aspectra.papers.record_facts import is_preprint_doi


class _Library(Protocol):
    """What is needed of :class:`~aspectra.papers.library.store.Store`."""

    checksums: RowSums

    @property
    def format(self) -> int: ...

    def fetch(self, statement: str, values: Sequence[Any] = ()) -> list[Any]: ...


def leading(store: _Library) -> set[str]:
    """Ids of the papers that the user chose to lead the records of their work."""
    if store.format < MARKED:
        return set()
    store.checksums.check("pairs")
    return {row[0] for row in store.fetch("SELECT leads FROM pairs WHERE same AND leads != ''")}


_PREPRINT_VENUES = ("arxiv", "biorxiv", "medrxiv", "corr", "ssrn", "preprint")


def ordered_versions(papers: Iterable[Paper], leads: Collection[str] = ()) -> list[Paper]:
    """Records of one work, the best first: the user's choice, then published ones, then the most complete.

    Args:
        papers: the records.
        leads: ids of papers that the user chose to lead.
    """
    return sorted(papers, key=lambda paper: (paper.id not in leads, not _published(paper), -_complete(paper)))


def merged_record(versions: Sequence[Paper]) -> Paper:
    """The first record, with the fields that only the others have and the identifiers of all.

    Where two records have different identifiers of one scheme, the better record's is kept and the others are
    under ``other_identifiers`` of the metadata; ids of the other records are under ``merged_ids``.

    Args:
        versions: records of one work, the best first.

    >>> one = Paper("a", "Owls", identifiers={"doi": "10.1/a"})
    >>> merged_record([one, Paper("b", "Owls", "They hunt.", identifiers={"arxiv": "2101.00001"})]).abstract
    'They hunt.'
    """
    best, *others = versions
    if not others:
        return best
    metadata = dict(best.metadata)
    named = dict(best.identifiers)
    further: dict[str, list[str]] = {}
    for paper in others:
        for name in SHARED:
            if not metadata.get(name) and paper.metadata.get(name):
                metadata[name] = paper.metadata[name]
        for scheme, value in paper.identifiers.items():
            if named.setdefault(scheme, value) == value or normalise(scheme, value) == normalise(
                scheme, named[scheme]
            ):
                continue
            if value not in further.setdefault(scheme, []):
                further[scheme].append(value)
    if further := {scheme: values for scheme, values in further.items() if values}:
        metadata["other_identifiers"] = further
    metadata["merged_ids"] = [paper.id for paper in others]
    filled: dict[str, Any] = {
        name: value
        for name in ("title", "authors", "year", "venue", "url", "language", "sections", "references")
        if not getattr(best, name) and (value := _first(others, name))
    }
    if not best.abstract.strip():
        for paper in others:
            if paper.abstract.strip():
                filled |= {"abstract": paper.abstract, "sentences": paper.sentences}
                break
    return replace(best, identifiers=named, metadata=metadata, **filled)


def _first(papers: Iterable[Paper], name: str) -> Any:
    return next((value for paper in papers if (value := getattr(paper, name))), None)


def _published(paper: Paper) -> bool:
    """Whether it is no preprint: it has a venue, volume or DOI that no server of preprints has."""
    doi = paper.identifiers.get("doi", "").lower()
    if doi and is_preprint_doi(doi):
        return False
    venue = paper.venue.casefold()
    if any(name in venue for name in _PREPRINT_VENUES):
        return False
    return bool(doi or venue)


def _complete(paper: Paper) -> int:
    """How many parts of the record are filled."""
    fields = (paper.title, paper.abstract.strip(), paper.authors, paper.year, paper.venue, paper.identifiers)
    return sum(map(bool, (*fields, paper.has_full_text, *(paper.metadata.get(name) for name in SHARED))))


MOST_ALIKE = 50  # papers of one title, one identifier or one group that a new one is compared with
_Part: TypeAlias = tuple[Literal["pos", "version_group"], int]  # a paper in no group, or a whole group


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
    members = {_part(db, pos)}
    for other in (*sorted(merged), *sorted(others)):
        part = _part(db, other)
        if part in members or _kept_apart(db, members, {part}):
            continue
        if other in merged or not _contradicted(db, members, {part}):
            members.add(part)
    if len(members) == 1:
        return
    # Never a number in use: the paper that a group was once named after may have left it.
    free = "SELECT coalesce(max(version_group), 0) + 1 FROM papers WHERE version_group IS NOT NULL"
    held = [number for column, number in members if column == "version_group"]
    number = min(held) if held else db.execute(free).fetchone()[0]
    for column, value in sorted(members - {("version_group", number)}):
        db.execute(f"UPDATE papers SET version_group = ? WHERE {column} = ?", (number, value))


def ungroup(db: sqlite3.Connection, groups: Iterable[int | None]) -> set[int]:
    """Dissolve groups of which a paper changed or leaves; returns the positions to :func:`regroup`."""
    members = set[int]()
    for group in set(groups) - {None}:
        members |= {r[0] for r in db.execute("SELECT pos FROM papers WHERE version_group = ?", (group,))}
        db.execute("UPDATE papers SET version_group = NULL WHERE version_group = ?", (group,))
    return members


def regroup(db: sqlite3.Connection, positions: Iterable[int]) -> None:
    """Group the papers at these positions anew."""
    for pos in sorted(positions):
        group_versions(db, pos)


def regroup_ids(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Group these papers anew, and all that share a group with them: what the user said of them changed."""
    found = "SELECT pos, version_group FROM papers WHERE id = ?"
    held = dict(row for one in ids for row in db.execute(found, (one,)))
    regroup(db, held.keys() | ungroup(db, held.values()))


def regroup_all(db: sqlite3.Connection) -> None:
    """Group all papers anew."""
    db.execute("UPDATE papers SET version_group = NULL WHERE version_group IS NOT NULL")
    regroup(db, [pos for (pos,) in db.execute("SELECT pos FROM papers")])


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


def _part(db: sqlite3.Connection, pos: int) -> _Part:
    """The group of the paper at ``pos``, or the paper alone."""
    (group,) = db.execute("SELECT version_group FROM papers WHERE pos = ?", (pos,)).fetchone()
    return ("pos", pos) if group is None else ("version_group", group)


def _positions(db: sqlite3.Connection, parts: set[_Part], most: int = -1) -> list[int]:
    """Positions of the papers of some parts, at most so many; -1 for all."""
    rows = (
        db.execute(f"SELECT pos FROM papers WHERE {column} = ? ORDER BY pos LIMIT ?", (value, most))
        for column, value in sorted(parts)
    )
    return [pos for (pos,) in islice(chain.from_iterable(rows), None if most < 0 else most)]


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


def _contradicted(db: sqlite3.Connection, parts: set[_Part], others: set[_Part]) -> bool:
    """Whether a record of one set cannot be one work with a record of the other set.

    Records that the user merged with others say nothing: they may differ in everything. Of a large set,
    as passages of one title are, the first :data:`MOST_ALIKE` records are compared.
    """
    sides = [_positions(db, side, MOST_ALIKE) for side in (parts, others)]
    if len(sides[0]) == len(sides[1]) == 1:
        return False  # these two were compared
    mine, theirs = (compared_at(db, (pos for pos in side if not _said(db, pos)[0])) for side in sides)
    return any(contradict(one, other) for one in mine.values() for other in theirs.values())


def _kept_apart(db: sqlite3.Connection, parts: set[_Part], others: set[_Part]) -> bool:
    """Whether a paper of one set was split from one of the other set."""

    def size(side: set[_Part]) -> int:
        counts = (f"SELECT count(*) FROM papers WHERE {column} = {value}" for column, value in side)
        return sum(db.execute(count).fetchone()[0] for count in counts)

    few, many = sorted((parts, others), key=size)
    return any(_part(db, other) in many for pos in _positions(db, few) for other in _said(db, pos)[1])
