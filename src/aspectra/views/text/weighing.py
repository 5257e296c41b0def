"""Weights of words: the variants of BM25, and the statistics of a collection that they follow from.

Nothing here refers to an index. Statistics name words, so that those of several parts of a collection add up,
and those of the whole can be given to each part (a shard), also of words that only other parts hold.

The variants of BM25 are those of Lu, "BM25S" (2024), section 2, and that of the package rank-bm25.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.views.text.tokens import LexicalSettings
from aspectra.views.view import Floats

_DELTA = 0.5  # of bm25l and bm25+: what a word adds to a document that holds it at all
_EPSILON = 0.25  # of okapi, see Weighing


@dataclass(frozen=True)
class Weighing:
    """Parameters of word weights: a variant of BM25, and statistics of the collection.

    Attributes:
        settings: the variant and its parameters.
        documents: how many there are.
        mean_length: of them, in words.
        least: of okapi, for words that most documents hold, see :func:`least_rarity`; None where not all
            words of the collection are known.
    """

    settings: LexicalSettings
    documents: int
    mean_length: float
    least: float | None = None

    @property
    def _least_rarity(self) -> float:
        if self.least is None:
            raise UsageError(
                "the variant okapi weighs words by all words of the collection",
                why="a part of them is known here",
                hint="aspectra index --method lucene",
            )
        return self.least

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
        """Weight of a word in a document without it, still to be multiplied by its rarity."""
        k1 = self.settings.k1
        of = {"bm25l": (k1 + 1) * _DELTA / (k1 + _DELTA), "bm25+": _DELTA}
        return of.get(self.settings.method, 0.0)

    def absent(self, frequencies: Iterable[int]) -> float:
        """Score that words add to every document, including those that do not hold them."""
        return self._nothing * sum(map(self.rarity, frequencies)) if self._nothing else 0.0


def _float32(rarity: float | Floats) -> np.float32 | Floats:
    return np.float32(rarity) if isinstance(rarity, int | float) else rarity.astype(np.float32, copy=False)


def least_rarity(documents: int, frequencies: NDArray[np.integer]) -> float:
    """A quarter of the mean over all words of their rarity by okapi; 0 without words.

    Args:
        documents: of the collection.
        frequencies: (words,) how many of them hold each word, in any order.
    """
    held = np.sort(frequencies[frequencies > 0])  # a sum in another order may have another last bit
    return _EPSILON * float(np.log((documents - held + 0.5) / (held + 0.5)).mean()) if len(held) else 0.0


@dataclass(frozen=True)
class Statistics:
    """Statistics of a collection of documents, or of a part of one.

    Attributes:
        documents: how many there are.
        lengths: per column of lengths two whole numbers that add up over parts; their ratio is the mean.
        frequency: word -> documents that hold it.
        complete: ``frequency`` has all words, not only some that were named.
        least: see :attr:`Weighing.least`; None is computed from ``frequency`` where that is complete.
    """

    documents: int
    lengths: tuple[tuple[int, int], ...]
    frequency: Mapping[str, int]
    complete: bool = False
    least: float | None = None

    @classmethod
    def merged(cls, parts: Iterable[Statistics]) -> Statistics:
        """Statistics of all parts together."""
        held = list(parts)
        frequency: Counter[str] = Counter()
        for part in held:
            frequency.update(part.frequency)
        columns = zip(*(part.lengths for part in held), strict=True)
        lengths = tuple((sum(a for a, _ in column), sum(b for _, b in column)) for column in columns)
        documents = sum(part.documents for part in held)
        return cls(documents, lengths, dict(frequency), all(part.complete for part in held))

    def about(self, words: Iterable[str]) -> Statistics:
        """The same of some words: all that a search for them needs."""
        frequency = {word: self.held(word) for word in words}
        return replace(self, frequency=frequency, complete=False, least=self._least)

    @cached_property
    def _least(self) -> float | None:
        if self.least is not None or not self.complete:
            return self.least
        return least_rarity(self.documents, np.fromiter(self.frequency.values(), np.int64))

    def held(self, word: str) -> int:
        """Number of documents that hold a word.

        Raises:
            KeyError: the word was not counted, see :attr:`complete`.
        """
        return self.frequency.get(word, 0) if self.complete else self.frequency[word]

    def weighing(self, settings: LexicalSettings, column: int = 0) -> Weighing:
        """Parameters of word weights for a variant of BM25, with the lengths of one column."""
        words, documents = self.lengths[column]
        least = self._least if settings.method == "okapi" else None
        return Weighing(settings, self.documents, words / max(documents, 1) or 1.0, least)

    def rarity(self, words: Iterable[str]) -> dict[str, float]:
        """Word -> ln(1 + N / df), of those that a document holds: what evidence is weighed with."""
        held = {word: self.held(word) for word in words}
        return {word: float(np.log1p(self.documents / often)) for word, often in held.items() if often}
