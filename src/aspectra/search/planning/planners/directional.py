"""What papers build on, or what builds on them: forward and reverse probes, fused on standardised scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aspectra.base.errors import UsageError
from aspectra.search.plan import Plan
from aspectra.search.planning.defaults import DIRECTED_ABSTRACTS, DIRECTED_FULL_TEXTS, TEXT_WEIGHT
from aspectra.search.planning.directions import Directed
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, bind
from aspectra.search.query import Query
from aspectra.views.kinds.protocol import ViewFacts
from aspectra.views.view import Probe

__all__ = ["directional"]


@PLANNERS.register("directional")
def directional(query: Query, views: ViewNames) -> Plan:
    """Probes by direction, on full texts where there are any, else on abstracts; without one, both ways.

    Further words are asked forward, of titles and abstracts.
    """
    if not query.seeds:
        raise UsageError(
            "the plan directional starts from a paper",
            why="words alone neither build on papers nor are built on",
            hint="aspectra similar ID --direction builds-on",
        )
    base = views.chunks()
    table = DIRECTED_FULL_TEXTS if ViewFacts.words_of("full").name in views.names else DIRECTED_ABSTRACTS
    probes = _probes(query, views, base, table[query.direction or "both"])
    if query.text.strip():
        asked = views.dense("abstract") if views.encoder else views.words("abstract")
        probes.append(Probe(asked, text=query.text, weight=TEXT_WEIGHT))
    return replace(bind("directional", query, probes), direction=query.direction)


def _probes(query: Query, views: ViewNames, base: str, recipe: Sequence[Directed]) -> list[Probe]:
    """The probes of a recipe that the library's views allow: without an encoder, only those of words."""
    out = []
    for one in recipe:
        names = {"chunks": base or "chunks", "encoder": views.encoder or "encoder"}
        view, asking = one.view.format(**names), one.asking.format(**names)
        if view in views.names and (not asking or asking in views.names):
            out.append(
                Probe(
                    view,
                    seeds=query.seeds,
                    weight=one.weight,
                    pooling=one.pooling,
                    matching=one.matching,
                    asking=asking,
                    reverse=one.reverse,
                )
            )
    if not out:
        views.require(recipe[0].view)  # raises: says what is missing
    return out
