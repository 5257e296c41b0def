"""The report of duplicates: groups of records that are one work, and groups to be looked at.

Records are compared within blocks only: those that share an identifier, a title, or the first or last letters
of a title. A large block is sorted by title, and each record is compared with its next ones. The time is
therefore linear in the number of records, but for sorting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from aspectra.papers.library.links.likeness import Compared, Verdict, compare, compared, near
from aspectra.papers.library.row_sums import MARKED
from aspectra.papers.library.store import Store

_SCHEMES = ("doi", "arxiv", "pmid", "pmcid")
_EDGE = 16  # letters and digits at either end of a title
_WHOLE, _NEXT = 12, 4  # records in a block that are all compared; else each with so many that follow


@dataclass(frozen=True, slots=True)
class Group:
    """Records that belong together.

    Attributes:
        kind: ``one`` work already, or ``look``: to be looked at.
        ids: of the papers, in the order in which they were added; of one work, the leading one first.
        why: the reasons, each once.
    """

    kind: Literal["one", "look"]
    ids: tuple[str, ...]
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What records of a library are of one work.

    Attributes:
        records, works: numbers of papers, and of works: a group counts once.
        groups: first those to be looked at.
    """

    records: int
    works: int
    groups: tuple[Group, ...]


def duplicates(store: Store) -> Duplicates:
    """Find the groups of a whole library; what the user split is not reported again."""
    with store.snapshot():
        for relation in ("authors", "identifiers", "groups"):
            store.checksums.check_all(relation)
        held = {one.pos: one for one in _read(store)}
        groups = dict(store.fetch("SELECT pos, version_group FROM papers WHERE version_group IS NOT NULL"))
        said: dict[tuple[str, str], tuple[int, str]] = {}
        if store.format >= MARKED:
            store.checksums.check("pairs")
            rows = store.fetch("SELECT one, other, same, leads FROM pairs")
            said = {row[:2]: row[2:] for row in rows}
    leaders = {leads for same, leads in said.values() if same and leads}
    why: dict[int, dict[str, None]] = defaultdict(dict)
    loose: list[tuple[int, int, str]] = []
    for one, other, verdict in _pairs(held.values()):
        a, b = sorted((held[one].id, held[other].id))
        same = said[a, b][0] if (a, b) in said else None
        if one in groups and groups[one] == groups.get(other):
            if verdict.kind == "one":
                why[groups[one]].setdefault(verdict.why)
        elif same != 0:
            loose.append((one, other, verdict.why))
    members: dict[int, list[int]] = defaultdict(list)
    for pos in held:
        if pos in groups:
            members[groups[pos]].append(pos)
    places = {paper.id: pos for pos, paper in held.items()}
    for (a, b), (same, _) in said.items():
        group = groups.get(places.get(a, -1))
        if same and group is not None and group == groups.get(places.get(b, -1)):
            why[group].setdefault("merged by you")
    look = [
        Group("look", tuple(held[pos].id for pos in sorted(found)), reasons)
        for found, reasons in _joined(loose)
    ]
    one_work = [
        Group(
            "one",
            tuple(sorted((held[p].id for p in found), key=lambda i: i not in leaders)),
            tuple(why[group]),
        )
        for group, found in members.items()
        if len(found) > 1
    ]
    works = len(held) - sum(len(group.ids) - 1 for group in one_work)
    return Duplicates(len(held), works, (*look, *one_work))


def _read(store: Store) -> Iterator[Compared]:
    """What is compared of every paper, in the order in which they were added."""
    people: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for pos, name, family in store.rows("SELECT pos, name, family FROM authors"):
        people[pos].append((name, family))
    named: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for pos, scheme, value in store.rows("SELECT pos, scheme, value FROM identifiers"):
        named[pos].add((scheme, value))
    columns = "pos, id, title_key, year, venue, record, title"
    statement = f"SELECT {columns} FROM papers p WHERE {store.checksums.sound('p')} ORDER BY pos"
    for pos, *row in store.rows(statement):
        fields = (str(row[0]), str(row[1]), row[2], str(row[3]), str(row[4]), str(row[5]))
        yield compared(pos, fields, people.get(pos, ()), frozenset(named.get(pos, ())))


def _pairs(papers: Iterable[Compared]) -> Iterator[tuple[int, int, Verdict]]:
    """Pairs of papers with a verdict, each once."""
    exact, edges = defaultdict(list), defaultdict(list)
    for paper in papers:
        for scheme, value in paper.named:
            if scheme in _SCHEMES:
                exact[scheme, value].append(paper)
        if paper.title:
            exact["title", paper.title].append(paper)
        letters = paper.title.replace(" ", "")
        if len(letters) >= _EDGE:
            edges["first", letters[:_EDGE]].append(paper)
            edges["last", letters[-_EDGE:]].append(paper)
    seen = set[tuple[int, int]]()
    rules: tuple[
        tuple[dict[tuple[str, str], list[Compared]], Callable[[Compared, Compared], Verdict | None]], ...
    ]
    rules = ((exact, compare), (edges, near))
    for blocks, rule in rules:
        for block in blocks.values():
            for one, other in _within(block):
                key = (min(one.pos, other.pos), max(one.pos, other.pos))
                if key in seen:
                    continue
                if (verdict := rule(one, other)) is not None:
                    seen.add(key)
                    yield *key, verdict


def _within(block: Sequence[Compared]) -> Iterator[tuple[Compared, Compared]]:
    """The pairs of a block that are compared: linear in its length."""
    if len(block) <= _WHOLE:
        yield from combinations(block, 2)
        return
    ordered = sorted(block, key=lambda p: (p.title, p.year or 0, sorted(p.families), p.pos))
    for number, one in enumerate(ordered):
        for other in ordered[number + 1 : number + 1 + _NEXT]:
            yield one, other


def _joined(pairs: Iterable[tuple[int, int, str]]) -> list[tuple[set[int], tuple[str, ...]]]:
    """Connected papers with the reasons of their pairs, in the order of the first paper of each."""
    root: dict[int, int] = {}

    def find(pos: int) -> int:
        root.setdefault(pos, pos)
        while root[pos] != pos:
            root[pos] = root[root[pos]]
            pos = root[pos]
        return pos

    kept = list(pairs)
    for one, other, _ in kept:
        a, b = sorted((find(one), find(other)))
        root[b] = a
    found: dict[int, set[int]] = defaultdict(set)
    why: dict[int, dict[str, None]] = defaultdict(dict)
    for one, other, reason in kept:
        found[find(one)] |= {one, other}
        why[find(one)].setdefault(reason)
    return [(found[key], tuple(why[key])) for key in sorted(found)]
