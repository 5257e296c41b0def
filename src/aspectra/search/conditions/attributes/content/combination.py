"""Conditions on several values of one paper at once, as in ``kind=trial and population=children``.

*No trials in children* denies what is both: neither trials nor papers on children.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.lists import UserLists
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.view import Floats, Positions

_AND = re.compile(r"(?<!\s)\s++and\s++(?=\w{1,60}=)")
_MOST = 8  # values
_MEETS = 0.5  # of a condition, see there


def combined(pairs: Sequence[tuple[str, str]]) -> str:
    """The value that asks for several: (attribute, value) of each.

    >>> combined([("kind", "trial"), ("population", "children")])
    'kind=trial and population=children'
    """
    return " and ".join(f"{attribute}={value}" for attribute, value in pairs)


def split_up(value: str) -> list[str]:
    """What :func:`combined` put together: ``kind=trial`` and so on."""
    return _AND.split(value)


def _parts(value: str) -> Iterator[tuple[Attribute, str]]:
    """The attributes of a value, and what each should be."""
    for part in split_up(value):
        name, _, held = part.partition("=")
        yield ATTRIBUTES.get(name.strip()), held.strip()


def _grades(attribute: Attribute, value: str, index: Index, papers: Positions) -> Floats:
    """Of what is cheap, as of all papers: what is known of none may decide."""
    if attribute.cheap:
        return np.asarray(attribute.grades(value, index, np.arange(len(index)))[papers], np.float32)
    return attribute.grades(value, index, papers)


class CombinationAttribute(Attribute):
    """See the module."""

    name = "combination"
    cheap = False  # as its slowest part may be
    noun = "values"

    def check(self, value: str) -> None:
        """Refuse what does not name two to eight values.

        Raises:
            UsageError: it does not, or an attribute or a value is unknown.
        """
        parts = list(_parts(value)) if "=" in value else []
        if not 1 < len(parts) <= _MOST or any(attribute is self for attribute, _ in parts):
            raise UsageError(
                f"{value!r} names no two values, or more than {_MOST}",
                why="write ATTRIBUTE=VALUE and ATTRIBUTE=VALUE, as in: kind=trial and population=children",
            )
        for attribute, held in parts:
            attribute.check(held)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) the lowest grade of any part; NaN where it is not known whether all are met."""
        table = np.stack([_grades(*part, index, papers) for part in _parts(value)])
        lowest = np.fmin.reduce(table)
        unsure = np.isnan(table).any(axis=0) & (lowest >= _MEETS)
        return np.where(unsure, np.nan, lowest).astype(np.float32)

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """Each part bound."""
        return combined([(a.name, a.bound(held, seeds, index, lists)) for a, held in _parts(value)])

    def missing(self, value: str, index: Index) -> str:
        """Why nothing is known of any paper: the first part of which nothing is."""
        for attribute, held in _parts(value):
            every = np.arange(len(index))
            known = attribute.cheap and not np.isnan(_grades(attribute, held, index, every)).all()
            if not known and len(index) and (why := attribute.missing(held, index)):
                return why
        return ""

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False where a part is surely 0."""
        found = [attribute.possible(held, index) for attribute, held in _parts(value)]
        known = [mask for mask in found if mask is not None]
        return np.asarray(np.logical_and.reduce(known)) if known else None

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """That of the first part that has one."""
        spans = (attribute.span(held, paper, index) for attribute, held in _parts(value))
        return next((span for span in spans if span), None)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """Those of its parts."""
        return ", ".join(filter(None, (a.reason(held, paper, index) for a, held in _parts(value))))


ATTRIBUTES.register("combination")(CombinationAttribute())
