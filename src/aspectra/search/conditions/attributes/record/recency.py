"""Conditions on how recent a paper is, without a year: ``new`` or ``old``.

Age is counted back from the newest year of the library (of which a hundredth is left aside, for years are
misprinted), but at most from the present year. The grade of ``new`` halves every 5 years, so that it is met
up to 5 years back; that of ``old`` is what is left of 1 when the other half-life is 10 years.
"""

from __future__ import annotations

from datetime import UTC, datetime
from weakref import WeakKeyDictionary

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.attributes.record._values import ClassAttribute
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_HALF_LIVES = {"new": 5.0, "old": 10.0}
_MISPRINTED = 1.0  # per cent of the years
_newest: WeakKeyDictionary[Index, int] = WeakKeyDictionary()


def _year_of_now(index: Index) -> int:
    """The year that ages are counted back from; 0 where no year is known."""
    if index not in _newest:
        known = index.years[index.years != 0]
        newest = int(np.percentile(known, 100 - _MISPRINTED, method="higher")) if len(known) else 0
        _newest[index] = min(newest, datetime.now(UTC).year)
    return _newest[index]


class RecencyAttribute(ClassAttribute):
    """See the module."""

    name = "recency"
    noun = "year"
    classes = tuple(_HALF_LIVES)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) falling or rising with age, NaN where the year is unknown."""
        named = self.named(value)
        years = index.years[papers]
        age = np.maximum(_year_of_now(index) - years, 0)
        left = 0.5 ** (age / _HALF_LIVES[named])
        return np.where(years == 0, np.nan, left if named == "new" else 1.0 - left).astype(np.float32)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The year, beside the newest."""
        return f"{paper.year}; the newest here are of {_year_of_now(index)}" if paper.year else ""


ATTRIBUTES.register("recency")(RecencyAttribute())
