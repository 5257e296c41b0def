"""Writes what a searcher says about papers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from aspectra.base.errors import UsageError
from aspectra.base.values import now, replace
from aspectra.papers.library.marks.actions import ActionWriter, UndoStep, count_change
from aspectra.papers.library.marks.values import (
    DECISIONS,
    EDITABLE,
    Decision,
    Item,
    Note,
    counted_papers,
    refile,
    values_of,
)
from aspectra.papers.library.row_sums import MARKED, ROWS, SUMMED, row_hash
from aspectra.papers.library.rows import bump, positions_of, stored_paper, transaction
from aspectra.papers.names import given_first
from aspectra.papers.text.cleaning import one_line

# Marks of a damaged library, saved into a new one.

_OF_PAPERS = ("tags", "notes", "decisions", "edits", "external", "origins")
_OTHERS = ("pairs", "saved", "actions", "action_parts")


def copy_sound_marks(
    db: sqlite3.Connection, fetch: Callable[[str, Sequence[Any]], list[Any]], number: int
) -> list[str]:
    """Copy every mark that is as it was written; returns what was left out, for a person.

    Args:
        db: a writing connection of the new library, which has the same papers, within a transaction.
        fetch: all rows of a reading statement of the old library.
        number: the old library's format.
    """
    if number < MARKED:
        return []
    old = dict(fetch("SELECT pos, id FROM papers", ()))
    new = dict(db.execute("SELECT id, pos FROM papers"))
    left_out, held = [], "SELECT 1 FROM actions WHERE id = ?"
    for table in (*_OF_PAPERS, *_OTHERS):
        columns = ROWS[table]
        at = columns.index("pos") if table in _OF_PAPERS else None
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        checksum = "checksum" if number >= SUMMED else "NULL"
        for stored, *row in fetch(f"SELECT {checksum}, {', '.join(columns)} FROM {table}", ()):
            pos = row[at] if at is not None else None
            if (stored is not None and stored != row_hash(*row)) or (pos is not None and pos not in old):
                whose = f" of {old[pos]!r}" if pos in old else ""
                left_out.append(f"{_NAMES.get(table, table)}{whose}")
                continue
            if at is not None and pos is not None:
                row[at] = new[old[pos]]
            if table != "action_parts" or db.execute(held, row[:1]).fetchone():
                db.execute(insert, row)
    # A step is whole or cannot be undone.
    wrong = "SELECT id FROM actions WHERE id NOT IN (SELECT action FROM action_parts)"
    db.execute(f"DELETE FROM actions WHERE id IN ({wrong})")
    return left_out


_NAMES = {"edits": "edited fields", "external": "links to another program", "action_parts": "steps to undo"}


_LONGEST_TAG = 200
_NOTE = "kind, text, quote, page, colour, source, key, created, modified"
_PUT_NOTE = f"INSERT INTO notes (pos, {_NOTE}) VALUES ({', '.join('?' * 10)})"


class MarksWriter(ActionWriter):
    """Writes marks; part of :class:`~aspectra.papers.library.mutations.Writer`.

    All papers are named by their ids; an unknown id is an error, and nothing is written then. What the
    searcher does here can be undone; what comes from another source cannot, as it comes again from there.

    Args:
        db: a writing connection in autocommit mode.
    """

    def tag(self, papers: Sequence[str], add: Iterable[str] = (), remove: Iterable[str] = ()) -> int:
        """Add tags to papers and take tags away; returns how many papers changed.

        Args:
            papers: their ids.
            add: tags; spaces at their ends do not count.
            remove: tags, whatever their case; those of another source stay, as they would come again.

        Raises:
            NoSuchPaper: an id is not in the library.
            UsageError: a tag is empty or too long.
        """
        new, old = [_tag(_typed(one)) for one in add], [_tag(_typed(one)) for one in remove]
        with self.action("tag", "") as step:
            at = self._positions(papers)
            step.keep("tags", list(at))
            changed = set()
            for pos in at.values():
                for one in old:
                    drop = "DELETE FROM tags WHERE pos = ? AND tag = ? COLLATE NOCASE AND source = ''"
                    if self._db.execute(drop, (pos, one)).rowcount:
                        changed.add(pos)
                for one in new:
                    put = "INSERT OR IGNORE INTO tags VALUES (?, ?, '')"
                    if self._db.execute(put, (pos, one)).rowcount > 0:
                        changed.add(pos)
            words = " ".join([*(f"+{one}" for one in new), *(f"-{one}" for one in old)])
            step.what = f"tag {words} on {counted_papers(at)}"
            _count(self._db, step, changed)
        return len(changed)

    def note(self, paper: str, note: Note) -> int:
        """Add a note to a paper; returns its number.

        Raises:
            NoSuchPaper: the id is not in the library.
            UsageError: the note says nothing.
        """
        if not note.text.strip() and not note.quote.strip():
            raise UsageError("the note is empty", hint='aspectra note PAPER "what you think of it"')
        with self.action("note", f"note on {paper}") as step:
            at = self._positions([paper])
            step.keep("notes", [paper])
            written = now()
            own = replace(note, source="", created=note.created or written, modified=written)
            number = int(self._db.execute(_PUT_NOTE, (at[paper], *_note_row(own))).lastrowid or 0)
            count_change(self._db, "marks", "notes")
        return number

    def drop_note(self, number: int) -> str:
        """Remove a note of the searcher's own; returns the paper's id.

        Raises:
            UsageError: no note has this number, or it comes from another program.
        """
        find = "SELECT p.id, n.source FROM notes n JOIN papers p USING (pos) WHERE n.id = ?"
        row = self._db.execute(find, (number,)).fetchone()
        if row is None:
            raise UsageError(f"there is no note {number}", hint="aspectra show PAPER lists its notes")
        if row[1]:
            raise UsageError(f"note {number} comes from {row[1]}", hint="remove it there")
        with self.action("note", f"removed note {number} of {row[0]}") as step:
            step.keep("notes", [row[0]])
            self._db.execute("DELETE FROM notes WHERE id = ?", (number,))
            count_change(self._db, "marks", "notes")
        return str(row[0])

    def decide(self, papers: Sequence[str], decision: str, reason: str = "", *, under: str = "") -> int:
        """Include or exclude papers; returns the number of papers whose decision changed.

        Args:
            papers: their ids.
            decision: one of :data:`DECISIONS`, or "" to take it back, also one that came with a file.
            reason: why, or "".
            under: the question under which they were found, or "".

        Raises:
            NoSuchPaper: an id is not in the library.
            UsageError: ``decision`` is not one of them.
        """
        if decision and decision not in DECISIONS:
            raise UsageError(f"there is no decision {decision!r}", hint=f"one of {', '.join(DECISIONS)}")
        reason, changed = _typed(reason), 0
        with self.action("decide", "") as step:
            at = self._positions(papers)
            step.keep("decisions", list(at))
            for pos in at.values():
                find = "SELECT decision, reason FROM decisions WHERE pos = ? AND source = ''"
                old = self._db.execute(find, (pos,)).fetchone()
                said = "SELECT 1 FROM decisions WHERE pos = ? AND source != '' AND decision != ''"
                # What a file says counts until it is taken back, too.
                by_file = not decision and self._db.execute(said, (pos,)).fetchone() is not None
                if (old or (None if by_file else ("", ""))) == (decision, reason):
                    continue
                changed += 1
                self._db.execute("DELETE FROM decisions WHERE pos = ? AND source = ''", (pos,))
                if decision or by_file:
                    put_decision(self._db, pos, Decision(decision, reason, under=under))
            step.what = (
                f"{decision or 'no decision'}{f' ({reason})' if reason else ''} for {counted_papers(at)}"
            )
            _count(self._db, step, changed)
        return changed

    def edit(self, paper: str, **fields: Any) -> list[str]:
        """Change fields of a paper's record; returns the names of those that changed.

        The values last when the paper's file is added again; None brings the file's own value back.

        Args:
            paper: its id.
            fields: JSON values of :data:`EDITABLE`.

        Raises:
            NoSuchPaper: the id is not in the library.
            UsageError: a field does not exist or cannot be edited, or its value has the wrong type.
        """
        unknown = set(fields).difference(EDITABLE)
        if unknown:
            raise UsageError(f"there is no field {min(unknown)!r}", hint=f"one of {', '.join(EDITABLE)}")
        if isinstance(names := fields.get("authors"), list | tuple):
            fields["authors"] = [given_first(one) if isinstance(one, str) else one for one in names]
        with self.action("edit", "") as step:
            ((_, pos),) = self._positions([paper]).items()
            row = self._db.execute("SELECT given FROM edits WHERE pos = ?", (pos,)).fetchone()
            before = json.loads(row[0]) if row else {}
            whole = values_of(stored_paper(self._db, pos), EDITABLE)
            changed = [n for n, v in fields.items() if (n in before if v is None else whole[n] != v)]
            if not changed:
                return []
            given = {n: v for n, v in {**before, **{n: fields[n] for n in changed}}.items() if v is not None}
            step.keep("edits", [paper])
            step.what = f"edit of {', '.join(changed)} of {paper}"
            try:
                refile(self._db, pos, given)
            except msgspec.ValidationError as error:
                raise UsageError(f"{paper} cannot be changed so", why=str(error)) from error
            bump(self._db)
            count_change(self._db, "marks")
        return changed

    def put(self, source: str, marks: Mapping[str, tuple[Collection[str], Sequence[Note]]]) -> list[str]:
        """Replace the tags and notes that another source holds of papers, in one transaction.

        Args:
            source: its name, not "".
            marks: id of a paper -> (tags, notes); empty ones remove what this source held.

        Returns:
            The ids of the papers for which anything changed.

        Raises:
            NoSuchPaper: an id is not in the library.
            ValueError: the source is "".
        """
        if not source:
            raise ValueError("what the searcher writes has no source")
        changed = []
        with transaction(self._db):
            noted = False
            for paper, pos in self._positions(marks).items():
                tags, notes = {_tag(one) for one in marks[paper][0] if one.strip()}, marks[paper][1]
                had = self._db.execute("SELECT tag FROM tags WHERE pos = ? AND source = ?", (pos, source))
                find = f"SELECT {_NOTE} FROM notes WHERE pos = ? AND source = ? ORDER BY id"
                same_tags = {row[0] for row in had} == tags
                rows = [_note_row(replace(one, source=source)) for one in notes]
                same_notes = self._db.execute(find, (pos, source)).fetchall() == rows
                if same_tags and same_notes:
                    continue
                changed.append(paper)
                if not same_tags:
                    self._db.execute("DELETE FROM tags WHERE pos = ? AND source = ?", (pos, source))
                    rows_of = [(pos, one, source) for one in sorted(tags)]
                    self._db.executemany("INSERT INTO tags VALUES (?, ?, ?)", rows_of)
                if not same_notes:
                    noted = True
                    self._db.execute("DELETE FROM notes WHERE pos = ? AND source = ?", (pos, source))
                    self._db.executemany(_PUT_NOTE, [(pos, *row) for row in rows])
            if changed:
                count_change(self._db, "marks", *(["notes"] if noted else []))
        return changed

    def import_decision(self, pos: int, decision: Decision) -> bool:
        """Store the decision that a file brings on the paper at a position, within a transaction.

        Returns:
            Whether it is another than the file brought before.
        """
        changed = put_decision(self._db, pos, decision)
        if changed:
            count_change(self._db, "marks")
        return changed

    def import_marks(self, pos: int, tags: Iterable[str], notes: Iterable[str]) -> None:
        """Add tags and notes that the searcher once exported to the paper at a position, in a transaction.

        What the paper has already is not added again, and what can be no tag is left out.
        """
        had = {row[0].casefold() for row in self._db.execute("SELECT tag FROM tags WHERE pos = ?", (pos,))}
        new = {tag.casefold(): tag for tag in map(one_line, tags) if 0 < len(tag) <= _LONGEST_TAG}
        rows = [(pos, tag, "") for key, tag in new.items() if key not in had]
        find = "SELECT text, quote, kind, page FROM notes WHERE pos = ?"
        known = {Note(*row).line for row in self._db.execute(find, (pos,))}
        at = now()
        lines = [Note(line, created=at, modified=at) for line in dict.fromkeys(map(one_line, notes))]
        lines = [note for note in lines if note.text and note.line not in known]
        self._db.executemany("INSERT INTO tags VALUES (?, ?, ?)", rows)
        self._db.executemany(_PUT_NOTE, [(pos, *_note_row(note)) for note in lines])
        if rows or lines:
            count_change(self._db, "marks", *(["notes"] if lines else []))

    def put_items(self, items: Mapping[Item, str]) -> None:
        """Store which papers are which items of another program.

        Args:
            items: item -> id of the paper.

        Raises:
            NoSuchPaper: an id is not in the library.
        """
        with transaction(self._db):
            at = self._positions(items.values())
            self._db.executemany(
                "INSERT OR REPLACE INTO external VALUES (?, ?, ?, ?, ?)",
                [(i.system, i.library, i.key, at[paper], i.version) for i, paper in items.items()],
            )

    def drop_items(self, items: Iterable[Item]) -> None:
        """Forget items of another program; their papers stay."""
        with transaction(self._db):
            self._db.executemany(
                "DELETE FROM external WHERE system = ? AND library = ? AND key = ?",
                [(i.system, i.library, i.key) for i in items],
            )

    def copy_sound(self, fetch: Callable[[str, Sequence[Any]], list[Any]], number: int) -> list[str]:
        """Copy the marks of a damaged library; returns what was left out, see :func:`copy_sound_marks`.

        Args:
            fetch: all rows of a reading statement of that library.
            number: its format.
        """
        with transaction(self._db):
            return copy_sound_marks(self._db, fetch, number)

    def _positions(self, papers: Iterable[str]) -> dict[str, int]:
        """Id -> position, in the order given, each once."""
        return positions_of(self._db, papers, "nothing was changed")


def put_decision(db: sqlite3.Connection, pos: int, decision: Decision) -> bool:
    """Store the decision of one source on one paper; returns whether it is another than before."""
    find = "SELECT decision, reason FROM decisions WHERE pos = ? AND source = ?"
    old = db.execute(find, (pos, decision.source)).fetchone()
    if old == (decision.decision, decision.reason):
        return False
    at = decision.at or now()
    row = (pos, decision.source, decision.decision, decision.reason, at, decision.under)
    db.execute("INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?, ?, ?)", row)
    return True


def _count(db: sqlite3.Connection, step: UndoStep, changed: Any) -> None:
    """Count a change of marks; without one there is nothing to undo."""
    if changed:
        count_change(db, "marks")
    else:
        step.forget()


def _note_row(note: Note) -> tuple[str, ...]:
    texts = (note.kind, note.text, note.quote, note.page, note.colour, note.source, note.key)
    return (*texts, note.created, note.modified)


def _typed(text: str) -> str:
    """The searcher's text on one line; UnicodeEncodeError if it cannot be encoded as UTF-8."""
    text.encode()
    return one_line(text)


def _tag(text: str) -> str:
    tag = one_line(text)
    if not tag or len(tag) > _LONGEST_TAG:
        raise UsageError(
            f"{text[:40]!r} cannot be a tag",
            why=f"tags have 1 to {_LONGEST_TAG} characters",
            hint="aspectra tag PAPER +to-read",
        )
    return tag
