"""Abstracts and full texts: the hybrid's probes beside chunk probes, fused by reciprocal rank."""

from __future__ import annotations

from aspectra.base.errors import ViewMismatch
from aspectra.search.plan import Fusion, Plan
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, bind, probe
from aspectra.search.query import Query

__all__ = ["fulltext"]


@PLANNERS.register("fulltext")
def fulltext(query: Query, views: ViewNames) -> Plan:
    """Lexical and, where there are any, dense probes on abstracts and on chunks of full text.

    Rank fusion, because a paper without full text has no chunk score to standardise.
    """
    base = views.chunks()
    if not base:
        raise ViewMismatch(
            "the library has no full texts to search",
            why="the plan `fulltext` needs chunk views",
            hint="add papers with full text (PDF, unarXive, JATS ...), then aspectra index",
        )
    names = [views.words("abstract"), views.words(base)]
    if views.encoder:
        names += [n for n in (f"abstract@{views.encoder}", f"{base}@{views.encoder}") if n in views.names]
    return bind("fulltext", query, [probe(query, n) for n in names], Fusion(kind="rrf"))
