"""Which lens views a query looks at, and what is to be said about those it did look at."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from aspectra.base.errors import UsageError
from aspectra.search.plan import Plan
from aspectra.search.planning.planners.protocol import DEFAULT_PLANNER
from aspectra.views.index import Index

__all__ = ["fitting", "lens_warnings", "looks_through"]


def fitting(text: str, readings: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Names of the lenses that a query's words ask for, those with most cues first.

    A cue counts where it stands as whole words, whatever the case; among lenses only those count that have at
    least half as many as the first.

    >>> fitting("which papers fail, and what goes wrong?", {"failure": ["goes wrong"], "method": ["method"]})
    ('failure',)
    """
    asked = " ".join(text.casefold().split())
    found = {
        name: sum(re.search(rf"(?<!\w){re.escape(cue)}(?!\w)", asked) is not None for cue in cues)
        for name, cues in readings.items()
    }
    most = max(found.values(), default=0)
    kept = [name for name, count in found.items() if count and 2 * count >= most]
    return tuple(sorted(kept, key=lambda name: (-found[name], name)))


_BLIND = ("bm25", "dense", "fulltext", "hand", "hybrid")  # planners of ours that look through no chosen lens


def looks_through(lenses: Sequence[str], planner: str) -> str:
    """The planner that a query with these lenses is for: the default one looks through none.

    Raises:
        UsageError: lenses are named, and a planner that would not heed them.

    >>> looks_through(("stance",), "guided"), looks_through((), "guided")
    ('lensed', 'guided')
    """
    if lenses and planner in _BLIND:
        raise UsageError(
            f"the planner {planner} looks through no lens",
            why=f"asked for: {', '.join(lenses)}",
            hint="-p lensed",
        )
    return "lensed" if lenses and planner == DEFAULT_PLANNER else planner


def lens_warnings(index: Index, plan: Plan) -> list[str]:
    """What is to be said about the prompted lenses that a plan looks through.

    That no language model stands behind one, and that one did not come to all papers.
    """
    views, lenses = index.manifest["views"], index.manifest.get("lenses", {})
    facts = [views.get(probe.view, {}) for search in plan.searches for probe in search.probes]
    facts += [lenses.get(condition.attribute, {}) for condition in plan.conditions]
    out = []
    for name, one in {str(one["lens"]): one for one in facts if "stamp" in one}.items():
        if one["simulated"]:
            out.append(f"what the lens {name} saw is *simulated*: no language model was asked")
        if one["missing"]:
            out.append(
                f"the lens {name} has not seen {one['missing']:,} of {len(index):,} papers: "
                f"aspectra lens run {name}, then aspectra index"
            )
    return out
