"""Building an index generation from ``library.db``; only what changed is encoded."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import AspectraError, LibraryCorrupt, MissingExtra
from aspectra.base.hashing import digest_texts
from aspectra.base.progress import Progress, quiet
from aspectra.papers.library.generations.folders import FORMAT, Generations
from aspectra.papers.library.store import Store
from aspectra.papers.record_facts import FACTS_VERSION
from aspectra.papers.text.citation_marks import STRIPPER_VERSION
from aspectra.papers.text.sentences import SPLITTER_VERSION
from aspectra.views.build.background import Background
from aspectra.views.build.draft import Draft, IndexReport
from aspectra.views.build.generation import write_generation
from aspectra.views.build.lenses import lens_state, lens_values
from aspectra.views.build.part import PartOfStore
from aspectra.views.build.readings import reader_state
from aspectra.views.build.segments import Changes, Segments, add_segment, is_one, paper_rows, save_rows
from aspectra.views.build.terms import FEW, lacking_terms, term_state
from aspectra.views.build.work import Work
from aspectra.views.dense.late.tokens import TOKENS_VERSION
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.lexical.reverse import REVERSE_VERSION
from aspectra.views.prompted.building import prompted_state
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import WHOLE, StoredFolder, open_folder

__all__ = ["SETTINGS_KEY", "IndexReport", "build_index", "merge_segments", "settings_of"]

SETTINGS_KEY = "index_settings"
T = TypeVar("T")


def settings_of(library: Store) -> IndexSettings:
    """The settings the library was last indexed with, or the defaults."""
    return IndexSettings.loads(library.meta(SETTINGS_KEY))


def build_index(
    library: Store,
    settings: IndexSettings | None = None,
    *,
    progress: Progress = quiet,
    rebuild: bool = False,
    terms: bool = False,
    load: Callable[[str], Encoder] = load_encoder,
    sample: Sequence[str] | None = None,
    segments: Segments = Segments(),
    merge: bool = False,
    lenient: bool = False,
) -> IndexReport:
    """Encode what is new and switch to a new generation.

    Interrupted at any point, the old generation stays in use and every finished batch is kept.

    Args:
        library: the library.
        settings: what to build; default: as last time.
        progress: called with (step, done, total).
        rebuild: make a new generation even when nothing changed.
        terms: encode papers again that lack the terms of aspects.
        load: makes an encoder from its specification.
        sample: ids of the sample that scores are standardised against, where the library is one of several
            shards of a collection; default: a sample of the library.
        segments: when what changed is written as a segment of its own.
        merge: write a generation of several segments anew, as one.
        lenient: build without an encoder that is not installed, where the library has no views of it yet; the
            settings keep it, so that a later run adds its views.

    Raises:
        LibraryBusy: another process is writing.
        MissingExtra: an encoder is not installed.
    """
    chosen = settings or settings_of(library)
    with library.writing("index") as writer:
        folder, manifest = _current(library)
        encoders, absent = _encoders(chosen, load, manifest, lenient)
        if settings is not None:  # stored only once its encoders could be had
            writer.set_meta(SETTINGS_KEY, settings.dumps())
        if absent:
            chosen = replace(chosen, encoders=tuple(spec for spec, _ in encoders))
        work = Work(library, writer, chosen, encoders, progress, sample)
        work.report.absent = absent
        if (
            folder is not None
            and not (rebuild or terms or sample)
            and manifest["revision"] != library.revision
        ):
            found = _extend(work, folder, manifest, segments)
            if found is not None:
                return found
        lacking = {encoder.name: lacking_terms(library, encoder) for _, encoder in encoders}
        few = {name for name, papers in lacking.items() if terms or len(papers) <= FEW}
        fixed = _fixed(library, chosen, encoders, sample, few)
        # A generation without full texts was followed by no collection of orphans.
        changed = manifest.get("revision") != library.revision or "fixed" not in manifest
        same = not rebuild and not changed and manifest["fixed"] == fixed
        rows = None if same else paper_rows(library, _reads(chosen))
        state = manifest["state"] if rows is None else _state(fixed, rows)
        merged = not merge or is_one(manifest)
        if folder is not None and not rebuild and merged and manifest.get("state") == state:
            if changed:
                writer.derived.collect()
            library.generations.prune()
            return IndexReport(manifest["papers"], absent=absent, generation=folder.name, changed=False)
        work.make_abstracts(lacking, everything=terms)
        identity = {"state": state, "fixed": fixed}
        rows = paper_rows(library, _reads(chosen)) if rows is None else rows
        if work.lacks_chunks():
            # Full texts take much longer than abstracts, which are made searchable first.
            bare = replace(chosen, dense_chunks=False)
            early = IndexReport(lacking_terms=work.report.lacking_terms)
            first = Draft(library, Path(), bare, encoders, early, progress, sample)
            _publish(first, rows, {"state": f"without full texts: {state}"})
        work.make_full_texts()
        draft = Draft(library, Path(), chosen, encoders, work.report, progress, sample)
        work.report.generation = _publish(draft, rows, identity)
        if changed:  # else nothing was orphaned since the last time
            writer.derived.collect()
        writer.checkpoint()
        return work.report


def merge_segments(
    library: Store, *, progress: Progress = quiet, load: Callable[[str], Encoder] = load_encoder
) -> IndexReport:
    """Write an index of several segments anew, as one, while others search and add.

    The library is locked only for the switch. Where it was changed meanwhile, or another process merges, the
    index stays as it is, and the report says that nothing changed. Papers that wait for an ``index`` are
    indexed too, by :func:`build_index`.

    Args:
        library: the library.
        progress: called with (step, done, total).
        load: makes an encoder from its specification.

    Raises:
        LibraryBusy: another process is writing.
    """
    folder, manifest = _current(library)
    chosen, revision = settings_of(library), library.revision
    encoders, absent = _encoders(chosen, load, manifest, lenient=True)
    if absent:
        chosen = replace(chosen, encoders=tuple(spec for spec, _ in encoders))
    few = {encoder.name for _, encoder in encoders} - {*manifest.get("lacking_terms", ())}
    fixed = _fixed(library, chosen, encoders, None, few)
    if folder is None or manifest.get("fixed") != fixed or manifest["revision"] != revision:
        return build_index(library, progress=progress, merge=True, load=load, lenient=True)
    unchanged = IndexReport(manifest["papers"], generation=folder.name, changed=False)
    if is_one(manifest) or library.generations.building():
        return unchanged
    report = IndexReport(lacking_terms=dict(manifest["lacking_terms"]))
    draft = Draft(library, Path(), chosen, encoders, report, progress)
    rows = paper_rows(library, _reads(chosen))
    identity = {"state": _state(fixed, rows), "fixed": fixed}

    @contextlib.contextmanager
    def alone() -> Iterator[bool]:
        with library.writing("merge") as writer:
            wanted = library.revision == revision and library.generations.current() == folder
            yield wanted
            if wanted:
                writer.derived.collect()  # what papers that were edited since left behind
                writer.checkpoint()

    try:
        report.generation = _publish(draft, rows, identity, alone)
    except (ValueError, LibraryCorrupt):
        if library.revision == revision:
            raise
    return report if report.generation else unchanged


def _encoders(
    settings: IndexSettings, load: Callable[[str], Encoder], manifest: dict[str, Any], lenient: bool
) -> tuple[list[tuple[str, Encoder]], dict[str, str]]:
    """The encoders with their specifications; and those left out, with the command that brings them."""
    used = {view.get("encoder") for view in manifest.get("views", {}).values()}
    encoders, absent = [], {}
    for spec in settings.encoders:
        try:
            encoders.append((spec, load(spec)))
        except MissingExtra as error:
            if not lenient or spec in used:
                raise
            absent[spec] = error.hint
    return encoders, absent


def _reads(settings: IndexSettings) -> list[str]:
    """Parts of papers that a generation reads."""
    reads = {part for name in settings.applied_lenses for part in lens_values(name).reads}
    return sorted({"text", "sections", "record"} | reads)


def _state(fixed: str, rows: NDArray[np.int64]) -> str:
    """Hash of everything that a generation depends on: equal state, nothing to do."""
    return digest_texts([fixed, rows[:, 2].astype("<i8").tobytes().hex()])


def _extend(work: Work, folder: Path, manifest: dict[str, Any], limits: Segments) -> IndexReport | None:
    """Write the few papers that changed beside the generation in use; None where all are written anew."""
    library = work.library
    few = {encoder.name for _, encoder in work.encoders} - {*manifest.get("lacking_terms", ())}
    fixed = _fixed(library, work.settings, work.encoders, None, few)
    if manifest.get("fixed") != fixed or "segments" not in manifest or prompted_state(library):
        return None
    files = open_folder(library.generations, folder, manifest)
    try:
        changes = Changes.since(files, library)
        if not len(changes.changed) or not changes.fit(manifest, limits):
            return None
        part = PartOfStore(library, changes.written.tolist())
        some = replace(
            work,
            library=part,
            report=IndexReport(absent=work.report.absent, lacking_terms=dict(manifest["lacking_terms"])),
        )
        if len(changes.written):
            some.make_abstracts(
                {encoder.name: lacking_terms(part, encoder) for _, encoder in work.encoders}, everything=True
            )
            some.make_full_texts()
        background = Background(files.segments[0], [*manifest["views"]])
        generations = library.generations
        draft = Draft(
            part, Path(), work.settings, work.encoders, some.report, work.progress, background=background
        )

        def write(building: Path) -> Path | None:
            linked = generations.share(folder, manifest, building, leave_out=WHOLE)
            draft.folder = building
            made = add_segment(draft, files, manifest, changes, _reads(work.settings))
            if not made:
                return None
            stored = StoredFolder(building, None, WHOLE).whole("papers")
            state = _state(fixed, stored)
            return generations.publish(building, {**made, "state": state, "fixed": fixed}, linked)

        clock = perf_counter()
        published = _written(generations, write)
        if published is None:
            return None
        report = some.report
        report.papers, report.generation = len(changes.now), published.name
        report.truncated = {n: v["truncated"] for n, v in manifest["views"].items() if "truncated" in v}
        report.seconds["segment"] = perf_counter() - clock
        report.merge_due = changes.many(manifest, limits)
        work.writer.checkpoint()
        return report
    finally:
        files.close()


def _current(library: Store) -> tuple[Path | None, dict[str, Any]]:
    """Folder and manifest of the generation in use; nothing where they are missing or damaged."""
    try:
        folder = library.generations.current()
        return (None, {}) if folder is None else (folder, library.generations.manifest(folder))
    except LibraryCorrupt:
        return None, {}


def _publish(
    draft: Draft,
    rows: NDArray[np.int64],
    identity: dict[str, str],
    switching: Callable[[], AbstractContextManager[bool]] = lambda: contextlib.nullcontext(True),
) -> str:
    """Write a generation of one segment and switch to it; returns its name, "" where it is not wanted.

    Args:
        draft: of the generation.
        rows: see :func:`paper_rows`.
        identity: what tells it from others.
        switching: holds what is needed for the switch; whether the generation is still wanted.
    """
    generations = draft.library.generations

    def write(folder: Path) -> str:
        draft.folder = folder
        manifest = write_generation(draft)
        save_rows(folder, rows)
        segments = [{"folder": "", "papers": len(draft.ids)}]
        with switching() as wanted:
            made = {**manifest, **identity, "segments": segments}
            return generations.publish(folder, made).name if wanted else ""

    return _written(generations, write)


def _written(generations: Generations, write: Callable[[Path], T]) -> T:
    """What a function gives that writes into the folder of a new generation.

    Raises:
        AspectraError: the disk is full, or refuses.
    """
    try:
        with generations.build() as folder:
            return write(folder)
    except OSError as error:
        # numpy's error for a file that it could write in part has no number.
        full = error.errno in (None, errno.ENOSPC, errno.EDQUOT)
        raise AspectraError(
            "the disk is full while writing the index" if full else "the index cannot be written",
            why=f"{error.strerror or error}; the index in use is unchanged",
            hint="free some space, then run: aspectra index" if full else "aspectra index",
        ) from error


def _fixed(
    library: Store,
    settings: IndexSettings,
    encoders: list[tuple[str, Encoder]],
    sample: Sequence[str] | None,
    with_terms: Collection[str],
) -> str:
    """Hash of everything that a generation depends on beside the papers."""
    parts = [
        str(FORMAT),
        settings.dumps(),
        *(e.fingerprint for _, e in encoders),
        *(term_state(e, lacking=e.name not in with_terms) for _, e in encoders),
        f"sentences/{SPLITTER_VERSION}",
        lens_state(settings.applied_lenses),
        *prompted_state(library),
        f"reverse/{REVERSE_VERSION} citations/{STRIPPER_VERSION} records/{FACTS_VERSION}",
        *((f"tokens/{TOKENS_VERSION}",) if settings.late else ()),
        reader_state(settings.readers),
        *(() if sample is None else sample),
    ]
    return digest_texts(parts)
