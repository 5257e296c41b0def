"""Corrections of p-values for several comparisons."""

from __future__ import annotations

from collections.abc import Sequence


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
