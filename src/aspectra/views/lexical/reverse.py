"""Reverse scoring: each candidate's own words or vectors are the query, the seed paper the document.

"What does this paper build on" and "what builds on it" are different questions to words: what a paper builds
on is talked about in it, so the *candidate's* most telling words turn up in the seed. Asked that way round,
candidates differ in how much they match anything at all (long ones win everything), so each candidate's score
is taken in deviations from its own mean: over a fixed sample of documents and itself, computed once, at
index time. No matrix of pairs is stored: a seed is scored through lists by word, like any query.

Source: the idea and its measurement are this project's, see docs/full-papers.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.views.lexical.collection import Segment, next_places, some_rows
from aspectra.views.storage.arrays import StoredArray, save_array
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.text.tokens import LexicalSettings, Statistics, Weighing, least_rarity
from aspectra.views.view import Floats, Positions

# Words that a paper asks with: those of the highest frequency times rarity. Fifty to two hundred do about
# equally well, all of them do worse.
ASKING_WORDS = 100
# Part of a generation's state: raise it when reverse scores change.
REVERSE_VERSION = 4
_LEAST = 1e-6  # a deviation below this counts as 0
# Words that one paper in so many asks with are common; the lists of so many are spelt out, in 90 MB for
# 87,000 papers.
_COMMON, _MOST_COMMON = 8, 256
Document = tuple[NDArray[np.integer], Floats]  # numbers of its words, and their BM25 weights


class Moments(Struct, frozen=True):
    """Mean and deviation of each candidate's scores when it is the query.

    Attributes:
        mean: (papers,) float32 mean over the sample of documents and the candidate itself.
        deviation: (papers,) float32, 0 where a candidate scores the same everywhere.
    """

    mean: Floats
    deviation: Floats

    def standardise(self, scores: Floats) -> Floats:
        """(papers,) scores in each candidate's own deviations; NaN for a candidate without a query."""
        known = self.deviation > _LEAST
        out = np.full(len(scores), np.nan, dtype=np.float32)
        np.divide(scores - self.mean, self.deviation, out=out, where=known)
        return out

    def save(self, folder: Path) -> None:
        """Into a generation being built."""
        save_array(folder / "reverse_mean.npy", self.mean)
        save_array(folder / "reverse_deviation.npy", self.deviation)

    @classmethod
    def load(cls, folder: StoredFolder) -> Moments:
        """Inverse of :meth:`save`."""
        return cls(*(folder.whole(f"reverse_{n}") for n in ("mean", "deviation")))


def moments_of(scored: Iterable[tuple[int, Floats]], own: Floats) -> Moments:
    """Moments over a sample of documents and each candidate itself.

    Every candidate's own document counts, whether it is in the sample or not: otherwise a candidate would be
    scored differently for having been drawn. A candidate with a high score on its own text scores high
    elsewhere too, and leaving its own text out measured worse.

    Args:
        scored: for each document of the sample the position of its paper, -1 where the collection's other
            parts hold it, and (papers,) scores of all candidates, NaN for one without a query.
        own: (papers,) each candidate's score with its own document.
    """
    first: NDArray[np.float64] = own.astype(np.float64)
    second = first**2
    count = np.ones(len(own))
    for position, values in scored:
        if np.isnan(values).all():  # a paper without a document
            continue
        scores = values.astype(np.float64)
        if position >= 0:
            scores[position] = 0.0  # counted above
            count[position] -= 1.0
        first += scores
        second += scores**2
        count += 1.0
    mean = first / count
    variance = np.maximum(second / count - mean**2, 0.0)
    # Differences of large squares: what is left of a constant candidate is rounding.
    variance[variance < 1e-10 * (second / count)] = 0.0
    deviation = np.nan_to_num(np.sqrt(variance))
    return Moments(np.nan_to_num(mean).astype(np.float32), deviation.astype(np.float32))


class _Lists(Struct, frozen=True):
    """Rows of (number, value) pairs: the numbers of row i are ``numbers[offsets[i] : offsets[i + 1]]``."""

    offsets: NDArray[np.int64]
    numbers: NDArray[np.int32] | StoredArray
    values: NDArray[Any] | StoredArray

    def row(self, at: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        low, high = self.offsets[at], self.offsets[at + 1]
        return self.numbers[low:high], self.values[low:high]

    def with_values(self, values: NDArray[Any]) -> _Lists:
        """The same numbers with other values."""
        return _Lists(self.offsets, self.numbers, values)

    def whole(self) -> _Lists:
        """The same in memory."""
        return _Lists(self.offsets, np.asarray(self.numbers), np.asarray(self.values))

    def transposed(self, rows: int) -> _Lists:
        """The same pairs by number."""
        ranges = [*some_rows(self.offsets)]
        parts = [slice(*self.offsets[[low, high]]) for low, high in ranges]
        sizes = [np.bincount(self.numbers[part], minlength=rows) for part in parts]
        offsets = np.concatenate(([0], np.cumsum(np.sum([np.zeros(rows, np.int64), *sizes], axis=0))))
        owners, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], self.values.dtype)
        free = offsets[:-1].copy()
        for (low, high), part, size in zip(ranges, parts, sizes, strict=True):
            order = np.argsort(self.numbers[part], kind="stable")
            owner = np.repeat(np.arange(low, high, dtype=np.int32), np.diff(self.offsets[low : high + 1]))
            at = next_places(free, size)
            owners[at], values[at] = owner[order], self.values[part][order]
        return _Lists(offsets, owners, values)

    def save(self, folder: Path, name: str) -> None:
        for part in ("offsets", "numbers", "values"):
            save_array(folder / f"{name}_{part}.npy", getattr(self, part))

    @classmethod
    def load(cls, folder: StoredFolder, name: str) -> _Lists:
        numbers, values = (folder.array(f"{name}_{part}") for part in ("numbers", "values"))
        return cls(folder.whole(f"{name}_offsets"), numbers, values)


class WordPairs:
    """Both sides of every paper in a lexical view: its words as a query, and its documents.

    Memory is linear in the text: at most :data:`ASKING_WORDS` words a paper twice (by paper and by word),
    and each word of each document once more with its BM25 weight. The weights, and the candidates' moments,
    are those of the collection when its first segment was written.

    Args:
        folder: where :func:`build_pairs` wrote.
        offsets: of each segment, (papers + 1,) which documents are a paper's; None where each paper is one.
        numbers: of each segment, the number of each of its words in the collection; None where they are the
            same, as those of the first are.
    """

    def __init__(
        self,
        folder: StoredFolder,
        offsets: Sequence[NDArray[np.integer]] | None = None,
        numbers: Sequence[Positions | None] = (None,),
    ) -> None:
        self._segments = []
        for at, part in enumerate(folder.segments):
            asking, documents = _Lists.load(part, "asking"), _Lists.load(part, "documents")
            by_word = _Lists.load(part, "asking_by_word")
            held = None if offsets is None else offsets[at]
            sides = _Sides(by_word, documents, len(asking.offsets) - 1, held)
            self._segments.append((asking, sides))
        self._numbers = numbers
        self._starts = np.cumsum([0, *(sides.papers for _, sides in self._segments)])
        self._order = folder.order
        self._moments = Moments.load(folder)

    def _place(self, paper: int) -> tuple[int, int]:
        """(segment, row in it) of a paper."""
        row = paper if self._order is None else int(self._order[paper])
        segment = int(np.searchsorted(self._starts, row, side="right")) - 1
        return segment, row - int(self._starts[segment])

    def _named(self, segment: int, words: NDArray[np.integer]) -> NDArray[np.integer]:
        """Numbers of a segment's words in the collection."""
        numbers = self._numbers[segment]
        return words if numbers is None else numbers[words]

    def words_of(self, paper: int) -> Positions:
        """Numbers of a paper's telling words, each as often as it occurs in the paper."""
        segment, row = self._place(paper)
        words, counts = self._segments[segment][0].row(row)
        return np.repeat(self._named(segment, words).astype(np.int64), counts.astype(np.int64))

    def documents(self, paper: int) -> list[Document]:
        """The documents of a paper."""
        segment, row = self._place(paper)
        held = self._segments[segment][1].documents_of(row)
        return [(self._named(segment, words), weights) for words, weights in held]

    def reverse(self, documents: Sequence[Document]) -> Floats:
        """(papers,) score of a paper for each candidate's words, in the candidate's own deviations.

        NaN for a candidate without words, and for all candidates if ``documents`` is empty.

        Args:
            documents: of the paper.
        """
        parts = []
        for (_, sides), numbers in zip(self._segments, self._numbers, strict=True):
            known = [_words_there(one, sides.words, numbers) for one in documents]
            parts.append(sides.score(known))
        scores = np.concatenate(parts)
        return self._moments.standardise(scores if self._order is None else scores[self._order])


def _words_there(document: Document, words: int, numbers: Positions | None) -> Document:
    """A document by a segment's own numbers of words, without the words that it lacks."""
    held, weights = document
    if numbers is None:
        known = held < words
        return (held, weights) if known.all() else (held[known], weights[known])
    if not len(numbers):
        return held[:0], weights[:0]
    order = np.argsort(numbers)
    at = order[np.minimum(np.searchsorted(numbers, held, sorter=order), len(order) - 1)]
    known = numbers[at] == held
    return at[known], weights[known]


class _Sides(Struct, frozen=True):
    """Both sides of a reverse search: candidates' queries, by word, and documents."""

    by_word: _Lists
    documents: _Lists
    papers: int
    offsets: NDArray[np.integer] | None
    common: Mapping[int, Floats] = {}

    def with_common(self) -> _Sides:
        """The same with the lists of the commonest words spelt out: many documents are then scored faster.

        To add 0 for a paper without the word changes no sum.
        """
        sizes, common = np.diff(self.by_word.offsets), {}
        for word in np.argsort(-sizes, kind="stable")[:_MOST_COMMON].tolist():
            if sizes[word] * _COMMON > self.papers:
                common[word] = np.zeros(self.papers, np.float32)
                numbers, values = self.by_word.row(word)
                common[word][numbers] = values
        return _Sides(self.by_word, self.documents, self.papers, self.offsets, common)

    @property
    def words(self) -> int:
        """Number of words."""
        return len(self.by_word.offsets) - 1

    def held(self, paper: int) -> range:
        """The documents of a paper."""
        if self.offsets is None:
            return range(paper, paper + 1)
        return range(int(self.offsets[paper]), int(self.offsets[paper + 1]))

    def documents_of(self, paper: int) -> list[Document]:
        """The documents of a paper."""
        return [self.documents.row(document) for document in self.held(paper)]

    def score(self, documents: Sequence[Document]) -> Floats:
        """(papers,) what each candidate scores with the best of a paper's documents; NaN without any."""
        best = np.full(self.papers, np.nan, dtype=np.float32)
        for document in documents:
            best = np.fmax(best, self._one(*document))
        return best

    def _one(self, words: NDArray[np.integer], weights: Floats) -> Floats:
        """(papers,) sum over words of a candidate's (root) frequency times the document's weight."""
        scores = np.zeros(self.papers, dtype=np.float32)
        offsets, numbers, values = self.by_word.offsets, self.by_word.numbers, self.by_word.values
        for word, low, high, weight in zip(
            words.tolist(), offsets[words], offsets[words + 1], weights, strict=True
        ):
            if word in self.common:
                scores += self.common[word] * weight
            else:
                np.add.at(scores, numbers[low:high], values[low:high] * weight)
        return scores


def build_pairs(
    papers: Iterable[Sequence[int]] | None,
    settings: LexicalSettings,
    folder: Path,
    damped: bool,
    standard: Callable[[Iterable[str]], Statistics] | None = None,
) -> None:
    """Write both sides of every paper beside a lexical index.

    Args:
        papers: numbers of the words that are each paper's query, repeats kept; None: those of the documents,
            one for each paper.
        settings: of the view.
        folder: of the lexical view, with the postings of its documents.
        damped: whether queries use root frequencies: in a whole text the tenth mention of a word says less
            than the first, in an abstract the second says as much.
        standard: gives the statistics that some words are weighed by; default: those of the documents.
    """
    stored = StoredFolder(folder)
    segment = Segment(stored)
    postings, lengths = segment.postings, segment.lengths
    words, frequency = len(segment.vocabulary), np.diff(postings.pointers)
    if standard is None:
        total, mean = len(lengths), float(lengths.sum() / max(len(lengths), 1))
        weighing = Weighing(settings, total, mean, least_rarity(total, frequency))
    else:
        known = standard(segment.vocabulary)
        weighing = known.weighing(settings)
        frequency = np.array([known.frequency.get(word, 1) for word in segment.vocabulary], np.int64)
    rare = np.array([weighing.rarity(count) for count in frequency.tolist()], np.float32)
    held = _Lists(postings.pointers, postings.documents, postings.counts).transposed(len(lengths))
    stored.close()
    held.with_values(_weights(held, weighing, lengths, rare)).save(folder, "documents")
    rarity = np.log1p((weighing.documents - frequency + 0.5) / (frequency + 0.5))
    if papers is not None:
        held = _counted(papers)
    asking = _most_telling(held, rarity)
    del held  # half a gigabyte of a million papers
    asking.save(folder, "asking")
    reverse = asking.with_values(np.sqrt(asking.values)) if damped else asking
    reverse.save(folder, "reversed")
    reverse.transposed(words).save(folder, "asking_by_word")


def _weights(held: _Lists, weighing: Weighing, lengths: NDArray[np.integer], rare: Floats) -> Floats:
    """Weights of the words in each document."""
    out, damping = np.empty(held.offsets[-1], np.float32), weighing.damping(lengths)
    for low, high in some_rows(held.offsets):
        part = slice(*held.offsets[[low, high]])
        damped = np.repeat(damping[low:high], np.diff(held.offsets[low : high + 1]))
        out[part] = weighing.weights(held.values[part], damped, rare[held.numbers[part]])
    return out


def _counted(papers: Iterable[Sequence[int]]) -> _Lists:
    """Each paper's words, ascending, and how often it has them."""
    rows = [np.unique(np.asarray(paper, np.int32), return_counts=True) for paper in papers]
    offsets = np.cumsum([0, *(len(found) for found, _ in rows)])
    numbers = np.concatenate([np.zeros(0, np.int32), *(found for found, _ in rows)])
    return _Lists(offsets, numbers, np.concatenate([np.zeros(0, np.int64), *(often for _, often in rows)]))


def _most_telling(held: _Lists, rarity: Floats) -> _Lists:
    """The words that each paper asks with, see :data:`ASKING_WORDS`, and how often it has them."""
    sizes = np.diff(held.offsets)
    offsets = np.concatenate(([0], np.cumsum(np.minimum(sizes, ASKING_WORDS)))).astype(np.int64)
    numbers, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    for first, end in some_rows(held.offsets):
        start = held.offsets[first]
        order = np.arange(start, held.offsets[end])
        chosen = np.ones(len(order), np.bool_)
        for paper in (first + np.flatnonzero(sizes[first:end] > ASKING_WORDS)).tolist():
            low, high = held.offsets[paper : paper + 2] - start
            found, often = held.row(paper)
            order[low:high] = start + low + np.lexsort((found, -(often * rarity[found])))
            chosen[low + ASKING_WORDS : high] = False
        part, order = slice(*offsets[[first, end]]), order[chosen]
        numbers[part], values[part] = held.numbers[order], held.values[order]
    return _Lists(offsets, numbers, values)


def build_moments(
    folder: Path,
    sample: Positions,
    offsets: NDArray[np.integer] | None = None,
    *,
    given: Sequence[Sequence[Document]] | None = None,
) -> None:
    """Write what each candidate scores on average, beside what :func:`build_pairs` wrote.

    Args:
        folder: of the lexical view.
        sample: positions of the papers that are the documents; -1 for one that is not among these.
        offsets: as in :class:`WordPairs`.
        given: the documents of the sample, with this view's numbers of words; default: those it has here.
    """
    held = StoredFolder(folder)
    asking, by_word, documents = (
        _Lists.load(held, name).whole() for name in ("reversed", "asking_by_word", "documents")
    )
    papers = len(asking.offsets) - 1
    sides = _Sides(by_word, documents, papers, offsets).with_common()
    own = np.full(papers, np.nan, dtype=np.float32)
    for paper in range(papers):
        words, strength = asking.row(paper)
        order = np.argsort(words)
        words, strength = words[order], strength[order]
        for document in sides.held(paper) if len(words) else ():
            known, weights = documents.row(document)
            at = np.searchsorted(known, words)
            at[at == len(known)] = 0
            here = known[at] == words if len(known) else np.zeros(len(words), np.bool_)
            own[paper] = np.fmax(own[paper], float(strength[here] @ weights[at[here]]))
        if len(words) and np.isnan(own[paper]):
            own[paper] = 0.0  # it asks, and has no document of its own
    texts = (sides.documents_of(p) for p in sample) if given is None else given
    moments_of(((int(p), sides.score(one)) for p, one in zip(sample, texts, strict=True)), own).save(folder)
    held.close()
