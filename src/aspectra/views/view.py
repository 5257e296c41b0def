"""Probes, what views score them with, and the one order of scored papers."""

from __future__ import annotations

from typing import Literal, cast, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.base.values import Value

Pooling = Literal["max", "first", "sum", "mean3"]
Metric = Literal["cosine", "dot", "l2"]
Matching = Literal["", "single", "maxsim", "transport", "centroid"]
SeedsAs = Literal["", "query", "query+text"]
ROLES = ("background", "objective", "method", "result", "other")
# Roles that people, and models, hardly tell apart; which group a sentence belongs to is decided first.
ROLE_GROUPS = (("background", "objective"), ("method",), ("result",), ("other",))
Positions = NDArray[np.int64]
Floats = NDArray[np.float32]


class Probe(Value, frozen=True):
    """One question to one view.

    Attributes:
        view: name of the view, ``abstract@bm25``, ``sentences@minilm`` ...
        text: the query text, or "".
        seeds: ids of papers whose own text or stored vectors are the query.
        weight: of this probe's scores in the fusion; negative to push away.
        aspect: label for people ("method"), or "".
        instruction: free instruction for encoders that take one.
        pooling: how units' scores become a paper's: max, first (the first unit), sum, or mean3 (mean of the
            three best).
        metric: cosine, dot (inner product) or l2 (negated Euclidean distance); dense views only.
        roles: only sentences with these roles take part, of the seeds and of the papers; () for all units.
        focus: free words; each unit takes part as much as it is about them.
        matching: how several units are compared with several (dense views of units only): ``single`` best
            pair, ``maxsim``: mean over the query's units of the best unit, ``transport`` (entropic optimal
            transport), ``centroid`` of either side; "" compares each unit and pools.
        asking: name of the view that the query's words or vectors (those of the seeds; in reverse, of the
            candidates) are taken from, as in asking chunks with abstracts; "" for the view itself.
        sentences: numbers of the seed's sentences that take part, from 1, whatever their roles; () for those
            with the roles. The papers' sentences take part by their roles.
        reverse: each candidate is the query and the seed the document, see
            :mod:`aspectra.views.lexical.reverse`.
        seeds_as: ``query`` encodes the text of each seed as a query, with the encoder's prompt and the
            instruction; ``query+text`` the same, with the probe's text behind it; "" takes stored vectors, on
            which no instruction has an effect. Dense views with one text a paper only.
    """

    view: str
    text: str = ""
    seeds: tuple[str, ...] = ()
    weight: float = 1.0
    aspect: str = ""
    instruction: str = ""
    pooling: Pooling = "max"
    metric: Metric = "cosine"
    roles: tuple[str, ...] = ()
    focus: str = ""
    matching: Matching = ""
    asking: str = ""
    sentences: tuple[int, ...] = ()
    reverse: bool = False
    seeds_as: SeedsAs = ""

    def __post_init__(self) -> None:
        if not self.text.strip() and not self.seeds:
            raise UsageError(f"the probe on {self.view} is empty", hint="give it a text or seeds")
        if self.pooling not in get_args(Pooling):
            raise UsageError(f"unknown pooling {self.pooling!r}", why="known: max, first, sum, mean3")
        if self.metric not in get_args(Metric):
            raise UsageError(f"unknown metric {self.metric!r}", why="known: cosine, dot, l2")
        if self.matching not in get_args(Matching):
            raise UsageError(
                f"unknown matching {self.matching!r}", why="known: " + ", ".join(get_args(Matching)[1:])
            )
        if self.seeds_as not in get_args(SeedsAs):
            raise UsageError(f"unknown use of seeds {self.seeds_as!r}", why="known: query, query+text")
        if (self.roles or self.focus) and not self.matching:
            raise UsageError("a probe with roles or a focus needs a matching", hint='matching = "maxsim"')
        if self.sentences and (len(self.seeds) != 1 or not self.matching):
            raise UsageError(
                f"the probe on {self.view} names sentences, and not of one seed in a matching",
                hint='seeds = ["ID"], matching = "maxsim"',
            )
        if self.reverse and not self.seeds:
            raise UsageError(
                f"the reverse probe on {self.view} has no seed", why="a text is no paper that others find"
            )
        if self.reverse and (self.text or self.roles or self.focus or self.matching):
            raise UsageError(
                f"the reverse probe on {self.view} has more than seeds",
                why="each candidate is the query; text, roles, focus and matching have no meaning there",
            )
        if unknown := [r for r in self.roles if r not in ROLES]:
            raise UsageError(f"unknown role {unknown[0]!r}", why="known: " + ", ".join(ROLES))


class Scored(Struct, frozen=True):
    """Papers with a score each, higher is better.

    Attributes:
        papers: positions of papers in the generation, (n,) int64.
        scores: (n,) float32, in the same order; NaN where a probe with a matching finds no unit.
        units: index of the unit that decided, (n,) int64, or None where no single one did.
    """

    papers: Positions
    scores: Floats
    units: Positions | None = None

    def at(self, places: Positions) -> Scored:
        """Only the papers at these places."""
        return Scored(
            self.papers[places], self.scores[places], None if self.units is None else self.units[places]
        )

    def best(
        self,
        k: int,
        id_order: NDArray[np.int32],
        allowed: NDArray[np.bool_] | None = None,
        *,
        drop_unknown: bool = False,
    ) -> Scored:
        """The k best of all papers, see :func:`top_positions`; papers without a score (NaN) come last.

        Args:
            k: how many.
            id_order: (papers,) rank of each paper's id.
            allowed: (papers,) True where a paper may appear.
            drop_unknown: leave papers without a score out.
        """
        unknown = np.isnan(self.scores)
        values = np.where(unknown, np.float32(-np.inf), self.scores)
        if drop_unknown:
            allowed = ~unknown if allowed is None else allowed & ~unknown
        return self.at(top_positions(values, k, id_order, allowed))


def top_positions(
    scores: NDArray[np.floating],
    k: int,
    id_order: NDArray[np.int32],
    allowed: NDArray[np.bool_] | None = None,
) -> Positions:
    """Positions of the k highest scores under the one total order: score, then paper id, descending.

    Args:
        scores: (n,) scores of all papers.
        k: how many; fewer come back when fewer are allowed.
        id_order: (n,) rank of each paper's id in ascending string order.
        allowed: (n,) True where a paper may appear.
    """
    if allowed is not None:
        pool = np.flatnonzero(allowed)
        values = scores[pool]
    else:
        pool = None
        values = scores
    n = len(values)
    if k <= 0 or n == 0:
        return np.zeros(0, dtype=np.int64)
    if k < n:
        threshold = np.partition(values, n - k)[n - k]
        chosen = np.flatnonzero(values >= threshold)
    else:
        chosen = np.arange(n)
    at = chosen if pool is None else pool[chosen]
    order = np.lexsort((-id_order[at], -scores[at]))[:k]
    return cast("Positions", at[order].astype(np.int64))
