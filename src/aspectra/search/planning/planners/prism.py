"""PRISM: abstracts like the seed's, chunks of full text like its aspects, fused by rank."""

from __future__ import annotations

from aspectra.base.errors import ViewMismatch
from aspectra.search.plan import Fusion, Search
from aspectra.search.planning.planners.protocol import ViewNames, planner, probe
from aspectra.search.query import Query
from aspectra.views.readers.protocol import ASPECT_READERS
from aspectra.views.view import Probe

__all__ = ["prism"]

_DEPTH = 300  # ranks of each list, as in the paper


@planner("prism", vectors="needed", full_text="needed", seeds=True)
def prism(query: Query, views: ViewNames) -> Search:
    """Like the seeds in each aspect of their full texts (PRISM).

    The abstract probe and one for each aspect that full texts were read for, fused by rank with k = 60.
    Source: PRISM (Park et al., 2025), section 3; the readings are extracted, not written by a model.

    Raises:
        ViewMismatch: no readings of full text.
    """
    view = views.dense(views.chunks())
    aspects = [a for a in ASPECT_READERS if f"{a}@{views.encoder}" in views.names]
    if not aspects:
        raise ViewMismatch(
            "the planner prism needs full texts that were read for aspects",
            why="the index was built without readers",
            hint="aspectra index --rebuild",
        )
    probes = (
        probe(query, views.dense("abstract")),
        *(Probe(view, seeds=query.seeds, aspect=a, asking=f"{a}@{views.encoder}") for a in aspects),
    )
    return Search(probes=probes, fusion=Fusion(kind="rrf", depth=_DEPTH))
