"""Conditions on artifacts: what a paper makes available, ``code``, ``data`` or ``weights``."""

from __future__ import annotations

import numpy as np

from aspectra.base.checking import unknown_name
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []

_VALUES = ("code", "data", "weights")


class ArtifactsAttribute(Attribute):
    """See the module."""

    name = "artifacts"
    every = True  # who names code and data means both

    def check(self, value: str) -> None:
        """Refuse what is no artifact.

        Raises:
            UsageError: with the values there are.
        """
        if value not in _VALUES:
            raise unknown_name(f"{value!r} is no artifact", value, _VALUES)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("artifacts")(ArtifactsAttribute())
