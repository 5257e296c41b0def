"""Conditions on kind: what sort of work a paper is, as the lens :mod:`aspectra.views.lenses.kind` graded it.

``news`` and ``blog`` are met by what the lens ``source`` takes for one, too.
"""

from __future__ import annotations

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.labels._lensed import LensAttribute, lens_column
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.index.opened import Index
from aspectra.views.lenses.kind import KindLens, stated_as
from aspectra.views.lenses.protocol import LENSES, TextSpan
from aspectra.views.view import Floats, Positions

__all__: list[str] = []

_SOURCES = frozenset({"news", "blog"})


class KindAttribute(LensAttribute):
    """See the module."""

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN for a paper of which neither text nor record is known."""
        grades = super().grades(value, index, papers)
        if value in _SOURCES:
            grades = np.fmax(grades, lens_column(index, "source", value, papers))
        return grades

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The sentence that decided; None where the record did."""
        if stated_as(value, paper):
            return None
        return (
            LENSES.get("source").span(paper, value)
            if value in _SOURCES
            else super().span(value, paper, index)
        )

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """What the record states, as in ``Case Reports (record)``; "" where the text decided."""
        stated = stated_as(value, paper)
        return f"{stated} (record)" if stated else ""


ATTRIBUTES.register("kind")(KindAttribute("kind", KindLens.labels))
