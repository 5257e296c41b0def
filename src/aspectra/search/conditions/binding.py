"""What is done once with the conditions of a plan, and what is said of them to people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aspectra.base.values import replace
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import Condition, distinct
from aspectra.search.conditions.grading import alternatives, conditions_mask
from aspectra.search.conditions.lists import UserLists
from aspectra.views.index.opened import Index


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

    def bound(name: str, value: str) -> str:
        return ATTRIBUTES.get(name).bound(value, seeds, index, lists)

    return tuple(
        replace(
            condition,
            value=bound(condition.attribute, condition.value),
            unless=tuple(replace(e, value=bound(e.attribute, e.value)) for e in condition.unless),
        )
        for condition in conditions
    )


def ordering_conditions(
    conditions: Sequence[Condition], index: Index
) -> tuple[tuple[Condition, ...], list[tuple[Condition, str]]]:
    """Conditions, those that may not filter as preferences; and which these were, each with the reason.

    A value whose alternative may not filter does not filter either: *surveys or case studies* are one demand.

    Args:
        conditions: bound.
        index: the generation.
    """
    moved: dict[Condition, Condition] = {}
    said: dict[Condition, str] = {}
    for group in alternatives(conditions):
        if not group[0].filters:
            continue
        whys = {c: ATTRIBUTES.get(c.attribute).orders_only(c.value, index) for c in group}
        if why := next(filter(None, whys.values()), ""):
            relation = "prefer" if group[0].sign > 0 else "avoid"
            moved |= {c: replace(c, relation=relation) for c in group}
            said |= {c: whys[c] or why for c in group}
    return distinct(moved.get(c, c) for c in conditions), [(c, said[c]) for c in conditions if c in said]


def left_out_warnings(found: Iterable[tuple[Sequence[Condition], int]]) -> list[str]:
    """How many papers are dropped only because nothing is known of them, a sentence for each demand.

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


def none_left_warnings(index: Index, conditions: Iterable[Condition]) -> list[str]:
    """What is required and no paper meets, where it is the search itself; each with what to do."""
    asked = [c for c in conditions if c.relation == "require" and ATTRIBUTES.get(c.attribute).finds]
    masks = [(c, conditions_mask(index, [c])) for c in asked]
    how = "take out a part joined by AND, write * for endings, or search its words with --literal"
    return [f"no paper meets [{c.label}]: {how}" for c, mask in masks if mask is not None and not mask.any()]
