"""Shares with their intervals: precision and recall of a few dozen labels."""

from __future__ import annotations

import math
from statistics import NormalDist

from aspectra.lab.statistics.significance import Interval

__all__ = ["wilson_interval"]


def wilson_interval(hits: int, trials: int, alpha: float = 0.05) -> Interval:
    """The interval of a share: Wilson, "Probable inference, the law of succession" (1927), equation 5.

    Unlike the normal one it stays within [0, 1] and is of use at 0, at 1 and for few trials.

    Args:
        hits: how often it happened, 0 to ``trials``.
        trials: how often it could have happened; with none the interval is [0, 1].
        alpha: 1 - level.

    >>> [round(x, 3) for x in wilson_interval(9, 10)]
    [0.596, 0.982, 0.95]
    """
    if not trials:
        return Interval(0.0, 1.0, 1 - alpha)
    z = NormalDist().inv_cdf(1 - alpha / 2)
    share, square = hits / trials, z * z / trials
    middle = (share + square / 2) / (1 + square)
    half = z / (1 + square) * math.sqrt(share * (1 - share) / trials + square / (4 * trials))
    return Interval(max(0.0, middle - half), min(1.0, middle + half), 1 - alpha)
