"""Conditions on what a paper cites: a title, an id, a DOI or an arXiv id."""

from __future__ import annotations

import numpy as np

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import check_name
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []


class CitesAttribute(Attribute):
    """See the module."""

    name = "cites"

    def check(self, value: str) -> None:
        """Refuse a name without letters or digits.

        Raises:
            UsageError: always then.
        """
        check_name(value, "paper", "cites=Attention is all you need")

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("cites")(CitesAttribute())
