"""Attributes from prompted lenses: ``-c NAME=label``, ``-c NAME=>=0.5`` for numbers.

Which there are depends on the library. Opening one makes its lenses known. Libraries in one process may have
lenses of one name with other values: a condition can be made where any of them has the value, and is refused
when a library without it grades it.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.papers.library.store import Store
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.views.index.opened import Index
from aspectra.views.prompted.schema import LENSES_KEY, ValueSchema
from aspectra.views.view import Floats, Positions

_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"\s*+(?:(<=|>=)\s*+({_NUMBER})|({_NUMBER})\s*+(?:\.\.\s*+({_NUMBER}))?)\s*+")


class PromptedAttribute(Attribute):
    """What a lens's labels or numbers say of papers; see the module.

    Args:
        name: of the lens.

    Attributes:
        schemas: folder of each library that was opened -> schema of its values there.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.schemas: dict[Path, ValueSchema] = {}

    def check(self, value: str) -> None:
        """Refuse what is no value of the lens in any library that was opened.

        Raises:
            UsageError: with the values that it has in the one opened last.
        """
        refused = None
        for schema in reversed(self.schemas.values()):
            try:
                _check(self.name, schema, value)
            except UsageError as error:
                refused = refused or error
            else:
                return
        if refused is not None:
            raise refused

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 where the lens says so, 0 where it says otherwise, NaN where it has no value.

        Raises:
            UsageError: it is no value of the lens in this library.
        """
        from aspectra.views.prompted.building import NUMBER  # few libraries have such lenses

        lens = index.lens(self.name)
        schema = self.schemas.get(index.library.folder)
        if lens.labels != (NUMBER,) or (schema is not None and schema.kind == "label"):
            return np.asarray(lens.column(value)[papers], np.float32)
        found = np.asarray(lens.column(NUMBER)[papers], np.float32)
        low, high = _bounds(self.name, value)
        # Numbers are kept as float32; a bound means the number as it was written.
        inside = (found >= np.float32(low)) & (found <= np.float32(high))
        return np.where(np.isnan(found), found, inside.astype(np.float32))


def _check(name: str, schema: ValueSchema, value: str) -> None:
    if schema.kind == "text":
        raise UsageError(
            f"the lens {name} gives texts, which conditions cannot use",
            hint=f'aspectra search "..." --lens {name}',
        )
    if schema.kind == "label" and value not in schema.labels:
        raise UsageError(
            f"{value!r} is no label of the lens {name}", why="known: " + ", ".join(schema.labels)
        )
    if schema.kind == "number":
        _bounds(name, value)


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
    if not library.meta(LENSES_KEY):
        return
    from aspectra.views.prompted.definition import usable

    for name, lens in usable(library).items():
        if name not in ATTRIBUTES:
            ATTRIBUTES.register(name)(PromptedAttribute(name))
        known = ATTRIBUTES.get(name)
        if isinstance(known, PromptedAttribute):
            known.schemas.pop(library.folder, None)  # the library opened last is named last
            known.schemas[library.folder] = lens.prompt.schema
