"""Conditions on audience: the labels of :mod:`aspectra.views.lenses.audience`, as that lens graded them."""

from __future__ import annotations

import numpy as np

from aspectra.search.conditions.attributes.labels._lensed import LensAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.index.opened import Index
from aspectra.views.lenses.audience import AudienceLens
from aspectra.views.view import Floats, Positions

__all__: list[str] = []


class AudienceAttribute(LensAttribute):
    """See the module."""

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN for a paper without text."""
        if value not in index.lens(self.name).labels:
            return np.full(len(papers), np.nan, np.float32)
        return super().grades(value, index, papers)


ATTRIBUTES.register("audience")(AudienceAttribute("audience", (*AudienceLens.labels, "practitioner")))
