"""One view of the seed against one view of the papers: abstract, full paper or chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import get_args

from aspectra.base.checking import check_choice
from aspectra.base.errors import UsageError
from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import Options, ViewNames, planner
from aspectra.search.query import Query
from aspectra.views.protocol import ViewFacts
from aspectra.views.view import Metric, Pooling, Probe

UNITS = ("A2A", "A2F", "F2A", "F2F", "A2C", "F2C")


@dataclass(frozen=True)
class UnitOptions(Options):
    """Which views, and how they are compared.

    Attributes:
        of: the seed's unit, ``2``, that of the papers: ``A`` title and abstract, ``F`` the full paper, ``C``
            its chunks.
        full: what a vector of a full paper is: the ``mean`` of its chunks, which leaves nothing out, or that
            of its ``first`` tokens, as many as the encoder reads (the published form).
        pooling, metric: as in :class:`~aspectra.views.view.Probe`.
        words: compare words, not vectors; of a full paper its 100 most telling ones. Not for F2A and F2C.

    Raises:
        UsageError: there is no such unit, or no such full paper.
    """

    of: str = field(default="A2C", metadata={"bare": True})
    full: str = "mean"
    pooling: Pooling = "max"
    metric: Metric = "cosine"
    words: bool = False

    def __post_init__(self) -> None:
        check_choice(self.of, UNITS, "unit")
        check_choice(self.full, ("mean", "first"), "full paper")
        check_choice(self.pooling, get_args(Pooling), "pooling")
        check_choice(self.metric, get_args(Metric), "metric")
        if self.words and self.of in ("F2A", "F2C"):
            raise UsageError(
                f"unit({self.of}) compares vectors",
                why="words of a full paper are searched for in full papers alone",
                hint=f"unit({self.of}), or unit(F2F,words=yes)",
            )


@planner("unit", vectors="needed", full_text="used", seeds=True, options=UnitOptions)
def unit(query: Query, views: ViewNames, options: UnitOptions) -> Search:
    """Abstract or full paper of the seed against abstracts, papers or chunks.

    Source: PRISM (Park et al., 2025), section 4.2.

    Raises:
        ViewMismatch: there is no such view.
    """

    def view(letter: str) -> str:
        bases = {"A": "abstract", "F": "full", "C": views.chunks() or "chunks-250w"}
        base = bases[letter]
        if options.words:
            return views.require(ViewFacts.words_of(base).name)
        return views.dense("first" if letter == "F" and options.full == "first" else base)

    asked, _, searched = options.of.partition("2")
    asking = "" if asked == searched else view(asked)
    return Search(
        probes=(
            Probe(
                view(searched),
                text=query.text,
                seeds=query.seeds,
                asking=asking,
                pooling=options.pooling,
                metric=options.metric,
            ),
        )
    )
