"""The plain retriever: abstract vectors and BM25 on standardised scores."""

from __future__ import annotations

from aspectra.search.plan import Plan
from aspectra.search.planning.defaults import LEXICAL_WEIGHT
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, bind, probe
from aspectra.search.query import Query

__all__ = ["hybrid"]


@PLANNERS.register("hybrid")
def hybrid(query: Query, views: ViewNames) -> Plan:
    """Dense abstract probe and 0.3 of the lexical one; lexical alone where nothing was encoded."""
    lexical = views.words("abstract")
    if not views.encoder:
        return bind("hybrid", query, [probe(query, lexical)])
    probes = [probe(query, views.dense("abstract")), probe(query, lexical, LEXICAL_WEIGHT)]
    return bind("hybrid", query, probes)
