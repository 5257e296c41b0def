"""Scores of a plan's papers: probes scored and fused, conditions applied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspectra.base.values import replace
from aspectra.search.conditions.grading import Grader, best_scores, field_mean, lead
from aspectra.search.plan import Search
from aspectra.search.scoring.chain import Lists, run_chain
from aspectra.search.scoring.phases import (
    Fused,
    Mask,
    Part,
    Rows,
    Scoring,
    blank,
    exactly,
    fuse,
    lists,
    split,
)
from aspectra.views.view import Positions, Probe

_BATCH = 40  # candidates graded at a time by conditions that read texts


def _lists(grader: Grader, search: Search, allowed: Mask) -> Lists:
    """The lists of a chain: of the papers that may be ranked, without the seeds."""
    index = grader.index
    able = np.ones(len(index), np.bool_) if allowed is None else allowed.copy()
    able[[index.position(seed) for seed in search.seeds]] = False

    def listed(probes: Sequence[Probe], k: int) -> list[Positions]:
        # A paper without a text in the view that a probe searches with, as of a lens, finds nothing.
        out = [np.zeros(0, np.int64)] * len(probes)
        asked = {n: one for n, one in enumerate(index.look_up(probes)) if one.words or one.vectors.any()}
        parts = [Part(index, [*asked.values()], able, one) for one in grader.parts]
        for number, papers in zip(asked, lists(parts, k, index.id_order), strict=True):
            out[number] = papers
        return out

    return listed


def score_papers(grader: Grader, how: Scoring, allowed: Mask, depth: int) -> Rows:
    """Fused scores with what the conditions add, without the papers they drop.

    Where a condition reads texts, only papers that may be among the ``depth`` best are graded and returned.

    Args:
        grader: of the papers, by parts that score and grade their own.
        how: what they are scored by.
        allowed: (papers,) True where a paper may be ranked; None where every paper may.
        depth: papers wanted.
    """
    conditions, index = how.conditions, grader.index
    asked = () if how.chain else how.asked or index.look_up(how.search.probes)
    held = [Part(index, asked, allowed, one) for one in grader.parts]
    count = max(how.search.fusion.candidates, depth) if conditions else depth
    if how.chain is None:
        rows = fuse(held, how, index.id_order, count)
    else:
        total = run_chain(index, how.search, how.chain, _lists(grader, how.search, allowed))
        kept = np.flatnonzero(total)
        rows = split(held, replace(blank(kept, len(how.search.probes)), scores=total[kept]))
    if not conditions:
        return Rows(rows)
    slow = [n for n, c in enumerate(conditions) if not c.cheap]
    if slow and len(Rows(rows)) > count:
        rows = split(held, Rows(rows).best(count, index.id_order))
    among = sum(part.ranked for part in held)
    best = np.concatenate([best_scores(one.scores, among) for one in rows])
    worth, field = how.compliance * lead(best, among), field_mean(best)

    def graded(numbers: Sequence[int], rows: Sequence[Fused]) -> tuple[Fused, ...]:
        pairs = zip(held, rows, strict=True)
        return tuple(part.graded(grader, conditions, numbers, one, worth, field) for part, one in pairs)

    rows = graded([n for n in range(len(conditions)) if n not in slow], rows)
    if not slow:
        return Rows(rows)
    # Best first, until no paper left can pass the last of the best any more.
    fused = Rows(rows).best(count, index.id_order)
    most = worth * sum(not conditions[n].filters for n in slow)
    depth = max(depth, 1)
    done: list[Fused] = []
    settled = np.zeros(0)
    first, size = 0, max(_BATCH, 2 * depth)
    while first < len(fused.papers):
        if len(settled) >= depth:
            last = np.partition(settled, len(settled) - depth)[len(settled) - depth]
            if fused.scores[first] + most < last:
                break
        done += graded(slow, split(held, fused.take(np.arange(len(fused.papers))[first : first + size])))
        settled = np.concatenate([one.scores for one in done])
        first += size
    return Rows(tuple(done) or (fused,))


def score_exactly(grader: Grader, search: Search, rows: Rows, papers: Positions) -> Fused:
    """Scores that a search would have given to papers that it did not rank; they get no place in its order.

    Args:
        grader: of the papers, by parts.
        search: that was run.
        rows: what it gave.
        papers: (n,) positions.

    Returns:
        Scores of each probe; the fused score is NaN, and grades and moves are empty.
    """
    out = replace(blank(papers, len(search.probes)), scores=np.full(len(papers), np.nan), scales=rows.scales)
    known = (
        [number for number, scores in enumerate(rows.parts[0].raw) if scores is not None]
        if len(papers)
        else []
    )
    asked = grader.index.look_up([search.probes[number] for number in known])
    held = [Part(grader.index, asked, None, one) for one in grader.parts]
    for number, scores in zip(known, exactly(held, range(len(known)), papers), strict=True):
        out.raw[number], scale = scores, rows.scales[number]
        out.standardised[number] = None if scale is None else scale.apply(scores)
    return out
