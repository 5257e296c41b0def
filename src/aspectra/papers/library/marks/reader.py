"""Reads what a searcher says about papers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from aspectra.papers.library.marks.values import Action, Decision, Edit, Item, Note, Origin
from aspectra.papers.library.row_sums import MARKED, RowSums

__all__ = ["MarkedLibrary", "Marks"]

_LISTED = "(SELECT value FROM json_each(?))"  # the values of one JSON array
_NOTE = "n.text, n.quote, n.kind, n.page, n.colour, n.source, n.key, n.created, n.modified, n.id"


class MarkedLibrary(Protocol):
    """A library that can be read; what is needed of :class:`~aspectra.papers.library.store.Store`."""

    checksums: RowSums

    @property
    def format(self) -> int: ...

    def fetch(self, statement: str, values: Sequence[Any] = ()) -> list[Any]: ...

    def meta(self, key: str, default: str = "") -> str: ...

    def snapshot(self) -> AbstractContextManager[None]: ...


class Marks:
    """What a searcher says about the papers of a library; all of it empty in libraries of older formats.

    Everything is checked against its checksum before it is returned, so every method raises LibraryCorrupt
    where a row is not as it was written. Ids that are not in the library have no marks.

    Args:
        store: the library.
    """

    def __init__(self, store: MarkedLibrary) -> None:
        self._store = store

    @property
    def revision(self) -> int:
        """Counts changes of marks."""
        return int(self._store.meta("marks_revision", "0"))

    @property
    def notes_revision(self) -> int:
        """Counts changes of notes."""
        return int(self._store.meta("notes_revision", "0"))

    def tags(self, papers: Iterable[str] | None = None) -> dict[str, list[str]]:
        """Id -> tags in alphabetical order, each once, for papers that have any; of all papers where None."""
        out: dict[str, list[str]] = {}
        for paper, tag in self._of("tags", "DISTINCT p.id, t.tag", papers, "p.pos, t.tag"):
            out.setdefault(paper, []).append(tag)
        return out

    def tags_of(self, source: str, papers: Iterable[str]) -> dict[str, list[str]]:
        """Id -> the tags that one source holds of some papers, in alphabetical order."""
        out: dict[str, list[str]] = {}
        for paper, tag, held in self._of("tags", "p.id, t.tag, t.source", papers, "p.pos, t.tag"):
            if held == source:
                out.setdefault(paper, []).append(tag)
        return out

    def tag_counts(self) -> Counter[str]:
        """Tag -> how many papers have it, in alphabetical order."""
        rows = self._of("tags", "t.tag, count(DISTINCT t.pos)", None, "t.tag", "GROUP BY t.tag")
        return Counter(dict(rows))

    def tagged(self, tag: str) -> set[str]:
        """Ids of the papers with a tag; the case of ASCII letters does not count."""
        self._check("tags", None)
        if not self._kept:
            return set()
        statement = "SELECT p.id FROM tags t JOIN papers p USING (pos) WHERE t.tag = ? COLLATE NOCASE"
        return {row[0] for row in self._store.fetch(statement, (tag.strip(),))}

    def notes(self, papers: Iterable[str] | None = None) -> Iterator[tuple[str, Note]]:
        """(id, note) of all notes, or of those of some papers, by paper and then as they were added."""
        for paper, *row in self._of("notes", f"p.id, {_NOTE}", papers, "p.pos, n.id", alias="n"):
            yield paper, Note(*row)

    def notes_of(self, paper: str) -> list[Note]:
        """The notes on one paper, as they were added."""
        return [note for _, note in self.notes([paper])]

    def decisions(self, papers: Iterable[str] | None = None) -> dict[str, Decision]:
        """Id -> the decision that counts: the searcher's own, else the last that a file brought."""
        out: dict[str, Decision] = {}
        for paper, decision in self.all_decisions(papers):
            if not decision.source or paper not in out or out[paper].source:
                out[paper] = decision
        return out

    def all_decisions(self, papers: Iterable[str] | None = None) -> list[tuple[str, Decision]]:
        """(id, decision) of every source, by paper and then by time."""
        columns = "p.id, t.decision, t.reason, t.source, t.at, t.under"
        rows = self._of("decisions", columns, papers, "p.pos, t.at, t.source")
        return [(paper, Decision(*row)) for paper, *row in rows]

    def reasons(self, decision: str = "") -> Counter[str]:
        """Reason -> for how many papers it was given, most frequent first; of one decision where named."""
        found = Counter(
            one.reason for one in self.decisions().values() if one.reason and decision in ("", one.decision)
        )
        return Counter(dict(found.most_common()))

    def edit(self, paper: str) -> Edit:
        """What the searcher changed in the record of a paper; without fields where nothing."""
        for given, file, file_hash, at in self._of(
            "edits", "t.given, t.file, t.file_hash, t.at", [paper], "p.pos"
        ):
            return Edit(json.loads(given), json.loads(file), file_hash, at)
        return Edit()

    def origins(self, papers: Iterable[str]) -> dict[str, list[Origin]]:
        """Id -> where its records were read, by file and number."""
        out: dict[str, list[Origin]] = {}
        columns = "p.id, t.file, t.number, t.place, t.database, t.source, t.at"
        for paper, *row in self._of("origins", columns, papers, "p.pos, t.file, t.number"):
            out.setdefault(paper, []).append(Origin(*row))
        return out

    def items(self, system: str, papers: Iterable[str] | None = None) -> dict[Item, str]:
        """Item of another program -> id of the paper."""
        columns = "t.system, t.library, t.key, t.version, p.id"
        rows = self._of("external", columns, papers, "t.system, t.library, t.key")
        return {Item(*row): paper for *row, paper in rows if row[0] == system}

    def actions(self, limit: int = 10) -> list[Action]:
        """The last steps that can be undone or done again, newest first."""
        if not self._kept:
            return []
        columns = "id, at, verb, what, undone"
        rows = self._store.fetch(f"SELECT {columns} FROM actions ORDER BY id DESC LIMIT ?", (limit,))
        self._store.checksums.check("actions", [row[0] for row in rows])
        return [Action(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]

    @property
    def _kept(self) -> bool:
        """Whether the library has the tables."""
        return self._store.format >= MARKED

    def _check(self, table: str, papers: list[str] | None) -> None:
        if not self._kept:
            return
        if papers is None:
            self._store.checksums.check_all(table)
            return
        statement = f"SELECT pos FROM papers WHERE id IN {_LISTED}"
        held = [row[0] for row in self._store.fetch(statement, [json.dumps(papers)])]
        self._store.checksums.check(table, held)

    def _of(
        self,
        table: str,
        columns: str,
        papers: Iterable[str] | None,
        order: str,
        group: str = "",
        *,
        alias: str = "t",
    ) -> list[Any]:
        """Rows of one table ``t`` with its papers ``p``."""
        if not self._kept:
            return []
        some = None if papers is None else list(dict.fromkeys(papers))
        with self._store.snapshot():
            self._check(table, some)
            where = "" if some is None else f"WHERE p.id IN {_LISTED}"
            return self._store.fetch(
                f"SELECT {columns} FROM {table} {alias} JOIN papers p USING (pos) {where} {group} "
                f"ORDER BY {order}",
                [] if some is None else [json.dumps(some)],
            )
