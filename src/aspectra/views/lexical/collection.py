"""Documents in one or several segments: their postings, and the statistics by which BM25 weighs words.

The statistics are those of the documents there are. Where the documents are one part of a larger collection
(a shard), those of the whole can be given, so that every part weighs words alike: :meth:`Statistics.of` reads
each part's own, :meth:`Statistics.merged` adds them up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.storage.arrays import StoredArray, save_array, save_json
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.storage.units import Units
from aspectra.views.text.tokens import LexicalSettings
from aspectra.views.view import Floats, Positions

# Postings: which documents hold a word, and how often. What a word weighs there is computed when it is
# read.
#
# A folder holds the postings of one segment of an index. Several segments are read as one collection: a
# word's rarity and the mean length are those of all documents together, so that scores are those of an
# index made in one go, whatever was added, edited or removed since.
#
# The variants of BM25 are those of Lu, "BM25S" (2024), section 2, and that of the package rank-bm25.

_DELTA = 0.5  # of bm25l and bm25+: what a word adds to a document that holds it at all
_EPSILON = 0.25  # of okapi, see Weighing
_MOST = np.iinfo(np.uint16).max
_SHIFT = np.int64(32)


@dataclass(frozen=True)
class Weighing:
    """What decides the weights of words: a variant of BM25, and statistics of the collection.

    Attributes:
        settings: the variant and its parameters.
        documents: how many there are.
        mean_length: of them, in words.
        frequencies: (words,) documents that hold each word of the collection; None where the view is a part
            of one and holds not all of them, which the variant okapi needs.
    """

    settings: LexicalSettings
    documents: int
    mean_length: float
    frequencies: NDArray[np.integer] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def _least_rarity(self) -> float:
        """Of okapi, for words that most documents hold: a quarter of the mean over all words."""
        if self.frequencies is None:
            raise UsageError(
                "the variant okapi weighs words by all words of the collection",
                why="this view holds a part of them",
                hint="aspectra index --method lucene",
            )
        held = self.frequencies[self.frequencies > 0]
        return _EPSILON * float(np.log((self.documents - held + 0.5) / (held + 0.5)).mean())

    def rarity(self, frequency: int) -> float:
        """Inverse document frequency of a word that so many documents hold."""
        held, total = max(frequency, 1), self.documents
        match self.settings.method:
            case "robertson":
                return math.log(max(1.0, (total - held + 0.5) / (held + 0.5)))
            case "atire":
                return math.log(total / held)
            case "bm25l":
                return math.log((total + 1) / (held + 0.5))
            case "bm25+":
                return math.log((total + 1) / held)
            case "okapi":
                rarity = math.log((total - held + 0.5) / (held + 0.5))
                return self._least_rarity if rarity < 0 else rarity
            case _:
                return math.log(1 + (total - held + 0.5) / (held + 0.5))

    def damping(self, lengths: NDArray[np.integer]) -> Floats:
        """(documents,) float32 of how much their lengths damp the counts of their words."""
        b = self.settings.b
        relative = 1.0 - b + b * lengths / np.float64(max(self.mean_length, 1e-9))
        if self.settings.method != "bm25l":
            relative *= self.settings.k1
        return relative.astype(np.float32)

    def weights(self, counts: NDArray[Any], damping: Floats, rarity: float | Floats) -> Floats:
        """(n,) float32 weights of a word in documents, above those where it does not occur.

        Args:
            counts: (n,) of the word in each document.
            damping: (n,) of the documents, see :meth:`damping`.
            rarity: of the word; or (n,) of the word of each count.
        """
        k1 = self.settings.k1
        if self.settings.method == "bm25l":
            relative = counts / damping + np.float32(_DELTA)
            share = np.float32(k1 + 1) * relative / (relative + np.float32(k1))
            return np.asarray((share - np.float32(self._nothing)) * _float32(rarity))
        if self.settings.method in ("atire", "bm25+", "okapi"):
            rarity = (k1 + 1) * rarity
        out: Floats = np.add(counts, damping, dtype=np.float32)
        np.divide(counts, out, out=out)
        np.multiply(out, _float32(rarity), out=out)
        return out

    @property
    def _nothing(self) -> float:
        """What a word is worth in a document without it, times its rarity."""
        k1 = self.settings.k1
        of = {"bm25l": (k1 + 1) * _DELTA / (k1 + _DELTA), "bm25+": _DELTA}
        return of.get(self.settings.method, 0.0)

    def absent(self, frequencies: Iterable[int]) -> float:
        """What words add to the score of every document, also of those that do not hold them."""
        return self._nothing * sum(map(self.rarity, frequencies)) if self._nothing else 0.0


def _float32(rarity: float | Floats) -> np.float32 | Floats:
    return np.float32(rarity) if isinstance(rarity, int | float) else rarity.astype(np.float32, copy=False)


class Postings(Struct, frozen=True):
    """Of one segment, by word.

    Attributes:
        pointers: (words + 1,) where each word's begin.
        documents: (n,) int32 the documents of each word, ascending.
        counts: (n,) how often each holds the word: uint16, or float32 where occurrences count by a chance.
    """

    pointers: NDArray[np.int64]
    documents: NDArray[np.int32] | StoredArray
    counts: NDArray[Any] | StoredArray

    @property
    def words(self) -> NDArray[np.int64]:
        """(n,) the word of each."""
        return np.repeat(np.arange(len(self.pointers) - 1), np.diff(self.pointers))

    def words_in(self, chosen: Positions) -> NDArray[np.int64]:
        """The words of some documents: each as often as there are documents among them that hold it."""
        held = np.flatnonzero(np.isin(np.asarray(self.documents), chosen))
        return np.searchsorted(self.pointers, held, side="right") - 1


def alphabetical(vocabulary: Mapping[str, int]) -> tuple[dict[str, int], NDArray[np.int32]]:
    """The words numbered in their order, and the new number of each old one.

    What is summed by the numbers of words is then the same whatever paper came first.
    """
    places = np.empty(len(vocabulary), np.int32)
    words = sorted(vocabulary)
    for new, word in enumerate(words):
        places[vocabulary[word]] = new
    return {word: new for new, word in enumerate(words)}, places


def count_words(documents: Sequence[Sequence[int]], words: int) -> Postings:
    """The postings of documents.

    Args:
        documents: numbers of each one's words, repeats kept; ``array("i")`` take least memory.
        words: how many there are.
    """
    lengths = [len(one) for one in documents]
    flat = np.concatenate([np.zeros(0, np.int32), *(np.asarray(one, np.int32) for one in documents)])
    keys = flat.astype(np.int64)
    del flat
    np.left_shift(keys, _SHIFT, out=keys)
    keys |= np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.minimum(np.diff(first, append=len(keys)), _MOST).astype(np.uint16)
    keys = keys[first]
    return postings_of(keys >> _SHIFT, (keys & np.int64(0xFFFFFFFF)).astype(np.int32), counts, words)


def postings_of(
    numbers: NDArray[np.integer], documents: NDArray[np.int32], counts: NDArray[Any], words: int
) -> Postings:
    """Postings from rows that are in order of their words' numbers."""
    sizes = np.bincount(numbers, minlength=words)
    return Postings(np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), documents, counts)


def save_postings(
    folder: Path, postings: Postings, vocabulary: dict[str, int], lengths: NDArray[Any]
) -> None:
    """Write a segment; ``lengths`` has a row for each document."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("pointers", "documents", "counts"):
        save_array(folder / f"postings_{name}.npy", np.asarray(getattr(postings, name)))
    save_array(folder / "lengths.npy", lengths)
    save_json(folder / "vocabulary.json", list(vocabulary))


class Segment:
    """One stored segment of a view of words.

    Args:
        folder: where :func:`save_postings` wrote.
    """

    def __init__(self, folder: StoredFolder) -> None:
        self.folder = folder
        documents, counts = (folder.array(f"postings_{name}") for name in ("documents", "counts"))
        self.postings = Postings(folder.whole("postings_pointers"), documents, counts)
        self.vocabulary: list[str] = folder.json("vocabulary.json")

    @cached_property
    def lengths(self) -> NDArray[Any]:
        """A row for each document."""
        return self.folder.whole("lengths")

    @property
    def held(self) -> NDArray[np.integer]:
        """(words,) documents that hold each, also where it counts by a chance of nothing."""
        stored = "frequency.npy" in self.folder
        return self.folder.whole("frequency") if stored else np.diff(self.postings.pointers)


_GIVEN = "statistics.json"
# A few words make up most postings that queries read: the weights of those are kept, up to 16 MB.
_MANY, _ROOM = 1000, 1 << 22


class Statistics(Struct, frozen=True):
    """Of a collection of documents.

    Attributes:
        documents: how many there are.
        words: sum of their lengths.
        frequency: word -> documents that hold it.
    """

    documents: int
    words: int
    frequency: Mapping[str, int]

    @property
    def mean_length(self) -> float:
        """Mean length in words."""
        return self.words / max(self.documents, 1)

    @classmethod
    def of(cls, folder: StoredFolder, units: Units | None = None) -> Statistics:
        """Of the documents of a lexical view, from its folder; ``units`` where a paper is several."""
        index = WordIndex(folder, LexicalSettings(), folder.order if units is None else units.order)
        counts = index.frequency
        held = {word: int(counts[n]) for word, n in index.vocabulary.items() if counts[n]}
        return cls(index.documents, int(index.lengths.sum()), held)

    @classmethod
    def merged(cls, parts: Iterable[Statistics]) -> Statistics:
        """Of all parts together."""
        documents = words = 0
        frequency: Counter[str] = Counter()
        for part in parts:
            documents += part.documents
            words += part.words
            frequency.update(part.frequency)
        return cls(documents, words, dict(frequency))

    @classmethod
    def load(cls, folder: StoredFolder, vocabulary: Iterable[str]) -> Statistics:
        """Inverse of :meth:`save`, with the same vocabulary."""
        given, counts = folder.json(_GIVEN), folder.whole("frequency").tolist()
        return cls(given["documents"], given["words"], dict(zip(vocabulary, counts, strict=True)))

    def save(self, folder: Path, vocabulary: Iterable[str]) -> None:
        """Keep them beside a view whose documents are a part of the collection."""
        counts = [self.frequency.get(word, 0) for word in vocabulary]
        save_array(folder / "frequency.npy", np.array(counts, np.int32))
        save_json(folder / _GIVEN, {"documents": self.documents, "words": self.words})


def merged_vocabulary(vocabularies: Sequence[Sequence[str]]) -> dict[str, int]:
    """Word -> number in all segments together: those of the first segment keep theirs, new ones follow."""
    numbers = {word: number for number, word in enumerate(vocabularies[0])}
    for words in vocabularies[1:]:
        for word in words:
            numbers.setdefault(word, len(numbers))
    return numbers


class WordIndex:
    """The documents of a view of words, weighed as one collection.

    Args:
        folder: of the view.
        settings: the variant of BM25.
        order: (documents,) the stored row of each document; None where they are in order.
    """

    def __init__(
        self, folder: StoredFolder, settings: LexicalSettings, order: Positions | None = None
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.segments = [Segment(part) for part in folder.segments]
        self.vocabulary = merged_vocabulary([one.vocabulary for one in self.segments])
        self._order = order
        # Of each segment but the first: number of a word in the collection -> its number there.
        self._local = [
            {self.vocabulary[word]: number for number, word in enumerate(one.vocabulary)}
            for one in self.segments[1:]
        ]
        self.given = _GIVEN in folder
        self._kept: dict[tuple[int, int], Floats] = {}
        self._room = _ROOM

    def _keep(self, key: tuple[int, int], weights: Floats) -> None:
        """Keep the weights of a word that many documents hold, while there is room."""
        if len(weights) >= _MANY and self._room >= len(weights):
            self._room -= len(weights)
            self._kept[key] = weights

    @cached_property
    def words(self) -> list[str]:
        """Number -> word."""
        return list(self.vocabulary)

    def number(self, word: str) -> int:
        """The number of a word that a document holds; -1: none does, or those that did were removed."""
        found = self.vocabulary.get(word, -1)
        return found if found < 0 or self.frequency[found] else -1

    @property
    def numbers(self) -> list[Positions | None]:
        """Of each segment, the number of each of its words in the collection; None: the same."""
        return [None, *(np.array([*one], np.int64) for one in self._local)]

    @cached_property
    def _stored_lengths(self) -> NDArray[Any]:
        parts = [one.lengths for one in self.segments]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def lengths(self) -> NDArray[Any]:
        """A row for each document: its length; or its lengths by column."""
        return self._stored_lengths if self._order is None else self._stored_lengths[self._order]

    @property
    def documents(self) -> int:
        """How many there are."""
        return len(self._stored_lengths if self._order is None else self._order)

    @cached_property
    def frequency(self) -> NDArray[np.integer]:
        """(words,) documents that hold each; of the whole collection where the view is a part of one."""
        if "frequency.npy" in self.folder:
            return self.folder.whole("frequency")
        return self.segments[0].held

    @cached_property
    def total(self) -> int:
        """Documents of the collection."""
        return int(self.folder.json(_GIVEN)["documents"]) if self.given else self.documents

    @cached_property
    def _weighing(self) -> list[Weighing]:
        """Of each column of lengths."""
        if self.given:
            words = int(self.folder.json(_GIVEN)["words"])
            return [Weighing(self.settings, self.total, words / max(self.total, 1))]
        lengths = self.lengths
        if lengths.ndim == 1:
            mean = int(lengths.sum()) / max(self.total, 1)
            return [Weighing(self.settings, self.total, mean, self.frequency)]
        sums, some = lengths.sum(axis=0, dtype=np.float64), (lengths > 0).sum(axis=0)
        means = (sums / np.maximum(some, 1)).tolist()
        return [Weighing(self.settings, self.total, mean or 1.0, self.frequency) for mean in means]

    @cached_property
    def _damping(self) -> list[Floats]:
        """Of each column, for all stored rows."""
        lengths = self._stored_lengths
        columns = [lengths] if lengths.ndim == 1 else [*lengths.T]
        return [one.damping(column) for one, column in zip(self._weighing, columns, strict=True)]

    def scores(
        self, terms: Sequence[int], strengths: Sequence[float] | None = None, columns: Sequence[int] = (0,)
    ) -> Floats:
        """(documents,) sum of the weights of these words, each times its strength where those are given.

        Args:
            terms: numbers of words, repeats kept.
            strengths: of each of them.
            columns: of the lengths; each has words of its own.
        """
        out = np.zeros(len(self._stored_lengths), np.float32)
        rarity = [self._weighing[0].rarity(int(self.frequency[term])) for term in terms]
        start = 0
        for number, segment in enumerate(self.segments):
            postings, width = segment.postings, len(segment.vocabulary)
            end = start + len(segment.lengths)
            into = out[start:end]
            local = range(width) if number == 0 else self._local[number - 1]
            for column in columns:
                weighing, damping = self._weighing[column], self._damping[column][start:end]
                for place, term in enumerate(terms):
                    if term not in local:
                        continue
                    at = column * width + local[term]
                    some = slice(postings.pointers[at], postings.pointers[at + 1])
                    documents = postings.documents[some]
                    weights = self._kept.get((number, at))
                    if weights is None:
                        weights = weighing.weights(postings.counts[some], damping[documents], rarity[place])
                        self._keep((number, at), weights)
                    if strengths is not None:
                        weights = weights * np.float32(strengths[place])
                    # Much faster than indexed addition; a document has one weight of a word.
                    np.add.at(into, documents, weights)
            start = end
        if absent := self._weighing[0].absent(int(self.frequency[term]) for term in terms):
            out += np.float32(absent)
        return out if self._order is None else out[self._order]
