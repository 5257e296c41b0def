"""The role model at run time: numpy only, trained by ``training/train_roles.py``.

Two halves, averaged as log-probabilities: a logistic regression on words, and a bidirectional GRU (Cho et
al. 2014, arXiv:1406.1078) over an abstract's sentences, several networks side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from aspectra.views.lenses._role_features import Floats, Ints, Pieces, Words, pooled, sentence_keys

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
        self.words = Words(bytes(arrays["pieces"]).decode().split("\n"))
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
        self.active = [
            int(n) for n in np.searchsorted(-lengths, -np.arange(lengths[0] if len(lengths) else 0))
        ]
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
