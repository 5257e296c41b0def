"""Conditions in a ranking: which papers are dropped, which move, and how far.

``require`` and ``exclude`` drop papers. ``prefer`` and ``avoid`` add a term on the scale of the fused score:
a share (the plan's ``compliance``) of the best paper's *lead*, its distance to the mean of the best hundred,
times the grade (wanted: up to +1; unwanted: down to -1). So a preference is worth what separates the best
papers from the field, whatever the probes' scale is for this query, and its opposite is worth the same with
the other sign. Two papers with equal grades keep their order: a compliant paper that is less relevant never
passes a compliant one that is more so.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import MEETS, Condition
from aspectra.views.index import Index
from aspectra.views.view import Floats, Positions

__all__ = ["Graded", "alternatives", "apply_conditions", "conditions_mask", "lead", "passes"]

_FIELD = 100  # papers that the best one is compared with
_SHARPNESS = 10.0
_REMEMBERED = 16  # conditions of one index: 350 kB each for 87,000 papers
_graded: WeakKeyDictionary[Index, OrderedDict[tuple[str, str], Floats]] = WeakKeyDictionary()
_lock = Lock()


@dataclass(frozen=True)
class Graded:
    """What conditions did to candidates.

    Attributes:
        passed: (candidates,) False for papers that are dropped.
        moves: per condition (candidates,) what it adds to each score; zeros where it filters or
            where the paper meets another value of the same attribute better.
        grades: per condition (candidates,) how far each paper has its value; NaN where nothing is known.
    """

    passed: NDArray[np.bool_]
    moves: list[NDArray[np.float64]]
    grades: list[Floats]


def conditions_mask(index: Index, conditions: Sequence[Condition]) -> NDArray[np.bool_] | None:
    """(all papers,) False where a paper surely breaks a ``require`` or ``exclude``; None where none filters.

    Conditions that are slow to grade are only bounded here and graded later, on candidates.
    """
    mask: NDArray[np.bool_] | None = None
    for condition in alternatives(conditions):
        attribute = ATTRIBUTES.get(condition[0].attribute)
        if not condition[0].filters:
            continue
        if attribute.cheap:
            passed = passes(condition, [_of_all(index, c) for c in condition])
        elif condition[0].relation == "require":
            bounds = [attribute.possible(c.value, index) for c in condition]
            known = [b for b in bounds if b is not None]
            if len(known) < len(bounds):
                continue
            passed = np.logical_or.reduce(known)
        else:
            continue
        mask = passed if mask is None else mask & passed
    return mask


def apply_conditions(
    index: Index,
    conditions: Sequence[Condition],
    papers: Positions,
    worth: float,
) -> Graded:
    """Grades of candidates, which of them are dropped, and how far the others move.

    Args:
        index: the generation.
        conditions: of the plan.
        papers: (candidates,) positions.
        worth: the most that one preference adds or takes; the plan's ``compliance`` times the :func:`lead`.
    """
    graded = {c: _grades(index, c, papers) for c in conditions}
    passed = np.ones(len(papers), dtype=np.bool_)
    moves = {c: np.zeros(len(papers)) for c in conditions}
    for group in alternatives(conditions):
        grades = [graded[c] for c in group]
        if group[0].filters:
            passed &= passes(group, grades)
            continue
        table = np.stack(grades)
        known = ~np.isnan(table).all(axis=0)
        filled = np.nan_to_num(table, nan=-1.0)
        best = filled.argmax(axis=0)  # any of several wanted values will do
        # What nothing is known of is neither raised nor lowered.
        share = np.where(known, 2.0 * _sharpen(np.maximum(filled.max(axis=0), 0.0)) - 1.0, 0.0)
        for number, condition in enumerate(group):
            moves[condition] += np.where(best == number, condition.sign * worth * share, 0.0)
    return Graded(passed, [moves[c] for c in conditions], [graded[c] for c in conditions])


def _grades(index: Index, condition: Condition, papers: Positions) -> Floats:
    attribute = ATTRIBUTES.get(condition.attribute)
    return (
        _of_all(index, condition)[papers]
        if attribute.cheap
        else attribute.grades(condition.value, index, papers)
    )


def _of_all(index: Index, condition: Condition) -> Floats:
    """(papers,) grades by a cheap attribute; each condition is graded once."""
    with _lock:
        known = _graded.setdefault(index, OrderedDict())
        key = (condition.attribute, condition.value)
        if key not in known:
            attribute = ATTRIBUTES.get(condition.attribute)
            known[key] = attribute.grades(condition.value, index, np.arange(len(index)))
            if len(known) > _REMEMBERED:
                known.popitem(last=False)
        known.move_to_end(key)
        return known[key]


def alternatives(conditions: Sequence[Condition]) -> list[list[Condition]]:
    """Groups of which one must be met: wanted values of one attribute; others are alone in theirs.

    Bounds, and values of attributes with ``every``, must all hold; unwanted values hold one by one.
    """
    groups: list[list[Condition]] = []
    places: dict[tuple[str, str], list[Condition]] = {}
    for c in conditions:
        alone = c.sign < 0 or ATTRIBUTES.get(c.attribute).every or c.value.startswith(("<", ">"))
        if alone:
            groups.append([c])
        elif (c.attribute, c.relation) in places:
            places[c.attribute, c.relation].append(c)
        else:
            places[c.attribute, c.relation] = [c]
            groups.append(places[c.attribute, c.relation])
    return groups


def passes(group: list[Condition], grades: list[Floats]) -> NDArray[np.bool_]:
    """(papers,) whether a filter lets them through; the unknown meets nothing and breaks nothing."""
    best = np.nan_to_num(np.fmax.reduce(grades))
    return np.asarray(best >= MEETS if group[0].sign > 0 else best < MEETS)


def _sharpen(grades: Floats) -> NDArray[np.float64]:
    """Grades drawn towards 0 and 1, so that "clearly" and "very clearly" are worth the same."""
    ends = 1.0 / (1.0 + np.exp(_SHARPNESS * MEETS))
    raw = 1.0 / (1.0 + np.exp(-_SHARPNESS * (grades.astype(np.float64) - MEETS)))
    return np.asarray((raw - ends) / (1.0 - 2.0 * ends))


def lead(scores: NDArray[np.floating]) -> float:
    """How far the best paper is ahead of the mean of the best hundred; 1.0 where there is no field."""
    if len(scores) < 2:
        return 1.0
    count = min(_FIELD, len(scores))
    best = np.partition(scores, len(scores) - count)[-count:]
    return max(float(best.max() - best.mean()), 1e-6)
