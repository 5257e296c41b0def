"""Grades of the papers of an index, for tests of attributes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.index.opened import Index

Grade = Callable[[str, str], dict[str, float]]  # (attribute, value) -> id -> grade, in three decimals


def grader(index: Index) -> Grade:
    """Grades all papers of an index."""

    def grade(attribute: str, value: str) -> dict[str, float]:
        found = ATTRIBUTES.get(attribute).grades(value, index, np.arange(len(index)))
        return {paper_id: round(float(g), 3) for paper_id, g in zip(index.ids, found, strict=True)}

    return grade


def met(grades: dict[str, float]) -> set[str]:
    """Ids of the papers that meet a condition."""
    return {paper_id for paper_id, grade in grades.items() if grade >= 0.5}


def unknown(grades: dict[str, float]) -> set[str]:
    """Ids of the papers of which nothing is known."""
    return {paper_id for paper_id, grade in grades.items() if np.isnan(grade)}
