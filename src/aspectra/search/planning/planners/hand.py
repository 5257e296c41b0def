"""Written by the same hand: how texts are written, whatever they are about."""

from __future__ import annotations

from aspectra.base.errors import ViewMismatch
from aspectra.search.plan import Plan
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, bind, probe
from aspectra.search.query import Query
from aspectra.views.kinds.protocol import ViewFacts

__all__ = ["STYLE_VIEW", "hand"]

STYLE_VIEW = ViewFacts.lens_vectors_of("style").name


@PLANNERS.register("hand")
def hand(query: Query, views: ViewNames) -> Plan:
    """One probe on the style view; the query is a passage, or a paper of the library."""
    if STYLE_VIEW not in views.names:
        raise ViewMismatch(
            "the library was not seen through the lens style",
            why="the plan `hand` compares how texts are written",
            hint="aspectra lens add style, then aspectra index",
        )
    return bind("hand", query, [probe(query, STYLE_VIEW)])
