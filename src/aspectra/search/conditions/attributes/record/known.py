"""Conditions on papers that the user has, wrote, gave (``have``, ``mine``, ``listed``) or names."""

from __future__ import annotations

import numpy as np

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import check_name
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []


class KnownAttribute(Attribute):
    """See the module."""

    name = "known"

    def check(self, value: str) -> None:
        """Refuse a name without letters.

        Raises:
            UsageError: always then.
        """
        check_name(value, "paper", "known=listed, known=Smith 2019")

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("known")(KnownAttribute())
