"""Transport against values worked out without iterating.

With one row on a side the plan is the other side's masses. With two on each, the masses leave one number
free, t = plan[0][0], and the plan's odds ratio is known: ``t * (1 - a - b + t) = k * (a - t) * (b - t)`` with
``k = exp((c01 + c10 - c00 - c11) / blur)``, a and b the first masses: a quadratic equation. Its root was
taken with 40 decimal digits. All vectors have coordinates from Pythagorean triples, so that every squared
distance is a short decimal fraction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aspectra.views.dense.matching import Sinkhorn, _masses, transport, transport_plans

AXES = [[1.0, 0.0], [0.0, 1.0]]
SKEW = [[0.6, 0.8], [0.96, 0.28]]  # squared distances to the axes: 0.8 and 0.4; 0.08 and 1.44

# Query rows, rows, weights of each, blur, score.
SCORES: list[tuple[Any, Any, Any, Any, float, float]] = [
    ([[1.0, 0.0]], [[0.6, 0.8]], None, None, 0.05, -0.8944271910),  # -sqrt(0.8)
    ([[1.0, 0.0]], [[-1.0, 0.0]], None, None, 0.05, -2.0),
    ([[1.0, 0.0]], [[1.0, 0.0]], None, None, 0.05, 0.0),
    (AXES, [[0.6, 0.8]], None, None, 0.05, -0.7463815294),  # masses 0.4348790927 and 0.5651209073
    (AXES, [[0.8, 0.6], [0.6, 0.8]], None, None, 0.05, -0.6338375074),
    (AXES, SKEW, None, None, 0.05, -0.4274037284),
    (AXES, SKEW, None, None, 0.5, -0.5633366321),
    (AXES, SKEW, [1.0, 0.5], [0.25, 1.0], 0.5, -0.4893596161),
]

PLANS = [
    (0.05, [1.0, 1.0], [1.0, 1.0], [[0.0000037280, 0.5865199575], [0.4134725865, 0.0000037280]]),
    (0.5, [1.0, 1.0], [1.0, 1.0], [[0.1152862033, 0.4712374822], [0.2981901112, 0.1152862033]]),
    (0.5, [1.0, 0.5], [0.25, 1.0], [[0.0445469410, 0.6948352578], [0.1052866041, 0.1553311971]]),
]


def _weights(values: Any) -> Any:
    return None if values is None else np.array(values, dtype=np.float32)


@pytest.mark.parametrize(("query", "rows", "query_weights", "row_weights", "blur", "score"), SCORES)
def test_scores(
    query: Any, rows: Any, query_weights: Any, row_weights: Any, blur: float, score: float
) -> None:
    found = transport(
        np.array(query, dtype=np.float32),
        np.array(rows, dtype=np.float32),
        np.array([0, len(rows)]),
        _weights(query_weights),
        _weights(row_weights),
        how=Sinkhorn(blur=blur),
    )
    assert found.scores[0] == pytest.approx(score, abs=2e-5)


@pytest.mark.parametrize(("blur", "query_weights", "row_weights", "expected"), PLANS)
def test_plans(blur: float, query_weights: Any, row_weights: Any, expected: Any) -> None:
    costs = np.sqrt(np.array([[0.8, 0.08], [0.4, 1.44]], dtype=np.float32))[:, :, None]
    left = _masses(costs.min(axis=1), _weights(query_weights)[:, None], 1.0)
    right = _masses(costs.min(axis=0), _weights(row_weights)[:, None], 1.0)
    plan = transport_plans(costs, left, right, Sinkhorn(blur=blur))[:, :, 0]
    np.testing.assert_allclose(plan, expected, atol=1e-5)


def test_the_pair_named_is_the_one_that_carries_most() -> None:
    found = transport(np.array(AXES, dtype=np.float32), np.array(SKEW, dtype=np.float32), np.array([0, 2]))
    assert (found.query_rows[0], found.rows[0]) == (0, 1)
