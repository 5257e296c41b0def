"""Scores of a plan's papers: probes scored and fused, conditions applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from aspectra.base.values import replace
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import Condition
from aspectra.search.conditions.grading import apply_conditions, field_mean, lead
from aspectra.search.plan import Search
from aspectra.search.planning.aspects import REST
from aspectra.search.scoring.chain import Chain, Scale, highest, reciprocal_ranks, run_chain, scale
from aspectra.views.index.opened import Index
from aspectra.views.protocol import Asked
from aspectra.views.view import Floats, Positions, Scored, top_positions

_BATCH = 40  # candidates graded at a time by conditions that read texts


class Fused(Struct, frozen=True):
    """Fused scores of papers before they are cut.

    Attributes:
        papers: (n,) positions.
        scores: (n,) fused scores, with what the conditions add.
        raw: per probe (n,) scores as the view gave them, NaN where it did not rank a paper; None if unknown.
        standardised: per probe (n,) scores in deviations, or None where ranks were fused.
        scales: per probe what turned the one into the other, or None.
        grades: per condition (n,) how far each paper has its value.
        moves: per condition (n,) what it added to the score.
    """

    papers: Positions
    scores: NDArray[Any]
    raw: list[Floats | None]
    standardised: list[NDArray[np.float64] | None]
    scales: list[Scale | None]
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


class Scoring(Struct, frozen=True):
    """What the papers of one search are scored by.

    Attributes:
        search: probes and fusion.
        conditions: that grade them: they drop papers and move them.
        compliance: what meeting one is worth.
        sample: (s,) positions of the papers that scores are standardised against.
        scales: per probe, where they are known already (of a whole that this index is a part of); () computes
            them from the sample and the papers that may be ranked.
        asked: the probes with what their seeds bring, where that is known already: a shard may not hold the
            seeds; () looks it up.
        chain: further rounds, or None.
    """

    search: Search
    conditions: Sequence[Condition]
    compliance: float
    sample: Positions
    scales: Sequence[Scale | None] = ()
    asked: Sequence[Asked] = ()
    chain: Chain | None = None

    def scale(self, number: int, sample: Floats, best: float | None) -> Scale:
        """The scale of a probe: the one that was given, else from the sample's scores and the best one."""
        given = self.scales[number] if self.scales else None
        return scale(sample, best) if given is None else given


def score_papers(index: Index, how: Scoring, allowed: NDArray[np.bool_] | None, depth: int) -> Fused:
    """Fused scores with what the conditions add, without the papers they drop.

    Where a condition reads texts, only papers that may be among the ``depth`` best are graded and returned.
    """
    if not how.conditions:
        return _fuse(index, how, allowed, depth)
    count = max(how.search.fusion.candidates, depth)
    fused = _fuse(index, how, allowed, count)
    slow = [n for n, c in enumerate(how.conditions) if not c.cheap]
    if slow and len(fused.papers) > count:
        fused = fused.take(top_positions(fused.scores, count, index.id_order[fused.papers]))
    blank = np.zeros(len(fused.papers))
    fused = replace(
        fused,
        grades=[blank.astype(np.float32) for _ in how.conditions],
        moves=[blank for _ in how.conditions],
    )
    worth = how.compliance * lead(
        fused.scores, len(index) if allowed is None else int(np.count_nonzero(allowed))
    )
    field = field_mean(fused.scores)
    quick = [n for n in range(len(how.conditions)) if n not in slow]
    fused = _with_conditions(index, how, quick, fused, worth, field)
    if not slow:
        return fused
    # Best first, until no paper left can pass the last of the best any more.
    order = top_positions(fused.scores, len(fused.papers), index.id_order[fused.papers])
    most = worth * sum(not how.conditions[n].filters for n in slow)
    depth = max(depth, 1)
    done: list[Fused] = []
    settled = np.zeros(0)
    first, size = 0, max(_BATCH, 2 * depth)
    while first < len(order):
        if len(settled) >= depth:
            last = np.partition(settled, len(settled) - depth)[len(settled) - depth]
            if fused.scores[order[first]] + most < last:
                break
        done.append(_with_conditions(index, how, slow, fused.take(order[first : first + size]), worth, field))
        settled = np.concatenate((settled, done[-1].scores))
        first += size
    return join(done) if done else fused


def _with_conditions(
    index: Index, how: Scoring, numbers: list[int], fused: Fused, worth: float, field: float
) -> Fused:
    """Scores with what some of the plan's conditions add, without the papers they drop."""
    above = np.maximum(fused.scores - field, 0.0)
    found = apply_conditions(index, [how.conditions[n] for n in numbers], fused.papers, worth, above)
    grades, moves = list(fused.grades), list(fused.moves)
    for number, grade, move in zip(numbers, found.grades, found.moves, strict=True):
        grades[number], moves[number] = grade, move
    fused = replace(fused, scores=fused.scores + sum(found.moves), grades=grades, moves=moves)
    return fused if found.passed.all() else fused.take(np.flatnonzero(found.passed))


def join(parts: Sequence[Fused]) -> Fused:
    """Parts of one candidate list as one."""

    def columns(name: str) -> list[Any]:
        per_part = [getattr(part, name) for part in parts]
        return [None if c[0] is None else np.concatenate(c) for c in zip(*per_part, strict=True)]

    return Fused(
        np.concatenate([part.papers for part in parts]),
        np.concatenate([part.scores for part in parts]),
        columns("raw"),
        columns("standardised"),
        parts[0].scales,
        columns("grades"),
        columns("moves"),
    )


def score_exactly(index: Index, search: Search, fused: Fused, papers: Positions) -> Fused:
    """Scores that a search would have given to papers that it did not rank; they get no place in its order.

    Args:
        index: the generation.
        search: that was run.
        fused: what it gave.
        papers: (n,) positions.

    Returns:
        Scores of each probe; the fused score is NaN, and grades and moves are empty.
    """
    raw: list[Floats | None] = [None] * len(search.probes)
    standard: list[NDArray[np.float64] | None] = [None] * len(search.probes)
    known = [number for number, scores in enumerate(fused.raw) if scores is not None] if len(papers) else []
    answers = index.score(index.look_up([search.probes[n] for n in known]), papers)
    for number, answer in zip(known, answers, strict=True):
        raw[number] = answer.scores
        held = fused.scales[number]
        standard[number] = None if held is None else held.apply(answer.scores)
    return Fused(papers, np.full(len(papers), np.nan), raw, standard, fused.scales)


def _fuse(index: Index, how: Scoring, allowed: NDArray[np.bool_] | None, depth: int) -> Fused:
    probes, fusion = how.search.probes, how.search.fusion
    nothing = [None] * len(probes)
    if how.chain is not None:
        total = run_chain(index, how.search, how.chain, allowed)
        kept = np.flatnonzero(total)
        return Fused(kept, total[kept], [*nothing], [*nothing], [*nothing])
    asked = how.asked or index.look_up(probes)
    kept_all = any(c.relation == "require" and ATTRIBUTES.get(c.attribute).finds for c in how.conditions)
    if len(probes) == 1 and probes[0].weight > 0 and not kept_all:
        top = index.best(asked[0], _of_all(index, asked[0], allowed, fusion.candidates), depth, allowed)
        return Fused(top.papers, _finite(top.scores), [top.scores], [None], [None])
    if fusion.kind == "rrf":
        return _fuse_ranks(index, how.search, asked, allowed, depth)
    if fusion.kind == "sum":
        return _fuse_sums(index, asked, allowed)
    raw: list[Floats | None] = [*nothing]
    standard: list[NDArray[np.float64] | None] = [*nothing]
    scales: list[Scale | None] = [*nothing]
    total = np.zeros(len(index))
    drawn: dict[int, NDArray[np.float64]] = {}  # the sample's standardised scores
    everything = len(index) <= fusion.scan_limit
    quick = [n for n, probe in enumerate(probes) if index.view(probe.view).cheap or everything]
    costly = [n for n in range(len(probes)) if n not in quick]
    for number, scored in zip(quick, index.score([asked[n] for n in quick]), strict=True):
        raw[number] = scores = scored.scores
        scales[number] = found = how.scale(number, scores[how.sample], highest(scores, allowed))
        standard[number] = values = found.apply(scores)
        drawn[number] = values[how.sample]
        total += probes[number].weight * values
    if not costly:
        total += _contrast(how.search, standard, drawn)
        if allowed is None:
            return Fused(np.arange(len(index)), total, raw, standard, scales)
        kept = np.flatnonzero(allowed)
        return Fused(kept, total[kept], _take(raw, kept), _take(standard, kept), scales)
    if not quick:
        pool = np.arange(len(index)) if allowed is None else np.flatnonzero(allowed)
    else:
        pool = top_positions(total, max(fusion.candidates, depth), index.id_order, allowed)
    raw, standard, total = _take(raw, pool), _take(standard, pool), total[pool]
    slow = [asked[number] for number in costly]
    answers, references = index.score(slow, pool), index.score(slow, how.sample)
    for number, scored, reference in zip(costly, answers, references, strict=True):
        raw[number] = scored.scores
        scales[number] = found = how.scale(number, reference.scores, highest(scored.scores))
        standard[number] = values = found.apply(scored.scores)
        drawn[number] = found.apply(reference.scores)
        total = total + probes[number].weight * values
    return Fused(pool, total + _contrast(how.search, standard, drawn), raw, standard, scales)


def _finite(scores: Floats) -> Floats:
    """The scores; in place of a NaN, one just below the lowest."""
    unknown = np.isnan(scores)
    lowest = scores[~unknown].min() if not unknown.all() else np.float32(0)
    return np.where(unknown, np.nextafter(lowest, np.float32(-np.inf)), scores)


def _of_all(index: Index, asked: Asked, allowed: NDArray[np.bool_] | None, few: int) -> Scored:
    """All papers with their scores by one probe; a costly one scores only those allowed, if they are few.

    Others get NaN then. A view of units scores all: a paper without units gets the lowest score of those.
    """
    view = index.view(asked.probe.view)
    if allowed is None or view.cheap or view.units is not None or np.count_nonzero(allowed) > few:
        return index.score([asked])[0]
    pool = np.flatnonzero(allowed)
    scores = np.full(len(index), np.nan, np.float32)
    scores[pool] = index.score([asked], pool)[0].scores
    return Scored(np.arange(len(index)), scores)


def _contrast(
    search: Search, standard: Sequence[Any], drawn: Mapping[int, NDArray[np.float64]]
) -> NDArray[np.float64] | float:
    """What the fusion's contrast changes in scores from which the rest was subtracted by its weight; (n,).

    Args:
        search: whose probes on the rest of a paper have the aspect :data:`REST`.
        standard: per probe the papers' standardised scores.
        drawn: per probe those of the sample.
    """
    weights = {n: probe.weight for n, probe in enumerate(search.probes) if probe.aspect and n in drawn}
    rest = [n for n in weights if search.probes[n].aspect == REST]
    alike = [n for n in weights if n not in rest and weights[n] > 0]
    if search.fusion.contrast == "subtract" or not rest or not alike:
        return 0.0
    wanted = np.sum([weights[n] * drawn[n] for n in alike], axis=0)
    other = np.sum([weights[n] * drawn[n] for n in rest], axis=0)
    whole = sum(weights[n] for n in rest)
    spread = float(np.var(other))
    slope = whole * float(np.cov(wanted, other, bias=True)[0, 1]) / spread if spread > 1e-12 else 0.0
    # The weighted sum of the rest is in the scores already: what stays of it is slope times that.
    held: NDArray[np.float64] = np.sum([weights[n] * standard[n] for n in rest], axis=0)
    return (slope - 1.0) * held


def _fuse_ranks(
    index: Index, search: Search, asked: Sequence[Asked], allowed: NDArray[np.bool_] | None, depth: int
) -> Fused:
    lists: list[tuple[Positions, float]] = []
    raw: list[Floats | None] = []
    depth = max(search.fusion.depth, depth)
    listed = np.zeros(len(index), dtype=np.bool_)
    for one, scored in zip(asked, index.score(asked), strict=True):
        top = index.best(one, scored, depth, allowed)
        lists.append((top.papers, one.probe.weight))
        scores = np.full(len(index), np.nan, dtype=np.float32)
        scores[top.papers] = top.scores
        raw.append(scores)
        listed[top.papers] = True
    total = reciprocal_ranks(lists, len(index), search.fusion.k)
    kept = np.flatnonzero(listed)  # with a negative weight a paper on a list may sum to 0
    nothing = [None] * len(asked)
    return Fused(kept, total[kept], _take(raw, kept), [*nothing], [*nothing])


def _fuse_sums(index: Index, asked: Sequence[Asked], allowed: NDArray[np.bool_] | None) -> Fused:
    """Weighted sums of the scores as they are; what a probe does not know counts as its lowest score."""
    kept = np.arange(len(index)) if allowed is None else np.flatnonzero(allowed)
    total = np.zeros(len(index))
    raw: list[Floats | None] = []
    for one, scored in zip(asked, index.score(asked), strict=True):
        known = ~np.isnan(scored.scores)
        lowest = scored.scores[known].min() if known.any() else 0.0
        total += one.probe.weight * np.where(known, scored.scores, lowest).astype(np.float64)
        raw.append(scored.scores)
    nothing = [None] * len(asked)
    return Fused(kept, total[kept], _take(raw, kept), [*nothing], [*nothing])


def _take(arrays: Sequence[Any], at: Positions) -> list[Any]:
    return [None if a is None else a[at] for a in arrays]
