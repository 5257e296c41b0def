"""Conditions on where the authors work: the name of an institution or a country."""

from __future__ import annotations

import numpy as np

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import check_name
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []


class AffiliationAttribute(Attribute):
    """See the module."""

    name = "affiliation"

    def check(self, value: str) -> None:
        """Refuse a name without letters.

        Raises:
            UsageError: always then.
        """
        check_name(value, "institution", "affiliation=INRIA")

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("affiliation")(AffiliationAttribute())
