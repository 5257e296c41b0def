"""Scores of a plan's papers: probes scored and fused, conditions applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from aspectra.base.values import replace
from aspectra.search.conditions.grading import Grader, field_mean, lead
from aspectra.search.plan import Search
from aspectra.search.scoring.chain import Lists, run_chain
from aspectra.search.scoring.phases import (
    Fused,
    Held,
    Mask,
    Part,
    Rows,
    Scoring,
    blank,
    each,
    exactly,
    fuse,
    lists,
    split,
)
from aspectra.views.index.opened import Index
from aspectra.views.protocol import Asked
from aspectra.views.view import Positions, Probe

# The parts of a collection under one search: probes that were looked up, and which papers may be ranked.
Parted = Callable[[Sequence[Asked], Mask], Sequence[Part]]

_BATCH = 40  # candidates graded at a time by conditions that read texts


def _lists(grader: Grader, parted: Parted, search: Search, allowed: Mask) -> Lists:
    """The lists of a chain: of the papers that may be ranked, without the seeds."""
    index = grader.index
    able = np.ones(len(index), np.bool_) if allowed is None else allowed.copy()
    able[[index.position(seed) for seed in search.seeds]] = False

    def listed(probes: Sequence[Probe], k: int) -> list[Positions]:
        # A paper without a text in the view that a probe searches with, as of a lens, finds nothing.
        out = [np.zeros(0, np.int64)] * len(probes)
        asked = {n: one for n, one in enumerate(index.look_up(probes)) if one.words or one.vectors.any()}
        parts = parted([*asked.values()], able)
        for number, papers in zip(asked, lists(parts, k, index.id_order), strict=True):
            out[number] = papers
        return out

    return listed


def score_papers(grader: Grader, parted: Parted, how: Scoring, allowed: Mask, depth: int) -> Rows:
    """Fused scores with what the conditions add, without the papers they drop.

    Where a condition reads texts, only papers that may be among the ``depth`` best are graded and returned.

    Args:
        grader: of the papers.
        parted: makes the parts that score their own papers.
        how: what they are scored by.
        allowed: (papers,) True where a paper may be ranked; None where every paper may.
        depth: papers wanted.
    """
    conditions, index = how.conditions, grader.index
    if not how.chain:
        how = replace(how, asked=index.look_up(how.search.probes))
    held = parted(() if how.chain else how.asked, allowed)
    count = max(how.search.fusion.candidates, depth) if conditions else depth
    if how.chain is None:
        rows = fuse(held, how, index, count)
    else:
        total = run_chain(index, how.search, how.chain, _lists(grader, parted, how.search, allowed))
        kept = np.flatnonzero(total)
        rows = split(held, replace(blank(kept, len(how.search.probes)), scores=total[kept]))
    if not conditions:
        return Rows(rows)
    slow = [n for n, c in enumerate(conditions) if not c.cheap]
    if slow and len(Rows(rows)) > count:
        rows = split(held, Rows(rows).best(count, index.id_order))
    among = sum(part.ranked for part in held)
    best = np.concatenate(each(rows, lambda one: one.top(among)))
    worth, field = how.compliance * lead(best, among), field_mean(best)

    def graded(numbers: Sequence[int], rows: Sequence[Held]) -> tuple[Held, ...]:
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
    while first < len(fused):
        if len(settled) >= depth:
            last = np.partition(settled, len(settled) - depth)[len(settled) - depth]
            if fused.scores[first] + most < last:
                break
        batch = split(held, fused.take(np.arange(len(fused))[first : first + size]))
        done += [one.fused() for one in graded(slow, batch)]
        settled = np.concatenate([one.scores for one in done])
        first += size
    return Rows(tuple(done) or (fused,))


def score_exactly(index: Index, search: Search, ranked: Fused, papers: Positions) -> Fused:
    """Scores that a search would have given to papers that it did not rank; they get no place in its order.

    Args:
        index: that holds the papers.
        search: that was run.
        ranked: papers that it ranked, of which the scales are taken; maybe none.
        papers: (n,) positions.

    Returns:
        Scores of each probe; the fused score is NaN, and grades and moves are empty.
    """
    out = replace(
        blank(papers, len(search.probes)), scores=np.full(len(papers), np.nan), scales=ranked.scales
    )
    known = [n for n, scores in enumerate(ranked.raw) if scores is not None and len(papers)]
    asked = index.look_up([search.probes[number] for number in known])
    for number, scores in zip(known, exactly(index, asked, papers), strict=True):
        out.raw[number], scale = scores, ranked.scales[number]
        out.standardised[number] = None if scale is None else scale.apply(scores)
    return out
