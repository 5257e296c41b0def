"""Conditions on sample: how many participants a study has, as in ``>200``, ``<=50`` or ``100..500``."""

from __future__ import annotations

import re

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__: list[str] = []

_VALUE = re.compile(r"(<=|>=|<|>)\s*(\d{1,9})|(\d{1,9})(?:\s*\.\.\s*(\d{1,9}))?")


class SampleAttribute(Attribute):
    """See the module."""

    name = "sample"

    def check(self, value: str) -> None:
        """Refuse what is neither a number, a bound nor a range.

        Raises:
            UsageError: with the forms there are, or the range is empty.
        """
        found = _VALUE.fullmatch(value.strip())
        if found is None:
            raise UsageError(f"{value!r} is no sample size", why="write >200, <=50, 100 or 100..500")
        if found[4] and int(found[4]) < int(found[3]):
            raise UsageError(f"{value!r} is no sample size", why="its second number is the smaller one")

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) NaN: nothing is known yet."""
        return np.full(len(papers), np.nan, np.float32)


ATTRIBUTES.register("sample")(SampleAttribute())
