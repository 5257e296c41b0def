"""The years that a direction leaves out: nothing builds on a paper that is not written yet."""

from __future__ import annotations

from aspectra.search.conditions.condition import Condition
from aspectra.search.plan import Search
from aspectra.views.index import Index

__all__ = ["publication_order"]


def publication_order(search: Search, index: Index) -> tuple[Condition, ...]:
    """The condition that leaves out papers of the wrong years, as part of a plan.

    ``builds-on`` leaves out what is younger than the youngest seed, ``built-on-by`` what is older than the
    oldest one. Papers of unknown year stay. () for other directions, and where a seed's year is unknown.
    """
    years = [int(index.years[index.position(seed)]) for seed in search.seeds]
    if search.direction not in ("builds-on", "built-on-by") or not all(years):
        return ()
    bound = f">={max(years) + 1:04d}" if search.direction == "builds-on" else f"<={min(years) - 1:04d}"
    return (Condition("year", bound, "exclude", f"direction {search.direction}"),)
