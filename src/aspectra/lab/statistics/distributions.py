"""The distribution functions that significance tests need, without a statistics library."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from aspectra.lab.runs.judged import Array

_TINY = 1e-300
_STEPS = 10_000


def beta_regularised(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for 0 <= x <= 1 and positive a, b.

    Continued fraction by Lentz's method, on the side where it converges fast.

    >>> round(beta_regularised(0.5, 2.0, 2.0), 12), beta_regularised(1.0, 3.0, 1.0)
    (0.5, 1.0)
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_regularised(1.0 - x, b, a)
    front = math.exp(
        a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    )
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    total = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + term / c
            c = c if abs(c) > _TINY else _TINY
            step = d * c
            total *= step
        if abs(step - 1.0) < 1e-16:
            break
    return front * total / a


def student_sf(t: float, df: float) -> float:
    """P(T > t) under Student's distribution.

    >>> student_sf(0.0, 5), round(student_sf(2.0, 10), 9), f"{student_sf(9.9, 148):.3e}"
    (0.5, 0.036694017, '2.396e-18')
    """
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    if t * t < 1.0:  # the tail is large: 1 minus the middle loses nothing, and a small t is not rounded away
        tail = 0.5 - 0.5 * beta_regularised(t * t / (df + t * t), 0.5, df / 2.0)
    else:
        tail = 0.5 * beta_regularised(df / (df + t * t), df / 2.0, 0.5)
    return tail if t >= 0 else 1.0 - tail


@lru_cache(1024)  # a table asks for each of its cells, of as many units
def student_isf(tail: float, df: float) -> float:
    """The t with P(T > t) = ``tail`` under Student's distribution, for 0 < tail <= 0.5.

    >>> round(student_isf(0.025, 10), 9), round(student_isf(0.5, 3), 9)
    (2.228138852, 0.0)
    """
    low, high = 0.0, 1.0
    while student_sf(high, df) > tail:
        low, high = high, 2.0 * high
    while low < (middle := 0.5 * (low + high)) < high:
        if student_sf(middle, df) > tail:
            low = middle
        else:
            high = middle
    return low


def normal_sf(z: float) -> float:
    """P(Z > z) under the standard normal distribution.

    >>> round(normal_sf(1.96), 6)
    0.024998
    """
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def signed_rank_counts(doubled: Array) -> Array:
    """How many of the 2^n choices of signs give each sum of positive ranks.

    Args:
        doubled: (n,) twice the ranks, so that ranks shared by ties are whole numbers.

    Returns:
        (sum + 1,) shares of all choices, by doubled sum.

    >>> signed_rank_counts(np.array([2, 4])).tolist()
    [0.25, 0.0, 0.25, 0.0, 0.25, 0.0, 0.25]
    """
    shares = np.zeros(int(doubled.sum()) + 1)
    shares[0] = 1.0
    for rank in doubled.tolist():
        moved = np.zeros_like(shares)
        moved[rank:] = shares[: len(shares) - rank]
        shares = 0.5 * (shares + moved)
    return shares
