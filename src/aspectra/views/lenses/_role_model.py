"""The role model at run time: numpy only, trained by ``training/train_roles.py``.

Two halves, averaged as log-probabilities: a logistic regression on words, and a bidirectional GRU (Cho et
al. 2014, arXiv:1406.1078) over an abstract's sentences, several networks side by side.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.resources import as_file, files
from itertools import chain
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.values import Remembered
from aspectra.views.lenses.protocol import load_data

# What the role model reads of sentences; the same code trains it and runs it.
#
# Words are word pieces (lower case, numbers made alike). A sentence has *keys* (its pieces, pairs of them
# and how it begins), a mean of static word vectors, and *places*: its place in the abstract, and its place
# before or after the first sentence in which the authors mention their own work or report what they found.

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

UNKNOWN = "[UNK]"
_LONGEST = 128  # pieces read of a sentence
_BITS = 15  # of a piece's number; three of them and a kind make a key
_KEY_BITS = 3 * _BITS + 3

_LONGEST_WORD = 40  # letters; longer runs are not words

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


class Pieces(Struct, frozen=True, dict=True):
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


class WordPieces:
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
        return np.logical_or.reduceat(pieces.ids != self.unknown, pieces.starts)

    def places(self, pieces: Pieces, papers: Ints) -> Floats:
        """(sentences, PLACES) zeros and ones.

        Args:
            pieces: of all sentences, paper by paper.
            papers: how many sentences each paper has, none of them 0; of at least one paper.
        """
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
    """Features of each sentence, without repeats: its pieces, their pairs, and its first one, two and three.

    Returns:
        (n,) the sentence, ascending, and (n,) the key: kind and up to three pieces in 48 bits.
    """
    ids, owner = pieces.ids, pieces.owner
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


ROLES = ("background", "objective", "method", "result", "other")
_SLOT_BITS = 20
NEIGHBOUR = 0.5  # scale of the neighbours' keys in training: the smaller, the more they are regularised


class RoleModel:
    """Probabilities of roles for sentences in their order.

    Args:
        arrays: as the training command writes them. ``pieces``: the vocabulary, one to a line;
            ``vectors``, ``scale``: (pieces, dimensions) int8 and one factor per row; ``words.*``: keys,
            ascending, and their weights for the sentence, the one after and the one before it;
            ``chain.*``: networks stacked along the first axis.
    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.words = WordPieces(bytes(arrays["pieces"]).decode().split("\n"))
        self._table = np.asarray(arrays["vectors"] * arrays["scale"][:, None], dtype=np.float32)
        self._begin = int(arrays["begin"])
        self._keys: Ints = np.asarray(arrays["words.keys"], dtype=np.int64)
        self._weights: Floats = arrays["words.weights"].astype(np.float32)
        self._maybe = np.zeros(1 << _SLOT_BITS, dtype=np.bool_)
        self._maybe[_slots(self._keys)] = True
        self._place_weights: Floats = arrays["words.places"]
        self._bias: Floats = arrays["words.bias"]
        self._chain: dict[str, Floats] = {
            name.removeprefix("chain."): arrays[name].astype(np.float32)
            for name in arrays
            if name.startswith("chain.")
        }

    def probabilities(self, sentences: Sequence[str], papers: Ints) -> Floats:
        """(sentences, 5) probabilities that sum to 1; NaN where no word of a sentence is known.

        Args:
            sentences: of all papers, paper by paper.
            papers: how many sentences each paper has, none of them 0.
        """
        if not len(sentences):
            return np.zeros((0, len(ROLES)), dtype=np.float32)
        pieces = self.words.cut(sentences)
        places = self.words.places(pieces, papers)
        logs = self.by_words(pieces, places, papers) + self.by_chain(pieces, places, papers)
        out = np.exp(_log_softmax(logs * np.float32(0.5)))
        out[~self.words.known(pieces)] = np.nan
        return out

    def by_words(self, pieces: Pieces, places: Floats, papers: Ints) -> Floats:
        """(sentences, 5) log-probabilities of the logistic regression."""
        owner, found = sentence_keys(pieces)
        # Most keys have no weight. A look into a small table drops nearly all of them before the search.
        maybe = self._maybe[_slots(found)]
        owner, found = owner[maybe], found[maybe]
        column = np.minimum(np.searchsorted(self._keys, found), len(self._keys) - 1)
        there = self._keys[column] == found
        owner, column = owner[there], column[there]
        added = np.zeros((len(pieces.counts), 3 * len(ROLES)), dtype=np.float32)
        if len(owner):
            heads = np.flatnonzero(np.concatenate(([True], owner[1:] != owner[:-1])))
            added[owner[heads]] = np.add.reduceat(self._weights[column], heads, axis=0)
        own, before, after = np.split(added, 3, axis=1)
        scores = own + places @ self._place_weights + self._bias
        # What a neighbour adds stops at the paper's edge.
        inside = np.ones(len(scores), dtype=np.bool_)
        inside[np.cumsum(papers) - papers] = False
        scores[1:] += before[:-1] * inside[1:, None]
        scores[:-1] += after[1:] * inside[1:, None]
        return _log_softmax(scores)

    def by_chain(self, pieces: Pieces, places: Floats, papers: Ints) -> Floats:
        """(sentences, 5) mean log-probabilities of the networks."""
        vectors = pooled(pieces, self._table, self._begin)
        net = self._chain
        read = np.matmul(vectors, net["read.weight"].transpose(0, 2, 1)) + net["read.bias"][:, None]
        read += np.matmul(places, net["place.weight"].transpose(0, 2, 1))
        read = np.maximum(read, 0)
        order = _Order(papers)
        around = np.concatenate(
            (
                self._run(read, order, "gru.{}_l0", order.forward),
                self._run(read, order, "gru.{}_l0_reverse", order.backward),
            ),
            axis=2,
        )
        size = read.shape[2]
        out = net["out.weight"].transpose(0, 2, 1)
        scores = np.matmul(read, out[:, :size]) + net["out.bias"][:, None]
        scores += np.matmul(around, out[:, size : 2 * size])
        scores += np.matmul(places, out[:, 2 * size :])
        return np.asarray(_log_softmax(scores).mean(axis=0))

    def _run(self, inputs: Floats, order: _Order, name: str, rows: Ints) -> Floats:
        """(networks, sentences, hidden) states of one direction, as torch's GRU defines them."""
        net = self._chain
        given = np.matmul(inputs, net[name.format("weight_ih")].transpose(0, 2, 1))
        given += net[name.format("bias_ih")][:, None]
        again = np.ascontiguousarray(net[name.format("weight_hh")].transpose(0, 2, 1))
        bias = net[name.format("bias_hh")][:, None]
        size = again.shape[1]
        out = np.zeros((*inputs.shape[:2], size), dtype=np.float32)
        state = np.zeros((len(inputs), len(order.first), size), dtype=np.float32)
        for step, active in enumerate(order.active):
            here = rows[order.first[:active] + step]
            x, h = given[:, here], np.matmul(state[:, :active], again) + bias
            gates = x[..., : 2 * size] + h[..., : 2 * size]
            np.negative(gates, out=gates)
            np.minimum(gates, 30, out=gates)
            np.exp(gates, out=gates)
            gates += 1
            np.reciprocal(gates, out=gates)
            reset, keep = gates[..., :size], gates[..., size:]
            new = np.tanh(x[..., 2 * size :] + reset * h[..., 2 * size :])
            state = (1 - keep) * new + keep * state[:, :active]
            out[:, here] = state
        return out


def _slots(keys: Ints) -> Ints:
    """A place in a table of 2 ** 20 for each key (Fibonacci hashing)."""
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)


class _Order:
    """Papers by falling length, so that those still running at a step are the first ones.

    Attributes:
        first: (papers,) a paper's first sentence, the longest paper first.
        active: at each step, how many papers have a sentence there.
        forward: (sentences,) themselves; ``backward``: the same read from each paper's end.
    """

    def __init__(self, papers: Ints) -> None:
        starts = np.cumsum(papers) - papers
        by_length = np.argsort(-papers, kind="stable")
        self.first: Ints = starts[by_length]
        lengths = papers[by_length]
        self.active: list[int] = np.searchsorted(-lengths, -np.arange(lengths[0])).tolist()
        self.forward: Ints = np.arange(int(papers.sum()))
        self.backward: Ints = np.repeat(2 * starts + papers - 1, papers) - self.forward


def _log_softmax(scores: Floats) -> Floats:
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)), dtype=np.float32)


@lru_cache(maxsize=1)
def shipped() -> RoleModel:
    """The model that comes with the package; read once."""
    with (
        as_file(files("aspectra.views.lenses") / "data" / "roles.npz") as path,
        np.load(path, allow_pickle=False) as stored,
    ):
        return RoleModel({name: stored[name] for name in stored.files})
