"""Conditions on known."""

from __future__ import annotations

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []


class KnownAttribute(Attribute):
    """See the module."""

    name = "known"

    def check(self, value: str) -> None:
        """Refuse an empty value.

        Raises:
            UsageError: always then.
        """
        if not value:
            raise UsageError("the value of known is empty")

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("known")(KnownAttribute())
