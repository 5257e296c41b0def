"""Following a Zotero library: what is new in it becomes papers, tags and notes here."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING

from aspectra.base.progress import Progress, quiet
from aspectra.papers.library.marks.values import Item, Note
from aspectra.papers.library.mutations import AddReport
from aspectra.papers.paper import Paper
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.sources.zotero.mapping import (
    CHILDREN,
    Changes,
    ItemNote,
    Remembered,
    ZoteroSource,
    item_paper,
    item_tags,
    read_note,
)

if TYPE_CHECKING:
    from aspectra.papers.library.mutations import Writer
    from aspectra.papers.library.store import Store

_SYSTEM = "zotero"


@dataclass
class SyncReport(AddReport):
    """What one sync did, beside what :class:`AddReport` counts.

    Attributes:
        nothing_new: True when the library is as it was at the last sync.
        notes, annotations: read in this sync.
        tags: of the items read in this sync.
        gone: ids of papers whose items are no longer in Zotero, and that are kept here.
        removed: how many such papers were removed.
        left: notes and attachments without a record of their own, which are not read.
        marked: papers whose tags or notes changed.
    """

    nothing_new: bool = False
    notes: int = 0
    annotations: int = 0
    tags: int = 0
    gone: list[str] = field(default_factory=list)
    removed: int = 0
    left: int = 0
    marked: int = 0


def recall(store: Store, library: str) -> Remembered:
    """What was remembered at the last sync; empty before the first."""
    stored = store.meta(f"zotero:{library}")
    known = json.loads(stored) if stored else {}
    names = {one.name for one in fields(Remembered)} - {"papers"}
    items = store.marks.items(_SYSTEM)
    papers = {item.key: paper for item, paper in items.items() if item.library == library}
    return Remembered(**{name: value for name, value in known.items() if name in names}, papers=papers)


def remember(writer: Writer, library: str, known: Remembered) -> None:
    """Keep it in the library's own database, where a backup takes it along."""
    kept = {name: value for name, value in asdict(known).items() if name != "papers"}
    writer.set_meta(f"zotero:{library}", json.dumps(kept, ensure_ascii=False, separators=(",", ":")))


def follow(
    store: Store,
    source: ZoteroSource,
    *,
    remove: bool = False,
    again: bool = False,
    options: ReadOptions | None = None,
    progress: Progress = quiet,
) -> SyncReport:
    """Bring what changed in a Zotero library into ours.

    Papers are added and updated, never removed unless ``remove``. A paper that was removed here comes back
    when its item changes in Zotero.

    Args:
        store: our library.
        source: Zotero's.
        remove: remove papers whose items are no longer in Zotero.
        again: read everything, whatever is remembered.
        options: limits.
        progress: called with (step, done, total).

    Raises:
        AspectraError: Zotero cannot be read.
        LibraryBusy: another process is writing.
    """
    known = recall(store, source.library)
    if again:
        known = Remembered(papers=known.papers, parents=known.parents, pdfs=known.pdfs)
    changes = source.changes(known, progress)
    report = SyncReport(nothing_new=changes.none)
    if changes.none:
        report.gone = _gone(known)
        if not (remove and report.gone):
            return report
        changes = replace(changes, stamps=known.stamps, collections=known.collections)
        changes.version, changes.signature, changes.origin = known.version, known.signature, known.origin
    with store.writing("zotero sync") as writer:
        following = _Following(
            store, writer, source, known, changes, report, options or ReadOptions(), progress
        )
        following.run(remove)
        writer.checkpoint()
    return report


def _gone(known: Remembered) -> list[str]:
    return [paper for key, paper in known.papers.items() if key not in known.stamps]


@dataclass
class _Following:
    store: Store
    writer: Writer
    source: ZoteroSource
    known: Remembered
    changes: Changes
    report: SyncReport
    options: ReadOptions
    progress: Callable[[str, int, int], None]

    def run(self, remove: bool) -> None:
        known, changes = self.known, self.changes
        lost = [key for key in known.stamps if key not in changes.stamps]
        tops = self._affected(lost)
        known.parents = {k: p for k, p in known.parents.items() if k in changes.stamps}
        known.pdfs = {k: facts for k, facts in known.pdfs.items() if k in changes.stamps}
        self._add([key for key in tops if key in changes.items])
        self._mark({key: notes for key, notes in tops.items() if key in known.papers}, lost)
        known.stamps, known.collections = changes.stamps, changes.collections
        known.version, known.signature, known.origin = changes.version, changes.signature, changes.origin
        self.report.gone = _gone(known)
        if remove and self.report.gone:
            here = self.store.get_many(self.report.gone, full=False)
            self.report.removed = self.writer.remove(list(here))
            self.report.gone = []
        remember(self.writer, self.source.library, known)

    def _affected(self, lost: Sequence[str]) -> dict[str, list[ItemNote]]:
        """Key of each regular item that is new or another, or whose notes are -> those of its notes."""
        items, parents = self.changes.items, self.known.parents
        for key, item in items.items():
            if item.get("itemType") in CHILDREN:
                if parent := item.get("parentItem"):
                    parents[key] = str(parent)
                else:
                    parents.pop(key, None)
            if item.get("contentType") == "application/pdf":
                facts = {name: str(item.get(name) or "") for name in ("linkMode", "filename", "path")}
                facts["added"] = str(item.get("dateAdded", ""))
                self.known.pdfs[key] = {**self.known.pdfs.get(key, {}), **facts}
        tops: dict[str, list[ItemNote]] = {}
        for key, item in items.items():
            top = self._top(key)
            if item.get("itemType") not in CHILDREN:
                tops.setdefault(key, [])
            elif top == key:
                self.report.left += 1
            elif item.get("itemType") != "attachment":
                notes = tops.setdefault(top, [])
                if note := read_note(item):
                    notes.append(note)
                    self.report.notes += note.kind == "note"
                    self.report.annotations += note.kind == "annotation"
        for key in lost:
            if key in parents and (top := self._top(key)) in self.changes.stamps:
                tops.setdefault(top, [])
        return tops

    def _top(self, key: str) -> str:
        for _ in range(3):  # an annotation, its attachment, the record
            key = self.known.parents.get(key, key)
        return key

    def _add(self, keys: Sequence[str]) -> None:
        """Write the papers of these items."""
        known = self.known
        old = self.store.get_many([known.papers[key] for key in keys if key in known.papers])
        wanted: dict[str, str] = {}

        def papers() -> Iterator[Paper | Remark]:
            for done, key in enumerate(keys):
                if done % 100 == 0:
                    self.progress("adding records", done, len(keys))
                before = old.get(known.papers.get(key, ""))
                for one in self._paper(key):
                    if isinstance(one, Paper):
                        wanted[key] = one.id
                        yield one if before is None else _with_text(one, before)
                    else:
                        yield one

        if not keys:
            return
        place = f"{_SYSTEM}:{self.source.library}"
        same = set(known.papers.values())
        self.writer.add(papers(), path=place, source=_SYSTEM, whole=False, report=self.report, same=same)
        found = self._ids(wanted)
        library = self.source.library
        self.writer.marks.put_items({Item(_SYSTEM, library, key): paper for key, paper in found.items()})
        known.papers.update(found)

    def _paper(self, key: str) -> Iterator[Paper | Remark]:
        item = self.changes.items[key]
        held = item.get("collections")
        collections = [
            self.changes.collections.get(str(c), "") for c in (held if isinstance(held, list) else [])
        ]
        facts = {
            "library": self.source.library,
            "key": key,
            "collections": [path for path in collections if path],
        }
        yield from item_paper(
            item,
            f"item {key}",
            self.options,
            own_id=self.known.papers.get(key, ""),
            keywords=item_tags(item, automatic=True),
            zotero={name: value for name, value in facts.items() if value},
        )

    def _mark(self, tops: Mapping[str, list[ItemNote]], lost: Sequence[str]) -> None:
        """Write tags and notes: those that stay as they were, less what is gone, and the new ones."""
        papers, items, marks = self.known.papers, self.changes.items, self.store.marks
        source = _SYSTEM if self.source.library == "users/0" else f"{_SYSTEM}:{self.source.library}"
        another = {*lost, *(k for k, item in items.items() if item.get("itemType") in CHILDREN)}
        kept: dict[str, list[Note]] = defaultdict(list)
        for paper, note in marks.notes([papers[key] for key in tops]):
            if note.source == source and note.key not in another:
                kept[paper].append(note)
        tagged = marks.tags_of(source, [papers[key] for key in tops if key not in items])
        found: dict[str, tuple[list[str], list[Note]]] = {}
        for key, notes in tops.items():
            paper = papers[key]
            tags = item_tags(items[key], automatic=False) if key in items else tagged.get(paper, [])
            self.report.tags += len(tags) if key in items else 0
            new = [Note(n.text, n.quote, n.kind, n.page, n.colour, source, n.key) for n in notes]
            found[paper] = (tags, sorted([*kept[paper], *new], key=lambda note: note.key))
        self.report.marked = len(self.writer.marks.put(source, found)) if found else 0

    def _ids(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Key -> the id that its paper was stored under, which is another where the id was taken."""
        held = "json_extract(record, '$.metadata.zotero.key')"
        listed = json.dumps(list(wanted.values()))
        rows = self.store.fetch(
            f"SELECT {held}, id FROM papers WHERE id IN (SELECT value FROM json_each(?))", (listed,)
        )
        found = {key: paper for key, paper in rows if wanted.get(key) == paper}
        if missing := wanted.keys() - found.keys():
            rows = self.store.fetch(
                f"SELECT {held}, id FROM papers WHERE {held} IN (SELECT value FROM json_each(?)) "
                "ORDER BY pos",
                (json.dumps(sorted(missing)),),
            )
            found |= dict(rows)
        return found


def _with_text(paper: Paper, before: Paper) -> Paper:
    """The paper with the full text of the one before, and what its metadata say about the PDF.

    Of a record that did not come from Zotero its further metadata stay too.
    """
    kept = {"pdf": before.metadata["pdf"]} if "pdf" in before.metadata else {}
    metadata = {**(kept if "zotero" in before.metadata else before.metadata), **paper.metadata}
    sections = paper.sections or before.sections
    return replace(
        paper, metadata=metadata, sections=sections, references=paper.references or before.references
    )
