"""The default: hybrid search, and likeness in the aspects that the query names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast, get_args

from aspectra.base.checking import check_choice
from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.base.values import replace
from aspectra.search.defaults import (
    ASPECT_CANDIDATES,
    ASPECT_MATCHINGS,
    ASPECT_WEIGHT,
    CONTRAST_BESIDE_TERMS,
    CONTRAST_WEIGHT,
    DIFFERENT_WEIGHT,
)
from aspectra.search.plan import Search
from aspectra.search.planning.aspects import REST, Aspect, named_sentences, other_roles
from aspectra.search.planning.planners._likeness import Likeness
from aspectra.search.planning.planners.directional import directional
from aspectra.search.planning.planners.plain import hybrid
from aspectra.search.planning.planners.protocol import Options, ViewNames, planner
from aspectra.search.query import Query
from aspectra.views.view import Matching


@dataclass(frozen=True)
class Guidance(Options):
    """Options of the planner ``guided``.

    Attributes:
        contrast: weight of the roles that are not named, subtracted; 0 leaves them out.
        contrast_terms: the same where terms are compared too.
        residual: subtract only what the rest predicts, see :class:`~aspectra.search.plan.Fusion`.
        matching: how sentences are compared, see :class:`~aspectra.views.view.Probe`; "" for the default's.
        reading: of aspects: ``terms`` (a paper shares the seed's terms), ``sentences`` (its sentences are
            similar) or "", which decides by how sure the seed's terms are.
    """

    contrast: float = CONTRAST_WEIGHT
    contrast_terms: float = CONTRAST_BESIDE_TERMS
    residual: bool = False
    matching: str = ""
    reading: str = ""

    def __post_init__(self) -> None:
        check_choice(self.matching, get_args(Matching), "matching")
        check_choice(self.reading, ("", "terms", "sentences"), "reading")


@planner("guided", vectors="used", takes_directions=True, takes_sentences=True, options=Guidance)
def guided(query: Query, views: ViewNames, options: Guidance = Guidance()) -> Search:
    """The default: hybrid search, and likeness in the aspects that the query names.

    The hybrid's probes; for each aspect to be shared, the terms that the seed names in it, as much as they
    are sure, and the sentences of its roles; where there are no terms, less the other roles. Without aspects
    it is the hybrid; with a direction, the probes of the planner ``directional`` take the hybrid's place. An
    aspect in free words counts each sentence as much as it is about them. Where chunks of full text are
    encoded, free words are compared with them too.
    """
    whole = replace(query, same_sentences=(), roles=())
    plain = directional(whole, views) if query.direction else hybrid(whole, views)
    same = tuple(Aspect.parse(a, views.own) for a in query.same)
    different = tuple(Aspect.parse(a, views.own) for a in query.different)
    matchings = (cast("Matching", options.matching),) if options.matching else ASPECT_MATCHINGS
    like = Likeness(query, views, matchings, options.reading)
    if query.roles and not any(a.roles for a in (*same, *different)):
        raise UsageError(
            "a corrected role changes nothing",
            why="the query names no aspect of sentences",
            hint="--same method --role 3=method",
        )
    if not same and not different and not query.same_sentences:
        return replace(plain, terms=like.said(())) if query.seeds else plain
    if "roles" not in views.lenses and any(a.roles for a in (*same, *different)):
        raise ViewMismatch(
            "the index has no roles of sentences",
            why="it was built without the lens roles, or without vectors so far",
            hint="aspectra index",
        )
    named = named_sentences(query.same_sentences)
    probes = list(plain.probes)
    wanted = len(same) + bool(query.same_sentences)
    for aspect in same:
        probes += like.probes(aspect, ASPECT_WEIGHT / wanted)
    if query.same_sentences:
        found = like.sentences(query, named, ASPECT_WEIGHT / wanted)
        probes += [replace(one, sentences=query.same_sentences, text="") for one in found]
    for aspect in different:
        probes += like.probes(aspect, -DIFFERENT_WEIGHT / len(different))
    rest = tuple(r for r in other_roles(same) if not any(r in a.roles for a in different))
    by_terms = any(like.shares(aspect).words or like.shares(aspect).vectors for aspect in same)
    contrast = options.contrast_terms if by_terms else options.contrast
    if same and rest and contrast:
        probes += like.sentences(query, Aspect(REST, rest), -contrast)
    fusion = replace(
        plain.fusion,
        candidates=ASPECT_CANDIDATES,
        contrast="residual" if options.residual else "subtract",
    )
    return Search(probes=tuple(probes), fusion=fusion, terms=like.said((*same, *different)))
