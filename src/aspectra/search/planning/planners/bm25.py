"""BM25 on title and abstract."""

from __future__ import annotations

from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, probe
from aspectra.search.query import Query

__all__ = ["bm25"]


@PLANNERS.register("bm25")
def bm25(query: Query, views: ViewNames) -> Search:
    """One probe on ``abstract@bm25``."""
    return Search("bm25", (probe(query, views.require("abstract@bm25")),))
