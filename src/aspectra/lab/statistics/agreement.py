"""Agreement of annotators beyond chance, with bootstrap intervals.

A unit adds a table of the pairs of grades that it was given, and both statistics depend on the sum of the
tables alone; so resampling units is drawing how often each table occurs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from aspectra.lab.runs.judged import Array
from aspectra.lab.statistics.significance import RESAMPLES, Interval


class Agreement(NamedTuple):
    """An agreement.

    Attributes:
        value: 1 is full, 0 that of chance; NaN where all grades are one, or no unit has two.
        interval: of 95 %, by resampling units; None for fewer than two, and where there is no value.
        units: how many have two grades or more; the others say nothing.
    """

    value: float
    interval: Interval | None
    units: int

    def __str__(self) -> str:
        value = "not defined" if np.isnan(self.value) else f"{self.value:.2f}"
        held = f" [{self.interval.low:.2f}, {self.interval.high:.2f}]" if self.interval else ""
        return f"{value}{held} over {self.units:,} units"


def cohen_kappa(ratings: Array) -> Agreement:
    """Cohen's kappa; ``ratings`` are (units, 2) grades, NaN where one is missing.

    Source: Cohen, A Coefficient of Agreement for Nominal Scales, 1960.

    >>> cohen_kappa(np.array([[0, 0], [0, 1], [1, 1], [1, 1]])).value
    0.5
    """
    both = ratings[~np.isnan(ratings).any(1)]
    first, second = (both[:, [n]] == np.unique(both) for n in (0, 1))
    return _of((first[:, :, None] & second[:, None, :]).astype(np.float64), _kappa)


def krippendorff_alpha(ratings: Array, *, ordinal: bool = True) -> Agreement:
    """Krippendorff's alpha; ``ratings`` are (units, annotators) grades, NaN where one is missing.

    Grades further apart in rank disagree more if ``ordinal``; else any two different grades disagree alike.

    Source: Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, sections C and D.
    """
    counts = (ratings[:, :, None] == np.unique(ratings[~np.isnan(ratings)])).sum(1)  # (units, grades)
    counts = counts[counts.sum(1) > 1]
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(counts.shape[1]))
    return _of(pairs / (counts.sum(1) - 1)[:, None, None], partial(_alpha, ordinal=ordinal))


def _of(tables: Array, statistic: Callable[[Array], Array]) -> Agreement:
    """A statistic of the sum of tables, (units, grades, grades); resamples without a value are left out."""
    units = len(tables)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(statistic(tables.sum(0)))
        if units < 2 or np.isnan(value):
            return Agreement(value, None, units)
        kinds, times = np.unique(tables.reshape(units, -1), axis=0, return_counts=True)
        drawn = np.random.default_rng(0).multinomial(units, times / units, RESAMPLES) @ kinds
        low, high = np.nanquantile(statistic(drawn.reshape(-1, *tables.shape[1:])), [0.025, 0.975])
    return Agreement(value, Interval(float(low), float(high), 0.95), units)


def _kappa(table: Array) -> Array:
    total = table.sum((-2, -1))
    same = np.trace(table, axis1=-2, axis2=-1) / total
    chance = (table.sum(-1) * table.sum(-2)).sum(-1) / total**2
    return np.asarray((same - chance) / (1 - chance))


def _alpha(table: Array, *, ordinal: bool) -> Array:
    each = table.sum(-1)
    place = each.cumsum(-1) - each / 2
    apart = (place[..., :, None] - place[..., None, :]) ** 2 if ordinal else 1 - np.eye(table.shape[-1])
    chance = (each[..., :, None] * each[..., None, :] * apart).sum((-2, -1)) / (each.sum(-1) - 1)
    return np.asarray(1 - (table * apart).sum((-2, -1)) / chance)
