"""Which papers meet a condition, and of which nothing is known: for tests of attributes."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["Grade", "met", "unknown"]

# (attribute, value) -> id -> grade, in three decimals: the fixture ``grade``.
Grade = Callable[[str, str], dict[str, float]]


def met(grades: dict[str, float]) -> set[str]:
    """Ids of the papers that meet it."""
    return {paper_id for paper_id, grade in grades.items() if grade >= 0.5}


def unknown(grades: dict[str, float]) -> set[str]:
    """Ids of the papers of which nothing is known."""
    return {paper_id for paper_id, grade in grades.items() if math.isnan(grade)}
