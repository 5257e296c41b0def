"""Documents in one or several segments: their postings, and the index that reads them as one collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.views.storage.arrays import StoredArray, save_array, save_json
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.text.tokens import LexicalSettings, Statistics, least_rarity
from aspectra.views.view import Floats, Positions

# Postings: which documents hold a word, and how often. What a word weighs there is computed when it is
# read.
#
# A folder holds the postings of one segment of an index. Several segments are read as one collection: a
# word's rarity and the mean length are those of all documents together, so that scores are those of an
# index made in one go, whatever was added, edited or removed since.

_MOST = np.iinfo(np.uint16).max
_SHIFT = np.int64(32)
_AT_ONCE = 1 << 24  # words of documents that are sorted


class Postings(Struct, frozen=True):
    """Postings of one segment, by word.

    Attributes:
        pointers: (words + 1,) where the postings of each word begin.
        documents: (n,) int32 the documents of each word, ascending.
        counts: (n,) how often each holds the word: uint16, or float32 where occurrences count by a chance.
    """

    pointers: NDArray[np.int64]
    documents: NDArray[np.int32] | StoredArray
    counts: NDArray[Any] | StoredArray

    def words_in(self, chosen: Positions) -> NDArray[np.int64]:
        """The words of some documents, each repeated for every one of them that holds it."""
        held = np.flatnonzero(np.isin(np.asarray(self.documents), chosen))
        return np.searchsorted(self.pointers, held, side="right") - 1


def alphabetical(vocabulary: Mapping[str, int]) -> tuple[dict[str, int], NDArray[np.int32]]:
    """The words numbered in their order, and the new number of each old one.

    Sums in the order of these numbers then do not depend on the order of the papers.
    """
    places = np.empty(len(vocabulary), np.int32)
    words = sorted(vocabulary)
    for new, word in enumerate(words):
        places[vocabulary[word]] = new
    return {word: new for new, word in enumerate(words)}, places


def count_words(documents: Sequence[Sequence[int] | NDArray[np.int32]], words: int) -> Postings:
    """The postings of documents.

    Args:
        documents: numbers of each one's words, repeats kept; ``array("i")`` take least memory.
        words: how many there are.
    """
    ends = np.cumsum([0, *map(len, documents)])
    parts, sizes = [], [np.zeros(words, np.int64)]
    for low, high in some_rows(ends):
        flat = [np.asarray(one, np.int32) for one in documents[low:high]]
        keys = np.concatenate([np.zeros(0, np.int32), *flat]).astype(np.int64)
        np.left_shift(keys, _SHIFT, out=keys)
        keys |= np.repeat(np.arange(low, high, dtype=np.int32), np.diff(ends[low : high + 1]))
        keys.sort()
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.minimum(np.diff(first, append=len(keys)), _MOST).astype(np.uint16)
        keys = keys[first]
        parts.append((keys.astype(np.uint32).view(np.int32), counts))
        sizes.append(np.bincount(keys >> _SHIFT, minlength=words))
    pointers = np.concatenate(([0], np.cumsum(np.sum(sizes, axis=0)))).astype(np.int64)
    if len(parts) == 1:
        return Postings(pointers, *parts[0])
    held, often = np.empty(pointers[-1], np.int32), np.empty(pointers[-1], np.uint16)
    free = pointers[:-1].copy()
    for (papers, counts), size in zip(parts, sizes[1:], strict=True):
        at = next_places(free, size)
        held[at], often[at] = papers, counts
    return Postings(pointers, held, often)


def some_rows(ends: NDArray[np.integer]) -> Iterator[tuple[int, int]]:
    """(first, end) of rows that are worked on together: all of a million papers take some gigabytes more.

    Args:
        ends: (rows + 1,) where the words of each begin.
    """
    cuts = np.unique(np.searchsorted(ends, np.arange(0, ends[-1], _AT_ONCE))).tolist()
    return pairwise([*cuts, len(ends) - 1] if cuts else [])


def next_places(free: NDArray[np.int64], size: NDArray[np.integer]) -> Positions:
    """The places of values that lie in groups, ``size`` of each; each group's next free place moves on."""
    at: Positions = np.arange(size.sum()) + np.repeat(free - np.cumsum(size) + size, size)
    free += size
    return at


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


# A few words make up most postings that queries read: the weights of those are kept, up to 16 MB.
_MANY, _ROOM = 1000, 1 << 22
# Lengths that are sums of chances are added as multiples of 2**-28, as which float32 has all above 1/32.
_FINE = 28


def merged_vocabulary(vocabularies: Sequence[Sequence[str]]) -> dict[str, int]:
    """Word -> number in all segments together: those of the first segment keep theirs, new ones follow."""
    numbers = {word: number for number, word in enumerate(vocabularies[0])}
    for words in vocabularies[1:]:
        number_words(words, numbers)
    return numbers


def number_words(words: Iterable[str], numbers: dict[str, int]) -> None:
    """Give the words that have no number the next ones."""
    for word in words:
        numbers.setdefault(word, len(numbers))


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
        self._given: tuple[Statistics, _Weights] | None = None

    @cached_property
    def words(self) -> list[str]:
        """Number -> word."""
        return list(self.vocabulary)

    def held(self, word: str) -> int:
        """Number of documents that hold a word; 0 if all of them were removed."""
        found = self.vocabulary.get(word, -1)
        return int(self.frequency[found]) if found >= 0 else 0

    def number(self, word: str) -> int:
        """The number of a word that a document holds; -1: none does."""
        return self.vocabulary[word] if self.held(word) else -1

    @property
    def numbers(self) -> list[Positions | None]:
        """For each segment, the numbers of its words in the collection; None where they are the same."""
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
        """Number of documents."""
        return len(self._stored_lengths if self._order is None else self._order)

    @cached_property
    def frequency(self) -> NDArray[np.integer]:
        """(words,) documents that hold each.

        Of a shard in several segments also those that were replaced: it is weighed by the collection's.
        """
        if self.folder.shares("frequency.npy"):
            return self.folder.whole("frequency")
        if len(self.segments) == 1:
            return self.segments[0].held
        out = np.zeros(len(self.vocabulary), np.int64)
        for number, one in enumerate(self.segments):
            out[[*range(len(one.held))] if number == 0 else [*self._local[number - 1]]] += one.held
        return out

    @cached_property
    def _lengths(self) -> tuple[tuple[int, int], ...]:
        """See :attr:`~aspectra.views.text.tokens.Statistics.lengths`."""
        lengths = self.lengths
        if lengths.ndim == 1:
            return ((int(lengths.sum()), self.documents),)
        # Sums of floats depend on their order, those of whole numbers do not. Means are over the documents
        # that have any length.
        sums = np.ldexp(lengths, _FINE).astype(np.int64).sum(axis=0)
        return tuple(zip(sums.tolist(), (np.count_nonzero(lengths, axis=0) << _FINE).tolist(), strict=True))

    def statistics(self, words: Iterable[str] | None = None) -> Statistics:
        """Statistics of the documents, with the frequency of some words; None for all words in use."""
        if words is None:
            counts = self.frequency.tolist()
            held = {word: count for word, count in zip(self.vocabulary, counts, strict=True) if count}
            return Statistics(self.documents, self._lengths, held, complete=True)
        held = {word: self.held(word) for word in words}
        return Statistics(self.documents, self._lengths, held, least=self._least)

    @cached_property
    def _least(self) -> float | None:
        return least_rarity(self.documents, self.frequency) if self.settings.method == "okapi" else None

    @cached_property
    def _own(self) -> _Weights:
        return _Weights(self.statistics(()), self.settings, self._stored_lengths)

    def _weights(self, given: Statistics | None) -> _Weights:
        """Weights by the index's own statistics, or by those of a larger collection; the last are cached."""
        if given is None:
            return self._own
        whole = given.about(())
        kept = self._given  # another thread may put its own there
        if kept is None or kept[0] != whole:
            kept = self._given = whole, _Weights(whole, self.settings, self._stored_lengths)
        return kept[1]

    def scores(
        self,
        words: Sequence[str],
        strengths: Sequence[float] | None = None,
        columns: Sequence[int] = (0,),
        given: Statistics | None = None,
    ) -> Floats:
        """(documents,) sum of the weights of these words, each times its strength where those are given.

        Args:
            words: repeats kept; those that no document of the collection holds add nothing.
            strengths: of each of them.
            columns: of the lengths; each has words of its own.
            given: statistics of the collection that the documents are a part of, with these words; None: they
                are all of it.
        """
        out = np.zeros(len(self._stored_lengths), np.float32)
        by = self._weights(given)
        often = [*map(self.held if given is None else given.held, words)]
        rarity = [by.weighing[0].rarity(held) if held else 0.0 for held in often]
        terms = [
            self.vocabulary.get(word, -1) if held else -1 for word, held in zip(words, often, strict=True)
        ]
        start = 0
        for number, segment in enumerate(self.segments):
            postings, width = segment.postings, len(segment.vocabulary)
            end = start + len(segment.lengths)
            into = out[start:end]
            local = range(width) if number == 0 else self._local[number - 1]
            for column in columns:
                weighing, damping = by.weighing[column], by.damping[column][start:end]
                for place, term in enumerate(terms):
                    if term not in local:
                        continue
                    at = column * width + local[term]
                    some = slice(postings.pointers[at], postings.pointers[at + 1])
                    documents = postings.documents[some]
                    weights = by.kept.get((number, at, often[place]))
                    if weights is None:
                        weights = weighing.weights(postings.counts[some], damping[documents], rarity[place])
                        by.keep((number, at, often[place]), weights)
                    if strengths is not None:
                        weights = weights * np.float32(strengths[place])
                    # Much faster than indexed addition; a document has one weight of a word.
                    np.add.at(into, documents, weights)
            start = end
        if absent := by.weighing[0].absent(filter(None, often)):
            out += np.float32(absent)
        return out if self._order is None else out[self._order]


class _Weights:
    """Weights of words in all stored documents, by the statistics of one collection.

    Args:
        statistics: of which the frequency of words is not read.
        settings: the variant of BM25.
        lengths: a row for each stored document.
    """

    def __init__(self, statistics: Statistics, settings: LexicalSettings, lengths: NDArray[Any]) -> None:
        columns = [lengths] if lengths.ndim == 1 else [*lengths.T]
        self.weighing = [statistics.weighing(settings, number) for number in range(len(columns))]
        self.damping = [one.damping(column) for one, column in zip(self.weighing, columns, strict=True)]
        self.kept: dict[tuple[int, int, int], Floats] = {}
        self._room = _ROOM

    def keep(self, key: tuple[int, int, int], weights: Floats) -> None:
        """Keep the weights of a word that many documents hold, while there is room.

        Args:
            key: segment, number of the word in it, documents of the collection that hold it.
            weights: (n,) of its postings.
        """
        if len(weights) >= _MANY and self._room >= len(weights):
            self._room -= len(weights)
            self.kept[key] = weights
