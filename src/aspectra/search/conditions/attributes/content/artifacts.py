"""Conditions on artifacts: what a paper makes available, ``code``, ``data`` or ``weights``.

Graded as the lens :mod:`aspectra.views.lenses.artifacts` graded them. Several wanted ones must all be there.
"""

from __future__ import annotations

from aspectra.search.conditions.attributes.labels._lensed import LensAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.lenses.artifacts import ArtifactsLens


class ArtifactsAttribute(LensAttribute):
    """See the module."""

    every = True  # who names code and data means both


ATTRIBUTES.register("artifacts")(ArtifactsAttribute("artifacts", ArtifactsLens.labels))
