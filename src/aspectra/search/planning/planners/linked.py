"""Papers by their citation links to the seeds."""

from __future__ import annotations

from aspectra.search.defaults import TEXT_WEIGHT
from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import ViewNames, planner
from aspectra.search.query import Query
from aspectra.views.index.citations import GRAPH_VIEW
from aspectra.views.view import Probe


@planner("linked", seeds=True, views=(GRAPH_VIEW,))
def linked(query: Query, views: ViewNames) -> Search:
    """What the seeds cite, what cites them, and what shares their references or citations.

    Further words are searched in titles and abstracts.
    """
    probes = [Probe(GRAPH_VIEW, seeds=query.seeds)]
    if query.text.strip():
        probes.append(Probe(views.words("abstract"), text=query.text, weight=TEXT_WEIGHT))
    return Search(probes=tuple(probes))
