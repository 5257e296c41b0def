"""The stored paper that a record of a file is: by its id, its content and its title, in any order."""

from __future__ import annotations

import difflib
import re
import sqlite3
from collections.abc import Collection
from itertools import chain, islice

from aspectra.papers.identifiers import normalise
from aspectra.papers.ids import numbered
from aspectra.papers.library.links.likeness import Compared, compare, contradict
from aspectra.papers.library.marks.values import edited, edits_by_position
from aspectra.papers.library.rows import compared_record, stored_paper
from aspectra.papers.paper import Paper, Remark, normalise_title

_LONGEST_ID = 500
_COMPARED = 50  # papers that share an id, at most, with which a record of another title is compared
_NUMBER = re.compile(r"~\d{1,6}")
_ROW = "SELECT id, content_hash, title_key, pos FROM papers WHERE"
_Row = tuple[str, str, str, int]
# Identifiers that only one paper has: a book's ISBN names its chapters too.
_SCHEMES = ("doi", "arxiv", "pmid", "pmcid", "openalex", "s2", "acl")
_WITHOUT_TEXT = " AND title = '' AND abstract = '' AND full_hash = ''"


def _root(own: str) -> str:
    """An id without the numbers that papers called alike get."""
    while (at := own.rfind("~")) > 0 and _NUMBER.fullmatch(own, at):
        own = own[:at]
    return own


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
        self._left: dict[str, dict[str, tuple[str, int]]] = {}
        self._ids: dict[tuple[str, str], list[str]] = {}

    def match(self, paper: Paper, *, wait: bool) -> tuple[Paper, int | None, Remark | None] | None:
        """The paper under the id it is stored as, the position if it is stored, and a remark on another id.

        None where it must wait for the end of the file, if it can wait.
        """
        own = "".join(c for c in paper.id if c.isprintable()).strip()[:_LONGEST_ID] or "unnamed"
        row = self._db.execute(f"{_ROW} id = ?", (own,)).fetchone()
        edit = row and self.edits.get(row[3])
        known = own in self._same and own not in self._taken
        if row and (known or paper.content_hash in (row[1], edit and edit.file_hash)):
            found, pos = own, row[3]
        else:
            found, pos = self._among(paper, own, row, wait=wait)
        if not found:
            return None
        self._taken.add(found)
        if self._left:
            self._left.get(_root(found), {}).pop(found, None)
        if found == paper.id:
            return paper, pos, None
        why = (
            f"another paper has the id {own!r}; this one is kept as {found!r}"
            if found != own
            else f"the id {paper.id[:60]!r} was shortened to printable text"
        )
        return paper.with_id(found), pos, Remark(f"id {own}", why, skipped=False)

    def filed(self, pos: int) -> Paper:
        """The stored paper as its file has it, without the searcher's edits."""
        edit = self.edits.get(pos)
        return edited(stored_paper(self._db, pos), edit.file if edit else {})

    def _among(self, paper: Paper, own: str, row: _Row | None, *, wait: bool) -> tuple[str, int | None]:
        """Id and position of the paper that a record is, or the id of a new one; "" where it must wait."""
        root = _root(own)
        left = self._sharing(root, own, row)
        if not left and row is None:
            return own, None
        if at := self._first(root, paper.content_hash):
            return at, left[at][1]
        record, several = compared_record(paper), root in self._left
        titled = own if left.get(own, (None,))[0] == record.title else self._first(root, record.title)
        if wait and left and (several or titled != own):
            return "", None
        for one in dict.fromkeys((titled, own, *islice(left, _COMPARED))):
            if one in left and self._same_paper(paper, record, *left[one], several=several):
                return one, left[one][1]
        ids = chain((own,), numbered(own))
        return next(one for one in ids if one not in left and one not in self._taken), None

    def _sharing(self, root: str, own: str, row: _Row | None) -> dict[str, tuple[str, int]]:
        """Id -> title key and position of the papers that share an id and are not found yet."""
        if root in self._left:
            return self._left[root]
        ids = (f"{root}~", f"{root}~:")  # ":" comes after the digits
        rows = self._db.execute(f"{_ROW} id > ? AND id < ? ORDER BY pos DESC", ids).fetchall()
        first = row if own == root else self._db.execute(f"{_ROW} id = ?", (root,)).fetchone()
        rows = [r for r in (*rows, first) if r and r[0] not in self._taken and _root(r[0]) == root]
        left = {one: (title, pos) for one, _, title, pos in rows}
        if own == root and not left.keys() - {root}:
            return left  # no other record has this id
        for one, content, title, pos in rows:
            keys = (content, title)
            if edit := self.edits.get(pos):
                keys = edit.file_hash, compared_record(self.filed(pos)).title
            left[one] = keys[1], pos
            for key in keys:
                self._ids.setdefault((root, key), []).append(one)
        self._left[root] = left
        return left

    def _first(self, root: str, key: str) -> str:
        """The first paper left of those that share an id with this content hash or title key; else ""."""
        ids = self._ids.get((root, key), []) if key else []
        while ids and ids[-1] not in self._left[root]:
            ids.pop()
        return ids[-1] if ids else ""

    def _same_paper(self, paper: Paper, one: Compared, title: str, pos: int, *, several: bool) -> bool:
        """Whether a record that shares an id with a stored paper is that paper with other content.

        A file may correct what it said. A record of another file is the same paper where it has its title or
        one of its identifiers, and nothing contradicts it. Where several papers share the id, an identifier
        alone does not tell.
        """
        files = {row[0] for row in self._db.execute("SELECT file FROM origins WHERE pos = ?", (pos,))}
        of_others = files != ({self._file} if self._file else set())
        if not of_others and one.title == title:
            return True
        stored = self.filed(pos)
        other = compared_record(stored)
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


def same_named(db: sqlite3.Connection, paper: Paper) -> int | None:
    """Position of the stored paper that a new record stands for, by an identifier that both have; else None.

    For a record with text that is a paper without text, which it completes. For a record without text it is
    any paper with that identifier, so that a list of identifiers adds nothing twice.

    Args:
        db: the library's database.
        paper: a record whose id the library does not hold.
    """
    only = _WITHOUT_TEXT if paper.has_text else ""
    for scheme in _SCHEMES:
        if value := normalise(scheme, paper.identifiers.get(scheme)):
            row = db.execute(
                "SELECT pos FROM identifiers JOIN papers USING (pos) "
                f"WHERE scheme = ? AND value = ?{only} ORDER BY pos LIMIT 1",
                (scheme, value),
            ).fetchone()
            if row:
                return int(row[0])
    return None
