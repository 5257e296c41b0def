"""What a hit says of itself: each probe's score, and what conditions found in it."""

from __future__ import annotations

import numpy as np

from aspectra.papers.paper import Paper, field_text
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import MEETS
from aspectra.search.plan import Plan
from aspectra.search.ranking import Kept, ProbeScore
from aspectra.search.scoring.scores import Fused
from aspectra.views.index import Index

__all__ = ["kept_conditions", "probe_scores"]


def probe_scores(plan: Plan, fused: Fused, at: int, explain: bool) -> tuple[ProbeScore, ...]:
    """What each probe said of the paper at a place of ``fused``; with ``explain`` its rank there too."""
    out = []
    for probe, raw, standard in zip(plan.probes, fused.raw, fused.standardised, strict=True):
        score = None if raw is None or np.isnan(raw[at]) else float(raw[at])
        rank = None
        if explain and raw is not None and score is not None:
            rank = 1 + int(np.count_nonzero(raw > raw[at]))
        value = None if standard is None else float(standard[at])
        out.append(ProbeScore(probe.view, probe.weight, score, value, rank, probe.aspect))
    return tuple(out)


def kept_conditions(index: Index, plan: Plan, fused: Fused, at: int, paper: Paper) -> tuple[Kept, ...]:
    """What the conditions found in a hit, quoted from what is at hand of it."""
    out = []
    for condition, grades, moves in zip(plan.conditions, fused.grades, fused.moves, strict=True):
        grade = None if np.isnan(grades[at]) else float(grades[at])
        span = None
        if plan.evidence and grade is not None and grade >= MEETS:
            span = ATTRIBUTES.get(condition.attribute).span(condition.value, paper, index)
        quote = "" if span is None else field_text(paper, span.field)[span.start : span.end]
        out.append(Kept(condition, grade, float(moves[at]), quote))
    return tuple(out)
