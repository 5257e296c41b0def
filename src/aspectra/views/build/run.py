"""Building an index generation from ``library.db``; only what changed is encoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from aspectra.base.errors import LibraryCorrupt
from aspectra.base.progress import Progress, quiet
from aspectra.papers.library.derived import Overtaken
from aspectra.papers.library.store import Store
from aspectra.views.build.ahead import make_ahead
from aspectra.views.build.draft import Background, Draft, IndexReport
from aspectra.views.build.generation import words_of
from aspectra.views.build.records import PartOfStore
from aspectra.views.build.segments import (
    Changes,
    Segments,
    add_segment,
    alone_with,
    collect_orphans,
    is_one,
    paper_rows,
    publish,
    written,
)
from aspectra.views.build.terms import FEW, lacking_terms
from aspectra.views.build.work import (
    SETTINGS_KEY,
    Work,
    current_generation,
    fixed_as,
    fixed_state,
    parts_read,
    settings_of,
    state_of,
    with_encoders,
)
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.prompted.running import prompted_state
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import WHOLE, StoredFolder, open_folder


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
        lenient: build without an encoder that is not installed, where the library has no views of it yet; the
            settings keep it, so that a later run adds its views.

    Raises:
        LibraryBusy: another process is writing.
        MissingExtra: an encoder is not installed.
    """
    made = IndexReport() if sample else make_ahead(library, settings, progress, load, lenient=lenient)
    chosen = settings or settings_of(library)
    with library.writing("index") as writer:
        folder, manifest = current_generation(library)
        chosen, encoders, absent = with_encoders(chosen, load, manifest, lenient)
        if settings is not None:  # stored only once its encoders could be had
            writer.set_meta(SETTINGS_KEY, settings.dumps())
        work = Work(library, writer, chosen, encoders, progress, sample)
        work.report.absent = absent
        if (
            folder is not None
            and not (rebuild or terms or sample)
            and manifest["revision"] != library.revision
        ):
            found = _extend(work, folder, manifest, segments)
            if found is not None:
                writer.checkpoint()
                return found.with_made(made)
        lacking = {encoder.name: lacking_terms(library, encoder) for _, encoder in encoders}
        few = {name for name, papers in lacking.items() if terms or len(papers) <= FEW}
        fixed = fixed_state(library, chosen, encoders, sample, few)
        # A generation without full texts was followed by no collection of orphans.
        changed = manifest.get("revision") != library.revision or "fixed" not in manifest
        same = not rebuild and not changed and manifest["fixed"] == fixed
        rows = None if same else paper_rows(library, parts_read(chosen))
        state = manifest["state"] if rows is None else state_of(fixed, rows)
        if folder is not None and not rebuild and manifest.get("state") == state:
            if changed:
                writer.derived.collect()
            library.generations.prune()
            return IndexReport(manifest["papers"], absent=absent, generation=folder.name, changed=False)
        work.make_abstracts(lacking, everything=terms)
        identity = {"state": state, "fixed": fixed}
        rows = paper_rows(library, parts_read(chosen)) if rows is None else rows
        work.make_full_texts()
        words = None if sample or rebuild else words_of(library, folder, manifest, chosen)
        draft = Draft(library, Path(), chosen, encoders, work.report, progress, sample, words=words)
        work.report.generation = publish(draft, rows, identity)
        if changed:  # else nothing was orphaned since the last time
            writer.derived.collect()
        writer.checkpoint()
        return work.report.with_made(made)


def merge_segments(
    library: Store, *, progress: Progress = quiet, load: Callable[[str], Encoder] = load_encoder
) -> IndexReport:
    """Write an index of several segments anew, as one, while others search and add.

    The library is locked only for the switch. Where it was changed meanwhile, or another process merges, the
    index stays as it is, and the report says that nothing changed. Papers that wait for an ``index`` are
    indexed first, by :func:`build_index`.

    Args:
        library: the library.
        progress: called with (step, done, total).
        load: makes an encoder from its specification.

    Raises:
        LibraryBusy: another process is writing.
    """
    chosen, report = settings_of(library), None
    folder, manifest = current_generation(library)
    chosen, encoders, _ = with_encoders(chosen, load, manifest, lenient=True)
    fixed = fixed_as(manifest, library, chosen, encoders)
    if folder is None or manifest.get("fixed") != fixed or manifest["revision"] != library.revision:
        report = build_index(library, progress=progress, load=load, lenient=True)
        folder, manifest = current_generation(library)
    unchanged = report or IndexReport(manifest["papers"], generation=Path(folder or "").name, changed=False)
    if is_one(manifest) or library.generations.building():
        return unchanged
    revision = library.revision
    report = IndexReport(lacking_terms=dict(manifest["lacking_terms"]))

    def overtaken() -> bool:
        return library.revision != revision or library.generations.current() != folder

    def shown(step: str, done: int, total: int) -> None:
        if overtaken():
            raise Overtaken
        progress(step, done, total)

    draft = Draft(library, Path(), chosen, encoders, report, shown)
    try:
        rows = paper_rows(library, parts_read(chosen))
        identity = {"state": state_of(fixed, rows), "fixed": fixed}
        report.generation = publish(draft, rows, identity, alone_with(library, "merge", overtaken))
    except (Overtaken, ValueError, LibraryCorrupt):
        if not overtaken():
            raise
    if not report.generation:
        return unchanged
    collect_orphans(library)
    return report


def _extend(work: Work, folder: Path, manifest: dict[str, Any], limits: Segments) -> IndexReport | None:
    """Write the few papers that changed beside the generation in use; None where all are written anew."""
    library = work.library
    fixed = fixed_as(manifest, library, work.settings, work.encoders)
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
            made = add_segment(draft, files, manifest, changes, parts_read(work.settings))
            if not made:
                return None
            stored = StoredFolder(building, None, WHOLE).whole("papers")
            state = state_of(fixed, stored)
            return generations.publish(building, {**made, "state": state, "fixed": fixed}, linked)

        clock = perf_counter()
        published = written(generations, write)
        if published is None:
            return None
        report = some.report
        report.papers, report.generation = len(changes.now), published.name
        report.truncated = {n: v["truncated"] for n, v in manifest["views"].items() if "truncated" in v}
        report.seconds["segment"] = perf_counter() - clock
        report.merge_due = changes.many(manifest, limits)
        return report
    finally:
        files.close()
