"""Conditions on who published a paper: ``ACM``, ``IEEE``, ``Springer`` ..."""

from __future__ import annotations

import numpy as np

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import check_name
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []


class PublisherAttribute(Attribute):
    """See the module."""

    name = "publisher"

    def check(self, value: str) -> None:
        """Refuse a name without letters.

        Raises:
            UsageError: always then.
        """
        check_name(value, "publisher", "publisher=IEEE")

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("publisher")(PublisherAttribute())
