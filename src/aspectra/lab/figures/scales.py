"""Numbers that can be drawn, and axes for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from aspectra.lab.reports.tables import Number


def finite(value: float | None) -> TypeGuard[float]:
    """Whether there is a number to draw."""
    return value is not None and math.isfinite(value)


def drawable(value: Number | None) -> TypeGuard[Number]:
    """Whether there is a value to draw."""
    return value is not None and finite(value.value)


def ends_of(values: Iterable[Number | None]) -> list[float]:
    """The finite values and the ends of their intervals."""
    return [end for v in values if drawable(v) for end in (v.value, v.low, v.high) if finite(end)]


def padded(values: Sequence[float], share: float = 0.06) -> tuple[float, float]:
    """Bounds of an axis around finite values, with some room."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    room = share * (high - low) or max(abs(high) * 0.1, 0.5)
    return low - room, high + room


def tick(value: float, _: object = None) -> str:
    """A number on an axis, short at any size.

    >>> tick(0.25), tick(-12.0), tick(1500), tick(25000), tick(1500000), tick(0.000002)
    ('0.25', '−12', '1,500', '25k', '1.5M', '2e−06')
    """
    size = abs(value)
    if size >= 1e4:
        text = f"{value / 1e6:.4g}M" if size >= 1e6 else f"{value / 1e3:.4g}k"
    else:
        text = f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
    return text.replace("-", "−")


def factors(low: float, high: float) -> list[float]:
    """About five round numbers between two positive bounds, for a scale by factors.

    >>> factors(0.8, 60)
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    """
    found = [m * 10.0**e for e in range(-9, 12) for m in (1, 2, 5) if low <= m * 10.0**e <= high]
    return found[:: max(1, len(found) // 5)] or [low]
