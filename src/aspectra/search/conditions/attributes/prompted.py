"""Attributes from prompted lenses: ``-c NAME=label``, ``-c NAME=>=0.5`` for numbers.

Which there are depends on the library. Opening one makes its lenses known; a condition on a lens that this
library's index does not hold is refused when it is graded.
"""

from __future__ import annotations

import re

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.papers.library.store import Store
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.views.index.opened import Index
from aspectra.views.prompted.building import NUMBER
from aspectra.views.prompted.definition import usable
from aspectra.views.prompted.schema import ValueSchema
from aspectra.views.view import Floats, Positions

__all__ = ["PromptedAttribute", "know_lenses"]

_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"\s*+(?:(<=|>=)\s*+({_NUMBER})|({_NUMBER})\s*+(?:\.\.\s*+({_NUMBER}))?)\s*+")


class PromptedAttribute(Attribute):
    """What a lens's labels or numbers say of papers; see the module.

    Args:
        name: of the lens.
        schema: of its values, as the library opened last has it.
    """

    def __init__(self, name: str, schema: ValueSchema) -> None:
        self.name = name
        self.schema = schema

    def check(self, value: str) -> None:
        """Refuse what is no value of the lens.

        Raises:
            UsageError: with the values there are.
        """
        if self.schema.kind == "text":
            raise UsageError(
                f"the lens {self.name} gives texts, which conditions cannot use",
                hint=f'aspectra search "..." --lens {self.name}',
            )
        if self.schema.kind == "label" and value not in self.schema.labels:
            raise UsageError(
                f"{value!r} is no label of the lens {self.name}",
                why="known: " + ", ".join(self.schema.labels),
            )
        if self.schema.kind == "number":
            _bounds(self.name, value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 where the lens says so, 0 where it says otherwise, NaN where it has no value."""
        lens = index.lens(self.name)
        if lens.labels != (NUMBER,) or self.schema.kind == "label":
            return np.asarray(lens.column(value)[papers], np.float32)
        found = np.asarray(lens.column(NUMBER)[papers], np.float32)
        low, high = _bounds(self.name, value)
        # Numbers are kept as float32; a bound means the number as it was written.
        inside = (found >= np.float32(low)) & (found <= np.float32(high))
        return np.where(np.isnan(found), found, inside.astype(np.float32))


def _bounds(name: str, value: str) -> tuple[float, float]:
    """Lowest and highest number that meets a value."""
    found = _RANGE.fullmatch(value)
    if found is None:
        raise UsageError(
            f"{value!r} is no number of the lens {name}", why="write >=0.5, <=0.5, 0.5 or 0.2..0.5"
        )
    if found[1]:
        bound = float(found[2])
        return (bound, np.inf) if found[1] == ">=" else (-np.inf, bound)
    low = float(found[3])
    return low, float(found[4]) if found[4] else low


def know_lenses(library: Store) -> None:
    """Make the prompted lenses of a library known as attributes.

    A lens whose prompt cannot be used is left out here; ``aspectra lens status`` says why.
    """
    for name, lens in usable(library).items():
        schema = lens.prompt.schema
        known = ATTRIBUTES.get(name) if name in ATTRIBUTES else None
        if known is None:
            ATTRIBUTES.register(name)(PromptedAttribute(name, schema))
        elif isinstance(known, PromptedAttribute):
            known.schema = schema
