"""BM25 on title and abstract."""

from __future__ import annotations

from aspectra.search.plan import Plan
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, bind, probe
from aspectra.search.query import Query

__all__ = ["bm25"]


@PLANNERS.register("bm25")
def bm25(query: Query, views: ViewNames) -> Plan:
    """One probe on the words of abstracts."""
    return bind("bm25", query, [probe(query, views.words("abstract"))])
