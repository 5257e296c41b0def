"""Conditions on kind: what sort of work a paper is, as the lens :mod:`aspectra.views.lenses.kind` graded it.

``news`` and ``blog`` are met by what the lens ``source`` takes for one, too. Of some kinds too few of the
papers that a text marks were right, or too few were read. Where no record of a library states such a kind,
conditions on it order and do not filter; where one does, the record alone filters.
"""

from __future__ import annotations

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.labels.lensed import LensAttribute, lens_column
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.index.opened import Index
from aspectra.views.lenses.kind import RECORDED, KindLens, stated_as
from aspectra.views.lenses.protocol import LENSES, TextSpan
from aspectra.views.view import Floats, Positions

_SOURCES = frozenset({"news", "blog"})

# Kind -> (right, read) of papers that its cues mark, read by hand (docs/results/graders.md): less than 90 %
# were right, or fewer were read than it takes to say so.
ORDERING = {
    "theory": (21, 30),
    "evaluation": (18, 30),
    "position": (6, 9),
    "thesis": (3, 3),
    "tutorial": (2, 2),
    "software": (21, 30),
    "replication": (1, 2),
    "case study": (19, 30),
    "case series": (0, 0),
    "case-control": (3, 4),
    "cross-sectional": (7, 8),
    "qualitative": (14, 19),
    "mixed methods": (3, 4),
    "in vivo": (17, 19),
    "in vitro": (9, 10),
    "guideline": (1, 3),
    "editorial": (2, 2),
    "letter": (0, 0),
}
_BY_TEXT = (
    0.45  # the most that a text makes of such a kind where records state it: less than it takes to meet
)


class KindAttribute(LensAttribute):
    """See the module."""

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN for a paper of which neither text nor record is known."""
        grades = super().grades(value, index, papers)
        if value in _SOURCES:
            grades = np.fmax(grades, lens_column(index, "source", value, papers))
        if value in ORDERING and self._recorded(value, index):
            grades = np.where(grades >= RECORDED, grades, np.minimum(grades, np.float32(_BY_TEXT)))
        return grades

    def _recorded(self, value: str, index: Index) -> bool:
        """Whether the record of any paper states the kind."""
        return bool((lens_column(index, self.name, value, np.arange(len(index))) >= RECORDED).any())

    def orders_only(self, value: str, index: Index) -> str:
        """How many of the papers that the kind marks were right, where these are too few for a filter."""
        if value not in ORDERING or self._recorded(value, index):
            return ""
        right, read = ORDERING[value]
        found = f"right for {right} of {read} papers it marks" if read else "no paper it marks was read"
        return f"not as a filter, it orders: kind={value}, {found}"

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
