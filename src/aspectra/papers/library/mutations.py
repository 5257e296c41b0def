"""Everything that changes ``library.db``: adding, removing, linking."""

from __future__ import annotations

import difflib
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

from aspectra.base.values import now, replace
from aspectra.papers.bibliography import shared_text
from aspectra.papers.identifiers import normalise
from aspectra.papers.ids import numbered
from aspectra.papers.library.links import citations
from aspectra.papers.library.links.versions import (
    Compared,
    compare,
    contradict,
    regroup,
    regroup_all,
    regroup_ids,
)
from aspectra.papers.library.marks.actions import rename_marked
from aspectra.papers.library.marks.reader import part_marks, stated_decision
from aspectra.papers.library.marks.values import (
    Edit,
    OriginWriter,
    counted_papers,
    edited,
    edits_by_position,
    put_edit,
    stated_database,
    values_of,
)
from aspectra.papers.library.rows import (
    bump,
    compared_record,
    drop_papers,
    positions_of,
    put_paper,
    put_setting,
    stored_paper,
    transaction,
)
from aspectra.papers.paper import Paper, Remark, normalise_title

if TYPE_CHECKING:
    from aspectra.papers.library.derived import DerivedWriter
    from aspectra.papers.library.marks.writer import MarksWriter


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
        """True if a record that shares an id with a stored paper is that paper with other content.

        A file may correct its own record. A record of another file is the same paper if it has the same title
        or a common identifier, and nothing contradicts it, as another place in print does where the title is
        all that they share. If several papers share the id, a common identifier alone is not enough.
        """
        files = {row[0] for row in self._db.execute("SELECT file FROM origins WHERE pos = ?", (pos,))}
        of_others = files != ({self._file} if self._file else set())
        if not of_others and one.title == title:
            return True
        stored = self.filed(pos)
        other = compared_record(stored)
        if of_others and contradict(one, other):
            return False
        shared, verdict = one.named & other.named, compare(one, other)
        if one.title == other.title != "":
            sure = not of_others or (verdict is not None and verdict.kind == "one")
            return sure or not _printed_elsewhere(one, paper, other, stored)
        if not one.title or not other.title:
            texts = [normalise_title(each.abstract) for each in (paper, stored)]
            return not of_others or bool(shared) or not all(texts) or texts[0] == texts[1]
        named = shared and not several and (not of_others or one.families & other.families)
        return (
            bool(named)
            or (verdict is not None and verdict.kind == "one")
            or (not of_others and difflib.SequenceMatcher(None, one.title, other.title).ratio() >= 0.7)
        )


def _printed_elsewhere(one: Compared, paper: Paper, other: Compared, stored: Paper) -> bool:
    """True if two records say that they are printed in other places: editorials share title and author."""
    told = [(one.page, other.page), (one.venue, other.venue)]
    told += [
        (shared_text(paper.metadata, name), shared_text(stored.metadata, name))
        for name in ("volume", "issue")
    ]
    return any(mine and theirs and mine != theirs for mine, theirs in told)


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


_BATCH = 1000  # papers per transaction: what a kill can undo
_MOST_WAITING = 10_000  # records that are kept for the end of their file
# Kept where another file's record has none.
_FIELDS = ("title", "authors", "year", "venue", "url", "language")
# Sources that read a record off the pages of a document: it only fills what a record from elsewhere lacks.
_PAGES = ("pdf", "docx", "epub", "html", "markdown")


@dataclass
class AddReport:
    """The result of one ``add``.

    Attributes:
        added, updated, unchanged: papers by outcome.
        skipped: records left out, each with a remark.
        remarks: every remark, skipped records and notes, in file order.
        with_abstract, with_full_text: among the papers read.
        decisions: new ones that the records bring, beside the searcher's own.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    with_abstract: int = 0
    with_full_text: int = 0
    decisions: int = 0
    remarks: list[Remark] = field(default_factory=list)

    @property
    def papers(self) -> int:
        """The number of papers read: added, updated and unchanged."""
        return self.added + self.updated + self.unchanged


class Writer:
    """Writes to a library; made by :meth:`Store.writing`, which holds the lock.

    Args:
        connection: a writing connection in autocommit mode.
        regroup: group the versions of all works anew, since the rules have changed.
    """

    def __init__(self, connection: sqlite3.Connection, *, regroup: bool = False) -> None:
        self._db = connection
        if regroup:
            with transaction(self._db):
                regroup_all(self._db)
        self._renamed: dict[str, str] = {}

    @property
    def connection(self) -> sqlite3.Connection:
        """The writing connection, in autocommit mode but within :meth:`MarksWriter.action`."""
        return self._db

    def set_meta(self, key: str, value: str) -> None:
        """Store one value of the library's own small key-value table."""
        put_setting(self._db, key, value)

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
        """Add papers; idempotent by content hash, committed in batches.

        A record whose id the library already holds is left alone when its content is the same, replaces
        the old one when it is the same paper with other content, and is kept beside it under ``id~2``
        when it is a different paper, so that nothing is lost. A record with text takes the place of a stored
        paper without any that has one of its identifiers.

        Args:
            records: papers and remarks, as a source yields them.
            path: the file they came from, for ``status``.
            source: name of the source that read it.
            whole: whether these are all records of the file, see :class:`OriginWriter`.
            report: what is counted in, and returned; a new one where None.
            same: ids whose records are the same papers whatever their titles are now.
        """
        report = AddReport() if report is None else report
        self._path, self._source = path, source
        at = now()
        with transaction(self._db):
            addition = self._db.execute(
                "INSERT INTO additions (path, source, at, added, updated, unchanged) "
                "VALUES (?, ?, ?, 0, 0, 0)",
                (path, source, at),
            ).lastrowid
        failures: list[BaseException] = []

        def until_failure() -> Iterator[Paper | Remark]:
            try:
                yield from records
            except BaseException as error:  # what was read before the failure is kept
                failures.append(error)

        readable = until_failure()
        waiting: list[Paper | Remark] = []
        self._renamed.clear()
        matcher = Matcher(self._db, path, same)
        self._edits, self._filed = matcher.edits, matcher.filed
        origins = OriginWriter(self._db, path, source, whole=whole)
        stored = len(report.remarks)
        cut = False
        while batch := list(islice(readable, _BATCH)) or waiting:
            if last := batch is waiting:
                waiting = []
            with transaction(self._db):
                changed = report.added + report.updated
                self._ungrouped = set[int]()
                for record in batch:
                    if isinstance(record, Remark):
                        cut = cut or bool(record.skipped)
                        report.remarks.append(record)
                        report.skipped += record.skipped
                    else:
                        cut = cut and last
                        paper, *marks = part_marks(record)
                        match = matcher.match(paper, wait=not last and len(waiting) < _MOST_WAITING)
                        if match is None:
                            waiting.append(record)
                            continue
                        pos = self._add_one(*match, report)
                        if any(marks):
                            self.marks.import_marks(pos, *marks)
                        origins.read(record.id, stated_database(record), pos)
                        report.decisions += self._screened(record, pos, path or source)
                regroup(self._db, self._ungrouped)
                rename_marked(self._db, self._renamed)
                origins.store()
                self._db.executemany(
                    "INSERT INTO remarks VALUES (?, ?, ?, ?)",
                    [(addition, r.place, r.reason, int(r.skipped)) for r in report.remarks[stored:]],
                )
                stored = len(report.remarks)
                self._db.execute(
                    "UPDATE additions SET added = ?, updated = ?, unchanged = ? WHERE id = ?",
                    (report.added, report.updated, report.unchanged, addition),
                )
                if report.added + report.updated > changed:
                    bump(self._db)
        if failures:
            raise failures[0]
        if not cut:  # an unreadable last record means that the file was cut, or half synced
            with transaction(self._db):
                origins.finish()
        return report

    def copy(self, papers: Iterable[tuple[int, Paper]]) -> None:
        """Store the papers of another library as they are, at their positions; the library must be empty."""
        left = iter(papers)
        while batch := list(islice(left, _BATCH)):
            with transaction(self._db):
                for pos, paper in batch:
                    put_paper(self._db, paper, free=pos)
                bump(self._db)

    def regroup(self, ids: Iterable[str]) -> None:
        """Group works anew within a transaction: what the user said of these papers changed."""
        regroup_ids(self._db, ids)

    def link(self) -> None:
        """Link the citations of papers that were added or changed, and those that now find a paper.

        Called when the writer is done. Which papers are left to link is in the database: the process that
        added them may have been killed before it came here.
        """
        if self._db.execute("SELECT 1 FROM unlinked LIMIT 1").fetchone():
            with transaction(self._db):
                citations.link_citations(self._db)

    @cached_property
    def derived(self) -> DerivedWriter:
        """Writes what is derived from papers."""
        from aspectra.papers.library.derived import DerivedWriter  # loads numpy

        return DerivedWriter(self._db)

    @cached_property
    def marks(self) -> MarksWriter:
        """Writes what the searcher says about papers."""
        from aspectra.papers.library.marks.writer import MarksWriter

        return MarksWriter(self._db)

    def _add_one(self, paper: Paper, pos: int | None, note: Remark | None, report: AddReport) -> int:
        """Add one record; returns the position of the paper that it is."""
        if note:
            report.remarks.append(note)
        report.with_abstract += bool(paper.abstract)
        report.with_full_text += paper.has_full_text
        new = pos is None
        if pos is None and (pos := same_named(self._db, paper)) is None:
            report.added += 1
            return put_paper(self._db, paper)
        held, known_as = self._db.execute(
            "SELECT content_hash, id FROM papers WHERE pos = ?", (pos,)
        ).fetchone()
        if new and paper.has_text:
            self._renamed[known_as] = paper.id
        edit = self._edits.get(pos)
        file_hash = paper.content_hash
        if (new and not paper.has_text) or file_hash == (edit.file_hash if edit else held):
            report.unchanged += 1
            return pos
        paper, kept = self._filled(paper, pos)
        if edit:
            paper, overruled = self._with_edit(paper, pos, replace(edit, file_hash=file_hash))
            report.remarks += overruled
        if held == paper.content_hash:
            report.unchanged += 1
            return pos
        if kept:
            why = f"the new record has no {' and no '.join(kept)}: kept from the one before"
            report.remarks.append(Remark(f"id {paper.id}", why, skipped=False))
        put_paper(self._db, paper, pos, ungrouped=self._ungrouped)
        report.updated += 1
        return pos

    def _screened(self, record: Paper, pos: int, file: str) -> bool:
        """Store the decision that a record brings; returns whether it is new."""
        if not file or not ("screening" in record.metadata or "note" in record.metadata):
            return False
        decision = stated_decision(record, file)
        return decision is not None and self.marks.import_decision(pos, decision)

    def _with_edit(self, paper: Paper, pos: int, edit: Edit) -> tuple[Paper, list[Remark]]:
        """The paper as the searcher edited it, and remarks on what its file says otherwise now."""
        new = values_of(paper, edit.given)
        fields = [name for name in edit.given if new[name] != edit.file[name]]
        edit = replace(edit, file=new)
        put_edit(self._db, pos, edit)
        self._edits[pos] = edit
        why = f"its file has another {' and another '.join(fields)} now: what you edited was kept"
        return edited(paper, edit.given), [Remark(f"id {paper.id}", why, skipped=False)] if fields else []

    def _filled(self, paper: Paper, pos: int) -> tuple[Paper, list[str]]:
        """The paper with what only the stored record has, and the names of the texts that were kept.

        A poorer record of the same paper (a bibliography entry after its PDF) must not take its texts away,
        nor one of another file any other field; a file that was corrected may empty fields of its own. What
        was read off a document's pages replaces nothing that came from elsewhere but texts.
        """
        stored = self._filed(pos)
        kept = []
        origins = self._db.execute("SELECT file, source FROM origins WHERE pos = ?", (pos,)).fetchall()
        read_off = self._source in _PAGES and not (origins and all(source in _PAGES for _, source in origins))
        if read_off or (self._path and any(file != self._path for file, _ in origins)):
            first, then = (stored, paper) if read_off else (paper, stored)
            paper = replace(
                paper,
                **{name: getattr(first, name) or getattr(then, name) for name in _FIELDS},
                identifiers={**then.identifiers, **first.identifiers},
                metadata={**then.metadata, **first.metadata},
            )
        if stored.abstract.strip() and (read_off or not paper.abstract.strip()):
            paper = replace(paper, abstract=stored.abstract, sentences=stored.sentences)
            kept += [] if read_off else ["abstract"]
        if stored.has_full_text and not paper.has_full_text:
            paper = replace(paper, sections=stored.sections)
            kept.append("full text")
        if stored.references and not paper.references:
            paper = replace(paper, references=stored.references)
            kept.append("references")
        return paper, kept

    def remove(self, ids: Sequence[str]) -> int:
        """Remove papers, which can be undone; returns how many there were.

        What was derived from them stays until an index is written without them, as a paper may come back.

        Raises:
            NoSuchPaper: an id is not in the library; then nothing is removed.
        """
        with self.marks.action("remove", "") as step:
            at = positions_of(self._db, ids, "nothing was removed")
            step.what = f"removed {counted_papers(at)}"
            step.keep("papers", list(at))
            drop_papers(self._db, at.values())
            bump(self._db)
        return len(at)

    def checkpoint(self) -> None:
        """Move the write-ahead log into the database, so that readers need not scan it."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
