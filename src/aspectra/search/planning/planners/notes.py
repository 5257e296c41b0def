"""BM25 on what was written and marked in papers."""

from __future__ import annotations

from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import ViewNames, planner, probe
from aspectra.search.query import Query


@planner("notes", views=("notes@bm25",))
def notes(query: Query, views: ViewNames) -> Search:
    """Words of your notes and annotations (BM25)."""
    return Search(probes=(probe(query, views.words("notes")),))
