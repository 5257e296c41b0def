"""Conditions on how recent a paper is, without a year: ``new`` or ``old``."""

from __future__ import annotations

import numpy as np

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import check_class
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []

_VALUES = ("new", "old")


class RecencyAttribute(Attribute):
    """See the module."""

    name = "recency"

    def check(self, value: str) -> None:
        """Refuse all but ``new`` and ``old``.

        Raises:
            UsageError: with the values there are.
        """
        check_class(value, "recency", _VALUES, {})

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("recency")(RecencyAttribute())
