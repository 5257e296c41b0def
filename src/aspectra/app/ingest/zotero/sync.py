"""Following a Zotero library: what is new in it becomes papers, tags and notes here."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from aspectra.base.display import Progress, quiet
from aspectra.base.errors import AspectraError
from aspectra.base.values import replace
from aspectra.papers.library.marks.values import Item, Note
from aspectra.papers.library.mutations import AddReport, Writer
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.sources.zotero.mapping import (
    CHILDREN,
    ItemChanges,
    ItemNote,
    SyncState,
    ZoteroSource,
    item_paper,
    item_tags,
    pdf_path,
    read_note,
)

# Where Zotero keeps its database, its files and its preferences on this computer.
#
# Source: "Zotero Data Directory" and "Profile Directory" of Zotero's documentation: the data folder is
# ``~/Zotero`` unless the profile's ``prefs.js`` names another.

_PREFERENCE = re.compile(r'^user_pref\("extensions\.zotero\.([A-Za-z.]+)", (.+)\);\s*$', re.M)
_LARGEST = 4 << 20  # bytes of a file of preferences


@dataclass(frozen=True)
class Places:
    """The paths of Zotero's files; None for those not found.

    Attributes:
        database: ``zotero.sqlite``.
        data: the data folder, which has ``storage`` in it.
        base: the folder that linked files are relative to.
    """

    database: Path | None = None
    data: Path | None = None
    base: Path | None = None


def _profiles() -> Iterator[Path]:
    home = Path.home()
    roots = (
        home / ".zotero" / "zotero",
        home / "Library" / "Application Support" / "Zotero" / "Profiles",
        Path(os.environ.get("APPDATA", "")) / "Zotero" / "Zotero" / "Profiles",
    )
    for root in roots:
        if root.is_absolute():
            yield from sorted(root.glob("*/prefs.js"))


def _preferences() -> dict[str, str]:
    """The texts among Zotero's preferences; of several profiles the one that was used last."""
    found: dict[str, str] = {}
    for path in sorted(_profiles(), key=lambda p: p.stat().st_mtime):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_LARGEST)
        except OSError:
            continue
        for name, raw in _PREFERENCE.findall(text):
            try:
                value = json.loads(raw)
            except ValueError:
                continue
            if isinstance(value, str | bool):
                found[name] = value if isinstance(value, str) else str(value).lower()
    return found


def find_places(database: Path | None = None) -> Places:
    """The places of Zotero's files: those named by the user, by Zotero's preferences, or the usual ones.

    Args:
        database: ``zotero.sqlite``, or the folder it is in; searched for where None.
    """
    preferences = _preferences()
    based = Path(preferences.get("baseAttachmentPath", ""))
    base = based if based.is_absolute() and based.is_dir() else None
    if database is not None:
        file = database / "zotero.sqlite" if database.is_dir() else database
        return Places(file, file.parent, base)
    named = preferences.get("dataDir", "") if preferences.get("useDataDir", "true") == "true" else ""
    for folder in (Path(named), Path.home() / "Zotero"):
        if folder.is_absolute() and (folder / "zotero.sqlite").is_file():
            return Places(folder / "zotero.sqlite", folder, base)
    return Places(base=base)


_Waiting = tuple[str, str, Path, str]
_AT_ONCE = 25  # PDFs between two times that the state is kept; reading one takes a second or more


@dataclass
class PdfReport:
    """The result of reading the attached PDFs.

    Attributes:
        read: files whose text their papers now have.
        missing: files that are not on this computer, or not yet.
        refused: files without usable text, with the reasons as remarks.
        remarks: every remark.
    """

    read: int = 0
    missing: int = 0
    refused: int = 0
    remarks: list[Remark] = field(default_factory=list)


def read_pdfs(
    store: Store,
    library: str,
    places: Places,
    *,
    options: ReadOptions | None = None,
    progress: Progress = quiet,
) -> PdfReport:
    """Read the PDFs that were not read yet, or are others now; a paper keeps Zotero's metadata.

    What was read is kept every few files, so an interruption costs little.

    Args:
        store: our library, which :func:`~aspectra.app.ingest.zotero.sync.follow` brought up to date.
        library: Zotero's, as ``users/0``.
        places: where the files are.
        options: limits.
        progress: called with (step, done, total).

    Raises:
        LibraryBusy: another process is writing.
    """
    report, known = PdfReport(), recall(store, library)
    waiting = list(_waiting(known, places, report))
    if not waiting:
        return report

    def papers(some: Sequence[_Waiting], held: Mapping[str, Paper], at: int) -> Iterator[Paper]:
        for number, (key, top, path, state) in enumerate(some, at):
            progress(f"reading {path.name}", number, len(waiting))
            known.pdfs[key]["read"] = state
            paper = held.get(known.papers[top])
            if paper is not None and (full := _read(paper, path, report, options)):
                yield full

    with store.writing("zotero sync") as writer:
        for at in range(0, len(waiting), _AT_ONCE):
            some = waiting[at : at + _AT_ONCE]
            stored = store.get_many(known.papers[top] for _, top, _, _ in some)
            held = {i: _as_filed(store, paper) for i, paper in stored.items()}
            read, place = papers(some, held, at), f"zotero:{library}"
            writer.add(read, path=place, source="zotero", whole=False, same=set(held))
            remember(writer, library, known)
        writer.checkpoint()
    return report


def _waiting(known: SyncState, places: Places, report: PdfReport) -> Iterator[_Waiting]:
    """(key, key of its item, file, what the file is) of each PDF to read: the oldest of each item."""
    taken: set[str] = set()
    for key, facts in sorted(known.pdfs.items(), key=lambda pair: (pair[1].get("added", ""), pair[0])):
        top = known.parents.get(key, "")
        if key not in known.stamps or top not in known.papers or top in taken:
            continue
        taken.add(top)
        path = pdf_path({**facts, "key": key, "contentType": "application/pdf"}, places.data, places.base)
        try:
            state = path.stat() if path is not None else None
        except OSError:
            state = None
        if path is None or state is None:
            report.missing += 1
            continue
        found = f"{state.st_size}:{state.st_mtime_ns}"
        if facts.get("read") != found:
            yield key, top, path, found


def _as_filed(store: Store, paper: Paper) -> Paper:
    """The paper as its record has it, without the searcher's edits, which are put back on storing."""
    filed = store.marks.edit(paper.id).file
    return Paper.from_dict({**paper.to_dict(), **filed}) if filed else paper


def _read(paper: Paper, path: Path, report: PdfReport, options: ReadOptions | None) -> Paper | None:
    """The paper with the PDF's text, references, and abstract where it has none."""
    options = options or ReadOptions()
    found: Paper | None = None
    try:
        with InputFile(path, options.bounds) as file:
            for one in read_papers(file, "pdf", options):
                if isinstance(one, Paper):
                    found = one
                else:
                    report.remarks.append(replace(one, place=str(path)))
    except (AspectraError, OSError) as error:
        reason = error.what if isinstance(error, AspectraError) else str(error)
        report.remarks.append(Remark(str(path), reason))
    if found is None:
        report.refused += 1
        return None
    report.read += 1
    facts: dict[str, Any] = {k: v for k, v in found.metadata.items() if k not in ("front_matter", "pdf_info")}
    return replace(
        paper,
        abstract=paper.abstract or found.abstract,
        sections=found.sections,
        references=found.references or paper.references,
        metadata={**paper.metadata, "pdf": facts},
    )


_SYSTEM = "zotero"


@dataclass
class SyncReport(AddReport):
    """The result of one sync, beyond the counts of :class:`AddReport`.

    Attributes:
        nothing_new: True when the library is as it was at the last sync.
        notes, annotations: read in this sync.
        tags: of the items read in this sync.
        gone: ids of papers that are kept here although their items are missing from Zotero.
        removed: number of such papers that were removed.
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


def recall(store: Store, library: str) -> SyncState:
    """The state that the last sync stored; empty before the first."""
    stored = store.meta(f"zotero:{library}")
    known = json.loads(stored) if stored else {}
    names = {one.name for one in fields(SyncState)} - {"papers"}
    items = store.marks.items(_SYSTEM)
    papers = {item.key: paper for item, paper in items.items() if item.library == library}
    return SyncState(**{name: value for name, value in known.items() if name in names}, papers=papers)


def remember(writer: Writer, library: str, known: SyncState) -> None:
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
    """Import the changes of a Zotero library into ours.

    Papers are added and updated, never removed unless ``remove``. A paper that was removed here comes back
    when its item changes in Zotero.

    Args:
        store: our library.
        source: Zotero's.
        remove: remove papers whose items are missing from Zotero.
        again: read everything, also what has not changed.
        options: limits.
        progress: called with (step, done, total).

    Raises:
        AspectraError: Zotero cannot be read.
        LibraryBusy: another process is writing.
    """
    known = recall(store, source.library)
    if again:
        known = SyncState(papers=known.papers, parents=known.parents, pdfs=known.pdfs)
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


def _gone(known: SyncState) -> list[str]:
    return [paper for key, paper in known.papers.items() if key not in known.stamps]


@dataclass
class _Following:
    store: Store
    writer: Writer
    source: ZoteroSource
    known: SyncState
    changes: ItemChanges
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
        paths = (self.changes.collections.get(str(c)) for c in (held if isinstance(held, list) else ()))
        facts = {"library": self.source.library, "key": key, "collections": [*filter(None, paths)]}
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
