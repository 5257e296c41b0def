"""Bootstrap intervals: for means near the end of a scale, where a t-interval leaves it."""

from __future__ import annotations

import numpy as np

from aspectra.lab.statistics.significance import Interval, Values

RESAMPLES = 10_000
BOOTSTRAP_NOTE = f"in brackets: 95 % percentile intervals of {RESAMPLES:,} bootstrap resamples of the units"


def bootstrap_interval(values: Values, *, alpha: float = 0.05, seed: int = 0) -> Interval | None:
    """Percentile interval of the mean over units; None for fewer than two.

    Args:
        values: unit -> value. Their order makes no difference.
        alpha: the interval holds 1 - alpha of the resampled means.
        seed: of the resampling.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.

    >>> bootstrap_interval({"a": 1.0, "b": 1.0})
    Interval(low=1.0, high=1.0, level=0.95)
    """
    if len(values) < 2:
        return None
    held = np.sort(np.fromiter(values.values(), np.float64, len(values)))
    rng = np.random.default_rng(seed)
    means = np.concatenate(
        [held[rng.integers(0, len(held), (RESAMPLES // 10, len(held)))].mean(1) for _ in range(10)]
    )
    low, high = np.quantile(means, [alpha / 2, 1 - alpha / 2])
    return Interval(float(low), float(high), 1 - alpha)
