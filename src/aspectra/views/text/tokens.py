"""Words for lexical views: one tokeniser for documents and queries, chunks of full text, weights of words.

Weights do not refer to an index. Statistics name words, so that those of several parts of a collection add
up, and those of the whole can be given to each part (a shard), also of words that only other parts hold.

The variants of BM25 are those of Lu, "BM25S" (2024), section 2, and that of the package rank-bm25.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
import Stemmer
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError, check_choice, unknown_name
from aspectra.base.expressions import Expression, expression
from aspectra.base.values import Remembered, replace
from aspectra.papers.text.cleaning import folded
from aspectra.views.view import Floats

METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+", "okapi")

# Letters and digits; Han, kana and hangul characters are words of one character, since they are written
# without spaces, and are joined to overlapping pairs below.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_WORD = Expression(rf"[{_CJK}]+|[^\W_{_CJK}]+", wide=_CJK)
# C++, C#, R&D: their letters alone are not a word.
_TOKEN = Expression(rf"(?<![^\W_])[a-z](?:\+\+|#|&[a-z])(?![^\W_])|{_WORD.pattern}", wide=_CJK)
_IS_CJK = expression(rf"[{_CJK}]")


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """Settings that determine the words of a text.

    Attributes:
        stemmer: Snowball language (``english``), or "" for none.
        stopwords: whether English stop words are left out.
        split: ``letters``: a word is a run of letters and digits, at least two; ``spaces``: whatever stands
            between spaces, as the examples of the package rank-bm25 split.
    """

    stemmer: str = "english"
    stopwords: bool = True
    split: str = "letters"

    def __post_init__(self) -> None:
        check_choice(self.split, ("letters", "spaces"), "split")
        if self.stemmer and self.stemmer not in Stemmer.algorithms():
            known = sorted(Stemmer.algorithms())
            raise unknown_name(f"unknown stemmer {self.stemmer!r}", self.stemmer, known)


@dataclass(frozen=True, slots=True)
class LexicalSettings:
    """A variant of BM25 and its parameters.

    Attributes:
        k1: term saturation, >= 0.
        b: length normalisation, 0 to 1.
        method: variant: robertson, atire, bm25l, bm25+ or lucene (Lu, "BM25S", 2024, section 2); or okapi,
            that of the package rank-bm25 (``BM25Okapi``).
        tokens: how texts become words.
    """

    k1: float = 1.5
    b: float = 0.75
    method: str = "lucene"
    tokens: TokenSettings = TokenSettings()

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise unknown_name(f"unknown BM25 variant {self.method!r}", self.method, METHODS)
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise UsageError("BM25 needs k1 >= 0 and b from 0 to 1")


@cache
def _stop_words() -> frozenset[str]:
    return frozenset((files("aspectra.views.text") / "data" / "stopwords.txt").read_text("utf-8").split())


@lru_cache(maxsize=8)
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 200_000)


def plain_words(text: str) -> list[str]:
    """The words of a text unchanged, in order; a run of Han, kana or hangul is one.

    >>> plain_words("Re-ranking, 汉语词")
    ['Re', 'ranking', '汉语词']
    """
    return _WORD.findall(text)


def word_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each of :func:`plain_words`.

    >>> word_spans("Re-ranking, 汉语词")
    [(0, 2), (3, 10), (12, 15)]
    """
    return [found.span() for found in _WORD.finditer(text)]


class Tokeniser:
    """Texts to lists of stemmed words.

    Args:
        settings: see :class:`TokenSettings`.
    """

    def __init__(self, settings: TokenSettings | None = None) -> None:
        self.settings = settings or TokenSettings()
        self._stem = Remembered(self._reduce, 1_000_000)
        self._stop = _stop_words() if self.settings.stopwords else frozenset()
        self._spaces = self.settings.split == "spaces"

    def words(self, text: str) -> list[str]:
        """The words of a text, in order, repeats kept.

        >>> Tokeniser().words("Ranking the rankings, 汉语词")
        ['rank', 'rank', '汉语', '语词']
        >>> Tokeniser().words("R&D in C++, a + b")
        ['r&d', 'c++']
        >>> Tokeniser().words("ﬁbrin in the inﬂow")
        ['fibrin', 'inflow']
        >>> Tokeniser(TokenSettings(stemmer="", stopwords=False, split="spaces")).words("ﬁbrin, x²")
        ['ﬁbrin,', 'x²']
        """
        text = text.lower() if self._spaces else folded(text)
        # Few texts have these signs, and the longer pattern costs a quarter.
        pattern = _TOKEN if any(sign in text for sign in "+#&") else _WORD
        found = text.split() if self._spaces else pattern.findall(text)
        if self._spaces or text.isascii():
            return [*filter(None, map(self._stem.__getitem__, found))]
        out = []
        for word in found:
            if not word.isascii() and _IS_CJK.match(word):
                out += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
            elif stem := self._stem[word]:
                out.append(stem)
        return out

    def _reduce(self, given: str) -> str:
        # Ligatures and wide letters are plain ones; with ``spaces`` a word stays as it stands.
        word = given if self._spaces else unicodedata.normalize("NFKC", given)
        if word in self._stop or (len(word) < 2 and not self._spaces):
            return ""
        language = self.settings.stemmer
        return str(_stemmer(language).stemWord(word)) if language else word


# Chunks of full text: consecutive pieces of sections, as exact spans.

_CHUNK = expression(r"(\d+)([wt])")


class ChunkSize(Struct, frozen=True):
    """Size of full-text chunks: ``250w`` (words between spaces) or ``3000t`` (words and punctuation)."""

    count: int
    unit: str

    @classmethod
    def parse(cls, text: str) -> ChunkSize:
        """Read the spelling.

        >>> ChunkSize.parse("250w")
        ChunkSize(count=250, unit='w')
        """
        found = _CHUNK.fullmatch(text.strip())
        if not found or int(found.group(1)) < 20:
            raise UsageError(
                f"{text!r} is no chunk size", why="write 250w for words or 3000t for tokens, at least 20"
            )
        return cls(int(found.group(1)), found.group(2))

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"


_WORDS = expression(r"\S+")
_TOKENS = expression(r"\w+|[^\w\s]")


def _spans(text: str, size: ChunkSize) -> list[tuple[int, int]]:
    pattern = _WORDS if size.unit == "w" else _TOKENS
    places = [(m.start(), m.end()) for m in pattern.finditer(text)]
    if not places:
        return []
    # Pieces of equal length rather than full ones and a crumb.
    pieces = -(-len(places) // size.count)
    cuts = [round(i * len(places) / pieces) for i in range(pieces + 1)]
    return [(places[a][0], places[b - 1][1]) for a, b in pairwise(cuts) if b > a]


def chunk_spans(sections: Sequence[tuple[str, str]], size: ChunkSize) -> list[tuple[int, int, int]]:
    """(section, start, end) of each chunk, in reading order; chunks do not cross sections.

    Args:
        sections: (heading, text) pairs.
        size: the longest chunk.
    """
    return [
        (number, start, end) for number, (_, text) in enumerate(sections) for start, end in _spans(text, size)
    ]


def windows(text: str, words: int) -> list[str]:
    """A text cut into consecutive windows of at most ``words`` words, of nearly equal length."""
    spans = _spans(text, ChunkSize(max(words, 1), "w"))
    return [text[a:b] for a, b in spans] or [text]


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
