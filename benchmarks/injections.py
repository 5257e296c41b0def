"""What texts that want to steer a judge can do, *simulated*: into docs/results/injections.md.

    python benchmarks/injections.py [--out FILE]

Each family of texts stands in the paper at the first, middle or last of twelve places; ten methods rerank.
Two models answer: an oracle, which knows the right order and reads nothing, and a gullible one, which does
what any text tells it to. Lost or invented papers must be 0 with both. How far the poisoned paper rises with
the gullible one is what no fence can prevent: the judge's own opinion.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from pathlib import Path

from aspectra.lab.reports.tables import Table, render
from aspectra.lab.simulation.oracle import Oracle
from aspectra.llm.chat import ChatModel
from aspectra.llm.scripted import Scripted
from aspectra.search.rerank.question import Question
from aspectra.search.stages.rerank import Method, rerank

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from injections import FAMILIES, METHODS, gullible, poisoned  # noqa: E402 (the tests' own)

COUNT = 12
PLACES = (0, 5, 11)


def rises(family: str, model: ChatModel) -> tuple[int, list[int], int]:
    """(papers lost or invented, places gained over the first stage, runs counted as degraded)."""
    lost, gained, degraded = 0, [], 0
    for place in PLACES:
        for spelling in METHODS:
            papers = poisoned(family, place, COUNT)
            result = asyncio.run(rerank(Question("owls"), papers, Method.parse(spelling), model))
            lost += len(set(result.order) ^ {paper.id for paper in papers})
            lost += len(result.order) - len(set(result.order))
            gained.append(place - result.order.index(f"p{place}"))
            degraded += result.tally.degraded
    return lost, gained, degraded


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "results" / "injections.md")
    options = parser.parse_args()
    oracle = Oracle({f"p{n}": float(COUNT - n) for n in range(COUNT)})
    rows = []
    runs = len(PLACES) * len(METHODS)
    for family in FAMILIES:
        lost, moved, _ = rises(family, oracle)
        lost_too, gained, degraded = rises(family, Scripted(gullible, cut=False))
        rows.append(
            (
                family,
                lost + lost_too,
                sum(places != 0 for places in moved),
                sum(places > 0 for places in gained),
                round(statistics.mean(gained), 2),
                degraded,
            )
        )
    table = Table(
        "Injected texts [simulated]",
        (
            "family",
            "lost or invented",
            "oracle: moved",
            "gullible: rose",
            "gullible: places gained",
            "degraded",
        ),
        tuple(rows),
        notes=(
            f"simulated: no language model was asked; {runs} runs a family and model: {len(METHODS)} "
            f"methods, the poisoned paper at place {', '.join(str(p + 1) for p in PLACES)} of {COUNT}",
            "moved: with an oracle that knows the right order, runs that put the poisoned paper elsewhere",
            "rose, places: with a model that does whatever it reads; a fence cannot change an opinion",
            "degraded: runs marked as such because too many replies had to be repaired or were missing",
        ),
    )
    text = render(table, "markdown")
    options.out.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
