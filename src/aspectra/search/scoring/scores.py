"""Scores of a plan's papers: probes asked, answers fused, conditions applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.grading import apply_conditions, lead
from aspectra.search.plan import Plan
from aspectra.search.scoring.chain_rounds import run_chain
from aspectra.search.scoring.fusion import reciprocal_ranks, standardise
from aspectra.views.index import Index
from aspectra.views.kinds.protocol import Asked
from aspectra.views.view import Floats, Positions, top_positions

__all__ = ["Fused", "score_papers"]


_BATCH = 40  # candidates graded at a time by conditions that read texts


@dataclass(frozen=True)
class Fused:
    """Fused scores of papers before they are cut.

    Attributes:
        papers: (n,) positions.
        scores: (n,) fused scores, with what the conditions add.
        raw: per probe (n,) scores as the view gave them, NaN where it did not rank a paper; None if unknown.
        standardised: per probe (n,) scores in deviations, or None where ranks were fused.
        grades: per condition (n,) how far each paper has its value.
        moves: per condition (n,) what it added to the score.
    """

    papers: Positions
    scores: NDArray[Any]
    raw: list[Floats | None]
    standardised: list[NDArray[np.float64] | None]
    grades: list[Floats] = field(default_factory=list)
    moves: list[NDArray[np.float64]] = field(default_factory=list)

    def take(self, at: Positions) -> Fused:
        """Only the papers at these places."""
        return replace(
            self,
            papers=self.papers[at],
            scores=self.scores[at],
            raw=_take(self.raw, at),
            standardised=_take(self.standardised, at),
            grades=_take(self.grades, at),
            moves=_take(self.moves, at),
        )


def score_papers(index: Index, plan: Plan, allowed: NDArray[np.bool_] | None, depth: int) -> Fused:
    """Fused scores with what the conditions add, without the papers they drop.

    Where a condition reads texts, only papers that may be among the ``depth`` best are graded and returned.
    """
    if not plan.conditions:
        return _fuse(index, plan, allowed, depth)
    count = max(plan.fusion.candidates, depth)
    fused = _fuse(index, plan, allowed, count)
    slow = [n for n, c in enumerate(plan.conditions) if not ATTRIBUTES.get(c.attribute).cheap]
    if slow and len(fused.papers) > count:
        fused = fused.take(top_positions(fused.scores, count, index.id_order[fused.papers]))
    blank = np.zeros(len(fused.papers))
    fused = replace(
        fused,
        grades=[blank.astype(np.float32) for _ in plan.conditions],
        moves=[blank for _ in plan.conditions],
    )
    worth = plan.compliance * lead(fused.scores)
    quick = [n for n in range(len(plan.conditions)) if n not in slow]
    fused = _with_conditions(index, plan, quick, fused, worth)
    if not slow:
        return fused
    # Best first, until no paper left can pass the last of the best any more.
    order = top_positions(fused.scores, len(fused.papers), index.id_order[fused.papers])
    reach = worth * sum(not plan.conditions[n].filters for n in slow)
    done: list[Fused] = []
    settled = np.zeros(0)
    first, size = 0, max(_BATCH, 2 * depth)
    while first < len(order):
        if len(settled) >= depth:
            last = np.partition(settled, len(settled) - depth)[len(settled) - depth]
            if fused.scores[order[first]] + reach < last:
                break
        done.append(_with_conditions(index, plan, slow, fused.take(order[first : first + size]), worth))
        settled = np.concatenate((settled, done[-1].scores))
        first += size
    return _join(done) if done else fused


def _with_conditions(index: Index, plan: Plan, numbers: list[int], fused: Fused, worth: float) -> Fused:
    """Scores with what some of the plan's conditions add, without the papers they drop."""
    found = apply_conditions(index, [plan.conditions[n] for n in numbers], fused.papers, worth)
    grades, moves = list(fused.grades), list(fused.moves)
    for number, grade, move in zip(numbers, found.grades, found.moves, strict=True):
        grades[number], moves[number] = grade, move
    fused = replace(fused, scores=fused.scores + sum(found.moves), grades=grades, moves=moves)
    return fused if found.passed.all() else fused.take(np.flatnonzero(found.passed))


def _join(parts: Sequence[Fused]) -> Fused:
    """Parts of one candidate list as one."""

    def columns(name: str) -> list[Any]:
        per_part = [getattr(part, name) for part in parts]
        return [None if c[0] is None else np.concatenate(c) for c in zip(*per_part, strict=True)]

    return Fused(
        np.concatenate([part.papers for part in parts]),
        np.concatenate([part.scores for part in parts]),
        *(columns(name) for name in ("raw", "standardised", "grades", "moves")),
    )


def _fuse(index: Index, plan: Plan, allowed: NDArray[np.bool_] | None, depth: int) -> Fused:
    views = [index.view(probe.view) for probe in plan.probes]
    asked = index.look_up(plan.probes)
    if len(views) == 1 and plan.probes[0].weight > 0:
        top = index.best(asked[0], index.score(asked)[0], depth, allowed)
        return Fused(top.papers, top.scores, [top.scores], [None])
    if plan.chain is not None and plan.chain.depth > 1:
        total = run_chain(index, plan, plan.chain, allowed)
        kept = np.flatnonzero(total)
        return Fused(kept, total[kept], [None] * len(views), [None] * len(views))
    if plan.fusion.kind == "rrf":
        return _fuse_ranks(index, plan, asked, allowed, depth)
    sample = index.sample
    raw: list[Floats | None] = [None] * len(views)
    standard: list[NDArray[np.float64] | None] = [None] * len(views)
    total = np.zeros(len(index))
    everything = len(index) <= plan.fusion.scan_limit
    quick = [number for number, view in enumerate(views) if view.cheap or everything]
    costly = [number for number in range(len(views)) if number not in quick]
    for number, scored in zip(quick, index.score([asked[n] for n in quick]), strict=True):
        raw[number] = scored.scores
        standard[number] = values = standardise(scored.scores, scored.scores[sample], allowed)
        total += plan.probes[number].weight * values
    if not costly:
        if allowed is None:
            return Fused(np.arange(len(index)), total, raw, standard)
        kept = np.flatnonzero(allowed)
        return Fused(kept, total[kept], _take(raw, kept), _take(standard, kept))
    if len(costly) == len(views):
        pool = np.arange(len(index)) if allowed is None else np.flatnonzero(allowed)
    else:
        count = max(plan.fusion.candidates, depth)
        pool = top_positions(total, count, index.id_order, allowed)
    raw, standard, total = _take(raw, pool), _take(standard, pool), total[pool]
    slow = [asked[number] for number in costly]
    found, references = index.score(slow, pool), index.score(slow, sample)
    for number, scored, reference in zip(costly, found, references, strict=True):
        raw[number] = scored.scores
        standard[number] = values = standardise(scored.scores, reference.scores)
        total = total + plan.probes[number].weight * values
    return Fused(pool, total, raw, standard)


def _fuse_ranks(
    index: Index, plan: Plan, asked: Sequence[Asked], allowed: NDArray[np.bool_] | None, depth: int
) -> Fused:
    lists: list[tuple[Positions, float]] = []
    raw: list[Floats | None] = []
    depth = max(plan.fusion.depth, depth)
    for one, scored in zip(asked, index.score(asked), strict=True):
        top = index.best(one, scored, depth, allowed)
        lists.append((top.papers, one.probe.weight))
        scores = np.full(len(index), np.nan, dtype=np.float32)
        scores[top.papers] = top.scores
        raw.append(scores)
    total = reciprocal_ranks(lists, len(index), plan.fusion.k)
    kept = np.flatnonzero(total)
    return Fused(kept, total[kept], _take(raw, kept), [None] * len(asked))


def _take(arrays: Sequence[Any], at: Positions) -> list[Any]:
    return [None if a is None else a[at] for a in arrays]
