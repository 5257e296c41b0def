"""The plain retriever: abstract vectors and BM25 on standardised scores."""

from __future__ import annotations

from aspectra.search.defaults import LEXICAL_WEIGHT
from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import ViewNames, planner, probe
from aspectra.search.query import Query


@planner("hybrid", vectors="used")
def hybrid(query: Query, views: ViewNames) -> Search:
    """Vectors of titles and abstracts, and 0.3 of BM25; BM25 alone where nothing was encoded."""
    lexical = views.words("abstract")
    if not views.encoder:
        return Search(probes=(probe(query, lexical),))
    return Search(probes=(probe(query, views.dense("abstract")), probe(query, lexical, LEXICAL_WEIGHT)))
