"""Capacity: what a collection of so many papers takes, from what was measured of one of 86,638."""

from __future__ import annotations

import math
import random
from statistics import quantiles

from msgspec import Struct

from aspectra.papers.library.shards import MOST

MEASURED = "2026-11-30, 86,638 papers with abstracts, two cores of an AMD EPYC"
# Bytes a paper on disk, by component.
_DATABASE, _CACHED = 3220, 12_630  # papers and lens values; vectors, from which an index is made again
_INDEX = {"words": 2754, "columns, lenses, units": 820}
_VECTORS = {"vectors of abstracts": 1544, "terms of aspects": 1868}
_SENTENCES = 6022
_GENERATIONS = 2  # kept: the one in use, and one that is built or was
_RANKED = ("words", "columns, lenses, units", *_VECTORS)  # what a search reads all of
_CALLER = 250  # bytes a paper in the memory of the process that searches: ids and their places
# Seconds of one core a paper.
_ADD, _WORDS, _LENSES, _ENCODING = 0.00039, 0.00114, 0.00062, 0.0208
# Seconds of a hybrid search on two cores, at once and for each paper; of an empty round to all shards.
_SEARCH, _SCORING, _ROUND = 0.0087, 1.18e-7, 0.0031
_ROUNDS = 2
_SAMPLES = 2000


class Capacity(Struct, frozen=True):
    """What a collection takes.

    Attributes:
        papers: how many.
        bytes: by component, on disk, of one generation.
        disk: bytes in all, with the databases and two generations.
        hot: bytes that searches read again and again, of all nodes together.
        caller: bytes of memory of the process that searches.
        nodes: that hold what is hot in the memory they are given.
        shards: of the collection.
        core_hours: to add, index and encode, of one core.
        search: median seconds of a hybrid search, reckoned.
        simulated: (median, 99th percentile) of seconds with stragglers and lost nodes, simulated.
    """

    papers: int
    bytes: dict[str, int]
    disk: int
    hot: int
    caller: int
    nodes: int
    shards: int
    core_hours: float
    search: float
    simulated: tuple[float, float]


def capacity(papers: int, *, memory: int = 48 << 30, sentences: bool = True, seed: int = 0) -> Capacity:
    """Reckon what so many papers take.

    Args:
        papers: with abstracts.
        memory: bytes of one node that its part of the index may fill.
        sentences: search sentences by vectors too.
        seed: of the simulation.

    >>> found = capacity(3_000_000)
    >>> found.nodes, found.shards, found.hot // 10**9
    (1, 1, 39)
    """
    each = {**_INDEX, **_VECTORS, **({"vectors of sentences": _SENTENCES} if sentences else {})}
    cached = _CACHED if sentences else _CACHED - _SENTENCES
    by_name = {name: size * papers for name, size in each.items()}
    by_name |= {"database": _DATABASE * papers, "stored vectors in it": cached * papers}
    hot = sum(each[name] for name in _RANKED) * papers + (_SENTENCES * papers if sentences else 0)
    nodes = max(1, math.ceil(hot / memory))
    # A collection has so many shards at most: beyond it each node needs more memory.
    shards = min(nodes, MOST)
    work = _ADD + _WORDS + _LENSES + _ENCODING  # sentences are pooled from the pass over their abstract
    scoring = _SCORING * papers / shards
    rounds = _ROUNDS * _ROUND if shards > 1 else 0.0
    return Capacity(
        papers,
        by_name,
        (_DATABASE + cached + _GENERATIONS * sum(each.values())) * papers,
        hot,
        _CALLER * papers,
        nodes,
        shards,
        work * papers / 3600,
        _SEARCH + scoring + rounds,
        _simulated(scoring, shards, seed),
    )


def _simulated(scoring: float, shards: int, seed: int) -> tuple[float, float]:
    """Median and 99th percentile of seconds of a search that waits for the slowest shard in each round.

    A shard's time varies by a fifth; one in a hundred takes five times as long; one search in ten thousand
    meets a node that was lost, and waits six seconds for its shard to be started again.
    """
    draw = random.Random(seed)  # noqa: S311 - a simulation

    def one(seconds: float) -> float:
        late = 5.0 if draw.random() < 0.01 else 1.0
        return seconds * late * draw.lognormvariate(0.0, 0.2)

    def search() -> float:
        lost = 6.0 if draw.random() < 1e-4 else 0.0
        empty = _ROUND if shards > 1 else 0.0
        slowest = (max(one(scoring / _ROUNDS) + empty for _ in range(shards)) for _ in range(_ROUNDS))
        return _SEARCH + lost + sum(slowest)

    cuts = quantiles((search() for _ in range(_SAMPLES)), n=100)
    return cuts[49], cuts[98]
