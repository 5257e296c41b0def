"""Means of the units that take part, compared: one vector for each side.

Rows, offsets and weights as in :mod:`aspectra.views.dense.matching`. No pair of units decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aspectra.views.dense.matching import products, widen
from aspectra.views.encoders.pooling import unit_rows
from aspectra.views.view import Floats, Metric, Positions

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
