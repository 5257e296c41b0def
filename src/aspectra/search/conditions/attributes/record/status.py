"""Conditions on how a paper was published: ``preprint``, ``peer-reviewed``, ``journal`` ..."""

from __future__ import annotations

import numpy as np

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import check_class
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []

STATUSES = ("preprint", "peer-reviewed", "journal", "conference", "workshop", "abstract", "retracted")
_SYNONYMS = {
    "peer reviewed": "peer-reviewed",
    "refereed": "peer-reviewed",
    "published": "peer-reviewed",
    "poster": "abstract",
    "demo": "abstract",
    "late-breaking": "abstract",
}


class StatusAttribute(Attribute):
    """See the module."""

    name = "status"

    def check(self, value: str) -> None:
        """Refuse what is no status.

        Raises:
            UsageError: with the values there are.
        """
        check_class(value, "status", STATUSES, _SYNONYMS)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("status")(StatusAttribute())
