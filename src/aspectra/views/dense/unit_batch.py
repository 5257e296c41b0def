"""Units of some papers, read once and scored for several probes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aspectra.views.dense.centroid import centroids, mean_query, score_means
from aspectra.views.dense.matching import Matches, check_groups, max_sim, single_match
from aspectra.views.dense.transport import transport
from aspectra.views.view import Floats, Matching, Metric, Positions


@dataclass(frozen=True)
class UnitBatch:
    """Units of papers that take part.

    Attributes:
        papers: (papers,) positions.
        rows: (n,) units.
        offsets: (papers + 1,) where each paper's rows begin.
        vectors: (n, dimensions) float32.
        weights: (n,) how much each takes part, above 0 to 1.
    """

    papers: Positions
    rows: Positions
    offsets: NDArray[np.int64]
    vectors: Floats
    weights: Floats

    def weighted(self, weights: Floats) -> UnitBatch:
        """Those with a weight above 0."""
        taken = np.flatnonzero(weights > 0)
        if len(taken) == len(self.rows):
            return UnitBatch(self.papers, self.rows, self.offsets, self.vectors, weights)
        offsets = np.searchsorted(taken, self.offsets)
        return UnitBatch(self.papers, self.rows[taken], offsets, self.vectors[taken], weights[taken])

    @cached_property
    def _means(self) -> Floats:
        return centroids(self.vectors, self.offsets, None if self._alike else self.weights)

    @cached_property
    def _present(self) -> NDArray[np.bool_]:
        return np.asarray(self._means.any(axis=1))

    def match(self, how: Matching, metric: Metric, query: Floats, query_weights: Floats) -> Matches:
        """Scores of the papers; where they cost nothing, also the units that decided.

        See :mod:`aspectra.views.dense.matching` for the ways.
        """
        weights = None if self._alike else self.weights
        if how == "centroid":
            check_groups(query, self.vectors, self.offsets, query_weights, weights)
            nobody = np.full(len(self.papers), -1, dtype=np.int64)
            asked = mean_query(query, query_weights)
            return Matches(score_means(asked, self._means, metric, self._present), nobody, nobody)
        if how == "transport":  # its cost is a distance, whatever the metric
            found = transport(query, self.vectors, self.offsets, query_weights, weights)
        elif how == "maxsim":
            found = max_sim(
                query, self.vectors, self.offsets, query_weights, weights, metric=metric, pairs=False
            )
        else:
            found = single_match(query, self.vectors, self.offsets, query_weights, weights, metric=metric)
        best = np.where(found.rows >= 0, self.rows[found.rows] if len(self.rows) else -1, -1)
        return Matches(found.scores, found.query_rows, best)

    @cached_property
    def _alike(self) -> bool:
        return bool((self.weights == 1.0).all())
