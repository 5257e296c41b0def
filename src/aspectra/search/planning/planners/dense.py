"""The default encoder's vectors of title and abstract."""

from __future__ import annotations

from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import ViewNames, planner, probe
from aspectra.search.query import Query


@planner("dense", vectors="needed")
def dense(query: Query, views: ViewNames) -> Search:
    """Vectors of titles and abstracts."""
    return Search(probes=(probe(query, views.dense("abstract")),))
