"""Conditions on access: ``open`` to everybody, or ``fulltext`` in the library."""

from __future__ import annotations

import numpy as np

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import check_class
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []

_VALUES = ("open", "fulltext")
_SYNONYMS = {"open access": "open", "full text": "fulltext"}


class AccessAttribute(Attribute):
    """See the module."""

    name = "access"

    def check(self, value: str) -> None:
        """Refuse what is no kind of access.

        Raises:
            UsageError: with the values there are.
        """
        check_class(value, "access", _VALUES, _SYNONYMS)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("access")(AccessAttribute())
