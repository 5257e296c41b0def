"""Reverse scoring with vectors: each candidate's units look for their like in the seed paper.

Forward late interaction asks for each unit of the *seed* which unit of a candidate is nearest; reversed, each
unit of a *candidate* looks for the nearest unit of the seed, and a candidate's score is their mean. Where a
paper is one vector both ways are the same cosine, and only the candidate's own mean and deviation (how near
it is to everything) tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from aspectra.views.dense.matching import products, similarities, widen
from aspectra.views.encoders.protocol import unit_rows
from aspectra.views.lexical.reverse import Moments
from aspectra.views.storage.arrays import StoredArray
from aspectra.views.storage.folder import Units
from aspectra.views.view import Floats, Metric, Positions

# Means of the units that take part, compared: one vector for each side.
#
# Rows, offsets and weights as in :mod:`aspectra.views.dense.matching`. No pair of units decides.

_BLOCK = 512  # rows at a time: 768 kB at 384 dimensions


def mean_query(query: Floats, weights: Floats | None = None) -> Floats:
    """(dimensions,) weighted mean of query rows at unit length; zeros where none takes part."""
    weighted = query if weights is None else query * weights[:, None]
    mean: Floats = unit_rows(weighted.sum(axis=0, keepdims=True))[0]
    return mean


def score_means(
    query: Floats, means: Floats, metric: Metric = "cosine", present: NDArray[np.bool_] | None = None
) -> Floats:
    """(papers,) cosine or negated distance of one unit vector and centroids; -inf where a side is zeros.

    Args:
        query: (dimensions,).
        means: (papers, dimensions).
        metric: see :func:`~aspectra.views.dense.matching.similarities`.
        present: (papers,) False where a centroid is zeros, where it is known already.
    """
    if not query.any():
        return np.full(len(means), -np.inf, dtype=np.float32)
    values = products(query[None], means)[0]
    if metric == "l2":
        values = -np.sqrt(np.maximum(2.0 - 2.0 * values, 0.0))
    there = means.any(axis=1) if present is None else present
    return np.where(there, values, np.float32(-np.inf))


def centroids(
    rows: NDArray[np.floating], offsets: NDArray[np.integer], row_weights: Floats | None = None
) -> Floats:
    """(papers, dimensions) weighted mean of each paper's rows at unit length; zeros where none takes part."""
    count = len(offsets) - 1
    out = np.zeros((count, rows.shape[1]), dtype=np.float32)
    ends = np.asarray(offsets)
    faded = row_weights is not None and bool((row_weights[ends[0] : ends[-1]] != 1.0).any())
    first = 0
    while first < count:
        # Some papers at a time, so that their widened rows stay in the core's own cache.
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + _BLOCK, side="right")) - 1)
        low, high = int(ends[first]), int(ends[last])
        block = widen(rows[low:high])
        if faded and row_weights is not None:
            block = block * row_weights[low:high, None]
        some, sums = _sums(block, ends[first : last + 1] - low)
        out[first + some] = unit_rows(sums)
        first = last
    return out


def _sums(rows: Floats, offsets: NDArray[np.integer]) -> tuple[Positions, Floats]:
    """Groups that have rows, and the sum of each.

    All first rows at once, then all second ones ...: numpy's ``reduceat`` is ten times slower along axis 0.
    """
    counts = np.diff(offsets)
    order = np.argsort(-counts, kind="stable")
    order = order[: np.count_nonzero(counts)]  # the longest group first
    starts, counts = offsets[:-1][order], counts[order]
    sums = rows[starts]
    for place in range(1, int(counts[0]) if len(counts) else 0):
        longer = int(np.searchsorted(-counts, -place, side="left"))
        sums[:longer] += rows[starts[:longer] + place]
    return order, sums


_ROWS = 4096  # unit vectors widened at a time: 6 MB at 384 dimensions
_DOCUMENTS = 64  # sample documents looked at together


def _paper_blocks(offsets: NDArray[np.integer]) -> Iterator[tuple[int, int]]:
    """(first, last) papers of blocks of about :data:`_ROWS` units, papers kept whole."""
    papers, low = len(offsets) - 1, 0
    while low < papers:
        high = int(np.searchsorted(offsets, int(offsets[low]) + _ROWS, side="right")) - 1
        high = min(max(high, low + 1), papers)
        yield low, high
        low = high


def _means(best: Floats, real: NDArray[np.bool_], offsets: NDArray[np.integer]) -> Floats:
    """(papers, documents) means of (units, documents) values over papers' real units; NaN without any."""
    out = np.full((len(offsets) - 1, best.shape[1]), np.nan, dtype=np.float32)
    best = np.where(real[:, None], best, np.float32(0.0))
    full = np.flatnonzero(np.diff(offsets))
    if len(full):
        starts = offsets[:-1][full]
        counts = np.add.reduceat(real.astype(np.float32), starts)
        sums = np.add.reduceat(best, starts, axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            out[full] = np.where(counts[:, None] > 0, sums / counts[:, None], np.nan)
    return out


def _scores(
    rows: NDArray[np.floating], offsets: NDArray[np.integer], seeds: Floats, cuts: Positions
) -> Floats:
    """(papers, documents) scores; ``cuts`` (documents,) is where each document's rows begin in ``seeds``."""
    parts = []
    for low, high in _paper_blocks(offsets):
        block = widen(rows[offsets[low] : offsets[high]])
        # Sums over documents are the same in bits only where each paper's values lie side by side.
        nearest = np.ascontiguousarray(np.maximum.reduceat(products(seeds, block), cuts, axis=0).T)
        real = np.asarray(block.any(axis=1))
        parts.append(_means(nearest, real, offsets[low : high + 1] - offsets[low]))
    return np.concatenate([np.zeros((0, len(cuts)), np.float32), *parts])


def nearest_in_seed(rows: NDArray[np.floating] | StoredArray, units: Units | None, seed: Floats) -> Floats:
    """Mean similarity of each candidate's units to their nearest units in the seed.

    Args:
        rows: (papers or units, dimensions) unit vectors of the candidates; zeros have no vector.
        units: how rows belong to papers; None where each paper is one.
        seed: (m, dimensions) unit vectors of the seed paper.

    Returns:
        (papers,) float32 mean cosine; NaN for a paper without vectors, or for all where the seed has none.
    """
    seed = np.ascontiguousarray(seed[seed.any(axis=1)], dtype=np.float32)
    offsets = np.arange(len(rows) + 1) if units is None else np.asarray(units.offsets)
    if not len(seed):
        return np.full(len(offsets) - 1, np.nan, dtype=np.float32)
    if isinstance(rows, StoredArray):
        cells = rows.over_rows(partial(similarities, seed), axis=1)
    else:
        cells = similarities(seed, rows)
    best = cells.max(axis=0)  # -inf where a row has no vector
    real = np.isfinite(best)
    return _means(best[:, None], real, offsets)[:, 0]


def dense_moments(
    rows: NDArray[np.floating],
    units: Units | None,
    sample: Positions,
    given: Sequence[NDArray[np.floating]] | None = None,
) -> Moments:
    """Mean and deviation of each candidate's scores over a sample of documents and itself (cosine 1).

    Args:
        rows: as in :func:`nearest_in_seed`.
        units: as there.
        sample: positions of the sample's papers; -1 for one that is not among these.
        given: (rows, dimensions) vectors of each of them; default: those in ``rows``.
    """
    offsets = np.arange(len(rows) + 1) if units is None else np.asarray(units.offsets)
    papers = len(offsets) - 1
    first, second, count = np.ones(papers), np.ones(papers), np.ones(papers)
    for start in range(0, len(sample), _DOCUMENTS):
        chosen, kept, cuts, at = [], [], [], 0
        for number, paper in enumerate(sample[start : start + _DOCUMENTS], start):
            held = rows[offsets[paper] : offsets[paper + 1]] if given is None else given[number]
            part = widen(held)
            part = part[part.any(axis=1)]
            if len(part):
                chosen.append(part)
                kept.append(int(paper))
                cuts.append(at)
                at += len(part)
        if not chosen:
            continue
        scores = _scores(rows, offsets, np.concatenate(chosen), np.array(cuts)).astype(np.float64)
        here = np.flatnonzero(np.array(kept) >= 0)
        own = np.array(kept)[here]
        scores[own, here] = 0.0  # each candidate itself is counted once, above
        first += scores.sum(axis=1)
        second += (scores**2).sum(axis=1)
        count += len(kept)
        count[own] -= 1
    mean = first / count
    deviation = np.sqrt(np.maximum(second / count - mean**2, 0.0))
    return Moments(np.nan_to_num(mean).astype(np.float32), np.nan_to_num(deviation).astype(np.float32))
