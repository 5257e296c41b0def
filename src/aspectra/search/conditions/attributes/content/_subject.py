"""An attribute whose values are free words on what a paper is about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.content._about import about, possible, span_of
from aspectra.search.conditions.attributes.content._phrases import check_phrases
from aspectra.search.conditions.attributes.protocol import Attribute
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.view import Floats, Positions


class SubjectAttribute(Attribute):
    """Free words, or several with *or*; see :mod:`aspectra.search.conditions.attributes.content._about`."""

    cheap = False
    doubtful = True

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, value: str) -> None:
        """Refuse a value without words.

        Raises:
            UsageError: always then, or with more than 8 alternatives.
        """
        check_phrases(self.name, value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1; NaN for a paper without text."""
        return about(value, index, papers)

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False where no alternative is named and no abstract is near."""
        return possible(value, index)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The title or sentence that decided."""
        return span_of(value, paper, index)
