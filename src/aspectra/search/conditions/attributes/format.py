"""Conditions on format: the labels of :mod:`aspectra.views.lenses.format`, graded as the lens graded them."""

from __future__ import annotations

from aspectra.search.conditions.attributes._lensed import LensAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.lenses.format import FormatLens

__all__ = ["FormatAttribute"]


class FormatAttribute(LensAttribute):
    """See the module."""

    def __init__(self) -> None:
        super().__init__("format", FormatLens.labels)


ATTRIBUTES.register("format")(FormatAttribute())
