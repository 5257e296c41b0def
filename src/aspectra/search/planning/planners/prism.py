"""PRISM: the seed's abstract asks abstracts, its aspects ask chunks of full text, ranks are fused."""

from __future__ import annotations

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.search.plan import Fusion, Plan
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, bind, probe
from aspectra.search.query import Query
from aspectra.views.readers.protocol import ASPECT_READERS
from aspectra.views.view import Probe

__all__ = ["prism", "prism_probes"]

_DEPTH = 300  # ranks of each list, as in the paper


def prism_probes(query: Query, views: ViewNames, name: str) -> list[Probe]:
    """The abstract probe, and one probe for each aspect that the library's full texts were read for.

    Args:
        query: with seed papers.
        views: there are.
        name: of the planner, for what is said when something is missing.

    Raises:
        UsageError: no seeds. ViewMismatch: no readings of full text.
    """
    if not query.seeds:
        raise UsageError(f"the plan {name} starts from a paper", hint=f"aspectra similar ID --planner {name}")
    chunks = views.chunks()
    aspects = [a for a in ASPECT_READERS if f"{a}@{views.encoder}" in views.names]
    if not chunks or not aspects or f"{chunks}@{views.encoder}" not in views.names:
        raise ViewMismatch(
            f"the plan {name} needs full texts that were read and encoded",
            why="the index has none" if not chunks else "the index was built without readers or vectors",
            hint="add papers with full text (PDF, unarXive, JATS ...), then aspectra index"
            if not chunks
            else "aspectra index --rebuild"
            if views.encoder
            else "aspectra index --encoder minilm",
        )
    view = views.dense(chunks)
    return [
        probe(query, views.dense("abstract")),
        *(Probe(view, seeds=query.seeds, aspect=a, asking=f"{a}@{views.encoder}") for a in aspects),
    ]


@PLANNERS.register("prism")
def prism(query: Query, views: ViewNames) -> Plan:
    """One round: four lists, reciprocal rank fusion with k = 60.

    Source: PRISM (Park et al., 2025), section 3; the readings are extracted, not written by a model.
    """
    return bind("prism", query, prism_probes(query, views, "prism"), Fusion(kind="rrf", depth=_DEPTH))
