"""An attribute whose values are the labels of a lens, graded as the lens graded them."""

from __future__ import annotations

import re

import numpy as np

from aspectra.base.checking import unknown_name
from aspectra.base.errors import ViewMismatch
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import Attribute
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import LENSES, TextSpan
from aspectra.views.view import Floats, Positions

__all__ = ["LensAttribute"]


class LensAttribute(Attribute):
    """See the module; ``name`` is the attribute's and the lens's."""

    def __init__(self, name: str, values: tuple[str, ...]) -> None:
        self.name = name
        self.values = values

    def check(self, value: str) -> None:
        """Refuse what is no label of the lens.

        Raises:
            UsageError: with the values there are.
        """
        if value not in self.values:
            raise unknown_name(f"{value!r} is no {self.name}", value, self.values, self._synonyms(value))

    def _synonyms(self, word: str) -> dict[str, str]:
        """The word with the first value that its English words mean: ``review`` is said for ``survey``."""
        said = word.strip().casefold()
        for value, phrases in re.findall(r"^([\w ]+):[^=\n]*=((?:.|\n\s)*)", self.words("en"), re.MULTILINE):
            if said and re.search(rf"\b{re.escape(said)}\b", phrases):
                return {said: value}
        return {}

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN for a paper without text.

        Raises:
            ViewMismatch: the index holds values of an older lens, which had no such label.
        """
        lens = index.lens(self.name)
        if value not in lens.labels:
            raise ViewMismatch(
                f"the index has no {self.name} {value!r}",
                why="it was built by an older version, which knew " + ", ".join(lens.labels),
                hint="aspectra index",
            )
        return np.asarray(lens.column(value)[papers], np.float32)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """What spoke most for the value, or None where it is the text as a whole."""
        return LENSES.get(self.name).span(paper, value)
