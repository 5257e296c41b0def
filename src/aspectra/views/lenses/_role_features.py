"""What the role model reads of sentences; the same code trains it and runs it.

Words are word pieces (lower case, numbers made alike). A sentence has *keys* (its pieces, pairs of them and
how it begins), a mean of static word vectors, and *places*: its place in the abstract, and its place before
or after the first sentence in which the authors mention their own work or report what they found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from aspectra.views.lenses._data import load_data
from aspectra.views.lenses._remembered import Remembered

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

UNKNOWN = "[UNK]"
_LONGEST = 128  # pieces read of a sentence
_BITS = 15  # of a piece's number; three of them and a kind make a key
_KEY_BITS = 3 * _BITS + 3

_LONGEST_WORD = 40  # letters; longer runs are no words

_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")  # runs of letters and digits; each other sign by itself

# One-hot groups: how many values each has.
_GROUPS = {
    "since the first own": 11,
    "since the last own": 9,
    "since the first found": 10,
    "own around": 8,
    "found around": 8,
    "own, found, before or after": 12,
    "from the start": 10,
    "from the end": 10,
    "tenth": 10,
    "sentences": 10,
}
PLACES = sum(_GROUPS.values())


@dataclass(frozen=True)
class Pieces:
    """Word pieces of sentences, one after the other.

    Attributes:
        ids: (pieces,) numbers in the vocabulary.
        counts: (sentences,) pieces of each, at least 1 (an unknown one where there is nothing).
    """

    ids: Ints
    counts: Ints

    @cached_property
    def starts(self) -> Ints:
        """(sentences,) where each begins in ``ids``."""
        return np.asarray(np.cumsum(self.counts) - self.counts)

    @cached_property
    def owner(self) -> Ints:
        """(pieces,) the sentence of each."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


def _plain(text: str) -> str:
    """Lower case without accents."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in parts if not unicodedata.combining(c))


class Words:
    """The vocabulary: cuts sentences into pieces.

    Args:
        vocabulary: word pieces, ``##`` marking those inside a word, with ``[UNK]``; at most 32,768.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = tuple(vocabulary)
        self._number = {word: n for n, word in enumerate(vocabulary)}
        self.unknown = self._number[UNKNOWN]
        zero = self._number["0"]
        self._alike = np.array(
            [zero if word.removeprefix("##").isdigit() else n for n, word in enumerate(vocabulary)],
            dtype=np.int64,
        )
        self._words = Remembered(self._divide)
        self._tokens = Remembered(self._pieces)
        data = load_data("role_words")
        self._own, self._this, self._work, self._found, self._say = (
            self._marks(data[name].split()) for name in ("own", "this", "work", "found", "say")
        )
        self._in, self._of_this, self._that = (self._number[word] for word in ("in", "this", "that"))

    def _marks(self, words: Iterable[str]) -> NDArray[np.bool_]:
        out = np.zeros(len(self.vocabulary), dtype=np.bool_)
        out[[self._number[word] for word in words if word in self._number]] = True
        return out

    def cut(self, sentences: Sequence[str]) -> Pieces:
        """The pieces of each sentence, at most 128."""
        flat: list[int] = []
        counts: list[int] = []
        pieces = self._tokens.__getitem__
        for text in sentences:
            before = len(flat)
            flat.extend(chain.from_iterable(map(pieces, _plain(text).split())))
            if len(flat) == before:
                flat.append(self.unknown)
            del flat[before + _LONGEST :]
            counts.append(len(flat) - before)
        return Pieces(np.array(flat, dtype=np.int64), np.array(counts, dtype=np.int64))

    def _pieces(self, token: str) -> tuple[int, ...]:
        """The pieces of a word with its punctuation."""
        return tuple(chain.from_iterable(map(self._words.__getitem__, _WORD.findall(token))))

    def _divide(self, word: str) -> tuple[int, ...]:
        """The longest pieces from the left that make up the word, or the unknown one."""
        found: list[int] = []
        start = 0
        while start < len(word) <= _LONGEST_WORD:
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self._number), 0)
            if not end:
                return (self.unknown,)
            found.append(int(self._alike[self._number[mark + word[start:end]]]))
            start = end
        return tuple(found) or (self.unknown,)

    def known(self, pieces: Pieces) -> NDArray[np.bool_]:
        """(sentences,) whether any piece is known."""
        if not len(pieces.counts):
            return np.zeros(0, dtype=np.bool_)
        return np.logical_or.reduceat(pieces.ids != self.unknown, pieces.starts)

    def places(self, pieces: Pieces, papers: Ints) -> Floats:
        """(sentences, PLACES) zeros and ones.

        Args:
            pieces: of all sentences, paper by paper.
            papers: how many sentences each paper has, none of them 0.
        """
        if not len(papers):
            return np.zeros((0, PLACES), dtype=np.float32)
        own, found = self._own_and_found(pieces)
        first = np.repeat(np.cumsum(papers) - papers, papers)
        count = np.repeat(papers, papers)
        place = np.arange(len(first)) - first
        last = count - 1 - place
        far = 1 << 30

        def least(values: Ints) -> Ints:
            return np.repeat(np.minimum.reduceat(values, np.cumsum(papers) - papers), papers)

        first_own = least(np.where(own, place, far))
        last_own = -least(np.where(own, -place, far))
        first_found = least(np.where(found & (place >= first_own), place, far))

        def since(start: Ints, low: int, high: int) -> Ints:
            return np.where(np.abs(start) >= far, 0, np.clip(place - start, low, high) - low + 1)

        def around(mark: NDArray[np.bool_]) -> Ints:
            before = np.concatenate(([False], mark[:-1])) & (place > 0)
            after = np.concatenate((mark[1:], [False])) & (last > 0)
            return np.asarray(4 * before + 2 * mark + after)

        sign = np.where(first_own >= far, 0, np.sign(place - first_own))
        groups = (
            since(first_own, -4, 5),
            since(last_own, -4, 3),
            since(first_found, -4, 4),
            around(own),
            around(found),
            6 * own + 3 * found + sign + 1,
            np.minimum(place, 9),
            np.minimum(last, 9),
            10 * place // count,
            np.minimum(count, 10) - 1,
        )
        out = np.zeros((len(first), PLACES), dtype=np.float32)
        at = 0
        for values, size in zip(groups, _GROUPS.values(), strict=True):
            out[np.arange(len(first)), at + values] = 1.0
            at += size
        return out

    def _own_and_found(self, pieces: Pieces) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(sentences,) whether the authors mention their work; whether they report."""
        ids = pieces.ids
        following = np.concatenate((ids[1:], [self.unknown]))
        same = np.concatenate((pieces.owner[1:] == pieces.owner[:-1], [False]))
        own = self._own[ids] | (
            same
            & ((self._this[ids] & self._work[following]) | ((ids == self._in) & (following == self._of_this)))
        )
        found = self._found[ids] | (same & self._say[ids] & (following == self._that))
        return np.logical_or.reduceat(own, pieces.starts), np.logical_or.reduceat(found, pieces.starts)


def sentence_keys(pieces: Pieces) -> tuple[Ints, Ints]:
    """What occurs in each sentence, once each: pieces, pairs, and the first one, two and three.

    Returns:
        (n,) the sentence, ascending, and (n,) the key: kind and up to three pieces in 48 bits.
    """
    ids, owner = pieces.ids, pieces.owner
    if not len(ids):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    inside = owner[1:] == owner[:-1]
    pairs = (ids[:-1] << _BITS | ids[1:])[inside]
    found = [(owner, ids), (owner[1:][inside], 1 << 3 * _BITS | pairs)]
    start = np.zeros(len(pieces.counts), dtype=np.int64)
    for length in (1, 2, 3):
        there = pieces.counts >= length
        at = np.minimum(pieces.starts + length - 1, len(ids) - 1)
        start = start << _BITS | ids[at]
        found.append((np.flatnonzero(there), (1 + length) << 3 * _BITS | start[there]))
    # Sentences and keys share 63 bits, so sentences are numbered within blocks of 2 ** 15.
    out_owner, out_key = [], []
    whole_owner = np.concatenate([o for o, _ in found])
    whole_key = np.concatenate([k for _, k in found])
    for low in range(0, len(pieces.counts), 1 << _BITS):
        here = (whole_owner >= low) & (whole_owner < low + (1 << _BITS))
        both = np.sort((whole_owner[here] - low) << _KEY_BITS | whole_key[here])
        both = both[np.concatenate(([True], both[1:] != both[:-1]))]
        out_owner.append((both >> _KEY_BITS) + low)
        out_key.append(both & ((1 << _KEY_BITS) - 1))
    return np.concatenate(out_owner), np.concatenate(out_key)


def pooled(pieces: Pieces, table: Floats, begin: int) -> Floats:
    """(sentences, 2 * dimensions) mean vector of a sentence's pieces, and of its first ``begin`` ones."""
    size = table.shape[1]
    out = np.zeros((len(pieces.counts), 2, size), dtype=np.float32)
    if not len(pieces.counts):
        return out.reshape(0, 2 * size)
    longest = int(pieces.counts.max())
    place = np.empty((longest, size), dtype=np.float32)
    which = np.ones((2, longest), dtype=np.float32)
    which[1, begin:] = 0
    # A loop: the vectors of one sentence stay in the cache, which is faster than one large gather.
    for row, start, count in zip(out, pieces.starts.tolist(), pieces.counts.tolist(), strict=True):
        vectors = table.take(pieces.ids[start : start + count], 0, out=place[:count], mode="clip")
        np.matmul(which[:, :count], vectors, out=row)
    out[:, 0] /= pieces.counts[:, None]
    out[:, 1] /= np.minimum(pieces.counts, begin)[:, None]
    return out.reshape(-1, 2 * size)
