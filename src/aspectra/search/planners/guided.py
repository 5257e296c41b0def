"""The default: hybrid search, and likeness in the aspects that the query names."""

from __future__ import annotations

from dataclasses import replace

from aspectra.base.errors import ViewMismatch
from aspectra.search.aspects import REST, Aspect, other_roles
from aspectra.search.defaults import ASPECT_MATCHING, ASPECT_WEIGHT, CONTRAST_WEIGHT, DIFFERENT_WEIGHT
from aspectra.search.plan import Plan
from aspectra.search.planner import PLANNERS, ViewNames, bind, probe
from aspectra.search.planners.hybrid import hybrid
from aspectra.search.query import Query
from aspectra.views.view import Probe

__all__ = ["guided"]


@PLANNERS.register("guided")
def guided(query: Query, views: ViewNames) -> Plan:
    """The hybrid's probes; for each aspect to be shared, the sentences of its roles; less the other roles.

    Without aspects it is the hybrid. An aspect in free words counts each sentence as much as it is about
    them. Where chunks of full text are encoded, free words look there too.
    """
    plain = hybrid(query, views)
    if not query.same and not query.different:
        return replace(plain, planner="guided")
    same = tuple(Aspect.parse(a) for a in query.same)
    different = tuple(Aspect.parse(a) for a in query.different)
    if "roles" not in views.lenses and any(a.roles for a in (*same, *different)):
        raise ViewMismatch(
            "the index does not know which sentence says what",
            why="it was built without the lens roles",
            hint="aspectra index",
        )
    sentences = views.dense("sentences")
    probes = list(plain.probes)
    for aspects, weight in ((same, ASPECT_WEIGHT), (different, -DIFFERENT_WEIGHT)):
        for aspect in aspects:
            asked = [sentences]
            if aspect.focus and (chunks := views.chunks()) and f"{chunks}@{views.encoder}" in views.names:
                asked.append(f"{chunks}@{views.encoder}")
            for view in asked:
                share = weight / len(aspects) / len(asked)
                probes.append(_about(query, view, share, aspect.name, aspect.roles, aspect.focus))
    rest = tuple(r for r in other_roles(same) if not any(r in a.roles for a in different))
    if same and rest:
        probes.append(_about(query, sentences, -CONTRAST_WEIGHT, REST, rest))
    return bind("guided", query, probes, plain.fusion)


def _about(
    query: Query, view: str, weight: float, aspect: str, roles: tuple[str, ...], focus: str = ""
) -> Probe:
    return replace(
        probe(query, view, weight), aspect=aspect, roles=roles, focus=focus, matching=ASPECT_MATCHING
    )
