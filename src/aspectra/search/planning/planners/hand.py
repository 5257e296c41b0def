"""Written by the same hand: how texts are written, whatever they are about."""

from __future__ import annotations

from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import ViewNames, planner, probe
from aspectra.search.query import Query
from aspectra.views.protocol import ViewFacts

STYLE_VIEW = ViewFacts.lens_vectors_of("style").name


@planner("hand", lenses=("style",))
def hand(query: Query, views: ViewNames) -> Search:
    """Texts written in the same style as a passage or a paper, whatever they are about."""
    return Search(probes=(probe(query, STYLE_VIEW),))
