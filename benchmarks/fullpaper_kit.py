"""What benchmarks/fullpaper.py measures with: queries, raw scores of probes, fusion, the lab's measures."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.statistics.significance import paired_t
from aspectra.search.scoring.fusion import highest, reciprocal_ranks, scale
from aspectra.search.searcher import Searcher
from aspectra.views.view import Probe, top_positions

WAYS = ("cited", "citing")
MEASURES = ("MRR@50", "nDCG@10", "R@50", "R@100")
DEPTH = 200  # places of a ranking that are scored
Values = dict[str, dict[str, float]]  # measure -> query -> value
Matrix = np.ndarray  # (queries, papers) scores


def half_of(query: str) -> str:
    """The inner split: settings are chosen on ``dev``, and claims are made on ``test``."""
    return "dev" if hashlib.md5(query.encode()).digest()[0] % 2 == 0 else "test"


class Bench:
    """Both directions of acl-fulltext over one library.

    Args:
        data: the collection's folder.
        searcher: over its papers.
    """

    def __init__(self, data: Path, searcher: Searcher) -> None:
        self.searcher = searcher
        self.index = searcher.index
        self.ids = self.index.ids
        self.qrels = {}
        for way in WAYS:
            benchmark = BENCHMARKS.get("beir")(data, qrels=way)
            judged = benchmark.qrels["gold"]
            self.qrels[way] = {t.id: dict(judged[t.id]) for t in benchmark.topics if t.id in judged}
        self.queries = sorted({q for grades in self.qrels.values() for q in grades})
        self.row = {q: n for n, q in enumerate(self.queries)}
        self.at = np.array([self.index.positions[q] for q in self.queries])
        self.dates = np.asarray(self.index.years)

    def raw(self, ask: Callable[[str], Probe]) -> Matrix:
        """Scores of all papers for each query, NaN where nothing is known."""
        out = np.empty((len(self.queries), len(self.ids)), dtype=np.float32)
        for n, query in enumerate(self.queries):
            probe = ask(query)
            out[n] = self.index.view(probe.view).score(probe).scores
        return out

    def standard(self, matrix: Matrix) -> Matrix:
        """As the product's fusion standardises."""
        out = np.empty(matrix.shape, dtype=np.float64)
        for n, at in enumerate(self.at):
            allowed = np.ones(len(self.ids), dtype=bool)
            allowed[at] = False
            sample = matrix[n][self.index.sample]
            out[n] = scale(sample, highest(matrix[n], allowed)).apply(matrix[n])
        return out

    def rrf(self, matrices: Sequence[Matrix], k: int = 60, depth: int = 300) -> Matrix:
        """Reciprocal rank fusion of the best ``depth`` papers of each."""
        out = np.zeros(matrices[0].shape)
        for n, at in enumerate(self.at):
            allowed = np.ones(len(self.ids), dtype=bool)
            allowed[at] = False
            lists = []
            for matrix in matrices:
                scores = np.where(np.isnan(matrix[n]), -np.inf, matrix[n])
                lists.append((top_positions(scores, depth, self.index.id_order, allowed), 1.0))
            out[n] = reciprocal_ranks(lists, len(self.ids), k)
        return out

    def values(self, matrix: Matrix, *, years: bool = False) -> dict[str, Values]:
        """Per direction, measure and query, over all visible queries."""
        out = {}
        for way in WAYS:
            run = {}
            for query in self.qrels[way]:
                n = self.row[query]
                allowed = np.ones(len(self.ids), dtype=bool)
                allowed[self.at[n]] = False
                if years:
                    own = self.dates[self.at[n]]
                    allowed &= (self.dates <= own) if way == "cited" else (self.dates >= own)
                scores = np.where(np.isnan(matrix[n]), -np.inf, matrix[n])
                best = top_positions(scores, DEPTH, self.index.id_order, allowed)
                run[query] = {self.ids[p]: float(DEPTH - place) for place, p in enumerate(best)}
            found = evaluate(list(MEASURES), self.qrels[way], run)
            scores_by = zip(MEASURES, found.scores, strict=True)
            out[way] = {name: dict(score.values) for name, score in scores_by}
        return out


def part(values: Mapping[str, float], half: str) -> dict[str, float]:
    """The queries of one half ("" for all)."""
    return {q: v for q, v in values.items() if not half or half_of(q) == half}


def mean(values: Mapping[str, float], half: str = "") -> float:
    """100 times the mean over one half."""
    held = part(values, half)
    return 100 * sum(held.values()) / max(len(held), 1)


def gain(
    ours: Mapping[str, float], theirs: Mapping[str, float], half: str = "test"
) -> tuple[float, float, float]:
    """Relative gain of the means in percent, with the bounds of its paired 95 % t-interval."""
    a, b = part(ours, half), part(theirs, half)
    base = sum(b.values()) / len(b)
    interval = paired_t(a, b).interval
    assert interval is not None
    total = sum(a.values()) / len(a) - base
    return 100 * total / base, 100 * interval.low / base, 100 * interval.high / base


def greedy(
    bench: Bench, pool: Mapping[str, Matrix], way: str, steps: int = 5, weights: Iterable[float] = (0.5, 1.0)
) -> list[tuple[str, float]]:
    """Views chosen one by one on the inner dev half by nDCG@10 plus R@50, until nothing gains 0.2 points.

    Args:
        bench: the collection.
        pool: name -> standardised scores.
        way: the direction.
        steps: at most so many views.
        weights: that a view may get.
    """
    queries = [q for q in bench.qrels[way] if half_of(q) == "dev"]
    rows = np.array([bench.row[q] for q in queries])
    own = bench.at[rows]
    relevant = np.zeros((len(queries), len(bench.ids)), dtype=bool)
    for n, q in enumerate(queries):
        relevant[n, [bench.index.positions[d] for d, g in bench.qrels[way][q].items() if g > 0]] = True
    counts = relevant.sum(axis=1)
    discount = 1 / np.log2(np.arange(2, 12))
    ideal = np.array([discount[: min(10, c)].sum() for c in counts])

    def quality(total: Matrix) -> float:
        scores = total.copy()
        scores[np.arange(len(rows)), own] = -np.inf
        best = np.argpartition(-scores, 50, axis=1)[:, :50]
        hits = np.take_along_axis(relevant, best, axis=1)
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)[:, :10]
        gained = (np.take_along_axis(hits, order, axis=1) * discount).sum(axis=1) / ideal
        return float(100 * (gained.mean() + (hits.sum(axis=1) / counts).mean()))

    held = {name: matrix[rows] for name, matrix in pool.items()}
    chosen: list[tuple[str, float]] = []
    total, best = np.zeros((len(rows), len(bench.ids))), -1.0
    for _ in range(steps):
        tried = [
            (quality(total + w * matrix), name, w)
            for name, matrix in held.items()
            if name not in [c for c, _ in chosen]
            for w in (weights if chosen else (1.0,))
        ]
        value, name, weight = max(tried)
        if value < best + 0.2:
            break
        total, best = total + weight * held[name], value
        chosen.append((name, weight))
    return chosen
