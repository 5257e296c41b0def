"""The index of a collection: its shards are indexed one by one, then their files are read as one index.

Each shard is indexed as a library of its own, and only where it changed. All of them measure their papers by
one standard, that of the first one. The collection's generation has links to the files of all shards as its
segments, and a few files of its own that are of all papers together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.display import Progress, quiet
from aspectra.base.errors import AspectraError
from aspectra.base.files import digest, make_folder
from aspectra.papers.library.generations.folders import FileSum
from aspectra.papers.library.store import Store
from aspectra.views.build.draft import STANDARD, IndexReport
from aspectra.views.build.generation import stamp
from aspectra.views.build.records import write_citations
from aspectra.views.build.run import build_index, merge_segments
from aspectra.views.build.segments import Segments, added_up, written
from aspectra.views.build.work import current_generation, keep_settings, settings_of, with_encoders
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.index.opened import GRAPH_VIEW
from aspectra.views.lexical.collection import WordIndex
from aspectra.views.prompted.definition import share_definitions
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.arrays import save_array
from aspectra.views.storage.folder import (
    WHOLE,
    Layout,
    StoredFolder,
    id_order,
    open_folder,
    places_of,
    sample_ids,
    segment_folder,
    stored_ids,
)
from aspectra.views.text.tokens import LexicalSettings

_LIMITS = Segments(least=1)  # a shard of any size keeps the standard


class ShardBuild(Struct, frozen=True):
    """The index of one shard as it is to be made, for this process or another.

    Attributes:
        folder: of the shard.
        settings: see :meth:`~aspectra.views.settings.IndexSettings.dumps`.
        rebuild, terms, lenient: see :func:`~aspectra.views.build.run.build_index`.
        standard: folder and manifest of the generation of another shard, by whose standard papers are
            measured; None for a standard of its own.
    """

    folder: Path
    settings: str
    rebuild: bool
    terms: bool
    lenient: bool
    standard: tuple[Path, dict[str, Any]] | None

    def run(self, progress: Progress = quiet, load: Callable[[str], Encoder] = load_encoder) -> IndexReport:
        """Make it where something changed; values that are stored are not made again.

        Raises:
            LibraryBusy: another process writes into the shard.
        """
        total, anew = IndexReport(changed=False), self.rebuild
        with Store(self.folder) as shard:
            while True:
                report = build_index(
                    shard,
                    IndexSettings.loads(self.settings),
                    progress=progress,
                    rebuild=anew,
                    terms=self.terms,
                    load=load,
                    segments=_LIMITS,
                    lenient=self.lenient,
                    standard=self.standard,
                )
                total.with_made(report).changed |= report.changed
                # Small shards have segments too, for the standard's sake; merging them saves nothing.
                total.merge_due |= report.merge_due and len(shard) >= Segments.least
                if anew or self.standard is None:
                    return total
                if IndexedShard.of(shard).standard == _standard(self.standard[1]):
                    return total
                anew = True  # it was indexed by itself, by a standard of its own


Builder = Callable[[Sequence[ShardBuild]], Sequence[IndexReport]]  # of shards that may be indexed at once


def index_shards(
    library: Store,
    settings: IndexSettings | None = None,
    *,
    progress: Progress = quiet,
    rebuild: bool = False,
    terms: bool = False,
    load: Callable[[str], Encoder] = load_encoder,
    lenient: bool = False,
    build: Builder | None = None,
) -> IndexReport:
    """Index the shards of a collection where they changed, and switch to a generation of all of them.

    Interrupted at any point, the old generation stays in use, and shards that are done stay done.

    Args:
        library: the collection.
        settings: as in :func:`~aspectra.views.build.run.build_index`, as are the others.
        progress: called with (step, done, total).
        rebuild: make all anew, by a standard of the papers that there are now.
        terms: encode papers again that lack the terms of aspects.
        load: makes an encoder from its specification.
        lenient: build without an encoder that is not installed.
        build: indexes several shards, as other processes do; None for one after the other in this one.

    Raises:
        LibraryBusy: another process is writing.
        AspectraError: the shards cannot be read as one.
    """
    chosen = settings or settings_of(library)
    shards = [shard for shard in library.shards.values() if len(shard)]
    total = IndexReport(changed=False)
    make = build or (lambda some: [one.run(progress, load) for one in some])
    with library.writing("index") as writer:
        _, manifest = current_generation(library)
        built, _, _ = with_encoders(chosen, load, manifest, lenient)
        keep_settings(library, writer, settings)  # once its encoders could be had
        share_definitions(library)
        full = [one for one in shards if one.fetch("SELECT 1 FROM papers WHERE full_hash != '' LIMIT 1")]
        # A standard lacks what views of other settings, or of full texts, are measured by.
        wanted = {"full@bm25"} if full else set()
        standards = [
            one
            for one in map(IndexedShard.with_standard, shards)
            if one is not None and one.built(built) and wanted <= one.views.keys()
        ]
        reference = None if rebuild or not standards else standards[0]
        waiting = sorted(shards, key=lambda one: one not in full)
        while waiting:
            # Without a standard the first one makes it.
            some, waiting = (waiting, []) if reference else (waiting[:1], waiting[1:])
            standard = None if reference is None else (reference.folder.absolute(), reference.manifest)
            told = (chosen.dumps(), rebuild, terms, lenient, standard)
            for report in make([ShardBuild(one.folder.absolute(), *told) for one in some]):
                total.with_made(report).changed |= report.changed
                total.merge_due |= report.merge_due
            reference = reference or IndexedShard.of(some[0])
        parts = [IndexedShard.of(shard) for shard in shards]
        library.link_shards()
        folder, manifest = current_generation(library)
        # A generation that was written anew, by another standard, has the state of the one before.
        state = digest([[[part.folder.name, part.manifest["state"]] for part in parts], library.revision])
        total.papers = sum(part.manifest["papers"] for part in parts)
        if folder is not None and manifest.get("state") == state:
            total.generation = folder.name
        elif parts:
            make_folder(library.generations.root)
            total.changed = True
            total.generation = _assemble(library, parts, state).name
    return total


def merge_shards(
    library: Store, *, progress: Progress = quiet, load: Callable[[str], Encoder] = load_encoder
) -> IndexReport:
    """Write the index of each shard anew as one segment; papers are measured by the same standard.

    Args:
        library: the collection.
        progress: as in :func:`~aspectra.views.build.run.merge_segments`, as is the other.
        load: makes an encoder from its specification.

    Raises:
        LibraryBusy: another process is writing.
    """
    before = index_shards(library, progress=progress, load=load, lenient=True)
    shards = [shard for shard in library.shards.values() if len(shard)]
    merged = [merge_segments(one, progress=progress, load=load, outgrown=math.inf) for one in shards]
    if not any(report.changed for report in merged):
        return before
    return index_shards(library, progress=progress, load=load, lenient=True).with_made(before)


@dataclass(frozen=True)
class IndexedShard:
    """One shard with its generation.

    Attributes:
        shard: the library.
        folder: of the generation.
        manifest: of it.
    """

    shard: Store
    folder: Path
    manifest: dict[str, Any]

    @classmethod
    def of(cls, shard: Store) -> IndexedShard:
        """The shard with its current generation."""
        folder, manifest = current_generation(shard)
        if folder is None:
            raise AspectraError(
                f"the shard {shard.folder} has no index", why="its index is damaged", hint="aspectra index"
            )
        return cls(shard, folder, manifest)

    @classmethod
    def with_standard(cls, shard: Store) -> IndexedShard | None:
        """The same, where its generation keeps a standard; else None."""
        folder, manifest = current_generation(shard)
        kept = f"{STANDARD}/facts.json" in manifest.get("files", ())
        return cls(shard, folder, manifest) if folder is not None and kept else None

    def built(self, settings: IndexSettings) -> bool:
        """True if the generation has these settings."""
        return bool(self.manifest["settings"] == settings.to_dict())

    @property
    def standard(self) -> str:
        """Hash of the standard that its papers are measured by."""
        return _standard(self.manifest)

    @property
    def rules(self) -> str:
        """Hash of what it was built with, see :func:`~aspectra.views.build.work.fixed_state`."""
        return str(self.manifest["fixed"]).partition("/")[0]

    @property
    def views(self) -> dict[str, Any]:
        """The manifest's part of the views of its own papers."""
        return {name: facts for name, facts in self.manifest["views"].items() if name != GRAPH_VIEW}

    def opened(self) -> StoredFolder:
        """Its files."""
        return open_folder(self.shard.generations, self.folder, self.manifest)


def _standard(manifest: dict[str, Any]) -> str:
    files = sorted(manifest["files"].items())
    return digest([one for one in files if one[0].startswith(f"{STANDARD}/")])


def _check_alike(parts: Sequence[IndexedShard]) -> None:
    """Check that all shards were built alike.

    Raises:
        AspectraError: one was not; it is named.
    """
    first = parts[0]
    for part in parts[1:]:
        one_has = {*part.views, *part.manifest["lenses"]} ^ {*first.views, *first.manifest["lenses"]}
        same = (part.rules, part.standard) == (first.rules, first.standard)
        if one_has or not same:
            raise AspectraError(
                f"the shards {first.shard.folder.name} and {part.shard.folder.name} are not indexed alike",
                why=f"only one of them has {', '.join(sorted(one_has))}"
                if one_has
                else "their settings or their standards differ, so that scores cannot be compared",
                hint="aspectra index --rebuild",
            )


def _assemble(library: Store, parts: Sequence[IndexedShard], state: str) -> Path:
    """Write a generation of all shards and switch to it; returns its folder."""
    _check_alike(parts)
    generations = library.generations

    def write(building: Path) -> Path:
        linked: dict[str, FileSum] = {}
        segments: list[dict[str, Any]] = []
        for number, part in enumerate(parts):
            below = segment_folder(number)
            (building / below).mkdir(exist_ok=True)
            only = [name for name in part.manifest["files"] if not name.startswith((WHOLE, f"{STANDARD}/"))]
            taken = generations.share(part.folder, part.manifest, building / below, only=only)
            linked |= {below + name: sums for name, sums in taken.items()}
            segments += [{**one, "folder": below + one["folder"]} for one in part.manifest["segments"]]
        (building / WHOLE).mkdir()
        manifest = _write_whole(building, library, parts, [one["folder"] for one in segments])
        return generations.publish(building, {**manifest, "segments": segments, "state": state}, linked)

    made = written(generations, write)
    assert made is not None  # it is wanted whatever happens
    return made


def _write_whole(
    building: Path, library: Store, parts: Sequence[IndexedShard], segments: Sequence[str]
) -> dict[str, Any]:
    """Write the files that are of all papers together; returns the manifest."""
    whole = building / WHOLE
    opened = [part.opened() for part in parts]
    try:
        ids_of = [stored_ids(files) for files in opened]
        order, ids = _order(opened), [*chain.from_iterable(ids_of)]
        if order is not None:
            save_array(whole / "order.npy", order)
        save_array(whole / "id_order.npy", id_order(ids))
        drawn = [
            held[at] for held, files in zip(ids_of, opened, strict=True) for at in files.whole("sample", None)
        ]
        save_array(whole / "sample.npy", places_of(sample_ids(drawn), ids))
        views, lenses = parts[0].views, parts[0].manifest["lenses"]
        for part in parts[1:]:
            views = {name: added_up(facts, part.views[name]) for name, facts in views.items()}
            more = part.manifest["lenses"]
            lenses = {name: added_up(facts, more[name]) for name, facts in lenses.items()}
        together = StoredFolder(building, None, layout=Layout(tuple(segments), "", None))
        for name, facts in views.items():
            if facts["kind"] in ("lexical", "terms"):
                views[name] = {**facts, "words": _write_frequency(whole / name, name, together, opened)}
        together.close()
    finally:
        for files in opened:
            files.close()
    if write_citations(whole, library, len(ids)):
        views[GRAPH_VIEW] = {"kind": "graph"}
    kept = {name: value for name, value in parts[0].manifest.items() if name not in ("files", "generation")}
    return {
        **kept,
        **stamp(library, len(ids)),
        "views": views,
        "lenses": lenses,
        "shards": {
            str(part.shard.folder.relative_to(library.folder)): part.manifest["papers"] for part in parts
        },
    }


def _order(opened: Sequence[StoredFolder]) -> NDArray[np.int64] | None:
    """(papers,) stored row of each paper, counted through all segments; None where these are in order."""
    stored = [sum(len(part.array("years")) for part in files.segments) for files in opened]
    starts = [0, *accumulate(stored)]
    if all(files.order is None for files in opened):
        return None
    rows = [
        np.arange(count) if files.order is None else files.order
        for files, count in zip(opened, stored, strict=True)
    ]
    return np.concatenate([one + start for one, start in zip(rows, starts, strict=False)])


def _write_frequency(folder: Path, view: str, together: StoredFolder, opened: Sequence[StoredFolder]) -> int:
    """Write the document frequency of each word of a view; returns the number of words."""
    vocabulary = WordIndex(together.folder(view), LexicalSettings()).vocabulary
    frequency = np.zeros(len(vocabulary), np.int32)
    for files in opened:
        index = WordIndex(files.folder(view), LexicalSettings())
        numbers = np.array([vocabulary[word] for word in index.vocabulary], np.int64)
        frequency[numbers] += index.frequency.astype(np.int32)
    folder.mkdir()
    save_array(folder / "frequency.npy", frequency)
    return len(vocabulary)
