"""Dates as records write them, as numbers, for the formats that ask for numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

MONTHS = "January February March April May June July August September October November December".split()
SHORT_MONTHS = [month[:3].lower() for month in MONTHS]
"""As BibTeX abbreviates them."""
_NAME = rf"\b({'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in MONTHS)}|sept)\b"
_NAMED = re.compile(rf"(?:(?<![-–\d])(\d{{1,2}})\.?\s)?{_NAME}\.?(?:\s(\d{{1,2}})\b(?![-–]\d))?", re.I)
_NUMBERS = re.compile(r"\d{4}(?:[-/. ](\d{1,2})(?![\w.])(?:[-/. ](\d{1,2})(?![\d.]))?|(\d\d)(\d\d)?\b)?")
_TURNED = re.compile(r"(\d{1,2})[-/. ]\d{4}(?!\d)")
_YEAR = re.compile(r"(?<!\d)\d{4}")


def date_parts(text: str, year: int | None) -> tuple[int, ...]:
    """Year, month and day of a date, as far as it states them.

    Args:
        text: a date in any usual spelling, without a year too (*NOV 20*).
        year: of the record.

    Returns:
        One to three numbers; only the year where the date names a season or a span of months; nothing where
        there is no year, or the date is of another one.

    >>> date_parts("2019///", 2019), date_parts("2021-03", 2021), date_parts("NOV 20", 2023)
    ((2019,), (2021, 3), (2023, 11, 20))
    >>> date_parts("MAY-JUN", 2015), date_parts("April 2014", 2014), date_parts("2014-11-02", 2015)
    ((2015,), (2014, 4), ())
    """
    if year is None or not 0 < year <= 9999:
        return ()
    found = _YEAR.findall(text)
    if found and int(found[0]) != year:
        return ()
    named = _NAMED.findall(text)
    if len(named) > 1:
        return (year,)
    if named:
        ((before, month, after),) = named
        return _valid(year, SHORT_MONTHS.index(month[:3].lower()) + 1, before or after)
    plain = text.strip()
    if numbers := _TURNED.match(plain) or _NUMBERS.match(plain):
        return _valid(year, *filter(None, numbers.groups()))
    return (year,)


def fullest_date(texts: Iterable[str], year: int | None) -> tuple[int, ...]:
    """The longest of what several fields say, see :func:`date_parts`; the first of those as long."""
    return max((date_parts(text, year) for text in texts), key=len, default=())


def _valid(year: int, *rest: int | str) -> tuple[int, ...]:
    """As many parts as a calendar has."""
    out = [year]
    for part, most in zip(rest, (12, 31), strict=False):
        if not part or not 1 <= int(part) <= most:
            break
        out.append(int(part))
    return tuple(out)
