"""Conditions in a ranking: which papers are dropped, which move, and how far.

``require`` and ``exclude`` drop papers. ``prefer`` and ``avoid`` add a term on the scale of the fused score:
a share (the plan's ``compliance``) of the best paper's *lead*, its distance to the mean of the best papers,
times the grade (wanted: up to +1; unwanted: down to -1). So a preference is worth what separates the best
papers from the field, whatever the probes' scale is for this query, and its opposite is worth the same with
the other sign. Two papers with equal grades keep their order: a compliant paper that is less relevant never
passes a compliant one that is more so.

An ``exclude`` in free words also lowers the papers that it leaves, by their grade, towards the mean of the
best hundred and never below it: they leave the first places and stay within reach, see
docs/results/exclusions.md.

A paper that has what exempts from a condition is neither dropped nor moved by it. Exemptions are read as
required conditions are: values of one attribute are alternatives, bounds and different attributes must all
be met. A condition of which nothing is known of any paper is not applied: see :func:`without_data`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.values import LRUCache, replace
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.condition import MEETS, Condition, Exemption, Relation, distinct
from aspectra.search.conditions.lists import UserLists
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

# Papers that the best one is compared with: so many, and a larger library has more papers on a subject.
_FIELD, _FIELD_SHARE = 100, 0.005
_SHARPNESS = 10.0
_REMEMBERED = 32  # conditions of one index: 350 kB each for 87,000 papers

Mask = NDArray[np.bool_]
_Stated = Condition | Exemption  # an attribute and a value
S = TypeVar("S", Condition, Exemption)


class Known(NamedTuple):
    """Grades of the papers of an index for one value of an attribute.

    Attributes:
        attribute: that knows what was measured of the whole collection.
        grades: (papers,) of one value; None where the attribute is slow.
        missing: why nothing is known of any paper, or "".
    """

    attribute: Attribute
    grades: Floats | None
    missing: str


class Grader:
    """Grades the papers of an index; safe to use from several threads."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._known: LRUCache[tuple[str, str, int], Known] = LRUCache(_REMEMBERED)

    def known(self, stated: _Stated) -> Known:
        """Measurements of a value, and its grades if the attribute is cheap; each is computed once."""
        attribute = ATTRIBUTES.get(stated.attribute)
        key = (stated.attribute, stated.value, attribute.state(self.index))
        return self._known.get(key, lambda: self._made(attribute, stated.value))

    def _made(self, attribute: Attribute, value: str) -> Known:
        index, every = self.index, np.arange(len(self.index))
        attribute = attribute.knowing(attribute.measure(value, index))
        if not attribute.cheap:
            return Known(attribute, None, attribute.missing(value, index))
        grades = attribute.grades(value, index, every)
        unknown = bool(len(index)) and bool(np.isnan(grades).all())
        return Known(attribute, grades, attribute.missing(value, index) if unknown else "")

    def attribute(self, stated: _Stated) -> Attribute:
        """The attribute, with what it measured."""
        return self.known(stated).attribute

    def grades(self, stated: _Stated, papers: Positions | None = None) -> Floats:
        """(papers,) how far each paper has the value; None for all papers, whose grades are not copied."""
        attribute, grades, _ = self.known(stated)
        if grades is None:
            every = np.arange(len(self.index)) if papers is None else papers
            return attribute.grades(stated.value, self.index, every)
        return grades if papers is None else grades[papers]


class Graded(Struct, frozen=True):
    """Result of applying conditions to candidates.

    Attributes:
        passed: (candidates,) False for papers that are dropped.
        moves: per condition (candidates,) what it adds to each score; zeros for what is required, where the
            paper meets another value of the same attribute better, and where it is exempt.
        grades: per condition (candidates,) how far each paper has its value; NaN where nothing is known.
    """

    passed: Mask
    moves: list[NDArray[np.float64]]
    grades: list[Floats]


def conditions_mask(grader: Grader, conditions: Sequence[Condition]) -> Mask | None:
    """(all papers,) False where a paper surely breaks a ``require`` or ``exclude``; None where none filters.

    Conditions that are slow to grade are only bounded here and graded later, on candidates.
    """
    applied = (g for g in alternatives(conditions) if g[0].filters and not _nothing_known(grader, g))
    masks = [mask for group in applied if (mask := _may_pass(grader, group)) is not None]
    return np.asarray(np.logical_and.reduce(masks)) if masks else None


def left_by_filters(grader: Grader, conditions: Sequence[Condition]) -> int | None:
    """Papers that filters leave, at most so many where one is slow to grade; None where nothing filters."""
    mask, slow = conditions_mask(grader, conditions), any(c.filters and not c.cheap for c in conditions)
    return int(mask.sum()) if mask is not None else len(grader.index) if slow else None


def _may_pass(grader: Grader, group: list[Condition]) -> Mask | None:
    """(all papers,) False where a filter surely drops them; None where that cannot be told quickly."""
    bounds: list[Mask | None]
    if ATTRIBUTES.get(group[0].attribute).cheap:
        bounds = [passes(group, [grader.grades(c) for c in group])]
    elif group[0].relation == "require":
        bounds = [grader.attribute(c).possible(c.value, grader.index) for c in group]
    else:
        return None
    for exception in _exceptions(group):
        needed = [bound for demand in exception if (bound := _may_pass(grader, demand)) is not None]
        bounds.append(np.logical_and.reduce(needed) if needed else None)
    known = [bound for bound in bounds if bound is not None]
    return np.asarray(np.logical_or.reduce(known)) if len(known) == len(bounds) else None


def apply_conditions(
    grader: Grader,
    conditions: Sequence[Condition],
    papers: Positions,
    worth: float,
    above: NDArray[np.float64] | None = None,
) -> Graded:
    """Grades of candidates, which of them are dropped, and how far the others move.

    Args:
        grader: of the papers.
        conditions: of the plan.
        papers: (candidates,) positions.
        worth: the most that one preference adds or takes; the plan's ``compliance`` times the :func:`lead`.
        above: (candidates,) how far each score is above :func:`field_mean`, 0 for the others: the most that
            exclusions take; None where they take nothing.
    """
    left = np.zeros(len(papers)) if above is None else above
    graded = {c: grader.grades(c, papers) for c in conditions}
    passed = np.ones(len(papers), dtype=np.bool_)
    moves = {c: np.zeros(len(papers)) for c in conditions}
    for group in alternatives(conditions):
        grades = [graded[c] for c in group]
        if group[0].filters:
            if not _nothing_known(grader, group):
                kept = passes(group, grades)
                # The share of its lead over the field that a paper loses by an exclusion.
                some = np.nan_to_num(grades[0]) if group[0].lowers else np.zeros(len(papers))
                doubt = np.minimum(some.astype(np.float64) / MEETS, 1.0)
                exempt = exempt_from(grader, group, papers, ~kept | (doubt > 0))
                passed &= kept | exempt
                moves[group[0]] = np.where(exempt, 0.0, 0.0 - doubt * left)
                left = left + moves[group[0]]
            continue
        table = np.stack(grades)
        known: Mask = np.asarray(~np.isnan(table).all(axis=0))
        filled = np.nan_to_num(table, nan=-1.0)
        best = filled.argmax(axis=0)  # any of several wanted values will do
        # What nothing is known of is neither raised nor lowered.
        known &= ~exempt_from(grader, group, papers, known)
        share = np.where(known, 2.0 * _sharpen(np.maximum(filled.max(axis=0), 0.0)) - 1.0, 0.0)
        for number, condition in enumerate(group):
            moves[condition] += np.where(best == number, condition.sign * worth * share, 0.0)
    return Graded(passed, [moves[c] for c in conditions], [graded[c] for c in conditions])


def exempt_from(grader: Grader, group: Sequence[Condition], papers: Positions, among: Mask) -> Mask:
    """(papers,) whether they have something that exempts them from any condition of a group.

    Args:
        grader: of the papers.
        group: alternatives, see :func:`alternatives`; or one condition.
        papers: (n,) positions.
        among: (n,) the only ones that are graded; the others are False.
    """
    out = np.zeros(len(papers), dtype=np.bool_)
    for exception in _exceptions(group):
        at = np.flatnonzero(among & ~out)
        for demand in exception:
            if len(at):
                at = at[passes(demand, [grader.grades(c, papers[at]) for c in demand])]
        out[at] = True
    return out


def _exceptions(group: Sequence[Condition]) -> list[list[list[Condition]]]:
    """The exceptions of a group, see :func:`exempting`.

    What exempts from one of several alternatives exempts from all: they are one demand.
    """
    return [exception for condition in group for exception in exempting(condition.unless)]


def exempting(unless: Sequence[Exemption]) -> list[list[list[Condition]]]:
    """Exceptions that exempt a paper, each as a list of demands that must all be met.

    A demand is one of the :func:`alternatives` of the exemptions, read as ``require`` conditions.

    >>> unless = (Exemption("venue", "CHI"), Exemption("year", ">=2023"), Exemption("venue", "CSCW"))
    >>> [[[c.value for c in demand] for demand in exception] for exception in exempting(unless)]
    [[['CHI', 'CSCW'], ['>=2023']]]
    """
    exceptions: list[list[Condition]] = []
    for number, exempt in enumerate(unless):
        if exempt.apart or not number:
            exceptions.append([])
        exceptions[-1].append(Condition(exempt.attribute, exempt.value, "require"))
    return [alternatives(exception) for exception in exceptions]


def without_data(grader: Grader, some: Iterable[S]) -> list[tuple[S, str]]:
    """Conditions or exemptions of which no paper has the data, each with the reason in words.

    Such conditions are not applied, and nothing is exempt by such exemptions.
    """
    return [(stated, why) for stated in some if (why := grader.known(stated).missing)]


def _nothing_known(grader: Grader, group: Sequence[Condition]) -> bool:
    return all(grader.known(condition).missing for condition in group)


def unknown_papers(grader: Grader, group: Sequence[Condition]) -> Mask | None:
    """(all papers,) True where a ``require`` drops a paper because nothing is known of it.

    None where the group does not require, is not applied, or is too slow to grade on all papers.
    """
    if group[0].relation != "require" or not all(c.cheap for c in group) or _nothing_known(grader, group):
        return None
    unknown: Mask = np.asarray(np.isnan(np.stack([grader.grades(c) for c in group])).all(axis=0))
    return np.asarray(unknown & ~exempt_from(grader, group, np.arange(len(grader.index)), unknown))


def alternatives(conditions: Sequence[Condition]) -> list[list[Condition]]:
    """Groups of which one must be met: wanted values of one attribute; others are alone in theirs.

    Bounds, and values of attributes with ``every``, must all hold; unwanted values hold one by one.
    """
    groups: dict[int | tuple[str, str], list[Condition]] = {}
    for number, c in enumerate(conditions):
        alone = c.sign < 0 or ATTRIBUTES.get(c.attribute).every or c.value.startswith(("<", ">"))
        groups.setdefault(number if alone else (c.attribute, c.relation), []).append(c)
    return list(groups.values())


def passes(group: list[Condition], grades: list[Floats]) -> Mask:
    """(papers,) whether a filter lets them through; the unknown meets nothing and breaks nothing."""
    met: Mask = np.fmax.reduce(grades) >= MEETS
    return met if group[0].sign > 0 else ~met


def _sharpen(grades: Floats) -> NDArray[np.float64]:
    """Grades drawn towards 0 and 1, so that "clearly" and "very clearly" are worth the same."""
    ends = 1.0 / (1.0 + np.exp(_SHARPNESS * MEETS))
    raw = 1.0 / (1.0 + np.exp(-_SHARPNESS * (grades.astype(np.float64) - MEETS)))
    return np.asarray((raw - ends) / (1.0 - 2.0 * ends))


def best_scores(scores: NDArray[np.floating], among: int) -> NDArray[np.floating]:
    """The best scores, in any order: all that :func:`lead` and :func:`field_mean` read of them.

    Args:
        scores: (n,) of candidates.
        among: papers that may be ranked.
    """
    return _best(scores, max(_FIELD, int(_FIELD_SHARE * among)))


def lead(scores: NDArray[np.floating], among: int = 0) -> float:
    """Lead of the best paper over the mean of the best ones; 1.0 with fewer than two candidates.

    Args:
        scores: (n,) of the candidates.
        among: papers that may be ranked; the best 0.5 % of them count, and at least a hundred.
    """
    if len(scores) < 2:
        return 1.0
    return max(float(scores.max()) - _exact_mean(best_scores(scores, among)), 1e-6)


def field_mean(scores: NDArray[np.floating]) -> float:
    """The mean score of the best hundred candidates; inf without candidates."""
    return _exact_mean(_best(scores, _FIELD)) if len(scores) else np.inf


def _best(scores: NDArray[np.floating], count: int) -> NDArray[np.floating]:
    first = len(scores) - count
    return np.partition(scores, first)[first:] if first > 0 else scores


def _exact_mean(scores: NDArray[np.floating]) -> float:
    return math.fsum(scores.tolist()) / len(scores)  # what a partition leaves has no order


def bound_conditions(
    conditions: Iterable[Condition], seeds: Sequence[str], index: Index, lists: UserLists
) -> tuple[Condition, ...]:
    """Conditions and exemptions with what only the query or the user's lists know put into their values.

    Args:
        conditions: as written: ``author=same``, ``venue=ml``.
        seeds: ids of the query's seed papers.
        index: the generation.
        lists: of the user.
    """

    def bound(stated: _Stated) -> str:
        return ATTRIBUTES.get(stated.attribute).bound(stated.value, seeds, index, lists)

    return tuple(
        replace(c, value=bound(c), unless=tuple(replace(e, value=bound(e)) for e in c.unless))
        for c in conditions
    )


def ordering_conditions(
    conditions: Sequence[Condition], grader: Grader
) -> tuple[tuple[Condition, ...], list[tuple[Condition, str]]]:
    """Conditions, those that may not filter as preferences; and which these were, each with the reason.

    A value whose alternative may not filter does not filter either: *surveys or case studies* are one demand.

    Args:
        conditions: bound.
        grader: of the papers.
    """
    moved: dict[Condition, Condition] = {}
    said: dict[Condition, str] = {}
    for group in (some for some in alternatives(conditions) if some[0].filters):
        whys = {c: grader.attribute(c).orders_only(c.value, grader.index) for c in group}
        if why := next(filter(None, whys.values()), ""):
            relation: Relation = "prefer" if group[0].sign > 0 else "avoid"
            moved |= {c: replace(c, relation=relation) for c in group}
            said |= {c: whys[c] or why for c in group}
    return distinct(moved.get(c, c) for c in conditions), [(c, said[c]) for c in conditions if c in said]


def left_out_warnings(found: Iterable[tuple[Sequence[Condition], int]]) -> list[str]:
    """Warnings on papers dropped only because nothing is known of them, one sentence per demand.

    Args:
        found: alternatives that are required, and the number of papers.
    """
    out = []
    for group, count in found:
        attribute = ATTRIBUTES.get(group[0].attribute)
        papers, were = (f"{count:,} papers", "were") if count > 1 else ("1 paper", "was")
        said = " or ".join(f"[{condition.label}]" for condition in group)
        out.append(f"{papers} of unknown {attribute.noun or attribute.name} {were} left out by {said}")
    return out


def none_left_warnings(grader: Grader, conditions: Iterable[Condition]) -> list[str]:
    """Warnings on required conditions that no paper meets, each with the next step.

    Only conditions on attributes with ``finds`` are checked.
    """
    asked = [c for c in conditions if c.relation == "require" and ATTRIBUTES.get(c.attribute).finds]
    masks = [(c, conditions_mask(grader, [c])) for c in asked]
    how = "take out a part joined by AND, write * for endings, or search its words with --literal"
    return [f"no paper meets [{c.label}]: {how}" for c, mask in masks if mask is not None and not mask.any()]
