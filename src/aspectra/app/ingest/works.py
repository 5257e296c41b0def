"""Works, and what the user says about papers: tags, notes, decisions, edits, records of one work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from aspectra.base.errors import UsageError
from aspectra.base.values import now
from aspectra.papers.library.links.versions import (
    Compared,
    Verdict,
    compare,
    compared,
    leading,
    merged_record,
    near,
    ordered_versions,
)
from aspectra.papers.library.marks.reader import Listing, Marks, Wanted, listed, unknown_tag, with_marks
from aspectra.papers.library.marks.values import Action, Note
from aspectra.papers.library.row_sums import MARKED
from aspectra.papers.library.shards import SPAN, first_place
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

if TYPE_CHECKING:
    from aspectra.app.ingest.flow import Flow


class NewRecords(NamedTuple):
    """Versions and incomplete records among the records that were added.

    Attributes:
        versions: (id, ids of the other records of the work), for those that are versions.
        to_complete: number of records with only an identifier.
    """

    versions: list[tuple[str, list[str]]]
    to_complete: int


class Works:
    """The works of a library and their versions; :class:`aspectra.app.library.Library` has it as ``works``.

    Args:
        store: the library.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def duplicates(self) -> Duplicates:
        """Groups of records that are one work, and groups to review, with the reasons.

        >>> library.works.duplicates().works
        3
        """
        return duplicates(self._store)

    def flow(self) -> Flow:
        """The numbers of a PRISMA 2020 flow diagram, from origins and decisions.

        >>> library.works.flow().identified
        3
        """
        from aspectra.app.ingest.flow import flow_of

        return flow_of(self._store)

    def merge(self, *papers: str) -> list[str]:
        """Make records one work, for good; returns the ids of all its records, the leading one first.

        It can be undone, and it lasts when the same files are added again.

        Args:
            papers: ids, DOIs or exact titles of two or more; the first one leads: its record is shown, and
                exported with what only the others have.

        Raises:
            NoSuchPaper: one is not in the library.
            UsageError: there are fewer than two, or two were split from each other through a third.
        """
        ids = _resolved(self._store, papers)
        if len(ids) < 2:
            raise UsageError("merging takes two papers or more", hint="aspectra merge ID ID")
        first, at = ids[0], now()
        pairs = [(*sorted((first, other)), 1, first, at) for other in ids[1:]]
        with self._store.writing("merge") as writer:
            what = f"merged {', '.join(ids[1:])} into {first}"
            with writer.marks.action("merge", what) as step:
                within = [tuple(sorted(pair)) for pair in combinations(ids, 2)]
                step.keep("pairs", within)
                writer.connection.executemany("DELETE FROM pairs WHERE one = ? AND other = ?", within)
                writer.connection.executemany("INSERT INTO pairs VALUES (?, ?, ?, ?, ?)", pairs)
                writer.regroup(ids)
                named = f"id IN ({', '.join('?' * len(ids))})"
                groups = f"SELECT DISTINCT version_group FROM papers WHERE {named}"
                if len(writer.connection.execute(groups, ids).fetchall()) != 1:
                    raise UsageError(
                        f"{', '.join(ids)} cannot become one work",
                        why="one of them is a version of a paper that another one was split from",
                        hint=f"aspectra show {ids[1]} lists its versions; aspectra split ID takes one out",
                    )
        return [first, *self._store.versions([first]).get(first, [])]

    def split(self, *papers: str) -> list[tuple[str, str]]:
        """Keep records apart, for good; returns the pairs that are kept apart.

        It can be undone, and it lasts when the same files are added again.

        Args:
            papers: one, which is split from all its versions; or several, which are split from each other.

        Raises:
            NoSuchPaper: one is not in the library.
            UsageError: a paper alone has no versions.
        """
        ids = _resolved(self._store, papers)
        if len(ids) == 1:
            others = self._store.versions(ids).get(ids[0], [])
            if not others:
                raise UsageError(
                    f"{ids[0]} has no other versions",
                    hint=f"aspectra split {ids[0]} ID keeps two papers apart",
                )
            pairs = [(ids[0], other) for other in others]
        else:
            pairs = list(combinations(ids, 2))
        at = now()
        with self._store.writing("split") as writer:
            named = {paper for pair in pairs for paper in pair}
            with writer.marks.action("split", f"split {', '.join(ids)}") as step:
                keys = [tuple(sorted(pair)) for pair in pairs]
                step.keep("pairs", keys)
                writer.connection.executemany(
                    "INSERT OR REPLACE INTO pairs VALUES (?, ?, 0, '', ?)", [(*key, at) for key in keys]
                )
                writer.regroup(named)
        return pairs

    @property
    def last_positions(self) -> list[int]:
        """The position of the paper that was added last; of a collection, that of each shard."""
        last = "SELECT coalesce(max(pos), ?1) FROM papers WHERE pos >= ?1 AND pos < ?1 + ?2"
        return [int(self._store.fetch(last, (first, SPAN))[0][0]) for first in self._store.first_places]

    def added_since(self, positions: Sequence[int]) -> NewRecords:
        """The versions of works, and the number of records with only an identifier, after some positions.

        Args:
            positions: earlier :attr:`last_positions`.
        """
        ends = ((last, first_place(last // SPAN + 1)) for last in positions)
        new = "(" + " OR ".join(f"pos > {last} AND pos < {end}" for last, end in ends) + ")"
        with self._store.snapshot():
            rows = self._store.fetch(
                f"SELECT id FROM papers WHERE {new} AND version_group IS NOT NULL ORDER BY pos"
            )
            found = self._store.versions(row[0] for row in rows)
            ((bare,),) = self._store.fetch(
                f"SELECT count(*) FROM papers WHERE {new} AND title = '' AND abstract = '' "
                "AND full_hash = '' AND pos IN (SELECT pos FROM identifiers)"
            )
        return NewRecords([(row[0], found[row[0]]) for row in rows if row[0] in found], bare)


def _resolved(store: Store, papers: Iterable[str]) -> list[str]:
    """Ids of the papers named, each once."""
    return list(dict.fromkeys(store.resolve(one) for one in papers))


def written(store: Store, papers: Any, form: str, versions: str) -> str:
    """Papers as text, see :meth:`aspectra.app.library.Library.export`.

    Args:
        store: the library.
        papers: a ranking, ids, or None for all papers.
        form: name of a writer, or ``trec``.
        versions: ``best`` or ``all``.

    Raises:
        UsageError: ``trec`` without a ranking.
    """
    from aspectra.papers.export.protocol import WRITERS
    from aspectra.search.ranking import Ranking

    if isinstance(papers, Ranking):
        if form == "trec":
            return papers.to_trec()
        papers = papers.ids
    if form == "trec":
        raise UsageError("trec is a format for rankings", hint="aspectra export last --format trec")
    held: Iterable[Paper]
    if versions == "best":
        held = one_each(store, papers)
    else:
        held = store.papers() if papers is None else store.get_many(papers).values()
    return WRITERS.get(form).write(with_marks(store, held, form, works=versions == "best"))


def one_each(store: Store, ids: Sequence[str] | None = None) -> Iterator[Paper]:
    """One record for each work, at the place of the first of its records; streaming.

    Args:
        store: the library.
        ids: of papers; the records that these have in the library count too. None for all papers.
    """
    groups = dict(store.fetch("SELECT id, version_group FROM papers WHERE version_group IS NOT NULL"))
    members: dict[int, list[str]] = defaultdict(list)
    for paper_id, group in groups.items():
        members[group].append(paper_id)
    leads = leading(store)
    done = set[int]()
    single = store.papers() if ids is None else iter(store.get_many(ids).values())
    for paper in single:
        group = groups.get(paper.id)
        if group is None:
            yield paper
        elif group not in done:
            done.add(group)
            held = store.get_many(members[group])
            yield merged_record(ordered_versions(held.values(), leads))


# The report of duplicates: groups of records that are one work, and groups to be looked at.
#
# Records are compared within blocks only: those that share an identifier, a title, or the first or last
# letters of a title. A large block is sorted by title, and each record is compared with its next ones. The
# time is therefore linear in the number of records, but for sorting.

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
    """Groups of records that are one work, or may be.

    Attributes:
        records, works: numbers of papers, and of works: a group counts once.
        groups: those to review first.
    """

    records: int
    works: int
    groups: tuple[Group, ...]


def duplicates(store: Store) -> Duplicates:
    """Find the groups of a whole library; what the user split is not reported again."""
    with store.snapshot():
        held = {one.pos: one for one in _read(store)}
        groups = dict(store.fetch("SELECT pos, version_group FROM papers WHERE version_group IS NOT NULL"))
        said: dict[tuple[str, str], tuple[int, str]] = {}
        if store.format >= MARKED:
            store.checksums.check_all("pairs")
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
    """The comparison fields of every paper, in the order in which they were added."""
    people: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for pos, name, family in store.rows("SELECT pos, name, family FROM authors"):
        people[pos].append((name, family))
    named: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for pos, scheme, value in store.rows("SELECT pos, scheme, value FROM identifiers"):
        named[pos].add((scheme, value))
    columns = "pos, id, title_key, year, venue, record, title"
    statement = f"SELECT {columns} FROM papers p WHERE {store.checksums.sound('papers', 'p')} ORDER BY pos"
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
    blocks = [*((block, compare) for block in exact.values()), *((block, near) for block in edges.values())]
    for block, rule in blocks:
        for one, other in _within(block):
            key = (min(one.pos, other.pos), max(one.pos, other.pos))
            if key not in seen and (verdict := rule(one, other)) is not None:
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


# Tags, notes, decisions and edits of a library, as methods: what the commands and other callers use.


class LibraryMarks:
    """The searcher's marks on the papers of a library: read, write and undo them.

    Papers are named by id, DOI, arXiv id or exact title. Each change is a step that :meth:`undo` takes back,
    also in a later process.

    Args:
        store: the library.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def read(self) -> Marks:
        """The current marks."""
        return self._store.marks

    def of(self, paper: str) -> dict[str, Any]:
        """All marks and origins of one paper, as JSON values; empty ones are absent.

        >>> library.marks.of("owl")["origins"][0]["source"]
        'bibtex'
        """
        held, marks = self._store.resolve(paper), self.read
        decision = marks.decisions([held]).get(held)
        found = {
            "tags": marks.tags([held]).get(held, []),
            "notes": [{**_filled(asdict(n)), "number": n.number} for n in marks.notes_of(held)],
            "decision": _filled(asdict(decision)) if decision else {},
            "edited": {name: dict(marks.edit(held).file)[name] for name in marks.edit(held).given},
            "origins": [asdict(one) for one in marks.origins([held]).get(held, [])],
        }
        return _filled(found)

    def papers(self, **wanted: Any) -> Listing:
        """Papers that meet simple conditions.

        Args:
            wanted: see :class:`~aspectra.papers.library.marks.reader.Wanted`.

        Raises:
            UsageError: a condition is not valid, or the page does not exist.

        >>> library.marks.papers(order="title").ids
        ['mice', 'owl', 'rank']
        """
        return listed(self._store, Wanted(**wanted))

    def tag(self, *papers: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> int:
        """Add and remove tags; returns how many papers changed.

        Args:
            papers: ids, DOIs, arXiv ids or exact titles.
            add: tags.
            remove: tags.

        Raises:
            NoSuchPaper: one is not in the library.
            UsageError: a tag is empty or too long.
            LibraryBusy: another process is writing.

        >>> library.marks.tag("owl", add=["to read"]), library.marks.of("owl")["tags"]
        (1, ['to read'])
        >>> library.marks.undo()[0].what
        'tag +to read on paper owl'
        """
        found = _resolved(self._store, papers)
        with self._store.writing("tag") as writer:
            return writer.marks.tag(found, add, remove)

    def note(self, paper: str, text: str, *, quote: str = "") -> int:
        """Add a note to a paper; returns its number.

        Args:
            paper: id, DOI, arXiv id or exact title.
            text: the note.
            quote: the sentence of the paper that it is about.

        Raises:
            As :meth:`tag`.
        """
        found = self._store.resolve(paper)
        with self._store.writing("note") as writer:
            return writer.marks.note(found, Note(text, quote))

    def drop_note(self, number: int) -> str:
        """Remove a note by its number; returns the paper's id.

        Raises:
            UsageError: there is none, or it comes from another program.
        """
        with self._store.writing("note") as writer:
            return writer.marks.drop_note(number)

    def decide(self, decision: str, *papers: str, reason: str = "", under: str = "") -> int:
        """Include, exclude or postpone papers; returns for how many records that is new.

        All records of a work share the decision, so that none of them is asked about again.

        Args:
            decision: ``include``, ``exclude``, ``maybe``; "" takes a decision back.
            papers: ids, DOIs, arXiv ids or exact titles.
            reason: why; one that was given before keeps its spelling.
            under: the question under which they were found.

        Raises:
            As :meth:`tag`.

        >>> library.marks.decide("exclude", "owl", reason="no mammals"), library.marks.reasons()
        (1, ['no mammals'])
        >>> library.marks.undo()[0].what, library.marks.reasons()
        ('exclude (no mammals) for paper owl', [])
        """
        found = self._records(papers)
        known = {one.casefold(): one for one in self.reasons()}
        reason = known.get(" ".join(reason.split()).casefold(), reason)
        with self._store.writing("decide") as writer:
            return writer.marks.decide(found, decision, reason, under=under)

    def reasons(self, decision: str = "") -> list[str]:
        """Reasons that were given, the most frequent first; of one decision where it is named."""
        return list(self.read.reasons(decision))

    def edit(self, paper: str, **fields: Any) -> list[str]:
        """Change fields of a paper's record; returns the names of those that changed.

        They last when the paper's file is added again. None brings the file's own value back.

        Args:
            paper: id, DOI, arXiv id or exact title.
            fields: JSON values of ``title``, ``abstract``, ``authors``, ``year``, ``venue``, ``identifiers``,
                ``url``, ``language``.

        Raises:
            As :meth:`tag`.
        """
        found = self._store.resolve(paper)
        with self._store.writing("edit") as writer:
            return writer.marks.edit(found, **fields)

    def undo(self) -> tuple[Action, list[str]]:
        """Undo the last step; returns it, and ids of papers that it concerned and that are gone.

        Raises:
            UsageError: there is none.
        """
        with self._store.writing("undo") as writer:
            return writer.marks.undo()

    def redo(self) -> tuple[Action, list[str]]:
        """Do again what was undone last; returns as :meth:`undo`.

        Raises:
            UsageError: nothing was undone since the last step.
        """
        with self._store.writing("redo") as writer:
            return writer.marks.redo()

    def check_tags(self, tags: str | Iterable[str]) -> None:
        """Refuse tags that no paper has.

        Raises:
            UsageError: with the tags there are.
        """
        for one in (tags,) if isinstance(tags, str) else tags:
            if not self.read.tagged(one):
                raise unknown_tag(self.read, one)

    def _records(self, papers: Iterable[str]) -> list[str]:
        """Papers, each with the other records of its work behind it."""
        found = _resolved(self._store, papers)
        others = self._store.versions(found)
        return list(dict.fromkeys(one for paper in found for one in (paper, *others.get(paper, ()))))


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is empty."""
    return {name: value for name, value in values.items() if value not in ("", [], {}, None)}
