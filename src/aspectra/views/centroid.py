"""Means of the units that take part, compared: one vector for each side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aspectra.views.matching import Matches, check_groups, single_match
from aspectra.views.view import Floats, Metric

__all__ = ["centroid"]


def centroid(
    query: Floats,
    rows: NDArray[np.floating],
    offsets: NDArray[np.integer],
    query_weights: Floats | None = None,
    row_weights: Floats | None = None,
    *,
    metric: Metric = "cosine",
) -> Matches:
    """Cosine (or negated distance) of the weighted means of both sides, each of unit length.

    Shapes, weights and papers without rows as in :mod:`aspectra.views.matching`; the pair named is that of
    :func:`~aspectra.views.matching.single_match`, since a mean quotes nobody.

    Raises:
        UsageError: the arrays do not fit together.
    """
    check_groups(query, rows, offsets, query_weights, row_weights)
    found = single_match(query, rows, offsets, query_weights, row_weights, metric=metric)
    some = np.flatnonzero(np.isfinite(found.scores))
    if not len(some):
        return found
    asked = _unit((query * (1.0 if query_weights is None else query_weights[:, None])).sum(0, keepdims=True))
    table = rows.astype(np.float32, copy=False)
    if row_weights is not None:
        table = table * row_weights[:, None]
    means = _unit(np.add.reduceat(table, np.asarray(offsets)[:-1][some], axis=0))
    values = means @ asked[0]
    if metric == "l2":
        values = -np.sqrt(np.maximum(2.0 - 2.0 * values, 0.0))
    scores = np.full(len(found.scores), -np.inf, dtype=np.float32)
    scores[some] = values
    return Matches(scores, found.query_rows, found.rows)


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
