"""PRISM: the seed's abstract asks abstracts, its aspects ask chunks of full text, ranks are fused."""

from __future__ import annotations

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.search.plan import Fusion, Search
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, probe
from aspectra.search.query import Query
from aspectra.views.readers.protocol import ASPECT_READERS
from aspectra.views.view import Probe

__all__ = ["prism"]

_DEPTH = 300  # ranks of each list, as in the paper


@PLANNERS.register("prism")
def prism(query: Query, views: ViewNames) -> Search:
    """One round: the abstract probe and one for each aspect that full texts were read for; RRF with k = 60.

    Source: PRISM (Park et al., 2025), section 3; the readings are extracted, not written by a model.

    Raises:
        UsageError: no seeds. ViewMismatch: no readings of full text.
    """
    if not query.seeds:
        raise UsageError("the plan prism starts from a paper", hint="aspectra similar ID --planner prism")
    chunks = views.chunks()
    aspects = [a for a in ASPECT_READERS if f"{a}@{views.encoder}" in views.names]
    if not chunks or not aspects or f"{chunks}@{views.encoder}" not in views.names:
        raise ViewMismatch(
            "the plan prism needs full texts that were read and encoded",
            why="the index has none" if not chunks else "the index was built without readers or vectors",
            hint="add papers with full text (PDF, unarXive, JATS ...), then aspectra index"
            if not chunks
            else "aspectra index --rebuild"
            if views.encoder
            else "aspectra index --encoder minilm",
        )
    view = views.dense(chunks)
    probes = (
        probe(query, views.dense("abstract")),
        *(Probe(view, seeds=query.seeds, aspect=a, asking=f"{a}@{views.encoder}") for a in aspects),
    )
    return Search("prism", probes, Fusion(kind="rrf", depth=_DEPTH))
