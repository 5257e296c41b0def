"""Conditions on the year of publication: ``>=2021``, ``<=2019``, ``2015..2018``, or ``2017``."""

from __future__ import annotations

import re

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__ = ["YearAttribute"]

_FORM = re.compile(r"\s*(?:>=\s*(\d{4})|<=\s*(\d{4})|(\d{4})(?:\s*\.\.\s*(\d{4}))?)\s*", re.ASCII)
_FIRST, _LAST = -(10**6), 10**6


def _range(value: str) -> tuple[int, int]:
    """First and last year that meet the condition."""
    found = _FORM.fullmatch(value)
    if found is None:
        raise UsageError(f"{value!r} is no year", why="write >=2021, <=2019, 2015..2018 or 2017")
    since, until, first, last = (int(year) if year else None for year in found.groups())
    if since is not None:
        return since, _LAST
    if until is not None:
        return _FIRST, until
    low = first or 0
    high = low if last is None else last
    if high < low:
        raise UsageError(f"{value!r} holds no year", why="the first year comes after the last")
    return low, high


class YearAttribute(Attribute):
    """See the module."""

    name = "year"

    def check(self, value: str) -> None:
        """Refuse what names no years.

        Raises:
            UsageError: with the forms there are.
        """
        _range(value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 within, 0 outside, NaN where the year is unknown."""
        low, high = _range(value)
        years = index.years[papers]
        inside = ((years >= low) & (years <= high)).astype(np.float32)
        return np.where(years == 0, np.float32(np.nan), inside)


ATTRIBUTES.register("year")(YearAttribute())
