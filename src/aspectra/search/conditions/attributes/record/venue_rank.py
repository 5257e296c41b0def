"""Conditions on the rank of a venue: ``top``, ``a*``, ``q1``, ``impact factor > 5``."""

from __future__ import annotations

import numpy as np

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import check_class, number_range
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []

_RANKS = ("top", "a*", "a", "b", "c", "q1", "q2", "q3", "q4")


class VenueRankAttribute(Attribute):
    """See the module."""

    name = "venue_rank"

    def check(self, value: str) -> None:
        """Refuse what is neither a rank nor a bound of the impact factor.

        Raises:
            UsageError: with the values there are.
        """
        low = value.casefold()
        factor = low.removeprefix("impact factor")
        if factor == low or number_range(factor) is None:
            check_class(value, "rank of venues", _RANKS, {})

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("venue_rank")(VenueRankAttribute())
