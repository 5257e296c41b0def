"""Scores of a plan's papers: probes scored and fused, conditions applied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspectra.base.values import replace
from aspectra.search.conditions.grading import apply_conditions, field_mean, lead
from aspectra.search.plan import Search
from aspectra.search.scoring.chain import run_chain
from aspectra.search.scoring.phases import Fused, Mask, Part, Scoring, blank, exactly, fuse, join
from aspectra.views.index.opened import Index
from aspectra.views.view import Positions, top_positions

_BATCH = 40  # candidates graded at a time by conditions that read texts


def score_papers(
    index: Index, how: Scoring, allowed: Mask, depth: int, parts: Sequence[Mask] = (None,)
) -> Fused:
    """Fused scores with what the conditions add, without the papers they drop.

    Where a condition reads texts, only papers that may be among the ``depth`` best are graded and returned.

    Args:
        index: the generation.
        how: what its papers are scored by.
        allowed: (papers,) True where a paper may be ranked; None where every paper may.
        depth: papers wanted.
        parts: (papers,) True for the papers of each part that scores its own; None for all.
    """
    if not how.conditions:
        return _fuse(index, how, allowed, depth, parts)
    count = max(how.search.fusion.candidates, depth)
    fused = _fuse(index, how, allowed, count, parts)
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


def score_exactly(
    index: Index, search: Search, fused: Fused, papers: Positions, parts: Sequence[Mask] = (None,)
) -> Fused:
    """Scores that a search would have given to papers that it did not rank; they get no place in its order.

    Args:
        index: the generation.
        search: that was run.
        fused: what it gave.
        papers: (n,) positions.
        parts: as in :func:`score_papers`.

    Returns:
        Scores of each probe; the fused score is NaN, and grades and moves are empty.
    """
    out = replace(blank(papers, len(search.probes)), scores=np.full(len(papers), np.nan), scales=fused.scales)
    known = [number for number, scores in enumerate(fused.raw) if scores is not None] if len(papers) else []
    asked = index.look_up([search.probes[number] for number in known])
    held = [Part(index, asked, None, one) for one in parts]
    for number, scores in zip(known, exactly(held, range(len(known)), papers), strict=True):
        out.raw[number], scale = scores, fused.scales[number]
        out.standardised[number] = None if scale is None else scale.apply(scores)
    return out


def _fuse(index: Index, how: Scoring, allowed: Mask, depth: int, parts: Sequence[Mask]) -> Fused:
    """Fused scores of the papers that may be ranked, before conditions."""
    if how.chain is not None:
        total = run_chain(index, how.search, how.chain, allowed)
        kept = np.flatnonzero(total)
        return replace(blank(kept, len(how.search.probes)), scores=total[kept])
    asked = how.asked or index.look_up(how.search.probes)
    return fuse([Part(index, asked, allowed, held) for held in parts], how, index.id_order, depth)
