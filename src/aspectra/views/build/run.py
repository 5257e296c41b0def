"""Building an index generation from ``library.db``; only what changed is encoded."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import AspectraError, LibraryBusy, LibraryCorrupt, MissingExtra
from aspectra.base.hashing import digest_texts
from aspectra.base.progress import Progress, quiet
from aspectra.papers.library.derived import Missing
from aspectra.papers.library.generations.folders import FORMAT, Generations
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.store import Store
from aspectra.papers.record_facts import FACTS_VERSION
from aspectra.papers.text.citation_marks import STRIPPER_VERSION
from aspectra.papers.text.cleaning import FOLDING_VERSION
from aspectra.papers.text.sentences import SPLITTER_VERSION
from aspectra.views.build.background import Background
from aspectra.views.build.draft import Draft, IndexReport
from aspectra.views.build.generation import write_generation
from aspectra.views.build.lenses import apply_lenses, lens_state, lens_values
from aspectra.views.build.part import PartOfStore
from aspectra.views.build.readings import make_readings, reader_state
from aspectra.views.build.segments import Changes, Segments, add_segment, is_one, paper_rows, save_rows
from aspectra.views.build.terms import FEW, encode_terms, lacking_terms, term_state
from aspectra.views.build.tokens import encode_lacking_tokens
from aspectra.views.build.vectors import chunk_vectors, encode_abstracts, encode_chunks, encode_sentences
from aspectra.views.dense.late.values import TOKENS_VERSION
from aspectra.views.encoders.prompts import prompt_facts
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.lexical.reverse import REVERSE_VERSION
from aspectra.views.prompted.building import encode_readings, prompted_state
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import WHOLE, StoredFolder, open_folder


@dataclass(frozen=True)
class Work:
    """What an ``index`` makes of papers before it writes them.

    Attributes:
        library: the papers, all or some of them.
        writer: of the library.
        settings: what is built.
        encoders: (specification, encoder).
        progress: called with (step, done, total).
        sample: see :func:`~aspectra.views.build.run.build_index`.
        report: what was done.
    """

    library: Store
    writer: Writer
    settings: IndexSettings
    encoders: list[tuple[str, Encoder]]
    progress: Progress
    sample: Sequence[str] | None = None
    report: IndexReport = field(default_factory=IndexReport)

    def make_abstracts(self, lacking: dict[str, list[Missing]], *, everything: bool) -> None:
        """Encode titles and abstracts, and apply lenses.

        Args:
            lacking: name of an encoder -> papers without terms of aspects.
            everything: make the terms of all those.
        """
        library, writer, settings, progress = self.library, self.writer, self.settings, self.progress
        report = self.report
        clock = perf_counter()
        for _, encoder in self.encoders:
            report.encoded += encode_abstracts(library, writer, encoder, settings, progress)
            without = lacking[encoder.name]
            _add_terms(library, writer, encoder, without, everything, report, settings.batch, progress)
            encode_lacking_tokens(library, writer, encoder, settings, progress)
            if settings.sentences_apart(encoder):
                encode_sentences(library, writer, encoder, settings, progress)
            encode_readings(library, writer, encoder, settings.batch, progress)
        report.seconds["encode"] = perf_counter() - clock
        clock = perf_counter()
        report.lensed = apply_lenses(library, writer, settings.applied_lenses, progress)
        report.seconds["lenses"] = perf_counter() - clock

    @property
    def _chunked(self) -> list[tuple[Encoder, str]]:
        settings = self.settings
        return (
            [(e, size) for _, e in self.encoders for size in settings.chunks] if settings.dense_chunks else []
        )

    def lacks_chunks(self) -> bool:
        """Whether a full text is not encoded yet."""
        derived, citations = self.library.derived, self.settings.citations
        return any(derived.missing(chunk_vectors(e, size, citations)) for e, size in self._chunked)

    def make_full_texts(self) -> None:
        """Encode and read full texts."""
        library, writer, settings, report = self.library, self.writer, self.settings, self.report
        clock = perf_counter()
        for encoder, size in self._chunked:
            report.encoded_full += encode_chunks(library, writer, encoder, size, settings, self.progress)
        report.seconds["encode"] += perf_counter() - clock
        if self._chunked and settings.readers:
            clock = perf_counter()
            encoders = [encoder for _, encoder in self.encoders]
            report.read = make_readings(library, writer, encoders, settings, self.progress)
            report.seconds["reading"] = perf_counter() - clock


def _add_terms(
    library: Store,
    writer: Writer,
    encoder: Encoder,
    lacking: list[Missing],
    everything: bool,
    report: IndexReport,
    batch: int,
    progress: Progress,
) -> None:
    """Make the terms that are lacking where they are few or wanted; else of a few, to tell what all take."""
    few = lacking if everything else lacking[:: max(1, len(lacking) // FEW)][:FEW]
    seconds = encode_terms(library, writer, encoder, few, batch, progress) if few else 0.0
    if rest := len(lacking) - len(few):
        report.lacking_terms[encoder.name] = rest
        report.seconds_for_terms[encoder.name] = seconds / len(few) * rest


def parts_read(settings: IndexSettings) -> list[str]:
    """Parts of papers that a generation reads."""
    reads = {part for name in settings.applied_lenses for part in lens_values(name).reads}
    return sorted({"text", "sections", "record"} | reads)


def state_of(fixed: str, rows: NDArray[np.int64]) -> str:
    """Hash of everything that a generation depends on: equal state, nothing to do."""
    return digest_texts([fixed, rows[:, 2].astype("<i8").tobytes().hex()])


def fixed_state(
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
        f"folding/{FOLDING_VERSION}",
        f"reverse/{REVERSE_VERSION} citations/{STRIPPER_VERSION} records/{FACTS_VERSION}",
        *((f"tokens/{TOKENS_VERSION}",) if settings.late else ()),
        *(name for _, e in encoders for name in prompt_facts(e)),
        reader_state(settings.readers),
        *(() if sample is None else sample),
    ]
    return digest_texts(parts)


SETTINGS_KEY = "index_settings"
T = TypeVar("T")
Named = list[tuple[str, Encoder]]  # with their specifications
Alone = Callable[[], AbstractContextManager[bool]]
_PATIENCE, _PAUSE = 60.0, 0.05  # seconds that a merge waits for another writer, and between its tries
_FEW_VALUES = 500  # that are removed while others wait


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
    chosen = settings or settings_of(library)
    with library.writing("index") as writer:
        folder, manifest = _current(library)
        chosen, encoders, absent = _with_encoders(chosen, load, manifest, lenient)
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
                return found
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
    indexed first, by :func:`build_index`.

    Args:
        library: the library.
        progress: called with (step, done, total).
        load: makes an encoder from its specification.

    Raises:
        LibraryBusy: another process is writing.
    """
    chosen, report = settings_of(library), None
    folder, manifest = _current(library)
    chosen, encoders, _ = _with_encoders(chosen, load, manifest, lenient=True)
    fixed = _fixed_as(manifest, library, chosen, encoders)
    if folder is None or manifest.get("fixed") != fixed or manifest["revision"] != library.revision:
        report = build_index(library, progress=progress, load=load, lenient=True)
        folder, manifest = _current(library)
    unchanged = report or IndexReport(manifest["papers"], generation=Path(folder or "").name, changed=False)
    if is_one(manifest) or library.generations.building():
        return unchanged
    revision = library.revision
    report = IndexReport(lacking_terms=dict(manifest["lacking_terms"]))

    def overtaken() -> bool:
        return library.revision != revision or library.generations.current() != folder

    def shown(step: str, done: int, total: int) -> None:
        if overtaken():
            raise _Overtaken
        progress(step, done, total)

    @contextlib.contextmanager
    def alone() -> Iterator[bool]:
        with _as_soon_as_free(library, "merge", overtaken) as writer:
            yield writer is not None

    draft = Draft(library, Path(), chosen, encoders, report, shown)
    try:
        rows = paper_rows(library, parts_read(chosen))
        identity = {"state": state_of(fixed, rows), "fixed": fixed}
        report.generation = _publish(draft, rows, identity, alone)
    except (_Overtaken, ValueError, LibraryCorrupt):
        if not overtaken():
            raise
    if not report.generation:
        return unchanged
    _collect(library)
    return report


class _Overtaken(Exception):
    """The library was changed while its index was merged."""


@contextlib.contextmanager
def _as_soon_as_free(library: Store, purpose: str, pointless: Callable[[], bool]) -> Iterator[Writer | None]:
    """The single writer, once no other writes; None where it is pointless by then.

    Raises:
        LibraryBusy: another process wrote all the time.
    """
    with contextlib.ExitStack() as stack:
        writer, until = None, perf_counter() + _PATIENCE
        while writer is None and not pointless():
            try:
                writer = stack.enter_context(library.writing(purpose))
            except LibraryBusy:
                if perf_counter() > until:
                    raise
                sleep(_PAUSE)
        yield None if pointless() else writer  # it may be so only since the lock could be had


def _collect(library: Store) -> None:
    """Remove values that belong to no paper any more; others may write in between."""
    revision = library.revision
    orphans = library.derived.orphans()
    while orphans:
        with _as_soon_as_free(library, "index", lambda: library.revision != revision) as writer:
            if writer is None:
                return  # a paper that came meanwhile may need them
            writer.derived.remove(orphans[-_FEW_VALUES:])
            del orphans[-_FEW_VALUES:]


def _with_encoders(
    settings: IndexSettings, load: Callable[[str], Encoder], manifest: dict[str, Any], lenient: bool
) -> tuple[IndexSettings, Named, dict[str, str]]:
    """The settings with the encoders that there are; these; and those left out, with what brings each."""
    used = {view.get("encoder") for view in manifest.get("views", {}).values()}
    encoders: Named = []
    absent: dict[str, str] = {}
    for spec in settings.encoders:
        try:
            encoders.append((spec, load(spec)))
        except MissingExtra as error:
            if not lenient or spec in used:
                raise
            absent[spec] = error.hint
    return replace(settings, encoders=tuple(spec for spec, _ in encoders)), encoders, absent


def _fixed_as(manifest: dict[str, Any], library: Store, settings: IndexSettings, encoders: Named) -> str:
    """What the generation of ``manifest`` would have as its fixed state, were it made with these."""
    few = {encoder.name for _, encoder in encoders} - {*manifest.get("lacking_terms", ())}
    return fixed_state(library, settings, encoders, None, few)


def _extend(work: Work, folder: Path, manifest: dict[str, Any], limits: Segments) -> IndexReport | None:
    """Write the few papers that changed beside the generation in use; None where all are written anew."""
    library = work.library
    fixed = _fixed_as(manifest, library, work.settings, work.encoders)
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
    alone: Alone | None = None,
) -> str:
    """Write a generation of one segment and switch to it; returns its name, "" where it is not wanted.

    Args:
        draft: of the generation.
        rows: see :func:`paper_rows`.
        identity: what tells it from others.
        alone: holds what is needed for the switch; whether the generation is still wanted.
    """
    generations = draft.library.generations

    def write(folder: Path) -> str:
        draft.folder = folder
        manifest = write_generation(draft)
        save_rows(folder, rows)
        segments = [{"folder": "", "papers": len(draft.ids)}]
        sums = generations.flush(folder)
        with alone() if alone else contextlib.nullcontext(True) as wanted:
            if not wanted:
                return ""
            made, retired = generations.switch(folder, {**manifest, **identity, "segments": segments}, sums)
        generations.remove(retired)
        return made.name

    return _written(generations, write, alone) or ""


def _written(generations: Generations, write: Callable[[Path], T], alone: Alone | None = None) -> T | None:
    """What a function gives that writes into the folder of a new generation; None where it is not wanted.

    Args:
        generations: of the library.
        write: the function.
        alone: holds what is needed to make the folder; whether the generation is wanted.

    Raises:
        AspectraError: the disk is full, or refuses.
    """
    try:
        with contextlib.ExitStack() as stack:
            # What killed processes left is removed first, which is for the writer to do.
            with alone() if alone else contextlib.nullcontext(True) as wanted:
                folder = stack.enter_context(generations.build()) if wanted else None
            return None if folder is None else write(folder)
    except OSError as error:
        # numpy's error for a file that it could write in part has no number.
        full = error.errno in (None, errno.ENOSPC, errno.EDQUOT)
        raise AspectraError(
            "the disk is full while writing the index" if full else "the index cannot be written",
            why=f"{error.strerror or error}; the index in use is unchanged",
            hint="free some space, then run: aspectra index" if full else "aspectra index",
        ) from error
