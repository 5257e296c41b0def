"""A generation that is being written: what its steps share, and the standard that is kept with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from aspectra.base.display import Progress
from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.derived import Arrays, TakesValues
from aspectra.papers.library.generations.folders import FileSum
from aspectra.papers.library.store import Store
from aspectra.views.dense.reverse import dense_moments
from aspectra.views.encoders.protocol import Encoder, dense_facts
from aspectra.views.lexical.collection import Segment, WordIndex
from aspectra.views.lexical.reverse import Document, WordPairs, build_moments
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.arrays import new_array, save_array, save_json
from aspectra.views.storage.folder import StoredFolder, Units
from aspectra.views.text.tokens import LexicalSettings, Statistics, least_rarity
from aspectra.views.view import Floats, Positions

# What is usual in a library, kept while papers are added and until its index is written anew.

STANDARD = "standard"  # name of the folder in a generation
_MEANS = ("centres", "standard")  # arrays of views that are taken as they are


class Standard:
    """Reference statistics of the library, the same for all segments of an index.

    Scores of words and vectors follow from a paper and the statistics of all papers, which are read at query
    time. Three more statistics describe the library: the mean and deviation of each candidate's scores in
    reverse search, the mean that terms of aspects are centred by, and the mean and deviation of each habit
    of style. A few more papers change them little, and computing them takes minutes. So the papers that are
    there when the index is rebuilt serve as the reference, also for papers added later and when segments
    are merged: how an index is divided into segments does not affect the results.

    Args:
        folder: where :func:`write_standard` wrote.
    """

    def __init__(self, folder: StoredFolder) -> None:
        self._folder = folder
        facts = folder.json("facts.json")
        self.papers = int(facts["papers"])
        self.views = frozenset(facts["views"])
        self._sample = facts["sample"]
        # Read once: a million papers have two million words.
        self._words = cache(lambda view: self._folder.folder(view).json("vocabulary.json"))

    def places(self, ids: Sequence[str]) -> Positions:
        """(sample,) position of each document's paper among ``ids``, -1 if it is not one of them."""
        known = {one: at for at, one in enumerate(ids)}
        return np.array([known.get(one, -1) for one in self._sample], np.int64)

    def statistics(self, view: str, words: Iterable[str]) -> Statistics:
        """Statistics of a view, with the frequency of those of some words that it has."""
        folder, wanted = self._folder.folder(view), {*words}
        saved, counts = folder.json("statistics.json"), folder.whole("frequency")
        held = {word: int(counts[at]) for at, word in enumerate(self._words(view)) if word in wanted}
        documents, length = saved["documents"], saved["words"]
        return Statistics(documents, ((length, documents),), held, least=least_rarity(documents, counts))

    def documents(self, view: str, vocabulary: Sequence[str]) -> list[list[Document]]:
        """The documents of the sample's papers in a view of words, by other numbers of the words.

        Args:
            view: name of the view.
            vocabulary: the words by their new numbers.
        """
        folder, known = self._folder.folder(view), {word: at for at, word in enumerate(vocabulary)}
        used, which = np.unique(folder.whole("words"), return_inverse=True)
        names = self._words(view)
        words = np.array([known.get(names[at], -1) for at in used.tolist()], np.int64)[which]
        papers, offsets, weights = folder.whole("papers"), folder.whole("offsets"), folder.whole("weights")
        documents: list[Document] = []
        for low, high in pairwise(offsets):
            there = words[low:high] >= 0
            documents.append((words[low:high][there], weights[low:high][there]))
        return [documents[low:high] for low, high in pairwise(papers)]

    def vectors(self, view: str) -> list[NDArray[np.floating]]:
        """The vectors of the sample's papers in a view."""
        folder = self._folder.folder(view)
        rows, papers = folder.whole("vectors"), folder.whole("papers")
        return [rows[low:high] for low, high in pairwise(papers)]

    def array(self, view: str, name: str) -> Floats:
        """A mean of a view: ``centres`` of terms, ``standard`` of a lens with vectors."""
        return np.array(self._folder.folder(view).whole(name))


def write_standard(
    folder: Path, ids: Sequence[str], sample: Positions, views: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write the standard of a generation of one segment.

    Args:
        folder: of the generation, in which all else is written.
        ids: of its papers.
        sample: positions of the papers that are the documents of reverse scores.
        views: the manifest's parts of its views.
    """
    held, target = StoredFolder(folder), folder / STANDARD
    target.mkdir()
    chosen = sample.tolist()
    save_json(
        target / "facts.json", {"papers": len(ids), "sample": [ids[at] for at in chosen], "views": [*views]}
    )
    for view, facts in views.items():
        part, place = held.folder(view), target / view
        units = facts.get("units")
        offsets = Units.load(held.folder(units)).offsets if units else np.arange(len(ids) + 1)
        means = [name for name in _MEANS if f"{name}.npy" in part]
        words, vectors = "asking_offsets.npy" in part, "reverse_mean.npy" in part
        if words or vectors or means:
            place.mkdir()
        for name in means:
            save_array(place / f"{name}.npy", part.whole(name))
        if words:
            _write_words(place, part, offsets if units else None, chosen)
        elif vectors:
            rows = part.array("vectors")
            kept = [np.asarray(rows[int(offsets[at]) : int(offsets[at + 1])]) for at in chosen]
            save_array(place / "vectors.npy", np.concatenate(kept))
            save_array(place / "papers.npy", np.cumsum([0, *map(len, kept)]))
    held.close()


def _write_words(
    place: Path, part: StoredFolder, offsets: NDArray[np.integer] | None, sample: Sequence[int]
) -> None:
    """Statistics of a view of words, and the documents of the sample."""
    vocabulary = Segment(part).vocabulary
    save_json(place / "vocabulary.json", vocabulary)
    index = WordIndex(part, LexicalSettings())
    save_array(place / "frequency.npy", index.frequency.astype(np.int32))
    save_json(place / "statistics.json", {"documents": index.documents, "words": int(index.lengths.sum())})
    pairs = WordPairs(part, None if offsets is None else [offsets])
    papers = [pairs.documents(at) for at in sample]
    documents = [one for held in papers for one in held]
    save_array(place / "papers.npy", np.cumsum([0, *map(len, papers)]))
    save_array(place / "offsets.npy", np.cumsum([0, *(len(words) for words, _ in documents)]))
    words = [np.asarray(words, np.int32) for words, _ in documents]
    save_array(place / "words.npy", np.concatenate([np.zeros(0, np.int32), *words]))
    weights = [np.asarray(weights) for _, weights in documents]
    save_array(place / "weights.npy", np.concatenate([np.zeros(0, np.float32), *weights]))


T = TypeVar("T")
R = TypeVar("R")
_MANY = 5000  # papers from which on starting processes is worth its second


def by_all_cores(work: Callable[[T], R], batches: Iterable[T], papers: int) -> Iterator[R]:
    """Yield the result of ``work`` for each batch, in order; for many papers in parallel processes."""
    if papers >= _MANY:
        import joblib  # which few papers need not wait for

        cores = joblib.cpu_count()
        if cores >= 2:
            # One whose memory has grown is ended and replaced, which is nothing to warn of.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
            parallel = joblib.Parallel(n_jobs=cores, return_as="generator", pre_dispatch=2 * cores)
            yield from parallel(joblib.delayed(work)(batch) for batch in batches)
            return
    yield from map(work, batches)


@dataclass
class IndexReport:
    """Result of one ``index`` run.

    Attributes:
        papers: in the generation.
        encoded: abstract texts encoded now, over all encoders.
        encoded_full: full texts encoded now.
        read: full texts read for their aspects now.
        lensed: values made by lenses now, over all lenses.
        truncated: view -> texts longer than the encoder reads.
        lacking_terms: encoder -> papers that it encoded without their terms of aspects.
        absent: encoders left out because they are not installed -> the command that brings each.
        seconds_for_terms: encoder -> time to encode those again, estimated from a few that were encoded.
        generation: folder name of the generation, "" for an empty library.
        merge_due: whether the generation has so many segments that they should be merged soon.
        changed: False when the generation was already up to date.
        complete: the revision of the library all of whose papers have values; -1 where that is not known.
        seconds: by step.
    """

    papers: int = 0
    encoded: int = 0
    encoded_full: int = 0
    read: int = 0
    lensed: int = 0
    truncated: dict[str, int] = field(default_factory=dict)
    lacking_terms: dict[str, int] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    seconds_for_terms: dict[str, float] = field(default_factory=dict)
    generation: str = ""
    merge_due: bool = False
    changed: bool = True
    complete: int = -1
    seconds: dict[str, float] = field(default_factory=dict)

    def with_made(self, other: IndexReport) -> IndexReport:
        """Add what another run made: one ahead of this run, or one of another shard."""
        self.encoded += other.encoded
        self.encoded_full += other.encoded_full
        self.read += other.read
        self.lensed += other.lensed
        self.absent |= other.absent
        for name in ("truncated", "lacking_terms", "seconds_for_terms", "seconds"):
            mine = getattr(self, name)
            for key, value in getattr(other, name).items():
                mine[key] = mine.get(key, 0) + value
        return self


@dataclass(frozen=True)
class IndexTask:
    """Values of papers that an ``index`` run computes: of which papers, by what, and for whom.

    Attributes:
        library: the papers, all or some of them.
        writer: takes the values that are made.
        settings: what is built.
        encoders: (specification, encoder).
        progress: called with (step, done, total).
        report: what was done.
    """

    library: Store
    writer: TakesValues
    settings: IndexSettings
    encoders: list[tuple[str, Encoder]]
    progress: Progress
    report: IndexReport = field(default_factory=IndexReport)


@dataclass
class Draft:
    """One generation while it is written.

    Attributes:
        library: what it is made from.
        settings: what is to be built.
        encoders: (specification, encoder) of the dense views.
        report: counts what was done.
        progress: called with (step, done, total).
        folder: where it is written.
        standard: reference of the papers, where it is not computed from the papers themselves.
        kept: folder and manifest of the generation whose files of the standard are taken; or None.
        least: number of papers from which a standard is kept.
        words: folder and manifest of a generation of the same papers' words, whose files are taken; or None.
        linked: sums of the files that were taken.
        abstracts: names of the files of titles and abstracts, which those taken are.
        ids: of the papers, in order.
        full: whether each paper has full text.
        offsets: (papers + 1,) the first unit of each paper among those of ``sentences``.
        reference: positions of the sample, which are also the documents of reverse scores.
        views: view -> its part of the manifest.
        lenses: lens -> its part of the manifest.
    """

    library: Store
    settings: IndexSettings
    encoders: Sequence[tuple[str, Encoder]]
    report: IndexReport
    progress: Progress
    folder: Path = Path()
    standard: Standard | None = None
    kept: tuple[Path, dict[str, Any]] | None = None
    least: int = 0
    words: tuple[Path, dict[str, Any]] | None = None
    linked: dict[str, FileSum] = field(default_factory=dict)
    abstracts: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    full: list[bool] = field(default_factory=list)
    offsets: list[int] = field(default_factory=lambda: [0])
    reference: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
    lenses: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def beside(self) -> bool:
        """True if the papers are written as a segment beside a base, which keeps the standard."""
        return self.standard is not None and self.kept is None

    def known(self, view: str) -> Standard | None:
        """The standard where it has a view: what that of these papers is measured by."""
        return self.standard if self.standard is not None and view in self.standard.views else None

    def expects(self, view: str) -> bool:
        """True if the standard has a view: it is then written for these papers too, even if empty."""
        return self.known(view) is not None

    def statistics(self, view: str) -> Callable[[Iterable[str]], Statistics] | None:
        """Give the statistics that reverse probes weigh words by; None: those of the papers being written."""
        known = self.known(view)
        return None if known is None else partial(known.statistics, view)

    def mean(self, view: str, name: str) -> Floats | None:
        """See :meth:`Standard.array`; None for that of the papers that are written."""
        known = self.known(view)
        return None if known is None else known.array(view, name)

    def word_moments(self, view: str, units: Units | None = None) -> None:
        """Write what each candidate of a view of words scores on average."""
        offsets, folder = None if units is None else units.offsets, self.folder / view
        sample, documents = self.reference, None
        if (known := self.known(view)) is not None:
            sample = known.places(self.ids)
            documents = known.documents(view, Segment(StoredFolder(folder)).vocabulary)
        build_moments(folder, sample, offsets, given=documents)

    def vector_moments(self, view: str, rows: Any, units: Units | None = None) -> None:
        """The same for a view of vectors."""
        sample, vectors = self.reference, None
        if (known := self.known(view)) is not None:
            sample, vectors = known.places(self.ids), known.vectors(view)
        dense_moments(rows, units, sample, given=vectors).save(self.folder / view)

    def counted(self, step: str, items: Iterable[T], each: int = 1000) -> Iterator[tuple[int, T]]:
        """Number the papers' items from 0, with progress after every ``each`` of them and at the end."""
        for number, item in enumerate(items):
            if number % each == 0:
                self.progress(step, number, len(self.ids))
            yield number, item
        self.progress(step, len(self.ids), len(self.ids))

    def matrix(self, name: str, rows: int, columns: int, dtype: type) -> Any:
        """A (rows, columns) array of zeros in the file of a view's vectors, to be filled in place."""
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return new_array(path / "vectors.npy", (rows, columns), dtype)

    def describe(self, name: str, spec: str, encoder: Encoder, truncated: int, **more: Any) -> None:
        """Note a dense view in the manifest and in the report."""
        self.views[name] = {**dense_facts(name, spec, encoder, truncated), **more}
        self.report.truncated[name] = truncated

    def fill_units(
        self,
        matrix: Any,
        offsets: Sequence[int],
        papers: Iterable[int],
        values: Iterable[Arrays],
        encoder: Encoder,
    ) -> int:
        """Write the units' vectors of papers into their rows; returns the number of cut texts.

        Args:
            matrix: (units, dimensions), filled in place.
            offsets: (all papers + 1,) where each paper's rows begin.
            papers: positions, in order.
            values: of each of them: (units, dimensions) vectors, and the number of cut texts.
            encoder: that made them.

        Raises:
            LibraryCorrupt: vectors do not fit their paper's units.
        """
        cut = 0
        for number, (units, truncated) in zip(papers, values, strict=True):
            if number % 1000 == 0:
                self.progress(f"collecting vectors of {encoder.name}", number, len(self.ids))
            low, high = offsets[number], offsets[number + 1]
            if len(units) != high - low:
                raise LibraryCorrupt(
                    f"the stored vectors of {self.ids[number]!r} do not fit its text",
                    hint="aspectra index --rebuild",
                )
            matrix[low:high] = units
            cut += int(truncated)
        self.progress(f"collecting vectors of {encoder.name}", len(self.ids), len(self.ids))
        return cut
