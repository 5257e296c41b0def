"""Late interaction: the hybrid's best papers in the order of the hybrid and MaxSim of their tokens."""

from __future__ import annotations

from dataclasses import dataclass

from aspectra.base.checking import check_number
from aspectra.base.errors import ViewMismatch
from aspectra.base.values import replace
from aspectra.search.defaults import LATE_CANDIDATES, LATE_WEIGHT
from aspectra.search.plan import Fusion, Search
from aspectra.search.planning.planners.plain import hybrid
from aspectra.search.planning.planners.protocol import Options, ViewNames, planner, probe
from aspectra.search.query import MOST_PAPERS, Query
from aspectra.views.protocol import TOKENS, ViewFacts


@dataclass(frozen=True)
class Interaction(Options):
    """Options of the planner ``late``.

    Attributes:
        weight: of MaxSim, beside 1 of the abstract's vector and 0.3 of BM25.
        candidates: the hybrid's best papers, which are compared token by token.
    """

    weight: float = LATE_WEIGHT
    candidates: int = LATE_CANDIDATES

    def __post_init__(self) -> None:
        check_number("candidates of late", self.candidates, 1, MOST_PAPERS)


@planner("late", vectors="needed", tokens=True, options=Interaction)
def late(query: Query, views: ViewNames, options: Interaction = Interaction()) -> Search:
    """The hybrid's first papers, each word of the query compared with each of theirs (MaxSim).

    Standardised MaxSim is added to the hybrid's score. For MaxSim alone a recipe ends with a search of its
    own: ``{probes = [{view = "tokens@{encoder}"}]}`` after ``top(300)``.
    Source: Khattab & Zaharia 2020, "ColBERT", arXiv:2004.12832, section 3.

    Raises:
        ViewMismatch: the index has no token vectors.
    """
    plain = hybrid(query, views)
    facts = ViewFacts(TOKENS, views.encoder)
    if facts.name not in views.names:
        raise ViewMismatch(
            "the planner late needs token vectors, and the index has none",
            why="they take space, and are kept only where they are wanted",
            hint=facts.remedy,
        )
    probes = (*plain.probes, probe(query, facts.name, options.weight))
    return replace(plain, probes=probes, fusion=Fusion(candidates=options.candidates, scan_limit=1))
