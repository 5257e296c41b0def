"""The years that a direction leaves: nothing builds on a paper that is not written yet."""

from __future__ import annotations

from collections.abc import Sequence

from aspectra.base.values import replace
from aspectra.search.conditions.condition import Condition
from aspectra.search.plan import Plan, Search
from aspectra.views.index.opened import Index

_GRACE = 1  # years: a preprint and its journal version are often dated apart
_TIMED = ("builds-on", "built-on-by")


def in_publication_order(plan: Plan, index: Index) -> Plan:
    """The plan with the years that the directions of its searches leave.

    ``builds-on`` leaves out what is more than a year younger than the youngest seed, and ranks what is a year
    younger after the rest; ``built-on-by`` does the same with what is older than the oldest seed. Papers of
    unknown year come last. Nothing changes for other directions, where a seed's year is unknown, and for
    searches with ``any-year``.
    """
    steps: list[Search | str] = []
    conditions: list[Condition] = []
    for step in plan.steps:
        years = _seed_years(step, index) if isinstance(step, Search) else []
        if not isinstance(step, Search) or not years or not all(years):
            steps.append(step)
            continue
        if step.direction == "builds-on":
            kept, left_out = f"<={max(years):04d}", f">={max(years) + _GRACE + 1:04d}"
        else:
            kept, left_out = f">={min(years):04d}", f"<={max(min(years) - _GRACE - 1, 0):04d}"
        steps.append(replace(step, years=kept))
        conditions.append(Condition("year", left_out, "exclude", f"direction {step.direction}"))
    if not conditions:
        return plan
    return replace(plan, steps=tuple(steps), conditions=(*plan.conditions, *conditions))


def year_warnings(plan: Plan, index: Index, ids: Sequence[str]) -> list[str]:
    """What a direction could not know about years: of its seeds, and of papers that are shown.

    Args:
        plan: that was run.
        index: the generation searched.
        ids: of the papers that are shown.
    """
    out = []
    for search in plan.searches:
        unknown = [i for i, year in zip(search.seeds, _seed_years(search, index), strict=False) if not year]
        if unknown:
            out.append(f"the year of {', '.join(unknown)} is unknown: papers of every year are ranked")
    if any(search.years not in ("", "any") for search in plan.searches):
        years = [index.years[index.positions[i]] for i in ids if i in index.positions]
        if undated := sum(not year for year in years):
            out.append(f"{undated} of the papers shown come last: their year is unknown")
    return out


def _seed_years(search: Search, index: Index) -> list[int]:
    """The year of each seed, 0 where it is unknown; [] for a search whose direction leaves every year."""
    if search.direction not in _TIMED or search.years == "any":
        return []
    return [int(index.years[index.position(seed)]) for seed in search.seeds]
