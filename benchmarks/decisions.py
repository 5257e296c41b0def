"""What decisions are worth that join the question (simulated): writes the rows of docs/results/decisions.md.

A question is a seed, its pool the judged papers. The hybrid ranks the pool, the first papers are decided from
the judgements and taken out, and the rest is ranked again with each setting of the stage ``feedback``.

    python benchmarks/decisions.py aspect-pairs DATA/aspect-pairs/med --library FOLDER --topics 60

A library of the collection is made in FOLDER where there is none; its decisions are changed.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Collection, Mapping
from math import log2
from pathlib import Path
from statistics import mean, stdev

from aspectra.app.library import Library, create_library
from aspectra.base.values import replace
from aspectra.lab.benchmarks.protocol import BENCHMARKS, Topic

RECIPE, DECIDED, DEPTH = "hybrid", 10, 20
SETTINGS = (
    "feedback",
    "feedback(papers=3,decided=yes)",
    *(f"feedback(papers=10,weight={weight},decided=yes)" for weight in (0.25, 0.5, 1.0)),
    *(f"feedback(papers=10,decided=yes,against={against})" for against in (0.1, 0.25)),
)


def gain(ranked: Collection[str], grades: Mapping[str, float]) -> float:
    """Return nDCG with gain 2^g - 1, of the first :data:`DEPTH`."""

    def summed(gains: list[float]) -> float:
        return sum(one / log2(rank + 2) for rank, one in enumerate(gains[:DEPTH]))

    best = summed(sorted((2 ** max(0.0, g) - 1 for g in grades.values()), reverse=True))
    return summed([2 ** max(0.0, grades.get(one, 0.0)) - 1 for one in ranked]) / best


def ranked(library: Library, seed: str, pool: Collection[str], recipe: str) -> list[str]:
    """The pool in the order of a recipe."""
    plan = library.plan(seeds=[seed], recipe=recipe, limit=len(pool), versions="all", evidence=0)
    return library.run(replace(plan, within=tuple(sorted(pool)))).ids


def question(library: Library, topic: Topic, grades: Mapping[str, float], right: float) -> list[float] | None:
    """Return nDCG of the rest: plain, then of each setting; None where nothing can be said."""
    known = library.searcher.index.positions
    held = {paper: grade for paper, grade in grades.items() if paper in known}
    if topic.seed not in known or not held:
        return None
    plain = [one for one in ranked(library, topic.seed, held, RECIPE) if one in held]
    judged = plain[:DECIDED]
    included = [one for one in judged if held[one] >= right]
    rest = {paper: grade for paper, grade in held.items() if paper not in judged}
    if not included or not any(grade >= right for grade in rest.values()):
        return None
    for decision in ("exclude", "include"):
        if chosen := [one for one in judged if (one in included) == (decision == "include")]:
            library.marks.decide(decision, *chosen)
    runs = [plain, *(ranked(library, topic.seed, held, f"{RECIPE} | {one}") for one in SETTINGS)]
    library.marks.decide("", *judged)
    return [gain([one for one in run if one in rest], rest) for run in runs]


def main() -> None:
    """Print the table of one collection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("benchmark", choices=("csfcube", "aspect-pairs"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--topics", type=int, default=1000)
    given = parser.parse_args()
    loaded = BENCHMARKS.get(given.benchmark)(given.folder)
    right, least = (2, 0) if given.benchmark == "csfcube" else (1, 5)
    gold = loaded.qrels["gold"]
    topics = [
        topic
        for topic in sorted(loaded.topics, key=lambda one: one.id)
        if sum(g >= right for g in gold[topic.id].values()) >= least
        and sum(g < right for g in gold[topic.id].values()) >= least
    ]
    random.Random(1).shuffle(topics)
    with create_library(given.library) as library:
        if not len(library):
            with library.store.writing("add") as writer:
                writer.add(loaded.papers())
        library.index()
        asked = [question(library, one, gold[one.id], right) for one in topics[: given.topics]]
    rows = [one for one in asked if one is not None]
    print(f"{loaded.name}: {len(rows)} of {len(asked)} questions")
    for number, name in enumerate((RECIPE, *SETTINGS)):
        gained = [row[number] - row[0] for row in rows]
        width = 1.96 * stdev(gained) / len(gained) ** 0.5
        print(f"{mean(row[number] for row in rows):.3f}  {mean(gained):+.3f} ± {width:.3f}  {name}")


if __name__ == "__main__":
    main()
