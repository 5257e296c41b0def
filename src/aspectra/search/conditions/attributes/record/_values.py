"""How conditions on records write their values: numbers, ranges, names and classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from aspectra.base.errors import UsageError
from aspectra.papers.paper import normalise_title

__all__ = ["check_class", "check_name", "number_range"]

_FORM = re.compile(r"\s*+(?:(>=|<=|>|<)\s*+(\d{1,9}+)|(\d{1,9}+)(?:\s*+\.\.\s*+(\d{1,9}+))?+)\s*+", re.ASCII)
_LAST = 10**9


def number_range(value: str) -> tuple[int, int] | None:
    """Smallest and largest whole number of ``>=50``, ``>100``, ``<20``, ``<=20``, ``10..20`` or ``7``.

    >>> [number_range(value) for value in (">=50", "<20", "10..20", "many")]
    [(50, 1000000000), (0, 19), (10, 20), None]
    """
    found = _FORM.fullmatch(value)
    if found is None:
        return None
    sign, bound, first, last = found.groups()
    if sign:
        number = int(bound)
        low = {">=": number, ">": number + 1}.get(sign, 0)
        high = {"<=": number, "<": number - 1}.get(sign, _LAST)
    else:
        low = int(first)
        high = low if last is None else int(last)
    return (low, high) if low <= high else None


def check_name(value: str, what: str, example: str) -> None:
    """Refuse a name without letters or digits.

    Raises:
        UsageError: always then.
    """
    if not normalise_title(value):
        raise UsageError(f"{value!r} names no {what}", why=f"write a name, as in: {example}")


def check_class(value: str, what: str, known: Sequence[str], synonyms: Mapping[str, str]) -> str:
    """The class that a value names, by itself or by a synonym, in any case.

    Raises:
        UsageError: it names none.
    """
    text = " ".join(value.casefold().split())
    named = synonyms.get(text, text)
    if named not in known:
        raise UsageError(f"{value!r} is no {what}", why="known: " + ", ".join(known))
    return named
