"""Conditions on the year of publication: ``>=2021``, ``<2019``, ``2015..2018``, ``2017``, ``>=now-5``.

``now`` is the present year.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_YEAR = r"(\d{4}+|now(?:\s*+-\s*+\d{1,3}+)?+)"
_FORM = re.compile(rf"\s*+(?:(>=|<=|>|<)\s*+{_YEAR}|{_YEAR}(?:\s*+\.\.\s*+{_YEAR})?+)\s*+", re.ASCII)
_FIRST, _LAST = -(10**6), 10**6


def _year(text: str) -> int:
    """A year, counted back from the present one where it is written so."""
    if not text.startswith("now"):
        return int(text)
    back = text.removeprefix("now").strip().removeprefix("-").strip()
    return datetime.now(UTC).year - int(back or 0)


def _range(value: str) -> tuple[int, int]:
    """First and last year that meet the condition."""
    found = _FORM.fullmatch(value)
    if found is None:
        raise UsageError(f"{value!r} is no year", why="write >=2021, <2019, 2015..2018, 2017 or >=now-5")
    sign, bound, first, last = found.groups()
    if sign:
        year = _year(bound)
        low = {">=": year, ">": year + 1}.get(sign, _FIRST)
        return low, {"<=": year, "<": year - 1}.get(sign, _LAST)
    low = _year(first)
    high = low if last is None else _year(last)
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

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The year."""
        return str(paper.year) if paper.year else ""


ATTRIBUTES.register("year")(YearAttribute())
