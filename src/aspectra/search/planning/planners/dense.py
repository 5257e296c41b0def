"""The default encoder's vectors of title and abstract."""

from __future__ import annotations

from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, probe
from aspectra.search.query import Query

__all__ = ["dense"]


@PLANNERS.register("dense")
def dense(query: Query, views: ViewNames) -> Search:
    """One probe on the dense abstract view."""
    return Search("dense", (probe(query, views.dense("abstract")),))
