"""Writes into a collection: papers into its shards; marks, works and citations over them beside these.

What a searcher says about papers is in the collection's own database, so that shards can be shared. A paper
that has a mark is copied there, since its marks refer to it. Each shard groups and links its own papers: here
papers of different shards that may be one work are compared by the same rules, and open citations are linked
to papers of other shards. A citation that its own shard linked keeps its target.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

import msgspec

from aspectra.base.errors import UsageError
from aspectra.papers.library import schema
from aspectra.papers.library.links.citations import open_links
from aspectra.papers.library.links.versions import regroup_all
from aspectra.papers.library.marks.actions import NEXT, STEPS, count_change, rows_now, steps_of_shards
from aspectra.papers.library.marks.values import Action, counted_papers
from aspectra.papers.library.marks.writer import MarksWriter
from aspectra.papers.library.mutations import AddReport, Writer
from aspectra.papers.library.row_sums import ROWS, install
from aspectra.papers.library.rows import positions_of, transaction
from aspectra.papers.library.shards import MOST, SPAN, first_place, shard_of
from aspectra.papers.paper import Paper, Remark

if TYPE_CHECKING:
    from aspectra.papers.library.derived import DerivedWriter

_IN_MEMORY = 1 << 24  # bytes of the records of one file for one shard, before they go to the disk

# Marks that records bring; the other columns of their tables count rows or are checksums.
_MARKS = {name: [one for one in ROWS[name] if one != "id"] for name in ("tags", "notes", "decisions")}
_PARTS = ("papers", "sections", "identifiers", "authors", "citations")  # of a paper, the paper first

# Columns of references without the papers that they mean, which need not be copied.
_UNLINKED = "pos, ordinal, record, NULL, row_hash(pos, ordinal, NULL)"


def take_marks(db: sqlite3.Connection, shards: Iterable[int]) -> None:
    """Move the marks that records brought from the shards into the collection.

    Args:
        db: a writing connection to the collection, in autocommit mode.
        shards: their numbers.
    """
    moved = 0
    with transaction(db):
        for number in shards:
            for table, names in _MARKS.items():
                columns = ", ".join(names)
                put = f"INSERT OR IGNORE INTO main.{table} ({columns}) "
                moved += db.execute(f"{put} SELECT {columns} FROM shard{number}.{table}").rowcount
                db.execute(f"DELETE FROM shard{number}.{table}")
        if moved:
            count_change(db, "marks", "notes")


def copy_marked(db: sqlite3.Connection, shards: Iterable[int], *, anew: bool = False) -> None:
    """Copy the papers that have marks into the collection's own database.

    Parts of steps that are gone are dropped too: without foreign keys nothing else does.

    Args:
        db: as in :func:`take_marks`, without foreign keys.
        shards: as there.
        anew: copy all of them again.
    """
    with transaction(db):
        db.execute("DELETE FROM action_parts WHERE action NOT IN (SELECT id FROM actions)")
        if anew:
            for table in _PARTS:
                db.execute(f"DELETE FROM main.{table}")
        marked = " UNION ".join(f"SELECT pos FROM main.{table}" for table in _MARKS)
        lacking = f"SELECT pos FROM ({marked}) WHERE pos NOT IN (SELECT pos FROM main.papers)"
        for number in shards:
            inside = f"pos > {first_place(number)} AND pos < {first_place(number + 1)}"
            places = ",".join(str(pos) for (pos,) in db.execute(f"{lacking} AND {inside}"))
            for table in _PARTS if places else ():
                columns = _UNLINKED if table == "citations" else "*"
                rows = f"SELECT {columns} FROM shard{number}.{table} WHERE pos IN ({places})"
                db.execute(f"INSERT OR REPLACE INTO main.{table} {rows}")


def drop_marks(db: sqlite3.Connection) -> None:
    """Remove the marks of papers that are gone; ``db`` as in :func:`copy_marked`."""
    with transaction(db):
        for table in _MARKS:
            found = f"SELECT 1 FROM papers p WHERE p.pos = main.{table}.pos"
            db.execute(f"DELETE FROM main.{table} WHERE NOT EXISTS ({found})")


class ShardsWriter(Writer):
    """Writer of a collection: papers go to the shard that their id names.

    Each file is read once. Interrupted, a shard may have its papers of a file and another may not: adding the
    file again completes it.

    Args:
        connection: a writing connection to the collection's own database.
        writers: of the shards, by number.
    """

    def __init__(self, connection: sqlite3.Connection, writers: Sequence[Writer]) -> None:
        super().__init__(connection)
        self._writers = writers

    def add(
        self,
        records: Iterable[Paper | Remark],
        *,
        path: str = "",
        source: str = "",
        whole: bool = True,
        report: AddReport | None = None,
        same: Collection[str] = (),
    ) -> AddReport:
        """See :meth:`Writer.add`; remarks are kept by the first shard."""
        report = AddReport() if report is None else report
        failures: list[BaseException] = []
        cut = False
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(SpooledTemporaryFile(max_size=_IN_MEMORY)) for _ in self._writers]
            try:
                for record in records:
                    number = shard_of(record.id, len(files)) if isinstance(record, Paper) else 0
                    files[number].write(_line(record))
                    cut = isinstance(record, Remark) and record.skipped  # the last one: see Writer.add
            except BaseException as error:  # what was read before the failure is kept
                failures.append(error)
            for writer, file in zip(self._writers, files, strict=True):
                file.seek(0)
                writer.add(
                    _records(file),
                    path=path,
                    source=source,
                    whole=whole and not failures and not cut,
                    report=report,
                    same=same,
                )
        take_marks(self._db, range(len(self._writers)))
        if failures:
            raise failures[0]
        return report

    def remove(self, ids: Sequence[str]) -> int:
        """See :meth:`Writer.remove`."""
        found = list(positions_of(self._db, ids, "nothing was removed"))
        kept = [rows_now(self._db, table, found, every_source=True) for table in _MARKS]
        numbers = list[int]()
        for number, writer in enumerate(self._writers):
            if mine := [one for one in found if shard_of(one, len(self._writers)) == number]:
                writer.remove(mine)
                numbers.append(number)
        self.marks.keep_steps("remove", f"removed {counted_papers(found)}", numbers, kept)
        return len(found)

    @cached_property
    def marks(self) -> ShardsMarks:
        """See :attr:`Writer.marks`."""
        return ShardsMarks(self._db, self._writers)

    @cached_property
    def derived(self) -> DerivedWriter:
        """Raises UsageError: values of papers are written into the shards, by their own writers."""
        raise UsageError("values of papers are written into the shards of a collection")

    def regroup(self, ids: Iterable[str]) -> None:
        """See :meth:`Writer.regroup`; the works of all shards are grouped anew."""
        group_shards(self._db)

    def link(self) -> None:
        """Nothing: shards link their own citations, and the index those between them."""

    def checkpoint(self) -> None:
        """Move the write-ahead logs into the databases."""
        super().checkpoint()
        for writer in self._writers:
            writer.checkpoint()


class ShardsMarks(MarksWriter):
    """Writes marks of a collection; edits and removals are steps of the shards, which steps here name.

    Undoing such a step undoes those of the shards. These come first, and going back they come last: killed
    in between, the next ``undo`` finds them done and goes on.

    Args:
        db: as in :class:`MarksWriter`.
        writers: of the shards, by number.
    """

    def __init__(self, db: sqlite3.Connection, writers: Sequence[Writer]) -> None:
        super().__init__(db)
        self._writers = writers

    def _regroup(self, ids: Collection[str]) -> None:
        group_shards(self._db)

    def edit(self, paper: str, **fields: Any) -> list[str]:
        """See :meth:`MarksWriter.edit`."""
        number = self._positions([paper])[paper] // SPAN
        changed = self._writers[number].marks.edit(paper, **fields)
        if changed:
            self.keep_steps("edit", f"edit of {', '.join(changed)} of {paper}", [number])
        return changed

    def undo(self) -> tuple[Action, list[str]]:
        """See :meth:`MarksWriter.undo`."""
        turned = [one.marks.undo() for one in self._waiting(undone=True)]
        action, missing = super().undo()
        return action, list(dict.fromkeys([*chain.from_iterable(gone for _, gone in turned), *missing]))

    def redo(self) -> tuple[Action, list[str]]:
        """See :meth:`MarksWriter.redo`."""
        waiting = self._waiting(undone=False)
        action, missing = super().redo()
        turned = [one.marks.redo() for one in waiting]
        return action, list(dict.fromkeys([*missing, *chain.from_iterable(gone for _, gone in turned)]))

    def keep_steps(
        self, verb: str, what: str, numbers: Iterable[int], kept: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Record the last steps of some shards as one step.

        Args:
            verb: the command.
            what: what was done, for a person.
            numbers: of the shards.
            kept: rows of the collection's own, as they were before.
        """
        with self.action(verb, what) as step:
            last = [
                (n, *self._db.execute(f"SELECT max(id) FROM shard{n}.actions").fetchone()) for n in numbers
            ]
            step.put({"table": STEPS, "steps": last})
            for part in kept:
                step.put(part)
            count_change(self._db, "marks")

    def _waiting(self, *, undone: bool) -> list[Writer]:
        """Writers of the shards whose last step is to be undone, or done again, with the collection's.

        Raises:
            UsageError: a shard was changed by itself since.
        """
        waiting = list[Writer]()
        for number, step in steps_of_shards(self._db, undone=undone):
            actions = f"FROM shard{number}.actions WHERE"
            if self._db.execute(f"SELECT 1 {actions} id = ? AND undone = ?", (step, undone)).fetchone():
                continue
            found = self._db.execute(f"SELECT id {actions} {NEXT[undone]} LIMIT 1").fetchone()
            if found != (step,):
                verb = "undo" if undone else "redo"
                raise UsageError(
                    f"this step cannot be {'undone' if undone else 'done again'}",
                    why=f"papers of the shard {number} were changed by themselves since",
                    hint=f"aspectra {verb} --list, with shards/{number} as the library",
                )
            waiting.append(self._writers[number])
        return waiting


class _Record(msgspec.Struct):
    """One record between reading and writing."""

    paper: Paper | None = None
    remark: tuple[str, str, bool] | None = None


def _line(record: Paper | Remark) -> bytes:
    if isinstance(record, Paper):
        return msgspec.json.encode(_Record(record)) + b"\n"
    return msgspec.json.encode(_Record(None, (record.place, record.reason, record.skipped))) + b"\n"


def _records(lines: Iterable[bytes]) -> Iterator[Paper | Remark]:
    decoder = msgspec.json.Decoder(_Record)
    for line in lines:
        stored = decoder.decode(line)
        if stored.paper is not None:
            yield stored.paper
        elif stored.remark is not None:
            yield Remark(*stored.remark)


_APART = f"HAVING min(pos / {SPAN}) < max(pos / {SPAN})"
_LISTED = "(SELECT value FROM json_each(?))"
# Table -> its columns by which versions of a work are told.
_COMPARED = {
    **{table: ROWS[table] for table in ("papers", "pairs")},
    "identifiers": ("scheme", "value", "pos"),
    "authors": ("name", "family", "pos"),
}


def link_shards(db: sqlite3.Connection) -> None:
    """Write the tables ``works`` and ``links`` of a collection anew.

    Args:
        db: a writing connection to the collection, in autocommit mode.
    """
    groups = _groups_across(db)
    links = [(pos, ordinal, target) for target, pos, ordinal in open_links(db)]
    with transaction(db):
        _put_groups(db, groups)
        db.execute("DELETE FROM links")
        db.executemany("INSERT INTO links VALUES (?, ?, ?)", links)


def group_shards(db: sqlite3.Connection) -> None:
    """Write the table ``works`` anew, within the caller's transaction."""
    _put_groups(db, _groups_across(db))


def _put_groups(db: sqlite3.Connection, groups: Iterable[tuple[int, int]]) -> None:
    db.execute("DELETE FROM works")
    db.executemany("INSERT INTO works VALUES (?, ?)", groups)


def _groups_across(db: sqlite3.Connection) -> list[tuple[int, int]]:
    """The rows of ``works``: (place, group) of the papers whose group is not that of their shard."""
    places = _compared_places(db)
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as few:
        install(few)
        schema.create_tables(few, "tables", "derived", "marks", "checksums")
        groups = _grouped_anew(db, few, places)
    own: dict[int, Any] = {}
    for number, within in _by_shard(places):
        held = f"SELECT pos, version_group FROM shard{number}.papers WHERE pos IN {_LISTED}"
        own |= {pos: None if group is None else (number, group) for pos, group in db.execute(held, within)}
    before, now = _together(own), _together(groups)
    return [
        (pos, 0 if group is None else MOST * SPAN + group)
        for pos, group in groups.items()
        if now[pos] != before[pos]
    ]


def _together(groups: Mapping[int, Any]) -> dict[int, set[int]]:
    """Place -> those of its group; of a paper in none, itself."""
    members: dict[Any, set[int]] = {}
    for pos, group in groups.items():
        members.setdefault(("alone", pos) if group is None else group, set()).add(pos)
    return {pos: held for held in members.values() for pos in held}


def _by_shard(places: Iterable[int]) -> Iterator[tuple[int, list[str]]]:
    """(number of a shard, its places as the value of a statement), of those that have any."""
    for number, held in groupby(sorted(places), lambda pos: pos // SPAN):
        yield number, [json.dumps([*held])]


def _grouped_anew(
    db: sqlite3.Connection, few: sqlite3.Connection, places: Iterable[int]
) -> dict[int, int | None]:
    """Place -> group of these papers, compared with each other.

    Args:
        db: a connection to the collection.
        few: an empty database with the tables of a library.
        places: of the papers.
    """
    listed = [json.dumps(sorted(places))]
    for table, columns in _COMPARED.items():
        where, values = (f"WHERE pos IN {_LISTED}", listed) if "pos" in columns else ("", [])
        held = db.execute(f"SELECT {', '.join(columns)} FROM {table} {where}", values)
        marks = ", ".join("?" * len(columns))
        few.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", held)
    few.execute("UPDATE papers SET checksum = 0")
    regroup_all(few)
    return dict(few.execute("SELECT pos, version_group FROM papers"))


def _compared_places(db: sqlite3.Connection) -> set[int]:
    """Places of papers that were merged or split, or that are alike over shards; and of their works."""
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
    for number, within in [*_by_shard(places)]:
        groups = f"SELECT version_group FROM shard{number}.papers WHERE pos IN {_LISTED}"
        take(db.execute(f"SELECT pos FROM shard{number}.papers WHERE version_group IN ({groups})", within))
    return places
