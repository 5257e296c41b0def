"""What is done once with the conditions of a plan, and what is said of them to people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aspectra.base.values import replace
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import Condition
from aspectra.search.conditions.lists import UserLists
from aspectra.views.index.opened import Index

__all__ = ["bound_conditions", "left_out_warnings"]


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
