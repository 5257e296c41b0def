"""What takes minutes is made before the library is locked, and what is there is searchable meanwhile.

Values of papers (of lenses, vectors) are stored by what they are of, so that they can be made while others
add papers, decide and search. Of a library without vectors the words are made searchable first, then its
lenses, then abstracts, before full texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aspectra.base.hashing import digest
from aspectra.base.progress import Progress
from aspectra.papers.library.derived import Overtaken, Producer, Rows
from aspectra.papers.library.folder.lock import WriterLock
from aspectra.papers.library.store import Store
from aspectra.views.build.draft import Draft, IndexReport
from aspectra.views.build.generation import words_of
from aspectra.views.build.lenses import lens_values
from aspectra.views.build.segments import alone_with, as_soon_as_free, paper_rows, publish
from aspectra.views.build.terms import FEW, lacking_terms
from aspectra.views.build.vectors import abstract_vectors
from aspectra.views.build.work import (
    SETTINGS_KEY,
    Work,
    current_generation,
    parts_read,
    settings_of,
    with_encoders,
)
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.settings import IndexSettings

MANY = 1000  # papers without values, from which on these are made ahead
MANY_TEXTS = 50  # the same of full texts
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
        self._revision = library.revision
        self._made = made

    @property
    def derived(self) -> InTurns:
        """Itself."""
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
        """Whether papers have changed."""
        return self._library.revision != self._revision


def make_ahead(
    library: Store,
    settings: IndexSettings | None,
    progress: Progress,
    load: Callable[[str], Encoder],
    *,
    lenient: bool,
) -> IndexReport:
    """Make values of papers where many lack them; returns how many were made.

    Args:
        library: the library, which is not locked by the caller.
        settings: what is built; default: as last time.
        progress: called with (step, done, total).
        load: makes an encoder from its specification.
        lenient: see :func:`~aspectra.views.build.run.build_index`.

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
        found = _Ahead(Work(library, turns, chosen, encoders, progress), turns, manifest)
        return found if found.is_long else None

    ahead = planned()
    if ahead is None:
        return IndexReport()
    with WriterLock(library.folder, "index", name=_LOCK):
        if settings is not None:  # a run that goes on after a stop has the same
            with library.writing("index") as writer:
                writer.set_meta(SETTINGS_KEY, settings.dumps())
        while ahead is not None:
            done = ahead.run()
            seconds.update(ahead.work.report.seconds)
            ahead = None if done else planned()
    lensed = sum(times for name, times in made.items() if name.startswith("lens:"))
    chunks = sum(times for name, times in made.items() if name.startswith("chunks-"))
    return IndexReport(encoded=made["abstract"], encoded_full=chunks, lensed=lensed, seconds=dict(seconds))


def _few(library: Store, settings: IndexSettings, manifest: dict[str, Any]) -> bool:
    """Whether few papers can lack values, told without looking at them."""
    same = "fixed" in manifest and manifest["settings"] == settings.to_dict()
    return len(library) < MANY or (same and abs(len(library) - int(manifest["papers"])) < MANY)


class _Ahead:
    """What is made ahead.

    Args:
        work: makes it.
        turns: where its values are stored.
        manifest: of the generation in use.
    """

    def __init__(self, work: Work, turns: InTurns, manifest: dict[str, Any]) -> None:
        self.work, self._turns, self._manifest = work, turns, manifest
        derived, lenses = work.library.derived, work.settings.applied_lenses
        self._lacking = len(derived.missing(lens_values(lenses[0]))) if lenses else 0
        self._without = max([len(derived.missing(abstract_vectors(e))) for _, e in work.encoders], default=0)
        self._texts = work.lacks_chunks()

    @property
    def is_long(self) -> bool:
        """Whether it takes long."""
        return max(self._lacking, self._without) >= MANY or self._texts >= MANY_TEXTS

    def run(self) -> bool:
        """Make it; False where papers have changed meanwhile. What was made is kept."""
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
        if self._lacking >= MANY and not has_vectors:
            self._publish(replace(bare, lenses=()), [], ["lenses", *of_vectors])
        work.make_lenses()
        if self._without >= MANY and not has_vectors:
            self._publish(bare, [], of_vectors)
        work.encode()
        if self._texts:
            self._publish(
                replace(work.settings, dense_chunks=False), work.encoders, ["vectors of full texts"]
            )
        work.make_full_texts()

    def _publish(self, settings: IndexSettings, encoders: Sequence[Any], waiting: Sequence[str]) -> None:
        """Switch to a generation of what there is; ``waiting`` is what it lacks."""
        work, turns = self.work, self._turns
        library, told = work.library, " and ".join(waiting)
        state = digest([library.revision, settings.to_dict(), told])
        if self._manifest.get("state") != state:
            words = words_of(library, *current_generation(library), settings)
            lacking = {encoder.name: len(lacking_terms(library, encoder)) for _, encoder in encoders}
            report = IndexReport(
                lacking_terms={name: papers for name, papers in lacking.items() if papers > FEW}
            )
            draft = Draft(library, Path(), settings, list(encoders), report, work.progress, words=words)
            rows = paper_rows(library, parts_read(settings))
            alone = alone_with(library, "index", turns.overtaken, _PATIENCE)
            if not publish(draft, rows, {"state": state, "waiting": told}, alone):
                raise Overtaken
        work.progress(f"searchable without {told}", len(library), len(library))
