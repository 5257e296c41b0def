"""Everything that changes ``library.db``: adding, removing, linking."""

from __future__ import annotations

import contextlib
import difflib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

from aspectra.base.errors import NoSuchPaper
from aspectra.papers.identifiers import normalise
from aspectra.papers.ids import numbered
from aspectra.papers.library.links import citations, versions
from aspectra.papers.library.rows import author_keys, paper_columns, paper_from_row, paper_row
from aspectra.papers.paper import Paper, normalise_title
from aspectra.papers.remark import Remark

if TYPE_CHECKING:
    from aspectra.papers.library.derived import DerivedWriter

__all__ = ["AddReport", "Writer"]

_BATCH = 1000  # papers per transaction: what a kill can undo
_LONGEST_ID = 500


@dataclass
class AddReport:
    """What one ``add`` did.

    Attributes:
        added, updated, unchanged: papers by outcome.
        skipped: records left out, each with a remark.
        remarks: every remark, skipped records and notes, in file order.
        with_abstract, with_full_text: among the papers read.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    with_abstract: int = 0
    with_full_text: int = 0
    remarks: list[Remark] = field(default_factory=list)

    @property
    def papers(self) -> int:
        """Papers read, whatever became of them."""
        return self.added + self.updated + self.unchanged


class Writer:
    """Writes to a library; made by :meth:`Store.writing`, which holds the lock.

    Args:
        connection: a writing connection in autocommit mode.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # After "disk full" SQLite has already rolled back.
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def set_meta(self, key: str, value: str) -> None:
        """Store one value of the library's own small key-value table."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def add(
        self,
        records: Iterable[Paper | Remark],
        *,
        path: str = "",
        source: str = "",
        report: AddReport | None = None,
    ) -> AddReport:
        """Add papers; idempotent by content hash, committed in batches.

        A record whose id the library already holds is left alone when its content is the same, replaces
        the old one when it is the same paper with other content, and is kept beside it under ``id~2``
        when it is a different paper, so that nothing is lost.

        Args:
            records: papers and remarks, as a source yields them.
            path: the file they came from, for ``status``.
            source: name of the source that read it.
            report: what is counted in, and returned; a new one where None.
        """
        report = AddReport() if report is None else report
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction():
            cursor = self._db.execute(
                "INSERT INTO additions (path, source, at, added, updated, unchanged) "
                "VALUES (?, ?, ?, 0, 0, 0)",
                (path, source, now),
            )
            addition = cursor.lastrowid
        failures: list[BaseException] = []

        def until_failure() -> Iterator[Paper | Remark]:
            try:
                yield from records
            except BaseException as error:  # what was read before the failure is kept
                failures.append(error)

        readable = until_failure()
        taken: set[str] = set()
        stored = len(report.remarks)
        while batch := list(islice(readable, _BATCH)):
            with self._transaction():
                changed = report.added + report.updated
                for record in batch:
                    self._add_one(record, report, taken)
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
                    self._bump()
        if failures:
            raise failures[0]
        return report

    def link(self) -> None:
        """Link the citations of papers that were added or changed, and those that now find a paper.

        Called when the writer is done. Which papers are left to link is in the database: the process that
        added them may have been killed before it came here.
        """
        if self._db.execute("SELECT 1 FROM unlinked LIMIT 1").fetchone():
            with self._transaction():
                citations.link_citations(self._db)

    @cached_property
    def derived(self) -> DerivedWriter:
        """Writes what is derived from papers."""
        from aspectra.papers.library.derived import DerivedWriter  # loads numpy

        return DerivedWriter(self._db, self._transaction)

    def _add_one(self, record: Paper | Remark, report: AddReport, taken: set[str]) -> None:
        if isinstance(record, Remark):
            report.remarks.append(record)
            report.skipped += record.skipped
            return
        paper, note = self._place(record, taken)
        if note:
            report.remarks.append(note)
        taken.add(paper.id)
        report.with_abstract += bool(paper.abstract)
        report.with_full_text += paper.has_full_text
        old = self._db.execute("SELECT pos, content_hash FROM papers WHERE id = ?", (paper.id,)).fetchone()
        if old is None:
            self._insert(paper, None)
            report.added += 1
            return
        if old[1] == paper.content_hash:
            report.unchanged += 1
            return
        paper, kept = self._filled(paper, old[0])
        if old[1] == paper.content_hash:
            report.unchanged += 1
            return
        if kept:
            why = f"the new record has no {' and no '.join(kept)}: kept from the one before"
            report.remarks.append(Remark(f"id {paper.id}", why, skipped=False))
        self._insert(paper, old[0])
        report.updated += 1

    def _filled(self, paper: Paper, pos: int) -> tuple[Paper, list[str]]:
        """The paper with what only the stored record has, and the names of what was kept.

        A poorer record of the same paper (a bibliography entry after its PDF) must not take its texts away.
        """
        row = self._db.execute(f"SELECT {paper_columns()} FROM papers WHERE pos = ?", (pos,)).fetchone()
        stored = paper_from_row(row)
        kept = []
        if stored.abstract.strip() and not paper.abstract.strip():
            paper = replace(paper, abstract=stored.abstract, sentences=stored.sentences)
            kept.append("abstract")
        if stored.has_full_text and not paper.has_full_text:
            paper = replace(paper, sections=stored.sections)
            kept.append("full text")
        if stored.references and not paper.references:
            paper = replace(paper, references=stored.references)
            kept.append("references")
        return paper, kept

    def _place(self, paper: Paper, taken: set[str]) -> tuple[Paper, Remark | None]:
        """The paper under the id it is stored as, and a remark when that is not its own."""
        own = "".join(c for c in paper.id if c.isprintable()).strip()[:_LONGEST_ID] or "unnamed"
        for candidate in chain((own,), numbered(own)):
            row = self._db.execute(
                "SELECT content_hash, title_key, pos FROM papers WHERE id = ?", (candidate,)
            ).fetchone()
            if row is None or row[0] == paper.content_hash:
                break
            if candidate not in taken and self._same_paper(paper, row[1], row[2]):
                break
        if candidate == paper.id:
            return paper, None
        why = (
            f"another paper has the id {own!r}; this one is kept as {candidate!r}"
            if candidate != own
            else f"the id {paper.id[:60]!r} was shortened to printable text"
        )
        return paper.with_id(candidate), Remark(f"id {own}", why, skipped=False)

    def _same_paper(self, paper: Paper, title_key: str, pos: int) -> bool:
        """Whether a record that shares an id with a stored paper is that paper with other content."""
        key = normalise_title(paper.title)
        if key == title_key or not key or not title_key:
            return True
        stored = dict(self._db.execute("SELECT scheme, value FROM identifiers WHERE pos = ?", (pos,)))
        if any(stored.get(s) == normalise(s, v) for s, v in paper.identifiers.items()):
            return True
        return difflib.SequenceMatcher(None, key, title_key).ratio() >= 0.7

    def _insert(self, paper: Paper, pos: int | None) -> None:
        row, cited = paper_row(paper)
        before, group = None, None
        if pos is None:
            marks = ",".join("?" * len(row))
            cursor = self._db.execute(
                f"INSERT INTO papers ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
            )
            pos = int(cursor.lastrowid or 0)
        else:
            before = versions.version_keys(self._db, pos)
            group = self._db.execute("SELECT version_group FROM papers WHERE pos = ?", (pos,)).fetchone()[0]
            names = ", ".join(f"{name} = ?" for name in row)
            self._db.execute(f"UPDATE papers SET {names} WHERE pos = ?", (*row.values(), pos))
            for table in ("sections", "identifiers", "authors", "citations", "citation_keys"):
                self._db.execute(f"DELETE FROM {table} WHERE pos = ?", (pos,))
        self._db.executemany(
            "INSERT INTO sections VALUES (?, ?, ?, ?)",
            [(pos, number, s.heading, s.text) for number, s in enumerate(paper.sections)],
        )
        identifiers = {(s, value, pos) for s, v in paper.identifiers.items() if (value := normalise(s, v))}
        self._db.executemany("INSERT OR IGNORE INTO identifiers VALUES (?, ?, ?)", sorted(identifiers))
        names_of = {(*author_keys(name), pos) for name in paper.authors}
        self._db.executemany("INSERT OR IGNORE INTO authors VALUES (?, ?, ?)", sorted(names_of))
        self._db.executemany(
            "INSERT INTO citations (pos, ordinal, record) VALUES (?, ?, ?)",
            [(pos, number, record) for number, record in enumerate(cited)],
        )
        citations.mark_unlinked(self._db, pos)
        if before is None:
            versions.group_versions(self._db, pos)
        elif before != versions.version_keys(self._db, pos):
            versions.regroup(self._db, group, pos)
            # What cited the paper as it was may mean another one.
            citations.unlink(self._db, pos)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove papers and what was derived from them; returns how many there were.

        Raises:
            NoSuchPaper: an id is not in the library; then nothing is removed.
        """
        with self._transaction():
            for paper_id in ids:
                row = self._db.execute(
                    "SELECT pos, version_group FROM papers WHERE id = ?", (paper_id,)
                ).fetchone()
                if row is None:
                    raise NoSuchPaper(
                        f"there is no paper {paper_id!r}", why="nothing was removed", hint="aspectra status"
                    )
                citations.unlink(self._db, row[0])
                self._db.execute("DELETE FROM papers WHERE pos = ?", row[:1])
                if row[1] is not None:
                    versions.regroup(self._db, row[1])
            self._bump()
        self.derived.collect()
        return len(ids)

    def checkpoint(self) -> None:
        """Move the write-ahead log into the database, so that readers need not scan it."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _bump(self) -> None:
        self._db.execute(
            "UPDATE meta SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) WHERE key = 'revision'"
        )
