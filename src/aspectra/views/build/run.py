"""Building an index generation from ``library.db``, here or ahead of it; only what changed is encoded."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from aspectra.base.display import Progress, quiet
from aspectra.base.errors import LibraryCorrupt
from aspectra.base.files import digest
from aspectra.base.values import replace
from aspectra.papers.library.derived import Overtaken, Producer, Rows
from aspectra.papers.library.folder.lock import WriterLock
from aspectra.papers.library.store import Store
from aspectra.views.build.draft import STANDARD, Draft, IndexReport, Standard
from aspectra.views.build.generation import FEW, lacking_terms, words_of
from aspectra.views.build.records import PartOfStore
from aspectra.views.build.segments import (
    IndexChanges,
    Segments,
    add_segment,
    alone_with,
    as_soon_as_free,
    collect_orphans,
    is_one,
    paper_rows,
    publish,
    written,
)
from aspectra.views.build.values import abstract_vectors, lens_values
from aspectra.views.build.work import (
    Work,
    current_generation,
    fixed_as,
    fixed_state,
    keep_settings,
    parts_read,
    settings_of,
    state_of,
    with_encoders,
)
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.prompted.collecting import prompted_state
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import WHOLE, StoredFolder, open_folder

# What takes minutes is made before the library is locked, and what is there is searchable meanwhile.
#
# Values of papers (of lenses, vectors) are stored by what they are of, so that they can be made while
# others add papers, decide and search. Of a library without vectors the words are made searchable first,
# then its lenses, then abstracts, before full texts.

MANY = 1000  # papers without values, from which on these are made ahead
MANY_TEXTS = 50  # the same of full texts
_OUTGROWN = 2  # times the papers of a standard, from which on merging renews it
_LOCK = "index.lock"
_PATIENCE = 3600.0  # seconds that others may write at a stretch


class InTurns:
    """Stores derived values of a library, so that others write between two batches.

    Args:
        library: whose papers the values are of. Once these change, nothing more is stored.
        made: producer -> how many values were stored; counted here.
    """

    def __init__(self, library: Store, made: Counter[str]) -> None:
        self._library = library
        self.revision = library.revision
        self._made = made

    @property
    def derived(self) -> InTurns:
        """This object itself."""
        return self

    def put(self, producer: Producer, rows: Rows, /) -> None:
        """Store rows of one producer.

        Raises:
            Overtaken: papers have changed, perhaps those that the values were made of.
            LibraryBusy: another process wrote all the time.
        """
        self.put_all([(producer, rows)])

    def put_all(self, batches: Iterable[tuple[Producer, Rows]], /) -> None:
        """Store rows of several producers; raises as :meth:`put`."""
        made = [(producer, list(rows)) for producer, rows in batches]
        with as_soon_as_free(self._library, "index", self.overtaken, _PATIENCE) as writer:
            if writer is None:
                raise Overtaken
            writer.derived.put_all(made)
        self._made.update({producer.name: len(rows) for producer, rows in made})

    def overtaken(self) -> bool:
        """True if papers have changed since this object was made."""
        return self._library.revision != self.revision


def make_ahead(
    library: Store,
    settings: IndexSettings | None,
    progress: Progress,
    load: Callable[[str], Encoder],
    *,
    lenient: bool,
    early: bool = True,
) -> IndexReport:
    """Make values of papers where many lack them; returns how many were made.

    Args:
        library: the library, which is not locked by the caller.
        settings: what is built; default: as last time.
        progress: called with (step, done, total).
        load: makes an encoder from its specification.
        lenient: see :func:`~aspectra.views.build.run.build_index`.
        early: make what there is searchable meanwhile.

    Raises:
        LibraryBusy: another process makes them, or writes all the time.
        MissingExtra: an encoder is not installed.
    """
    made: Counter[str] = Counter()
    seconds: Counter[str] = Counter()

    def planned() -> _Ahead | None:
        _, manifest = current_generation(library)
        chosen = settings or settings_of(library)
        if _few(library, chosen, manifest):
            return None
        chosen, encoders, _ = with_encoders(chosen, load, manifest, lenient)
        turns = InTurns(library, made)
        found = _Ahead(Work(library, turns, chosen, encoders, progress), turns, manifest, early)
        return found if found.is_long else None

    ahead = planned()
    if ahead is None:
        return IndexReport()
    with WriterLock(library.folder, "index", name=_LOCK):
        if settings is not None:  # a run that goes on after a stop has the same
            with library.writing("index") as writer:
                keep_settings(library, writer, settings)
        while ahead is not None:
            complete = ahead.revision if ahead.run() else -1
            seconds.update(ahead.work.report.seconds)
            ahead = planned() if complete < 0 else None
    lensed = sum(times for name, times in made.items() if name.startswith("lens:"))
    chunks = sum(times for name, times in made.items() if name.startswith("chunks-"))
    return IndexReport(
        encoded=made["abstract"],
        encoded_full=chunks,
        lensed=lensed,
        complete=complete,
        seconds=dict(seconds),
    )


def _few(library: Store, settings: IndexSettings, manifest: dict[str, Any]) -> bool:
    """True if only few papers can lack values; the papers themselves are not read."""
    same = "fixed" in manifest and manifest["settings"] == settings.to_dict()
    return len(library) < MANY or (same and abs(len(library) - int(manifest["papers"])) < MANY)


class _Ahead:
    """Values that are made and stored before a generation is written.

    Args:
        work: makes them.
        turns: stores them.
        manifest: of the generation in use.
        early: see :func:`make_ahead`.
    """

    def __init__(self, work: Work, turns: InTurns, manifest: dict[str, Any], early: bool) -> None:
        self.work, self._turns, self._manifest, self._early = work, turns, manifest, early
        self._lenses = self._lacking([lens_values(name) for name in work.settings.applied_lenses])
        self._vectors = max([self._lacking([abstract_vectors(one)]) for _, one in work.encoders], default=0)
        self._texts = work.lacks_chunks()

    def _lacking(self, producers: Sequence[Producer]) -> int:
        """Number of papers without some value of these, counted up to :data:`MANY`."""
        found = self.work.library.derived.lacking(producers) if producers else ()
        return sum(1 for _ in islice(found, MANY))

    @property
    def revision(self) -> int:
        """Of the papers that values are made of."""
        return self._turns.revision

    @property
    def is_long(self) -> bool:
        """True if making the values takes long."""
        return max(self._lenses, self._vectors) >= MANY or self._texts >= MANY_TEXTS

    def run(self) -> bool:
        """Make the values; False if papers have changed meanwhile. Values made by then are kept."""
        try:
            self._make()
        except Overtaken:
            return False
        return True

    def _make(self) -> None:
        work = self.work
        has_vectors = any("encoder" in view for view in self._manifest.get("views", {}).values())
        of_vectors = [f"vectors of {encoder.name}" for _, encoder in work.encoders]
        bare = replace(work.settings, encoders=())
        if self._lenses >= MANY and not has_vectors:
            self._publish(replace(bare, lenses=()), [], ["lenses", *of_vectors])
        work.make_lenses()
        if self._vectors >= MANY and not has_vectors:
            self._publish(bare, [], of_vectors)
        work.encode()
        if self._texts:
            self._publish(
                replace(work.settings, dense_chunks=False), work.encoders, ["vectors of full texts"]
            )
        work.make_full_texts()

    def _publish(self, settings: IndexSettings, encoders: Sequence[Any], waiting: Sequence[str]) -> None:
        """Switch to a generation of what there is; ``waiting`` is what it lacks."""
        if not self._early:
            return
        work, turns = self.work, self._turns
        library, told = work.library, " and ".join(waiting)
        state = digest([library.revision, settings.to_dict(), told])
        if self._manifest.get("state") != state:
            words = words_of(library, *current_generation(library), settings)
            lacking = {encoder.name: len(lacking_terms(library, encoder)) for _, encoder in encoders}
            report = IndexReport(
                lacking_terms={name: papers for name, papers in lacking.items() if papers > FEW}
            )
            draft = Draft(library, settings, encoders, report, work.progress, words=words)
            rows = paper_rows(library, parts_read(settings))
            alone = alone_with(library, "index", turns.overtaken, _PATIENCE)
            if not publish(draft, rows, {"state": state, "waiting": told}, alone):
                raise Overtaken
        work.progress(f"searchable without {told}", len(library), len(library))


def build_index(
    library: Store,
    settings: IndexSettings | None = None,
    *,
    progress: Progress = quiet,
    rebuild: bool = False,
    terms: bool = False,
    load: Callable[[str], Encoder] = load_encoder,
    standard: tuple[Path, dict[str, Any]] | None = None,
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
        standard: folder and manifest of a generation whose standard is taken, where the library is one of
            several shards of a collection; default: its own.
        segments: when what changed is written as a segment of its own.
        lenient: build without an encoder that is not installed, where the library has no views of it yet; the
            settings keep it, so that a later run adds its views.

    Raises:
        LibraryBusy: another process is writing.
        MissingExtra: an encoder is not installed.
    """
    library.check_one("index")
    # What shows the words early would measure them by the shard's own papers.
    early = standard is None
    fresh = library.derived.empty
    made = make_ahead(library, settings, progress, load, lenient=lenient, early=early)
    chosen = settings or settings_of(library)
    with library.writing("index") as writer:
        folder, manifest = current_generation(library)
        chosen, encoders, absent = with_encoders(chosen, load, manifest, lenient)
        keep_settings(library, writer, settings)  # once its encoders could be had
        work = Work(library, writer, chosen, encoders, progress)
        work.report.absent = absent
        if folder is not None and not (rebuild or terms) and manifest["revision"] != library.revision:
            found = _extend(work, folder, manifest, segments)
            if found is not None:
                writer.checkpoint()
                return found.with_made(made)
        lacking = {encoder.name: lacking_terms(library, encoder) for _, encoder in encoders}
        few = {name for name, papers in lacking.items() if terms or len(papers) <= FEW}
        fixed = fixed_state(library, chosen, encoders, few)
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
        work.make_abstracts(lacking, everything=terms, complete=made.complete == library.revision)
        identity = {"state": state, "fixed": fixed}
        rows = paper_rows(library, parts_read(chosen)) if rows is None else rows
        work.make_full_texts()
        words = None if rebuild or standard is not None else words_of(library, folder, manifest, chosen)
        draft = Draft(library, chosen, encoders, work.report, progress, words=words, least=segments.least)
        with contextlib.ExitStack() as opened:
            if standard is not None:
                files = opened.enter_context(contextlib.closing(open_folder(library.generations, *standard)))
                draft.standard, draft.kept = _standard(files), standard
            work.report.generation = publish(draft, rows, identity)
        # Else nothing was orphaned: since the last time, or since values were made of the papers as they are.
        if changed and not (fresh and made.complete == library.revision):
            writer.derived.collect()
        writer.checkpoint()
        return work.report.with_made(made)


def merge_segments(
    library: Store,
    *,
    progress: Progress = quiet,
    load: Callable[[str], Encoder] = load_encoder,
    outgrown: float = _OUTGROWN,
) -> IndexReport:
    """Write an index of several segments anew, as one, while others search and add.

    The library is locked only for the switch. Where it was changed meanwhile, or another process merges, the
    index stays as it is, and the report says that nothing changed. Papers that wait for an ``index`` are
    indexed first, by :func:`build_index`.

    Args:
        library: the library.
        progress: called with (step, done, total).
        load: makes an encoder from its specification.
        outgrown: times the papers of the standard, from which on it is renewed.

    Raises:
        LibraryBusy: another process is writing.
    """
    library.check_one("index --merge")
    chosen, report = settings_of(library), None
    folder, manifest = current_generation(library)
    chosen, encoders, _ = with_encoders(chosen, load, manifest, lenient=True)
    fixed = fixed_as(manifest, library, chosen, encoders)
    if folder is None or manifest.get("fixed") != fixed or manifest["revision"] != library.revision:
        report = build_index(library, progress=progress, load=load, lenient=True)
        folder, manifest = current_generation(library)
    unchanged = report or IndexReport(manifest["papers"], generation=Path(folder or "").name, changed=False)
    if folder is None or is_one(manifest) or library.generations.building():
        return unchanged
    revision = library.revision
    report = IndexReport(lacking_terms=dict(manifest["lacking_terms"]))

    def overtaken() -> bool:
        return library.revision != revision or library.generations.current() != folder

    def shown(step: str, done: int, total: int) -> None:
        if overtaken():
            raise Overtaken
        progress(step, done, total)

    files = open_folder(library.generations, folder, manifest)
    draft = Draft(library, chosen, encoders, report, shown, least=Segments.least)
    try:
        standard = _standard(files)
        if standard is not None and len(library) <= outgrown * standard.papers:
            draft.standard, draft.kept = standard, (folder, manifest)
        rows = paper_rows(library, parts_read(chosen))
        identity = {"state": state_of(fixed, rows), "fixed": fixed}
        report.generation = publish(draft, rows, identity, alone_with(library, "merge", overtaken))
    except (Overtaken, ValueError, LibraryCorrupt):
        if not overtaken():
            raise
    finally:
        files.close()
    if not report.generation:
        return unchanged
    collect_orphans(library)
    return report


def _standard(files: StoredFolder) -> Standard | None:
    """The standard of a generation's papers; None if the generation keeps none."""
    folder = files.segments[0].folder(STANDARD)
    return Standard(folder) if "facts.json" in folder else None


def _extend(work: Work, folder: Path, manifest: dict[str, Any], limits: Segments) -> IndexReport | None:
    """Write the few papers that changed beside the generation in use; None where all are written anew."""
    library = work.library
    fixed = fixed_as(manifest, library, work.settings, work.encoders)
    if manifest.get("fixed") != fixed or "segments" not in manifest or prompted_state(library):
        return None
    files = open_folder(library.generations, folder, manifest)
    try:
        changes, standard = IndexChanges.since(files, library), _standard(files)
        if standard is None or not len(changes.changed) or not changes.fit(manifest, limits):
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
        generations = library.generations
        draft = Draft(part, some.settings, some.encoders, some.report, some.progress, standard=standard)

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
