"""The default encoder's vectors of title and abstract."""

from __future__ import annotations

from aspectra.search.plan import Plan
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, bind, probe
from aspectra.search.query import Query

__all__ = ["dense"]


@PLANNERS.register("dense")
def dense(query: Query, views: ViewNames) -> Plan:
    """One probe on the dense abstract view."""
    return bind("dense", query, [probe(query, views.dense("abstract"))])
