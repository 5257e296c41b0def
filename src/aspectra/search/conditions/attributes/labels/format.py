"""Conditions on format: the labels of :mod:`aspectra.views.lenses.format`, graded as the lens graded them."""

from __future__ import annotations

from aspectra.search.conditions.attributes.labels._lensed import LensAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.lenses.format import FormatLens

ATTRIBUTES.register("format")(LensAttribute("format", FormatLens.labels))
