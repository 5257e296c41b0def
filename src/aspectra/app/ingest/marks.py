"""Tags, notes, decisions and edits of a library, as methods: what the commands and other callers use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from aspectra.papers.library.marks.reader import Listing, Marks, Wanted, listed, unknown_tag
from aspectra.papers.library.marks.values import Action, Note
from aspectra.papers.library.store import Store


class LibraryMarks:
    """What a searcher says about the papers of a library: read it, write it, undo it.

    Papers are named by id, DOI, arXiv id or exact title. Each change is a step that :meth:`undo` takes back,
    also in a later process.

    Args:
        store: the library.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def read(self) -> Marks:
        """What is there."""
        return self._store.marks

    def of(self, paper: str) -> dict[str, Any]:
        """Everything that is said about one paper, as JSON values; what is empty is absent.

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
            UsageError: a condition cannot mean anything, or there is no such page.

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
        found = self._resolved(papers)
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
        (found,) = self._resolved([paper])
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
        (found,) = self._resolved([paper])
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

    def _resolved(self, papers: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(self._store.resolve(one) for one in papers))

    def _records(self, papers: Iterable[str]) -> list[str]:
        """Papers, each with the other records of its work behind it."""
        found = self._resolved(papers)
        others = self._store.versions(found)
        return list(dict.fromkeys(one for paper in found for one in (paper, *others.get(paper, ()))))


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is empty."""
    return {name: value for name, value in values.items() if value not in ("", [], {}, None)}
