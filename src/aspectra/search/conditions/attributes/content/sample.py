"""Conditions on sample: how many participants a study has, as in ``>200``, ``<=50``, ``30`` or ``100..500``.

The number is what the lens :mod:`aspectra.views.lenses.sample` read; papers that study no people have none.
"""

from __future__ import annotations

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.labels.lensed import lacks, lens_column
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import number_range
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import LENSES, TextSpan
from aspectra.views.view import Floats, Positions


def _bounds(value: str) -> tuple[int, int]:
    """The smallest and largest number that meets a value.

    Raises:
        UsageError: it is neither a number, a bound nor a range, or the range is empty.
    """
    found = number_range(value)
    if found is None:
        why = "write >200, <=50, 100 or 100..500, the smaller number first"
        raise UsageError(f"{value!r} is no sample size", why=why)
    return found


class SampleAttribute(Attribute):
    """See the module."""

    name = "sample"

    def check(self, value: str) -> None:
        """Refuse what is neither a number, a bound nor a range.

        Raises:
            UsageError: with the forms there are, or the range is empty.
        """
        _bounds(value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 within the bounds, 0 outside, NaN where the text tells no number."""
        low, high = _bounds(value)
        counts = lens_column(index, "sample", "participants", papers)
        inside = ((counts >= low) & (counts <= high)).astype(np.float32)
        return np.where(np.isnan(counts), counts, inside)

    def missing(self, value: str, index: Index) -> str:
        """Why nothing is known of any paper."""
        return lacks(index, "sample", "participants") or super().missing(value, index)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The sentence with the number."""
        return LENSES.get("sample").span(paper, "participants")


ATTRIBUTES.register("sample")(SampleAttribute())
