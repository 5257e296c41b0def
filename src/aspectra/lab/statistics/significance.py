"""Significance tests between two runs, unit by unit, and the agreement of people.

All tests pair by unit id and refuse values whose ids differ. Differences are ``a - b``. Anything random takes
a seed, and units are sorted first, so that a number can be had again.

An interval comes from the test that it is printed beside: it holds the differences that the test does not
reject, so it excludes 0 exactly if p < alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, NamedTuple, get_args

import numpy as np

from aspectra.base.errors import BadInput, UsageError, check_choice
from aspectra.base.values import replace
from aspectra.lab.runs.files import Array

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


# The distribution functions that significance tests need, without a statistics library.

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
    """Share of the 2^n choices of signs that gives each sum of positive ranks.

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


# Corrections of p-values for several comparisons.


def bonferroni(ps: Sequence[float | None]) -> list[float | None]:
    """Each p times the number of defined ones, at most 1.

    >>> bonferroni([0.01, 0.4, None])
    [0.02, 0.8, None]
    """
    m = sum(p is not None for p in ps)
    return [None if p is None else min(1.0, p * m) for p in ps]


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment: never less powerful than Bonferroni's. Undefined ones are passed over.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    defined = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    out: list[float | None] = [None] * len(ps)
    reached = 0.0
    for step, (p, i) in enumerate(defined):
        reached = max(reached, min(1.0, p * (len(defined) - step)))
        out[i] = reached
    return out


Alternative = Literal["two-sided", "less", "greater"]
Values = Mapping[str, float]
# Below so many units tables call a sample small: the t-test then leans on differences that are about normal.
SMALL = 30
_EXACT_UNITS = 50  # Wilcoxon: the exact distribution up to here, the normal one above
_SAME = 1e-12  # differences this small, relative to the values, are rounding


class Interval(NamedTuple):
    """A confidence interval, bounds included; ``level`` is 1 - alpha."""

    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of a paired test of a against b.

    Attributes:
        test: its name.
        difference: mean of a - b.
        statistic: t, the sum of positive ranks, or the mean difference; t is infinite where all differences
            are one value other than 0.
        p: the p-value, or None where fewer than two units leave it undefined.
        units: how many pairs.
        alternative: ``two-sided``, or that a is ``less`` or ``greater``.
        interval: of the mean difference, by the same test; None where the test is one-sided, is not of the
            mean (Wilcoxon's), or rejects no difference at all because there are too few units.
        adjusted: p after correction for several comparisons, or None.
        correction: its name, or "".

    >>> found = compare({"q1": 0.0, "q2": 0.5}, {"mine": {"q1": 1.0, "q2": 0.5}})["mine"]
    >>> found.difference, found.units
    (0.5, 2)
    """

    test: str
    difference: float
    statistic: float | None
    p: float | None
    units: int
    alternative: str = "two-sided"
    interval: Interval | None = None
    adjusted: float | None = None
    correction: str = ""

    def significant(self, alpha: float = 0.05) -> bool:
        """True if p (the adjusted one if there is one) is below alpha; an undefined p never is."""
        p = self.p if self.adjusted is None else self.adjusted
        return p is not None and p < alpha


def _pair(a: Values, b: Values) -> tuple[Array, Array]:
    """Values of the same units, in the order of their ids."""
    if set(a) != set(b):
        only_a, only_b = sorted(set(a) - set(b)), sorted(set(b) - set(a))
        raise BadInput(
            "the two runs were not scored on the same units",
            why=f"{len(only_a):,} only in the first ({', '.join(only_a[:3])}), "
            f"{len(only_b):,} only in the second ({', '.join(only_b[:3])})",
            hint="score both on the same topics, with the same treatment of missing ones",
        )
    units = sorted(a)
    first = np.array([a[unit] for unit in units], np.float64)
    second = np.array([b[unit] for unit in units], np.float64)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise BadInput("a value to be compared is NaN or infinite")
    return first, second


def _differences(a: Values, b: Values) -> Array:
    """Differences a - b by unit, with mere rounding errors set to 0."""
    first, second = _pair(a, b)
    size = np.maximum(np.abs(first), np.abs(second))
    out = first - second
    return np.where(np.abs(out) <= _SAME * size, 0.0, out)


def _tail(greater: float, less: float, alternative: Alternative) -> float:
    """The p-value from both tails (each with the observed value in it)."""
    check_choice(alternative, get_args(Alternative), "alternative")
    tails = {"greater": greater, "less": less, "two-sided": 2.0 * min(greater, less)}
    return min(1.0, tails[alternative])


def _mean(values: Array) -> float:
    return math.fsum(values.tolist()) / len(values) if len(values) else 0.0


def _check_alpha(alpha: float) -> None:
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha must be between 0 and 1, not {alpha}")


def _standard_error(values: Array, mean: float) -> float:
    """Standard error of the mean; 0 if the values differ by rounding only."""
    if float(np.ptp(values)) <= _SAME * float(np.abs(values).max()):
        return 0.0
    variance = math.fsum(((values - mean) ** 2).tolist()) / (len(values) - 1)
    return math.sqrt(variance / len(values))


def _t_interval(mean: float, error: float, n: int, alpha: float) -> Interval:
    half = error * student_isf(alpha / 2.0, n - 1)
    return Interval(mean - half, mean + half, 1.0 - alpha)


def mean_interval(values: Values, *, alpha: float = 0.05) -> Interval | None:
    """Student's t interval of a mean over units; None with fewer than two units.

    >>> [round(bound, 4) for bound in mean_interval({"x": 0.2, "y": 0.4, "z": 0.6})]
    [-0.0968, 0.8968, 0.95]
    """
    _check_alpha(alpha)
    own, _ = _pair(values, values)
    if len(own) < 2:
        return None
    mean = _mean(own)
    return _t_interval(mean, _standard_error(own, mean), len(own), alpha)


def paired_t(
    a: Values, b: Values, alternative: Alternative = "two-sided", *, alpha: float = 0.05
) -> Comparison:
    """Student's paired t-test, with the t interval of the mean difference.

    Fewer than two units: undefined. All differences 0: p = 1. All differences equal and not 0: t is infinite
    and p = 0 (on the side of the alternative).

    >>> outcome = paired_t({"x": 0.5, "y": 0.6, "z": 0.9}, {"x": 0.4, "y": 0.3, "z": 0.7})
    >>> round(outcome.statistic, 4), round(outcome.p, 4)
    (3.4641, 0.0742)
    >>> [round(bound, 4) for bound in outcome.interval]
    [-0.0484, 0.4484, 0.95]
    """
    _check_alpha(alpha)
    differences = _differences(a, b)
    n, mean = len(differences), _mean(differences)
    _tail(1.0, 1.0, alternative)
    made = partial(Comparison, "t", mean, units=n, alternative=alternative)
    if n < 2:
        return made(statistic=None, p=None)
    error = _standard_error(differences, mean)
    t = mean / error if error else math.copysign(math.inf, mean) if differences.any() else 0.0
    p = _tail(student_sf(t, n - 1), student_sf(-t, n - 1), alternative) if differences.any() else 1.0
    span = _t_interval(mean, error, n, alpha) if alternative == "two-sided" else None
    return made(statistic=t, p=p, interval=span)


def wilcoxon(
    a: Values, b: Values, alternative: Alternative = "two-sided", *, alpha: float = 0.05
) -> Comparison:
    """Wilcoxon's signed-rank test; units without a difference are dropped, ties share their mean rank.

    It is a test of ranks, not of the mean difference, so it comes with no interval; ``alpha`` is not used.

    Up to 50 differences the distribution is exact, given the ties; above, the normal one with the variance
    corrected for ties, without continuity correction. The statistic is the sum of the positive ranks.

    >>> wilcoxon({"x": 1.0, "y": 2.0, "z": 3.0}, {"x": 0.0, "y": 0.0, "z": 0.0}).p
    0.25
    """
    every = _differences(a, b)
    mean = _mean(every)
    differences = every[every != 0]
    n = len(differences)
    _tail(1.0, 1.0, alternative)
    made = partial(Comparison, "wilcoxon", mean, units=len(every), alternative=alternative)
    if len(every) < 2:
        return made(statistic=None, p=None)
    if n == 0:
        return made(statistic=0.0, p=1.0)
    sizes = np.round(np.abs(differences), 12)
    _, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    doubled = (2 * last - counts + 1)[place]
    positive = int(doubled[differences > 0].sum())
    if n <= _EXACT_UNITS:
        shares = signed_rank_counts(doubled)
        greater, less = float(shares[positive:].sum()), float(shares[: positive + 1].sum())
    else:
        variance = n * (n + 1) * (2 * n + 1) / 24.0 - float((counts**3 - counts).sum()) / 48.0
        z = (positive / 2.0 - n * (n + 1) / 4.0) / math.sqrt(variance)
        greater, less = normal_sf(z), normal_sf(-z)
    return made(statistic=positive / 2.0, p=_tail(greater, less, alternative))


def randomisation(
    a: Values,
    b: Values,
    alternative: Alternative = "two-sided",
    *,
    alpha: float = 0.05,
    rounds: int = 100_000,
    seed: int = 0,
) -> Comparison:
    """Fisher's randomisation test: how often are random signs of the differences as extreme as theirs?

    All 2^n choices if they are at most ``rounds`` (then p is exact); else ``rounds`` random ones, with
    the observed one counted among them. The interval holds every shift that, taken off all differences,
    gives p >= alpha with the same choices of signs (Hartigan's typical values).

    >>> found = randomisation({"x": 1.0, "y": 2.0, "z": 3.0}, {"x": 0.0, "y": 0.0, "z": 0.0}, alpha=0.3)
    >>> found.p, found.interval
    (0.25, Interval(low=1.0, high=3.0, level=0.7))
    """
    _check_alpha(alpha)
    if rounds < 1:
        raise UsageError(f"rounds must be at least 1, not {rounds}")
    differences = _differences(a, b)
    n, mean = len(differences), _mean(differences)
    _tail(1.0, 1.0, alternative)
    made = partial(Comparison, "randomisation", mean, units=n, alternative=alternative)
    if n < 2:
        return made(statistic=None, p=None)
    exact = n < 60 and 2**n <= rounds
    total = 2**n if exact else rounds
    rng = np.random.default_rng(seed)
    slack = _SAME * float(np.abs(differences).sum())
    block = max(1, 2_000_000 // n)
    lows, highs = np.empty(total), np.empty(total)
    greater = less = 0
    for start in range(0, total, block):
        size = min(block, total - start)
        if exact:
            kept = (np.arange(start, start + size)[:, None] >> np.arange(n)) & 1
        else:
            kept = rng.integers(0, 2, (size, n), dtype=np.int8)
        # With the signs of some differences turned, |sum| is as large as observed exactly if the means of
        # the kept and of the turned ones do not lie on one side of 0.
        count = kept.sum(1, dtype=np.int64)
        own = kept @ differences
        rest = differences.sum() - own
        own[np.abs(own) <= slack] = 0.0
        rest[np.abs(rest) <= slack] = 0.0
        greater += int((rest <= 0).sum())
        less += int((rest >= 0).sum())
        means = own / np.maximum(count, 1), rest / np.maximum(n - count, 1)
        whole = (count == 0) | (count == n)  # nothing or all turned: as extreme under every shift
        lows[start : start + size] = np.where(whole, -np.inf, np.minimum(*means))
        highs[start : start + size] = np.where(whole, np.inf, np.maximum(*means))
    both = int(((lows <= 0) & (highs >= 0)).sum())
    seen = 0 if exact else 1
    extreme = {"greater": greater, "less": less}.get(alternative, both)
    p = (extreme + seen) / (total + seen)
    span = _inverted(lows, highs, seen, alpha) if alternative == "two-sided" else None
    return made(statistic=mean, p=p, interval=span)


def _inverted(lows: Array, highs: Array, seen: int, alpha: float) -> Interval | None:
    """The shifts that lie within so many of the spans [low, high] that p >= alpha; None where all do.

    Every span holds the mean, so their number falls to both sides of it.
    """
    total = len(lows)
    wanted = math.ceil(alpha * (total + seen)) - seen
    wanted += (wanted + seen) / (total + seen) < alpha  # the product was rounded
    if wanted < 1:
        return None
    low = float(np.partition(lows, wanted - 1)[wanted - 1])
    high = float(np.partition(highs, total - wanted)[total - wanted])
    return Interval(low, high, 1.0 - alpha) if math.isfinite(low) else None


_Test = Callable[..., Comparison]
TESTS: Mapping[str, _Test] = {"t": paired_t, "wilcoxon": wilcoxon, "randomisation": randomisation}


def compare(
    baseline: Values,
    others: Mapping[str, Values],
    *,
    test: str = "t",
    alternative: Alternative = "two-sided",
    correction: str = "none",
    alpha: float = 0.05,
) -> dict[str, Comparison]:
    """Each of ``others`` against the baseline, corrected for their number if ``correction`` says so.

    Args:
        baseline: unit -> value.
        others: name -> unit -> value.
        test: ``t`` (default), ``wilcoxon`` or ``randomisation``.
        alternative: that the other is ``greater`` or ``less`` than the baseline, or different.
        correction: ``none`` (default), ``holm`` or ``bonferroni``.
        alpha: 1 - level of the intervals.

    Returns:
        Name -> outcome; its ``difference`` is the mean of (other - baseline). Under a correction intervals
        are simultaneous: each is at alpha over the number of systems. One that excludes 0 means
        ``significant(alpha)``; the converse holds for ``none`` and ``bonferroni``, while ``holm`` can find
        more than any simple intervals show.

    Raises:
        BadInput: the units differ.
        UsageError: an unknown test, alternative or correction.

    >>> base = {"q1": 0.4, "q2": 0.3, "q3": 0.7}
    >>> found = compare(base, {"mine": {"q1": 0.5, "q2": 0.6, "q3": 0.9}})["mine"]
    >>> round(found.difference, 4), round(found.p, 4), found.significant()
    (0.2, 0.0742, False)
    """
    corrections = {"none": None, "holm": holm, "bonferroni": bonferroni}
    check_choice(test, TESTS, "test")
    check_choice(correction, corrections, "correction")
    adjust = corrections[correction]
    each = alpha / len(others) if adjust is not None and others else alpha
    outcomes = {
        name: TESTS[test](values, baseline, alternative, alpha=each) for name, values in others.items()
    }
    if adjust is None:
        return outcomes
    adjusted = adjust([outcome.p for outcome in outcomes.values()])
    return {
        name: replace(outcome, adjusted=p, correction=correction)
        for (name, outcome), p in zip(outcomes.items(), adjusted, strict=True)
    }


def win_tie_loss(a: Values, b: Values) -> tuple[int, int, int]:
    """Numbers of units on which a is better, equal (up to rounding) and worse.

    >>> win_tie_loss({"x": 1.0, "y": 0.5}, {"x": 0.0, "y": 0.5})
    (1, 1, 0)
    """
    differences = _differences(a, b)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return wins, len(differences) - wins - losses, losses


# Agreement of annotators beyond chance, with bootstrap intervals.
#
# A unit adds a table of the pairs of grades that it was given, and both statistics depend on the sum of the
# tables alone; so resampling units is drawing how often each table occurs.


class Agreement(NamedTuple):
    """An agreement.

    Attributes:
        value: 1 is full, 0 that of chance; NaN where all grades are one, or no unit has two.
        interval: of 95 %, by resampling units; None for fewer than two, and without a value.
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
