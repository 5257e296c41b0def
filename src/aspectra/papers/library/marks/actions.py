"""Steps that can be undone: before a step changes rows, it keeps them as they are.

A step is stored as compressed parts. Undoing puts the rows of each part back, the last part first, and keeps
in its place what was there: so the same code undoes and redoes. Parts name papers by id.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from aspectra.base.errors import UsageError
from aspectra.base.values import now
from aspectra.papers.library.links.versions import regroup_ids
from aspectra.papers.library.marks.values import KEPT_STEPS, Action, refile
from aspectra.papers.library.row_sums import ROWS
from aspectra.papers.library.rows import bump, count_up, drop_papers, put_paper, stored_paper, transaction
from aspectra.papers.paper import Paper

_BLOCK = 200  # papers in one part: what is in memory at once
# Tables with rows of papers, as columns beside the position.
_OF_PAPERS = {
    table: ", ".join(column for column in ROWS[table] if column != "pos")
    for table in ("tags", "notes", "decisions", "external")
}
_OWN = {name: "AND source = ''" if name != "external" else "" for name in _OF_PAPERS}
# Whether a step is to be undone -> which of them is next.
NEXT = {True: "NOT undone ORDER BY id DESC", False: "undone ORDER BY id"}
# Tables without papers -> the columns of their key.
_KEYED = {"pairs": ("one", "other"), "saved": ("name",)}


def count_change(db: sqlite3.Connection, *names: str) -> None:
    """Count a change of ``marks`` or ``notes``, so that whoever keeps a copy sees that it is old."""
    for name in names:
        count_up(db, f"{name}_revision")


def rename_marked(db: sqlite3.Connection, names: MutableMapping[str, str]) -> None:
    """Use new ids in merges, splits and steps that can be undone; empties ``names``: old id -> new id."""
    if not names:
        return

    def pair(row: Sequence[Any]) -> tuple[Any, ...]:
        one, other = sorted(names.get(paper, paper) for paper in row[:2])
        return one, other, *(names.get(value, value) for value in row[2:])

    said = [
        row
        for row in db.execute("SELECT one, other, same, leads, at FROM pairs")
        if not names.keys().isdisjoint(row[:2])
    ]
    db.executemany("DELETE FROM pairs WHERE one = ? AND other = ?", [row[:2] for row in said])
    db.executemany("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?, ?, ?)", map(pair, said))
    regroup_ids(db, {paper for row in said for paper in pair(row)[:2]})
    for action, number, data in db.execute("SELECT action, number, data FROM action_parts").fetchall():
        part = _opened(data)
        paired = part["table"] == "pairs"
        if not paired and part["table"] not in (*_OF_PAPERS, "edits"):
            continue
        if names.keys().isdisjoint(one for key, _ in part["rows"] for one in (key if paired else (key,))):
            continue
        part["rows"] = [
            (pair(key), list(map(pair, rows))) if paired else (names.get(key, key), rows)
            for key, rows in part["rows"]
        ]
        put = "UPDATE action_parts SET data = ? WHERE action = ? AND number = ?"
        db.execute(put, (_packed(part), action, number))
    names.clear()


def _packed(part: Mapping[str, Any]) -> bytes:
    return zlib.compress(json.dumps(part, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _opened(data: bytes) -> dict[str, Any]:
    part: dict[str, Any] = json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
    return part


class UndoStep:
    """One step under way: keeps what it is about to change.

    Attributes:
        what: what is done, for a person; may be changed until the step is finished.
    """

    def __init__(self, db: sqlite3.Connection, number: int, what: str) -> None:
        self._db = db
        self._number = number
        self._parts = 0
        self.what = what

    def keep(self, table: str, keys: Collection[Any]) -> None:
        """Keep the rows of a table as they are.

        Args:
            table: ``tags``, ``notes``, ``decisions``, ``edits``, ``external`` (by ids of papers; of the first
                three only what the searcher wrote), ``papers`` (about to be removed, with all that is known
                of them), ``pairs`` (by two ids) or ``saved`` (by name).
            keys: whose rows.
        """
        for block in _blocks(keys):
            self.put(rows_now(self._db, table, block))

    def put(self, part: Mapping[str, Any]) -> None:
        """Store one part."""
        self._parts += 1
        row = (self._number, self._parts, _packed(part))
        self._db.execute("INSERT INTO action_parts VALUES (?, ?, ?)", row)

    def forget(self) -> None:
        """Drop what was kept: nothing was changed."""
        self._db.execute("DELETE FROM action_parts WHERE action = ?", (self._number,))
        self._parts = 0

    @property
    def empty(self) -> bool:
        """True if nothing was kept."""
        return self._parts == 0


class ActionWriter:
    """Records steps and undoes them.

    Args:
        db: a writing connection in autocommit mode.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def _regroup(self, ids: Collection[str]) -> None:
        """Group the versions of works anew after pairs of these ids changed."""
        regroup_ids(self._db, ids)

    @contextlib.contextmanager
    def action(self, verb: str, what: str) -> Iterator[UndoStep]:
        """One step that can be undone, in one transaction: :meth:`UndoStep.keep` what it is about to change.

        What was undone before cannot be redone after it.

        Args:
            verb: the command.
            what: what is done, for a person, as ``tagged 3 papers +method``.
        """
        db = self._db
        with transaction(db):
            cursor = db.execute(
                "INSERT INTO actions (at, verb, what, undone) VALUES (?, ?, '', 0)", (now(), verb)
            )
            number = int(cursor.lastrowid or 0)
            made = UndoStep(db, number, what)
            yield made
            if made.empty:
                db.execute("DELETE FROM actions WHERE id = ?", (number,))
                return
            db.execute("DELETE FROM actions WHERE undone")
            db.execute("UPDATE actions SET what = ? WHERE id = ?", (made.what, number))
            latest = "SELECT id FROM actions ORDER BY id DESC LIMIT ?"
            db.execute(f"DELETE FROM actions WHERE id NOT IN ({latest})", (KEPT_STEPS,))

    def undo(self) -> tuple[Action, list[str]]:
        """Undo the last step; returns it, and ids of papers that it concerned and that are gone.

        Raises:
            UsageError: there is none.
        """
        return self._turn("undo", undone=True)

    def redo(self) -> tuple[Action, list[str]]:
        """Do again what was undone last; returns it, and ids of papers that it concerned and that are gone.

        Raises:
            UsageError: nothing was undone since the last step.
        """
        return self._turn("redo", undone=False)

    def _turn(self, verb: str, *, undone: bool) -> tuple[Action, list[str]]:
        db = self._db
        with transaction(db):
            row = db.execute(
                f"SELECT id, at, verb, what FROM actions WHERE {NEXT[undone]} LIMIT 1"
            ).fetchone()
            if row is None:
                raise UsageError(
                    f"there is nothing to {verb}",
                    why="adding files cannot be undone; tags, notes, decisions, edits and other changes can",
                    hint="aspectra status",
                )
            made = UndoStep(db, row[0], row[3])
            of_step = "FROM action_parts WHERE action = ?"
            numbers = [n for (n,) in db.execute(f"SELECT number {of_step} ORDER BY number DESC", row[:1])]
            made._parts = numbers[0]
            missing: dict[str, None] = {}
            for number in numbers:
                (data,) = db.execute(f"SELECT data {of_step} AND number = ?", (row[0], number)).fetchone()
                inverse = self._restore(_opened(data), missing)
                db.execute("DELETE FROM action_parts WHERE action = ? AND number = ?", (row[0], number))
                made.put(inverse)
            db.execute("UPDATE actions SET undone = ? WHERE id = ?", (int(undone), row[0]))
            count_change(db, "marks")
        return Action(row[0], row[1], row[2], row[3], undone), list(missing)

    def _restore(self, part: Mapping[str, Any], missing: dict[str, None]) -> Mapping[str, Any]:
        """Put the rows of one part back; returns the part that undoes this."""
        db, table = self._db, part["table"]
        if table == STEPS:
            return part
        if table == "papers":
            bump(db)
            count_change(db, "notes")
            return _bring_back(db, part["papers"])
        if table == "gone":
            found = [i for i in part["ids"] if _position(db, i) is not None]
            missing |= dict.fromkeys(set(part["ids"]).difference(found))
            inverse = rows_now(db, "papers", found)
            drop_papers(db, (_position(db, one) or 0 for one in found))
            bump(db)
            count_change(db, "notes")
            return inverse
        keys = [tuple(k) if isinstance(k, list) else k for k, _ in part["rows"]]
        inverse = rows_now(db, table, keys)
        if table in _KEYED:
            _put_keyed(db, table, part["rows"])
            if table == "pairs":
                self._regroup({one for key in keys for one in key})
            return inverse
        for paper, rows in part["rows"]:
            pos = _position(db, paper)
            if pos is None:
                missing[paper] = None
            elif table == "edits":
                refile(db, pos, rows)
            else:
                db.execute(f"DELETE FROM {table} WHERE pos = ? {_OWN[table]}", (pos,))
                _put_rows(db, table, pos, rows)
        if table == "edits":
            bump(db)
        if table == "notes":
            count_change(db, "notes")
        return inverse


STEPS = "steps"  # parts that name steps of the shards of a collection, which are undone there


def steps_of_shards(db: sqlite3.Connection, *, undone: bool) -> list[tuple[int, int]]:
    """(number of a shard, its step) of the step of a collection that is undone or done again next.

    Args:
        db: a connection to the collection.
        undone: whether the step is to be undone.
    """
    step = f"SELECT id FROM actions WHERE {NEXT[undone]} LIMIT 1"
    found = db.execute(f"SELECT data FROM action_parts WHERE action = ({step}) ORDER BY number")
    parts = [_opened(data) for (data,) in found]
    return [(number, one) for part in parts if part["table"] == STEPS for number, one in part["steps"]]


def _blocks(keys: Iterable[Any]) -> Iterator[list[Any]]:
    whole = list(keys)
    for start in range(0, len(whole), _BLOCK):
        yield whole[start : start + _BLOCK]


def _position(db: sqlite3.Connection, paper: str) -> int | None:
    row = db.execute("SELECT pos FROM papers WHERE id = ?", (paper,)).fetchone()
    return None if row is None else int(row[0])


def rows_now(
    db: sqlite3.Connection, table: str, keys: Sequence[Any], *, every_source: bool = False
) -> dict[str, Any]:
    """The part that brings the present rows of a table back.

    Args:
        db: a connection.
        table: see :meth:`UndoStep.keep`.
        keys: as there.
        every_source: of tags, notes and decisions also those that the searcher did not write.
    """
    if table == "papers":
        return {"table": "papers", "papers": [_whole(db, one) for one in keys]}
    if table in _KEYED:
        where = " AND ".join(f"{name} = ?" for name in _KEYED[table])
        columns, rows = ", ".join(ROWS[table]), list[Any]()
        for key in keys:
            values = key if isinstance(key, tuple) else (key,)
            rows.append((key, db.execute(f"SELECT {columns} FROM {table} WHERE {where}", values).fetchall()))
        return {"table": table, "rows": rows}
    found = []
    for paper in keys:
        pos = _position(db, paper)
        if table == "edits":
            row = db.execute("SELECT given FROM edits WHERE pos = ?", (pos,)).fetchone()
            found.append((paper, json.loads(row[0]) if row else {}))
        else:
            found.append((paper, _rows(db, table, pos, "" if every_source else _OWN[table])))
    return {"table": table, "rows": found}


def _rows(db: sqlite3.Connection, table: str, pos: int | None, own: str = "") -> list[Any]:
    return db.execute(f"SELECT {_OF_PAPERS[table]} FROM {table} WHERE pos = ? {own}", (pos,)).fetchall()


def _put_rows(db: sqlite3.Connection, table: str, pos: int, rows: Iterable[Sequence[Any]]) -> None:
    for row in rows:
        marks = ", ".join("?" * (len(row) + 1))
        db.execute(f"INSERT OR REPLACE INTO {table} (pos, {_OF_PAPERS[table]}) VALUES ({marks})", (pos, *row))


def _put_keyed(db: sqlite3.Connection, table: str, states: Iterable[tuple[Any, Iterable[Any]]]) -> None:
    where = " AND ".join(f"{name} = ?" for name in _KEYED[table])
    for key, rows in states:
        db.execute(f"DELETE FROM {table} WHERE {where}", key if isinstance(key, list) else [key])
        for row in rows:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def _whole(db: sqlite3.Connection, paper: str) -> dict[str, Any]:
    """Everything that the library holds about a paper and that cannot be made again."""
    pos = _position(db, paper)
    if pos is None:
        raise KeyError(paper)
    edit = db.execute("SELECT given, file, file_hash, at FROM edits WHERE pos = ?", (pos,)).fetchone()
    origins = db.execute("SELECT file, number FROM origins WHERE pos = ?", (pos,)).fetchall()
    return {
        "pos": pos,
        "paper": stored_paper(db, pos).to_dict(),
        "edit": edit,
        "origins": origins,
        **{table: _rows(db, table, pos) for table in _OF_PAPERS},
    }


def _bring_back(db: sqlite3.Connection, papers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Store removed papers with their marks; returns the part that removes them.

    A paper that was added again meanwhile stays as it is now, and has its marks again.
    """
    back = []
    for held in papers:
        paper = Paper.from_dict(held["paper"])
        pos = _position(db, paper.id)
        if pos is None:
            taken = db.execute("SELECT 1 FROM papers WHERE pos = ?", (held["pos"],)).fetchone()
            pos = put_paper(db, paper, free=None if taken else held["pos"])
            back.append(paper.id)
            if held["edit"]:
                db.execute("INSERT INTO edits VALUES (?, ?, ?, ?, ?)", (pos, *held["edit"]))
        for table in _OF_PAPERS:
            _put_rows(db, table, pos, held[table])
        db.executemany(
            "UPDATE origins SET pos = ? WHERE file = ? AND number = ? AND pos IS NULL",
            [(pos, *one) for one in held["origins"]],
        )
    return {"table": "gone", "ids": back}
