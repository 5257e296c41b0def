"""Abstracts and full texts: the hybrid's probes beside chunk probes, fused by reciprocal rank."""

from __future__ import annotations

from aspectra.search.plan import Fusion, Search
from aspectra.search.planning.planners.protocol import ViewNames, planner, probe
from aspectra.search.query import Query


@planner("fulltext", vectors="used", full_text="needed")
def fulltext(query: Query, views: ViewNames) -> Search:
    """Abstracts and chunks of full text, by words and, where there are any, by vectors.

    Rank fusion, because a paper without full text has no chunk score to standardise.
    """
    base = views.chunks()
    names = [views.words("abstract"), views.words(base)]
    if views.encoder:
        names += [n for n in (f"abstract@{views.encoder}", f"{base}@{views.encoder}") if n in views.names]
    return Search(probes=tuple(probe(query, n) for n in names), fusion=Fusion(kind="rrf"))
