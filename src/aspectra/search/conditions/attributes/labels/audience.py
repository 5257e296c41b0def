"""Conditions on audience: the labels of :mod:`aspectra.views.lenses.audience`, as that lens graded them."""

from __future__ import annotations

from aspectra.search.conditions.attributes.labels._lensed import LensAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.lenses.audience import AudienceLens

ATTRIBUTES.register("audience")(LensAttribute("audience", AudienceLens.labels))
