"""Works: what of a library is one work, and what the user says about it."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from aspectra.base.errors import UsageError
from aspectra.papers.library.links.versions import leading, merged_record, ordered_versions, regroup_ids
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

if TYPE_CHECKING:
    from aspectra.app.ingest.duplicates import Duplicates
    from aspectra.app.ingest.flow import Flow


class NewRecords(NamedTuple):
    """What records that were added are.

    Attributes:
        versions: (id, ids of the other records of the work), for those that are versions.
        to_complete: how many have an identifier and nothing else.
    """

    versions: list[tuple[str, list[str]]]
    to_complete: int


class Works:
    """What of a library is one work; the property ``works`` of :class:`aspectra.app.library.Library`.

    Args:
        store: the library.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def duplicates(self) -> Duplicates:
        """Groups of records that are one work, and groups to be looked at, with the reasons.

        >>> library.works.duplicates().works
        3
        """
        from aspectra.app.ingest.duplicates import duplicates

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
        ids = self._named(papers)
        if len(ids) < 2:
            raise UsageError("merging takes two papers or more", hint="aspectra merge ID ID")
        first, now = ids[0], _now()
        pairs = [(*sorted((first, other)), 1, first, now) for other in ids[1:]]
        with self._store.writing("merge") as writer:
            what = f"merged {', '.join(ids[1:])} into {first}"
            with writer.marks.action("merge", what) as step:
                within = [tuple(sorted((a, b))) for n, a in enumerate(ids) for b in ids[n + 1 :]]
                step.keep("pairs", within)
                for pair in within:
                    writer.connection.execute("DELETE FROM pairs WHERE one = ? AND other = ?", pair)
                writer.connection.executemany("INSERT INTO pairs VALUES (?, ?, ?, ?, ?)", pairs)
                regroup_ids(writer.connection, ids)
                if len(_groups(writer.connection, ids)) != 1:
                    raise UsageError(
                        f"{', '.join(ids)} cannot become one work",
                        why="one of them is a version of a paper that another one was split from",
                        hint=f"aspectra show {ids[1]} lists its versions; aspectra split ID takes one out",
                    )
        return [first, *self._store.versions([first]).get(first, [])]

    def split(self, *papers: str) -> list[tuple[str, str]]:
        """Keep records apart, for good; returns the pairs that are no longer, or never become, one work.

        It can be undone, and it lasts when the same files are added again.

        Args:
            papers: one, which is split from all its versions; or several, which are split from each other.

        Raises:
            NoSuchPaper: one is not in the library.
            UsageError: a paper alone has no versions.
        """
        ids = self._named(papers)
        if len(ids) == 1:
            others = self._store.versions(ids).get(ids[0], [])
            if not others:
                raise UsageError(
                    f"{ids[0]} has no other versions",
                    hint=f"aspectra split {ids[0]} ID keeps two papers apart",
                )
            pairs = [(ids[0], other) for other in others]
        else:
            pairs = [(a, b) for n, a in enumerate(ids) for b in ids[n + 1 :]]
        now = _now()
        with self._store.writing("split") as writer:
            named = {paper for pair in pairs for paper in pair}
            with writer.marks.action("split", f"split {', '.join(ids)}") as step:
                keys = [tuple(sorted(pair)) for pair in pairs]
                step.keep("pairs", keys)
                writer.connection.executemany(
                    "INSERT OR REPLACE INTO pairs VALUES (?, ?, 0, '', ?)", [(*key, now) for key in keys]
                )
                regroup_ids(writer.connection, named)
        return pairs

    @property
    def last_position(self) -> int:
        """The position of the paper that was added last; 0 without papers."""
        return int(self._store.fetch("SELECT coalesce(max(pos), 0) FROM papers")[0][0])

    def added_since(self, position: int) -> NewRecords:
        """What the papers after a position are: versions of works, or identifiers alone."""
        with self._store.snapshot():
            rows = self._store.fetch(
                "SELECT id FROM papers WHERE pos > ? AND version_group IS NOT NULL ORDER BY pos", (position,)
            )
            found = self._store.versions(row[0] for row in rows)
            ((bare,),) = self._store.fetch(
                "SELECT count(*) FROM papers WHERE pos > ? AND title = '' AND abstract = '' "
                "AND full_hash = '' AND pos IN (SELECT pos FROM identifiers)",
                (position,),
            )
        return NewRecords([(row[0], found[row[0]]) for row in rows if row[0] in found], bare)

    def _named(self, papers: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(self._store.resolve(one) for one in papers))


def _groups(db: sqlite3.Connection, ids: Sequence[str]) -> set[Any]:
    statement = f"SELECT version_group FROM papers WHERE id IN ({', '.join('?' * len(ids))})"
    return {row[0] for row in db.execute(statement, ids)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


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
    from aspectra.papers.library.marks.carrying import with_marks
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
