"""Conditions on how often a paper is cited: ``>=50``, ``<20``, ``10..20``, ``high`` or ``low``."""

from __future__ import annotations

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import number_range
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []

_VALUES = ("high", "low")


class CitationsAttribute(Attribute):
    """See the module."""

    name = "citations"

    def check(self, value: str) -> None:
        """Refuse what is neither a number, a bound, a range, ``high`` nor ``low``.

        Raises:
            UsageError: with the forms there are.
        """
        if value.casefold() not in _VALUES and number_range(value) is None:
            raise UsageError(
                f"{value!r} is no number of citations", why="write >=50, >100, <20, 10..20, high or low"
            )

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("citations")(CitationsAttribute())
