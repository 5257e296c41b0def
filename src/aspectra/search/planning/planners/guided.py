"""The default: hybrid search, and likeness in the aspects that the query names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast, get_args

from aspectra.base.checking import check_choice
from aspectra.base.errors import ViewMismatch
from aspectra.base.values import replace
from aspectra.search.defaults import (
    ASPECT_CANDIDATES,
    ASPECT_MATCHINGS,
    ASPECT_WEIGHT,
    CONTRAST_WEIGHT,
    DIFFERENT_WEIGHT,
)
from aspectra.search.plan import Search
from aspectra.search.planning.aspects import REST, Aspect, other_roles
from aspectra.search.planning.planners.directional import directional
from aspectra.search.planning.planners.hybrid import hybrid
from aspectra.search.planning.planners.protocol import Options, ViewNames, planner, probe
from aspectra.search.query import Query
from aspectra.views.view import Matching, Probe

__all__ = ["Guidance", "guided"]


@dataclass(frozen=True)
class Guidance(Options):
    """Options of the planner ``guided``.

    Attributes:
        contrast: weight of the roles that are not named, subtracted; 0 leaves them out.
        matching: how sentences are compared, see :class:`~aspectra.views.view.Probe`; "" for the default's.
    """

    contrast: float = CONTRAST_WEIGHT
    matching: str = ""

    def __post_init__(self) -> None:
        check_choice(self.matching, get_args(Matching), "matching")


@planner("guided", vectors="used", takes_directions=True, options=Guidance)
def guided(query: Query, views: ViewNames, options: Guidance = Guidance()) -> Search:
    """The default: hybrid search, and likeness in the aspects that the query names.

    The hybrid's probes; for each aspect to be shared, the sentences of its roles; less the other roles.
    Without aspects it is the hybrid; with a direction, the probes of the planner ``directional`` take the
    hybrid's place. An aspect in free words counts each sentence as much as it is about
    them. Where chunks of full text are encoded, free words are compared with them too.
    """
    plain = directional(query, views) if query.direction else hybrid(query, views)
    if not query.same and not query.different:
        return plain
    same = tuple(Aspect.parse(a) for a in query.same)
    different = tuple(Aspect.parse(a) for a in query.different)
    if "roles" not in views.lenses and any(a.roles for a in (*same, *different)):
        raise ViewMismatch(
            "the index does not know which sentence says what",
            why="it was built without the lens roles",
            hint="aspectra index",
        )
    sentences = views.dense("sentences")
    matchings = (cast("Matching", options.matching),) if options.matching else ASPECT_MATCHINGS
    probes = list(plain.probes)
    for aspects, weight in ((same, ASPECT_WEIGHT), (different, -DIFFERENT_WEIGHT)):
        for aspect in aspects:
            asked = [sentences]
            if aspect.focus and (chunks := views.chunks()) and f"{chunks}@{views.encoder}" in views.names:
                asked.append(f"{chunks}@{views.encoder}")
            for view in asked:
                probes += _about(query, view, weight / len(aspects) / len(asked), aspect, matchings)
    rest = tuple(r for r in other_roles(same) if not any(r in a.roles for a in different))
    if same and rest and options.contrast:
        probes += _about(query, sentences, -options.contrast, Aspect(REST, rest), matchings)
    return Search(probes=tuple(probes), fusion=replace(plain.fusion, candidates=ASPECT_CANDIDATES))


def _about(
    query: Query, view: str, weight: float, aspect: Aspect, matchings: tuple[Matching, ...]
) -> list[Probe]:
    """Probes on the units that are about an aspect, one for each way of matching."""
    plain = probe(query, view, weight / len(matchings))
    named = replace(plain, aspect=aspect.name, roles=aspect.roles, focus=aspect.focus, matching="single")
    return [replace(named, matching=matching) for matching in matchings]
