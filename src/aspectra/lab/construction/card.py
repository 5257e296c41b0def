"""The card of a set: what it was made of, how, and what may be done with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.lab.construction.made import Made
from aspectra.lab.construction.protocol import StepReport
from aspectra.lab.construction.recipe import BuildRecipe
from aspectra.papers.library.store import Store

_NONE = "not stated"


def card_of(
    recipe: BuildRecipe,
    made: Made,
    steps: Sequence[StepReport],
    read: Benchmark,
    store: Store,
    verdict: Sequence[str],
) -> tuple[str, str]:
    """The card as Markdown, and as JSON.

    Args:
        recipe: what was done.
        made: the set.
        steps: what the steps did.
        read: the set as our own loader reads it.
        store: the library, for the licences of its papers.
        verdict: sentences on what the set can show.
    """
    licences: Counter[str] = Counter()
    for paper in store.papers("none"):
        licences[str(paper.metadata.get("license") or paper.metadata.get("licence") or _NONE)] += 1
    positives = [len(held) for held in made.relevant().values()]
    facts: dict[str, Any] = {
        "name": recipe.name,
        "recipe": recipe.to_dict(),
        "recipe hash": recipe.hash,
        "corpus hash": made.facts["corpus"],
        "documents": read.audit.documents,
        "queries": len(read.topics),
        "positives of a query": {
            "least": min(positives, default=0),
            "mean": round(float(np.mean(positives)), 2) if positives else 0.0,
            "most": max(positives, default=0),
        },
        "judged": dict(read.audit.judged),
        "texts": dict(sorted(Counter(one.origin for one in made.texts.values()).items())),
        "queries from": dict(sorted(Counter(draft.source for draft in made.drafts).items())),
        "licences of the papers": dict(licences.most_common(10)),
        "steps": [
            {"step": one.name, "queries": one.queries, "dropped": one.dropped, "found": one.found}
            for one in steps
        ],
        "verdict": list(verdict),
        "audit": list(read.audit.problems),
    }
    return _page(recipe, facts), json.dumps(facts, ensure_ascii=False, indent=2) + "\n"


def _page(recipe: BuildRecipe, facts: dict[str, Any]) -> str:
    few = facts["positives of a query"]
    made_up = any(one["found"].get("replies") == "simulated" for one in facts["steps"])
    lines = [
        f"# {recipe.name}",
        "",
        *([recipe.about.strip(), ""] if recipe.about else []),
        f"{facts['queries']:,} queries over {facts['documents']:,} documents; {few['least']} to "
        f"{few['most']} relevant documents a query, {few['mean']} on average. A pair that is not listed is "
        "unjudged, not irrelevant.",
        "",
        f"Queries come from: {_counts(facts['queries from'])}. Documents whose text is not the library's: "
        f"{_counts(facts['texts']) or 'none'}.",
        "",
        f"Licences that the papers state: {_counts(facts['licences of the papers'])}. Whoever passes the "
        "set on passes on their texts.",
        "",
        f"Recipe {facts['recipe hash']}, seed {recipe.seed}, corpus {facts['corpus hash'][:12]}; the same "
        "library and recipe give the same files.",
        "",
        *(
            ["*simulated*: a scripted model answered, and nothing measured here counts.", ""]
            if made_up
            else []
        ),
        "| step | queries after it | left out |",
        "|:--|--:|:--|",
        *(f"| {one['step']} | {one['queries']:,} | {_counts(one['dropped'])} |" for one in facts["steps"]),
        "",
        *(
            f"- {one['step']}: {what}: {told}"
            for one in facts["steps"]
            for what, told in one["found"].items()
        ),
        *(f"- {problem}" for problem in (*facts["verdict"], *facts["audit"])),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _counts(held: dict[str, int]) -> str:
    return ", ".join(f"{times:,} {what}" for what, times in held.items())
