"""Words for lexical views: settings, one tokeniser for documents and queries; chunks of full text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

import Stemmer
from msgspec import Struct

from aspectra.base.errors import UsageError, check_choice, unknown_name
from aspectra.base.expressions import Expression, expression
from aspectra.base.values import Remembered
from aspectra.papers.text.cleaning import folded

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
            stem = ""
        elif self.settings.stemmer:
            stem = str(_stemmer(self.settings.stemmer).stemWord(word))
        else:
            stem = word
        return stem


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
