"""The stored paper that a record of a file is: by its id, its content and its title, in any order."""

from __future__ import annotations

import difflib
import re
import sqlite3
from collections.abc import Collection
from itertools import chain, islice
from typing import NamedTuple

from aspectra.papers.ids import numbered
from aspectra.papers.library.links.likeness import compare, contradict
from aspectra.papers.library.marks.edits import edited, edits_by_position
from aspectra.papers.library.rows import compared_record, stored_paper, title_key
from aspectra.papers.paper import Paper, normalise_title
from aspectra.papers.remark import Remark

__all__ = ["Match", "Matcher"]

_LONGEST_ID = 500
_COMPARED = 50  # papers that share an id, at most, with which a record of another title is compared
_NUMBER = re.compile(r"~\d{1,6}")
_ROW = "SELECT id, content_hash, title_key, pos FROM papers WHERE"


def _root(own: str) -> str:
    """An id without the numbers that papers called alike get."""
    while (at := own.rfind("~")) > 0 and _NUMBER.fullmatch(own, at):
        own = own[:at]
    return own


class _Sharing:
    """The papers that shared one id before the file, without those that its records were found to be.

    Attributes:
        rows: id -> (title key, position).
        by: content hash or title key -> ids, the first one last.
        free: ids for further papers.
    """

    def __init__(self, root: str) -> None:
        self.rows: dict[str, tuple[str, int]] = {}
        self.by: dict[str, list[str]] = {}
        self.free = numbered(root)

    def find(self, key: str) -> str:
        """The first one with a content hash or title key; "" without one."""
        ids = self.by.get(key, [])
        while ids and ids[-1] not in self.rows:
            ids.pop()
        return ids[-1] if ids and key else ""


class Match(NamedTuple):
    """A record under the id it is stored as, the position of its paper or None, and a remark or None."""

    paper: Paper
    pos: int | None
    note: Remark | None


class Matcher:
    """Finds the stored paper that each record of one file is.

    Papers of a file that share an id (one DOI for all abstracts of a congress) are stored as ``X``, ``X~2``,
    ``X~3``, in the order that they had at first. A record is looked for among them by its content, then by
    its title. One that is changed or new waits until the others have found their papers.

    Args:
        db: a writing connection.
        file: that the records are from, or "".
        same: ids whose records are the same papers whatever their titles are now.

    Attributes:
        edits: position -> the searcher's edit.
    """

    def __init__(self, db: sqlite3.Connection, file: str, same: Collection[str]) -> None:
        self._db, self._file, self._same = db, file, same
        self.edits = edits_by_position(db)
        self._taken: set[str] = set()
        self._shared: dict[str, _Sharing] = {}

    def match(self, paper: Paper, *, wait: bool) -> Match | None:
        """The stored paper that a record is, if any; None where the record must wait.

        Args:
            paper: the record.
            wait: whether it can wait for the end of the file.
        """
        own = "".join(c for c in paper.id if c.isprintable()).strip()[:_LONGEST_ID] or "unnamed"
        row = self._db.execute("SELECT content_hash, pos FROM papers WHERE id = ?", (own,)).fetchone()
        edit = row and self.edits.get(row[1])
        known = own in self._same and own not in self._taken
        if row and (known or paper.content_hash in (row[0], edit and edit.file_hash)):
            found, pos = own, row[1]
        elif not row and "~" not in own and not self._numbered(own, "LIMIT 1"):
            found, pos = own, None
        else:
            found, pos = self._among(paper, own, wait=wait)
        if not found:
            return None
        self._taken.add(found)
        if self._shared and (sharing := self._shared.get(_root(found))):
            sharing.rows.pop(found, None)
        if found == paper.id:
            return Match(paper, pos, None)
        why = (
            f"another paper has the id {own!r}; this one is kept as {found!r}"
            if found != own
            else f"the id {paper.id[:60]!r} was shortened to printable text"
        )
        return Match(paper.with_id(found), pos, Remark(f"id {own}", why, skipped=False))

    def filed(self, pos: int) -> Paper:
        """The stored paper as its file has it, without the searcher's edits."""
        edit = self.edits.get(pos)
        return edited(stored_paper(self._db, pos), edit.file if edit else {})

    def _among(self, paper: Paper, own: str, *, wait: bool) -> tuple[str, int | None]:
        """Id and position of the paper that a record is, or the id of a new one; "" where it must wait."""
        root = _root(own)
        sharing = self._sharing(root, own)
        rows, several = sharing.rows, root in self._shared
        if at := sharing.find(paper.content_hash):
            return at, rows[at][1]
        title = title_key(paper.title) if rows else ""
        titled = own if own in rows and rows[own][0] == title else sharing.find(title)
        if wait and rows and (several or titled != own):
            return "", None
        for one in dict.fromkeys((titled, own, *islice(rows, _COMPARED))):
            if one in rows and self._same_paper(paper, *rows[one], several=several):
                return one, rows[one][1]
        ids = chain((own,), sharing.free)
        return next(one for one in ids if one not in rows and one not in self._taken), None

    def _sharing(self, root: str, own: str) -> _Sharing:
        """The papers that share an id and are not found yet."""
        if root in self._shared:
            return self._shared[root]
        out = _Sharing(root)
        own_row = self._db.execute(f"{_ROW} id = ?", (root,)).fetchall()
        for one, content, title, pos in (*self._numbered(root, "ORDER BY pos DESC"), *own_row):
            if one in self._taken or _root(one) != root:
                continue
            edit = self.edits.get(pos)
            if edit and "title" in edit.file:
                title = title_key(edit.file["title"])  # noqa: PLW2901
            out.rows[one] = (title, pos)
            for key in (edit.file_hash if edit else content, title):
                out.by.setdefault(key, []).append(one)
        if own != root or out.rows.keys() - {root}:  # else no other record has this id
            self._shared[root] = out
        return out

    def _numbered(self, root: str, how: str) -> list[tuple[str, str, str, int]]:
        """Rows of the papers ``root~2``, ``root~3`` and so on; ":" comes after the digits."""
        ids = (f"{root}~", f"{root}~:")
        return self._db.execute(f"{_ROW} id > ? AND id < ? {how}", ids).fetchall()

    def _same_paper(self, paper: Paper, title: str, pos: int, *, several: bool) -> bool:
        """Whether a record that shares an id with a stored paper is that paper with other content.

        A file may correct what it said. A record of another file is the same paper where it has its title or
        one of its identifiers, and nothing contradicts it. Where several papers share the id, an identifier
        alone does not tell.
        """
        of_others = self._of_another_file(pos)
        if not of_others and title_key(paper.title) == title:
            return True
        stored = self.filed(pos)
        one, other = compared_record(paper), compared_record(stored)
        if of_others and contradict(one, other):
            return False
        shared = one.named & other.named
        if one.title == other.title != "":
            return True
        if not one.title or not other.title:
            texts = [normalise_title(each.abstract) for each in (paper, stored)]
            return not of_others or bool(shared) or not all(texts) or texts[0] == texts[1]
        named = shared and not several and (not of_others or one.families & other.families)
        verdict = compare(one, other)
        return (
            bool(named)
            or (verdict is not None and verdict.kind == "one")
            or (not of_others and difflib.SequenceMatcher(None, one.title, other.title).ratio() >= 0.7)
        )

    def _of_another_file(self, pos: int) -> bool:
        """Whether the paper was read from another file than the one under way."""
        files = {row[0] for row in self._db.execute("SELECT file FROM origins WHERE pos = ?", (pos,))}
        return files != ({self._file} if self._file else set())
