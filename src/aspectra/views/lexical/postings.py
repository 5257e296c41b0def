"""Postings: which documents hold a word, and how often. What a word weighs there is computed when it is read.

A folder holds the postings of one segment of an index. Several segments are read as one collection: a word's
rarity and the mean length are those of all documents together, so that scores are those of an index made in
one go, whatever was added, edited or removed since.

The variants of BM25 are those of Lu, "BM25S" (2024), section 2, and that of the package rank-bm25.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.storage.arrays import StoredArray, save_array, save_json
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.text.tokens import LexicalSettings
from aspectra.views.view import Floats, Positions

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


@dataclass(frozen=True)
class Postings:
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
