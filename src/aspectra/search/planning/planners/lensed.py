"""Searching what lenses found in the papers, not their words alone."""

from __future__ import annotations

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.base.values import replace
from aspectra.search.defaults import LEXICAL_WEIGHT, UNLENSED_WEIGHT
from aspectra.search.plan import Search
from aspectra.search.planning.lens_views import fitting
from aspectra.search.planning.planners.plain import STYLE_VIEW, hand, hybrid
from aspectra.search.planning.planners.protocol import ViewNames, planner, probe
from aspectra.search.query import Query
from aspectra.views.protocol import ViewFacts, lens_base
from aspectra.views.view import Probe


@planner("lensed", vectors="used", takes_lenses=True)
def lensed(query: Query, views: ViewNames) -> Search:
    """What lenses found in papers: the named lenses, or those that the words fit.

    The named lenses alone; else those whose cues are in the query, beside the hybrid's probes. Each lens
    is searched as the hybrid searches abstracts: by vectors, and 0.3 of that by words. A seed is compared by
    what the lens found in it; seeds without words are compared by all lenses alike. Where no lens fits it is
    the hybrid.
    """
    if query.lenses:
        names = tuple(dict.fromkeys(name.strip().replace("-", "_") for name in query.lenses))
        probes = [one for name in names for one in _through(name, query, views, 1.0 / len(names))]
        return Search(probes=tuple(probes))
    plain = hybrid(query, views)
    names = fitting(query.text, views.readings) if query.text.strip() else tuple(sorted(views.readings))
    if not names:
        return plain
    probes = [one for name in names for one in _through(name, query, views, 1.0 / len(names))]
    probes += [replace(one, weight=UNLENSED_WEIGHT * one.weight) for one in plain.probes]
    return Search(probes=tuple(probes))


def _through(name: str, query: Query, views: ViewNames, weight: float) -> list[Probe]:
    """Probes on the views of one lens."""
    if name == "style":
        return [replace(one, weight=weight) for one in hand(replace(query, lenses=()), views).probes]
    lexical = ViewFacts.words_of(lens_base(name)).name
    if lexical not in views.names:
        if name in views.lenses:
            raise UsageError(
                f"the lens {name} has no texts to search",
                why="it gives labels or numbers, which are for conditions",
                hint=f"-c {name}=LABEL",
            )
        known = [*views.readings, *(["style"] if STYLE_VIEW in views.names else [])]
        raise ViewMismatch(
            f"the index has no views of a lens {name!r}",
            why="it has those of " + ", ".join(known) if known else "no lens has any yet",
            hint=f"aspectra lens add {name}, aspectra lens run {name}, then aspectra index",
        )
    dense = f"lens-{name}@{views.encoder}"
    if not views.encoder or dense not in views.names:
        return [probe(query, lexical, weight)]
    return [probe(query, dense, weight), probe(query, lexical, LEXICAL_WEIGHT * weight)]
