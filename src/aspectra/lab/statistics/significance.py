"""Paired tests: whether one run is better than another, unit by unit.

All tests pair by unit id and refuse values whose ids differ. Differences are ``a - b``. Anything random takes
a seed, and units are sorted first, so that a number can be had again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from aspectra.base.checking import check_choice
from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.runs.judged import Array
from aspectra.lab.statistics.distributions import normal_sf, signed_rank_counts, student_sf

__all__ = [
    "TESTS",
    "Comparison",
    "Interval",
    "WinTieLoss",
    "bonferroni",
    "bootstrap",
    "compare",
    "holm",
    "paired_t",
    "randomisation",
    "wilcoxon",
    "win_tie_loss",
]

Alternative = Literal["two-sided", "less", "greater"]
Values = Mapping[str, float]
_EXACT_UNITS = 50  # Wilcoxon: the exact distribution up to here, the normal one above
_SAME = 1e-12  # differences this small, relative to the values, are rounding


class WinTieLoss(NamedTuple):
    """Units on which a is better, equal, worse."""

    wins: int
    ties: int
    losses: int


class Interval(NamedTuple):
    """A confidence interval."""

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
    adjusted: float | None = None
    correction: str = ""

    def significant(self, alpha: float = 0.05) -> bool:
        """Whether p (the adjusted one where there is one) is below alpha; an undefined p never is."""
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
    """By unit, a - b, with what is only rounding set to 0."""
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


def paired_t(a: Values, b: Values, alternative: Alternative = "two-sided") -> Comparison:
    """Student's paired t-test.

    Fewer than two units: undefined. All differences 0: p = 1. All differences equal and not 0: t is infinite
    and p = 0 (on the side of the alternative).

    >>> outcome = paired_t({"x": 0.5, "y": 0.6, "z": 0.9}, {"x": 0.4, "y": 0.3, "z": 0.7})
    >>> round(outcome.statistic, 4), round(outcome.p, 4)
    (3.4641, 0.0742)
    """
    differences = _differences(a, b)
    n, mean = len(differences), _mean(differences)
    _tail(1.0, 1.0, alternative)
    if n < 2:
        return Comparison("t", mean, None, None, n, alternative)
    if not differences.any():
        return Comparison("t", 0.0, 0.0, 1.0, n, alternative)
    if float(np.ptp(differences)) <= _SAME * float(np.abs(differences).max()):
        t = math.copysign(math.inf, mean)
    else:
        variance = math.fsum(((differences - mean) ** 2).tolist()) / (n - 1)
        t = mean / math.sqrt(variance / n)
    return Comparison(
        "t", mean, t, _tail(student_sf(t, n - 1), student_sf(-t, n - 1), alternative), n, alternative
    )


def wilcoxon(a: Values, b: Values, alternative: Alternative = "two-sided") -> Comparison:
    """Wilcoxon's signed-rank test; units without a difference are dropped, ties share their mean rank.

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
    if len(every) < 2:
        return Comparison("wilcoxon", mean, None, None, len(every), alternative)
    if n == 0:
        return Comparison("wilcoxon", mean, 0.0, 1.0, len(every), alternative)
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
    p = _tail(greater, less, alternative)
    return Comparison("wilcoxon", mean, positive / 2.0, p, len(every), alternative)


def randomisation(
    a: Values, b: Values, alternative: Alternative = "two-sided", *, rounds: int = 100_000, seed: int = 0
) -> Comparison:
    """Fisher's randomisation test: how often are random signs of the differences as extreme as theirs?

    All 2^n choices where that is no more than ``rounds`` (then p is exact); else ``rounds`` random ones, with
    the observed one counted among them.

    >>> randomisation({"x": 1.0, "y": 2.0, "z": 3.0}, {"x": 0.0, "y": 0.0, "z": 0.0}).p
    0.25
    """
    if rounds < 1:
        raise UsageError(f"rounds must be at least 1, not {rounds}")
    differences = _differences(a, b)
    n, mean = len(differences), _mean(differences)
    _tail(1.0, 1.0, alternative)
    if n < 2:
        return Comparison("randomisation", mean, None, None, n, alternative)
    exact = n < 60 and 2**n <= rounds
    total = 2**n if exact else rounds
    rng = np.random.default_rng(seed)
    observed = float(differences.sum())
    slack = _SAME * float(np.abs(differences).sum())
    block = max(1, 2_000_000 // n)
    greater = less = both = 0
    for start in range(0, total, block):
        size = min(block, total - start)
        if exact:
            chosen = (np.arange(start, start + size)[:, None] >> np.arange(n)) & 1
        else:
            chosen = rng.integers(0, 2, (size, n), dtype=np.int8)
        sums = (chosen * 2 - 1) @ differences
        greater += int((sums >= observed - slack).sum())
        less += int((sums <= observed + slack).sum())
        both += int((np.abs(sums) >= abs(observed) - slack).sum())
    extreme = {"greater": greater, "less": less}.get(alternative, both)
    p = extreme / total if exact else (extreme + 1) / (total + 1)
    return Comparison("randomisation", mean, mean, p, n, alternative)


TESTS: Mapping[str, Callable[[Values, Values, Alternative], Comparison]] = {
    "t": paired_t,
    "wilcoxon": wilcoxon,
    "randomisation": randomisation,
}


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


def compare(
    baseline: Values,
    others: Mapping[str, Values],
    *,
    test: str = "t",
    alternative: Alternative = "two-sided",
    correction: str = "none",
) -> dict[str, Comparison]:
    """Each of ``others`` against the baseline, corrected for their number if ``correction`` says so.

    Args:
        baseline: unit -> value.
        others: name -> unit -> value.
        test: ``t`` (default), ``wilcoxon`` or ``randomisation``.
        alternative: that the other is ``greater`` or ``less`` than the baseline, or different.
        correction: ``none`` (default), ``holm`` or ``bonferroni``.

    Returns:
        Name -> outcome; its ``difference`` is the mean of (other - baseline).

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
    outcomes = {name: TESTS[test](values, baseline, alternative) for name, values in others.items()}
    adjust = corrections[correction]
    if adjust is None:
        return outcomes
    adjusted = adjust([outcome.p for outcome in outcomes.values()])
    return {
        name: replace(outcome, adjusted=p, correction=correction)
        for (name, outcome), p in zip(outcomes.items(), adjusted, strict=True)
    }


def bootstrap(
    a: Values, b: Values | None = None, *, level: float = 0.95, rounds: int = 10_000, seed: int = 0
) -> Interval | None:
    """Percentile bootstrap interval of the mean of a, or of a - b; None without units.

    Units are drawn with replacement; the bounds are percentiles of the means, interpolated.
    """
    if not 0.0 < level < 1.0:
        raise UsageError(f"the level must be between 0 and 1, not {level}")
    if rounds < 1:
        raise UsageError(f"rounds must be at least 1, not {rounds}")
    values = _pair(a, a)[0] if b is None else _differences(a, b)
    n = len(values)
    if n == 0:
        return None
    rng = np.random.default_rng(seed)
    block = max(1, 2_000_000 // n)
    means = [
        values[rng.integers(0, n, (min(block, rounds - start), n))].mean(1)
        for start in range(0, rounds, block)
    ]
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


def win_tie_loss(a: Values, b: Values) -> WinTieLoss:
    """Units on which a is better, equal (up to rounding) and worse.

    >>> win_tie_loss({"x": 1.0, "y": 0.5}, {"x": 0.0, "y": 0.5})
    WinTieLoss(wins=1, ties=1, losses=0)
    """
    differences = _differences(a, b)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return WinTieLoss(wins, len(differences) - wins - losses, losses)
