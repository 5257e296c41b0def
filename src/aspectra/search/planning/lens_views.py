"""Which lens views a query searches, and what people should know of those it did search."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from aspectra.search.plan import Plan
from aspectra.views.index.opened import Index


def fitting(text: str, readings: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Names of the lenses whose cues are in a query, those with most cues first.

    A cue counts as whole words, in any case; among lenses only those count that have at
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


def lens_warnings(index: Index, plan: Plan) -> list[str]:
    """What people should know of the prompted lenses that a plan uses, each one sentence.

    That a lens is simulated, and that it was not run on all papers.
    """
    views, lenses = index.manifest["views"], index.manifest.get("lenses", {})
    probes = [probe for search in plan.searches for probe in search.probes]
    facts = [views.get(probe.view, {}) for probe in probes]
    facts += [lenses.get(condition.attribute, {}) for condition in plan.conditions]
    asking = [views.get(probe.asking, {}) for probe in probes]  # of the seeds, whatever other papers have
    searched = {str(one["lens"]) for one in facts if "stamp" in one}
    out = []
    for name, one in {str(one["lens"]): one for one in (*facts, *asking) if "stamp" in one}.items():
        if one["simulated"]:
            out.append(f"the values of the lens {name} are *simulated*: no language model was used")
        if one["missing"] and name in searched:
            out.append(
                f"the lens {name} has not been run on {one['missing']:,} of {len(index):,} papers: "
                f"aspectra lens run {name}, then aspectra index"
            )
    return out
