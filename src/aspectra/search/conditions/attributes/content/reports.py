"""Conditions on what a paper must contain, in free words: ``reports=hazard ratios``, ``reports=ablation``.

One mention is enough, so each alternative is graded as a ``keyword``, full text included.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.content._phrases import alternatives, check_phrases
from aspectra.search.conditions.attributes.content.keyword import KeywordAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.view import Floats, Positions


class ReportsAttribute(KeywordAttribute):
    """See the module."""

    name = "reports"

    def check(self, value: str) -> None:
        """Refuse a value without words.

        Raises:
            UsageError: always then, or with more than 8 alternatives.
        """
        check_phrases(self.name, value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) the best alternative's grade as a keyword; NaN for a paper without text."""
        grades = [super(ReportsAttribute, self).grades(one, index, papers) for one in alternatives(value)]
        return np.asarray(np.maximum.reduce(grades))

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False where no alternative can occur; None where no view knows."""
        found = [super(ReportsAttribute, self).possible(one, index) for one in alternatives(value)]
        known = [mask for mask in found if mask is not None]
        return np.logical_or.reduce(known) if len(known) == len(found) else None

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The first alternative's first occurrence."""
        for one in alternatives(value):
            if (found := super().span(one, paper, index)) is not None:
                return found
        return None


ATTRIBUTES.register("reports")(ReportsAttribute())
