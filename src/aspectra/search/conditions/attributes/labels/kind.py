"""Conditions on kind: the labels of :mod:`aspectra.views.lenses.kind`, graded as the lens graded them."""

from __future__ import annotations

from aspectra.search.conditions.attributes.labels._lensed import LensAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.lenses.kind import KindLens

__all__: list[str] = []

ATTRIBUTES.register("kind")(LensAttribute("kind", KindLens.labels))
