"""What papers build on, or what builds on them: forward and reverse probes, fused on standardised scores."""

from __future__ import annotations

from collections.abc import Sequence

from aspectra.search.defaults import DIRECTED_ABSTRACTS, DIRECTED_FULL_TEXTS, TEXT_WEIGHT, Directed
from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import ViewNames, planner
from aspectra.search.query import Query
from aspectra.views.protocol import ViewFacts
from aspectra.views.view import Probe


@planner("directional", vectors="used", full_text="used", seeds=True, takes_directions=True)
def directional(query: Query, views: ViewNames) -> Search:
    """What the seeds build on or what builds on them.

    The probes go by direction, on full texts where there are any, else on abstracts; without one, both ways.

    Further words are searched forward, in titles and abstracts.
    """
    table = DIRECTED_FULL_TEXTS if ViewFacts.words_of("full").name in views.names else DIRECTED_ABSTRACTS
    probes = _probes(query, views, table[query.direction or "both"])
    if query.text.strip():
        asked = views.dense("abstract") if views.encoder else views.words("abstract")
        probes.append(Probe(asked, text=query.text, weight=TEXT_WEIGHT))
    return Search(probes=tuple(probes))


def _probes(query: Query, views: ViewNames, recipe: Sequence[Directed]) -> list[Probe]:
    """The probes of a recipe that the library's views allow: without an encoder, only those of words."""
    out = []
    names = {"chunks": views.chunks() or "chunks", "encoder": views.encoder or "encoder"}
    for one in recipe:
        view, asking = one.view.format(**names), one.asking.format(**names)
        if view in views.names and (not asking or asking in views.names):
            out.append(
                Probe(
                    view,
                    seeds=query.seeds,
                    weight=one.weight,
                    matching=one.matching,
                    asking=asking,
                    reverse=one.reverse,
                )
            )
    if not out:
        views.require(recipe[0].view)  # raises
    return out
