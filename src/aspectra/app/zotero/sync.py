"""Following a Zotero library: what is new in it becomes papers, tags and notes here."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from aspectra.base.progress import Progress, quiet
from aspectra.papers.library.mutations import AddReport
from aspectra.papers.paper import Paper
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.sources.zotero.changes import CHILDREN, Changes, Remembered, ZoteroSource
from aspectra.papers.sources.zotero.mapping import item_paper, item_tags
from aspectra.papers.sources.zotero.notes import ItemNote, read_note

if TYPE_CHECKING:
    from aspectra.papers.library.mutations import Writer
    from aspectra.papers.library.store import Store

__all__ = ["SyncReport", "follow", "recall", "remember"]


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
    """

    nothing_new: bool = False
    notes: int = 0
    annotations: int = 0
    tags: int = 0
    gone: list[str] = field(default_factory=list)
    removed: int = 0
    left: int = 0


def recall(store: Store, library: str) -> Remembered:
    """What was remembered at the last sync; empty before the first."""
    stored = store.meta(f"zotero:{library}")
    known = json.loads(stored) if stored else {}
    names = {one.name for one in fields(Remembered)}
    return Remembered(**{name: value for name, value in known.items() if name in names})


def remember(writer: Writer, library: str, known: Remembered) -> None:
    """Keep it in the library's own database, where a backup takes it along."""
    writer.set_meta(f"zotero:{library}", json.dumps(asdict(known), ensure_ascii=False, separators=(",", ":")))


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
        report.gone = _gone(known, known.stamps)
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


def _gone(known: Remembered, stamps: Mapping[str, str]) -> list[str]:
    return [paper for key, paper in known.papers.items() if key not in stamps]


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
        if tops:
            self._put(tops, lost)
        known.stamps, known.collections = changes.stamps, changes.collections
        known.version, known.signature, known.origin = changes.version, changes.signature, changes.origin
        self.report.gone = _gone(known, known.stamps)
        if remove and self.report.gone:
            here = self.store.get_many(self.report.gone, full=False)
            self.report.removed = self.writer.remove(list(here))
            known.papers = {key: paper for key, paper in known.papers.items() if key in known.stamps}
            self.report.gone = []
        remember(self.writer, self.source.library, known)

    def _affected(self, lost: Sequence[str]) -> dict[str, list[ItemNote]]:
        """Key of each regular item that has to be written -> its notes that are new or another."""
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
        tops: dict[str, list[ItemNote]] = defaultdict(list)
        for key, item in items.items():
            if item.get("itemType") not in CHILDREN:
                tops[key]
                continue
            top = self._top(key)
            if top == key:
                self.report.left += 1
                continue
            note = read_note(item)
            if note is not None:
                tops[top].append(note)
                self.report.notes += note.kind == "note"
                self.report.annotations += note.kind == "annotation"
            elif item.get("itemType") != "attachment":
                tops[top]  # a note whose words were deleted
        for key in lost:
            if key in parents and (top := self._top(key)) in self.changes.stamps:
                tops[top]
        return {key: notes for key, notes in tops.items() if key in items or key in self.known.papers}

    def _top(self, key: str) -> str:
        for _ in range(3):  # an annotation, its attachment, the record
            key = self.known.parents.get(key, key)
        return key

    def _put(self, tops: Mapping[str, list[ItemNote]], lost: Sequence[str]) -> None:
        """Write the papers of these items, with their tags and notes."""
        known, done = self.known, 0
        old = self.store.get_many([known.papers[key] for key in tops if key in known.papers])
        gone = {*lost, *(k for k, item in self.changes.items.items() if item.get("itemType") in CHILDREN)}
        wanted: dict[str, str] = {}

        def papers() -> Iterator[Paper | Remark]:
            nonlocal done
            for key, notes in tops.items():
                done += 1
                if done % 100 == 0:
                    self.progress("adding records", done, len(tops))
                before = old.get(known.papers.get(key, ""))
                for one in self._paper(key, before):
                    if isinstance(one, Paper):
                        wanted[key] = one.id
                        yield _noted(one, before, notes, gone)
                    else:
                        yield one

        place = f"zotero:{self.source.library}"
        same = set(known.papers.values())
        self.writer.add(papers(), path=place, source="zotero", report=self.report, same=same)
        known.papers.update(self._ids(wanted))

    def _paper(self, key: str, before: Paper | None) -> Iterator[Paper | Remark]:
        item = self.changes.items.get(key)
        if item is None:  # only a note of it changed
            if before is not None:
                yield before
            return
        tags = item_tags(item, automatic=False)
        self.report.tags += len(tags)
        collections = [self.changes.collections.get(c, "") for c in item.get("collections") or ()]
        facts = {
            "library": self.source.library,
            "key": key,
            "collections": [path for path in collections if path],
            "tags": tags,
        }
        for one in item_paper(
            item, f"item {key}", self.options, own_id=self.known.papers.get(key, ""), zotero=facts
        ):
            # The full text and the facts of a PDF that was read are not the item's to take away.
            yield _with_text(one, before) if isinstance(one, Paper) and before is not None else one

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
    """The paper with the full text of the one before, and what its metadata say about the PDF."""
    pdf = before.metadata.get("pdf")
    metadata = {**paper.metadata, "pdf": pdf} if pdf else paper.metadata
    sections = paper.sections or before.sections
    return replace(
        paper, metadata=metadata, sections=sections, references=paper.references or before.references
    )


def _noted(paper: Paper, before: Paper | None, notes: Sequence[ItemNote], gone: set[str]) -> Paper:
    """The paper with its notes: those it had, less what is gone or another now, and the new ones."""
    kept: list[Any] = []
    if before is not None:
        kept = [n for n in before.metadata.get("zotero", {}).get("notes", ()) if n.get("key") not in gone]
    new = [{k: v for k, v in asdict(note).items() if v} for note in notes]
    zotero = {k: v for k, v in paper.metadata.get("zotero", {}).items() if k != "notes"}
    if listed := sorted([*kept, *new], key=lambda note: str(note.get("key"))):
        zotero["notes"] = listed
    return replace(paper, metadata={**paper.metadata, "zotero": zotero})
