"""Grades of the papers of a test's index, for tests of attributes."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.index.opened import Index
from grades import Grade


@pytest.fixture
def grade(index: Index) -> Grade:
    def call(attribute: str, value: str) -> dict[str, float]:
        found = ATTRIBUTES.get(attribute).grades(value, index, np.arange(len(index)))
        return {paper_id: round(float(g), 3) for paper_id, g in zip(index.ids, found, strict=True)}

    return call
