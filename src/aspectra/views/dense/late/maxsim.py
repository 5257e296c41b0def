"""MaxSim of many papers' tokens, whose stored vectors are widened block by block.

:func:`~aspectra.views.dense.matching.max_sim` does the same for a few units of each paper, whose vectors are
held widened. Here a paper has a hundred vectors: widening those of all candidates at once, and products of a
few query rows at a time, took twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from aspectra.views.encoders.protocol import Vectors
from aspectra.views.view import Floats

_PAPERS = 16  # widened at a time: some 2.5 MB at 384 dimensions
# Multiplications of one product. OpenBLAS wakes its other threads for more, which costs more than the work.
_PRODUCT = 256 * 384 * 4


def token_max_sim(
    queries: Sequence[tuple[Vectors, Floats]],
    offsets: NDArray[np.int64],
    vectors: Callable[[int, int], Vectors],
) -> list[Floats]:
    """Weighted mean, over the vectors of each query, of the cosine of a paper's nearest vector.

    Args:
        queries: of each (m, dimensions) vectors of length 1 and (m,) weights.
        offsets: (papers + 1,) where each paper's vectors begin.
        vectors: (first, end) -> (end - first, dimensions) vectors of length 1.

    Returns:
        For each query (papers,) scores from -1 to 1; NaN for a paper without vectors, and of a query without
        weight.
    """
    papers = len(offsets) - 1
    out = [np.full(papers, np.nan, np.float32) for _ in queries]
    turned = [np.ascontiguousarray(query.T) for query, _ in queries]
    for start in range(0, papers, _PAPERS):
        bounds = offsets[start : start + _PAPERS + 1]
        some = np.flatnonzero(np.diff(bounds))
        if not len(some):
            continue
        rows = vectors(int(bounds[0]), int(bounds[-1]))
        for scores, query, (_, weights) in zip(out, turned, queries, strict=True):
            total = float(weights.sum())
            if total <= 0:
                continue
            cells = _products(rows, query)
            nearest = np.maximum.reduceat(cells, (bounds[:-1] - bounds[0])[some], axis=0)
            scores[start + some] = nearest @ weights / np.float32(total)
    return out


def _products(rows: Vectors, query: Vectors) -> Floats:
    """(n, m) inner products, as many small ones."""
    dimensions, count = query.shape
    step = min(len(rows), max(1, _PRODUCT // max(dimensions * count, 1)))
    whole = len(rows) // step * step
    cells: Floats = np.empty((len(rows), count), np.float32)
    blocks = rows[:whole].reshape(-1, step, dimensions)
    np.matmul(blocks, query, out=cells[:whole].reshape(-1, step, count))
    np.matmul(rows[whole:], query, out=cells[whole:])
    return cells
