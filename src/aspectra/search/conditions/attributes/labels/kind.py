"""Conditions on kind: what sort of work a paper is, as the lens ``kind`` graded it."""

from __future__ import annotations

import numpy as np

from aspectra.search.conditions.attributes.labels._lensed import LensAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__ = ["KINDS"]

KINDS = (
    *("survey", "systematic review", "scoping review", "meta-analysis", "method", "dataset", "theory"),
    *("evaluation", "position", "thesis", "book", "tutorial", "software", "replication", "empirical"),
    *("primary", "application", "negative result", "case study", "case report", "case series", "rct"),
    *("trial", "cohort", "case-control", "cross-sectional", "longitudinal", "qualitative", "quantitative"),
    *("mixed methods", "experiment", "field experiment", "field study", "simulation", "in vivo", "in vitro"),
    *("protocol", "guideline", "editorial", "letter", "patent", "grey literature", "news", "blog"),
)


class KindAttribute(LensAttribute):
    """See the module."""

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN for a paper without text."""
        if value not in index.lens(self.name).labels:
            return np.full(len(papers), np.nan, np.float32)
        return super().grades(value, index, papers)


ATTRIBUTES.register("kind")(KindAttribute("kind", KINDS))
