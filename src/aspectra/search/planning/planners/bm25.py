"""BM25 on title and abstract."""

from __future__ import annotations

from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import ViewNames, planner, probe
from aspectra.search.query import Query


@planner("bm25")
def bm25(query: Query, views: ViewNames) -> Search:
    """Words of titles and abstracts (BM25)."""
    return Search(probes=(probe(query, views.words("abstract")),))
