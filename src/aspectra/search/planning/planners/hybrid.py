"""The plain retriever: abstract vectors and BM25 on standardised scores."""

from __future__ import annotations

from aspectra.search.plan import Search
from aspectra.search.planning.defaults import LEXICAL_WEIGHT
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, probe
from aspectra.search.query import Query

__all__ = ["hybrid"]


@PLANNERS.register("hybrid")
def hybrid(query: Query, views: ViewNames) -> Search:
    """Dense abstract probe and 0.3 of the lexical one; lexical alone where nothing was encoded."""
    lexical = views.require("abstract@bm25")
    if not views.encoder:
        return Search("hybrid", (probe(query, lexical),))
    probes = [probe(query, views.dense("abstract")), probe(query, lexical, LEXICAL_WEIGHT)]
    return Search("hybrid", tuple(probes))
