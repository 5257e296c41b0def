"""What is left of a reranking when the judge errs: every judge with every sorter that fits, *simulated*.

    python benchmarks/rerank_map.py CSFCUBE_FOLDER [--depth 50] [--from values.json]

The judge is an oracle that knows the relevance judgements and errs, favours a place, or replies badly, at a
chosen rate, one at a time. BM25 ranks each pool of the development half; its first papers are reranked.
Columns: mean NDCG%20 (x100) by rate, calls a query at error 0. Needs a copy of the data set (CC BY-NC 4.0,
not part of this project) and matplotlib (extra ``plot``). No language model is called: this is a map of
methods, not of models.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ranking import rankings

from aspectra.lab.benchmarks.protocol import BENCHMARKS, Benchmark
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.experiment import BASE_MODE, benchmark_library
from aspectra.lab.simulation.oracle import Oracle
from aspectra.search.rerank.judges.protocol import JUDGES
from aspectra.search.rerank.method import Method, fits
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.rerank.rerank import rerank
from aspectra.search.rerank.sorters.protocol import SORTERS
from aspectra.views.settings import IndexSettings

MEASURE = "NDCG%20"
SETTINGS: dict[str, dict[str, float]] = {
    "error 0 %": {},
    **{f"error {p} %": {"error": p / 100} for p in (10, 20, 30, 40)},
    **{f"place {p} %": {"bias": p / 100} for p in (10, 20, 30)},
    **{f"bad {p} %": {"malformed": p / 100} for p in (10, 20, 30)},
}


def first_stage(benchmark: Benchmark) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Each topic's pool in BM25's order, and the text of every paper."""
    with tempfile.TemporaryDirectory() as folder:
        settings = IndexSettings(encoders=(), lenses=())
        searcher = benchmark_library(benchmark, Path(folder) / "library", settings)
        runs = rankings("bm25", benchmark, searcher, "pool")[BASE_MODE]
    texts = {paper.id: f"{paper.title}. {paper.abstract}" for paper in benchmark.papers()}
    return {topic: list(run) for topic, run in runs.items()}, texts


def score(benchmark: Benchmark, orders: Mapping[str, list[str]]) -> float:
    """Mean of the measure, x100."""
    runs = {topic: {doc: -float(rank) for rank, doc in enumerate(order)} for topic, order in orders.items()}
    return 100 * (evaluate([MEASURE], benchmark.qrels["gold"], runs)[MEASURE].mean or 0.0)


async def one(
    method: Method,
    oracle: Oracle,
    benchmark: Benchmark,
    orders: dict[str, list[str]],
    texts: dict[str, str],
    depth: int,
) -> tuple[float, float, float]:
    """Quality, calls a query, and the share of queries whose result is degraded."""
    found, calls, degraded = {}, 0, 0
    for topic in benchmark.topics:
        question = Question(texts[topic.seed], topic.aspect)
        papers = [Candidate(doc, texts[doc]) for doc in orders[topic.id]]
        model = oracle.about(benchmark.qrels["gold"][topic.id])
        result = await rerank(question, papers, method, model, depth=depth)
        found[topic.id] = list(result.order)
        calls += result.tally.cost.calls
        degraded += result.tally.degraded
    count = len(benchmark.topics)
    return score(benchmark, found), calls / count, degraded / count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    parser.add_argument("--json", type=Path, help="also write the values here")
    parser.add_argument("--from", dest="made", type=Path, help="take values of an earlier run")
    options = parser.parse_args()
    benchmark = BENCHMARKS.get("csfcube")(options.data)
    orders, texts = first_stage(benchmark)
    ceiling = {
        topic: sorted(order[: options.depth], key=lambda doc, t=topic: -benchmark.qrels["gold"][t][doc])
        + order[options.depth :]
        for topic, order in orders.items()
    }
    if options.made:
        rows = json.loads(options.made.read_text("utf-8"))
        write(rows, benchmark, orders, ceiling, options)
        return
    # Judges without a language model do not err by a rate.
    judges = [JUDGES.get(name)() for name in JUDGES if name not in ("cross-encoder", "transport")]
    sorters = [SORTERS.get(name)() for name in SORTERS]
    methods = [Method(judge, sorter) for judge in judges for sorter in sorters if fits(judge, sorter)]
    rows = []
    for method in methods:
        row: dict[str, Any] = {"method": str(method)}
        started = time.perf_counter()
        for label, rates in SETTINGS.items():
            oracle = Oracle({}, **rates, seed=options.seed)
            value, calls, degraded = asyncio.run(one(method, oracle, benchmark, orders, texts, options.depth))
            row[label] = round(value, 2)
            row.setdefault("calls", round(calls, 1))
            row.setdefault("degraded", {})[label] = round(degraded, 3)
        rows.append(row)
        print(f"{method} {time.perf_counter() - started:.0f} s", file=sys.stderr)
    write(rows, benchmark, orders, ceiling, options)


def write(
    rows: list[dict[str, Any]],
    benchmark: Benchmark,
    orders: dict[str, list[str]],
    ceiling: dict[str, list[str]],
    options: argparse.Namespace,
) -> None:
    """The table, the figure, and the values if they are wanted."""
    text = "\n".join(
        [
            "| method | calls | " + " | ".join(SETTINGS) + " |",
            "|:--|--:|" + "--:|" * len(SETTINGS),
            *(
                f"| {row['method']} | {row['calls']:,.0f} | "
                + " | ".join(f"{row[label]:.1f}" for label in SETTINGS)
                + " |"
                for row in rows
            ),
            "",
            f"*Simulated.* {MEASURE} x100, mean of {len(benchmark.topics)} query-facet pairs; the first"
            f" {options.depth} of each BM25 pool reranked. BM25: {score(benchmark, orders):.1f}; best order"
            f" of these: {score(benchmark, ceiling):.1f}. Oracle seed {options.seed}.",
        ]
    )
    print(text)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    picture = options.out / "figures" / "rerank-map.svg"
    title = (
        "# Reranking when the judge errs [simulated]\n\n![NDCG by rate of error](figures/rerank-map.svg)\n"
    )
    (options.out / "rerank-map.md").write_text(f"{title}\n{text}\n", "utf-8")
    figure(rows, picture, score(benchmark, orders))


def figure(rows: list[dict[str, Any]], path: Path, floor: float) -> None:
    """One panel a kind of failing; a colour for each judge, a line for each sorter."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "rerank-map"
    from matplotlib import pyplot as plt

    kinds = {"error": (0, 10, 20, 30, 40), "place": (0, 10, 20, 30), "bad": (0, 10, 20, 30)}
    titles = {"error": "wrong answers", "place": "answers by place", "bad": "malformed replies"}
    judges = list(dict.fromkeys(row["method"].partition("+")[0] for row in rows))
    sorters = list(dict.fromkeys(row["method"].partition("+")[2] for row in rows))
    colours = plt.get_cmap("tab10")
    dashes = ["-", "--", "-.", ":", (0, (1, 1)), (0, (5, 1)), (0, (3, 1, 1, 1))]
    drawn, axes = plt.subplots(1, 3, figsize=(12, 4.6), sharey=True)
    for axis, (kind, rates) in zip(axes, kinds.items(), strict=True):
        for row in rows:
            judge, _, sorter = row["method"].partition("+")
            values = [row[f"{kind} {rate} %" if rate else "error 0 %"] for rate in rates]
            style = {
                "color": colours(judges.index(judge)),
                "linestyle": dashes[sorters.index(sorter) % len(dashes)],
            }
            axis.plot(rates, values, linewidth=1.2, label=row["method"], **style)
        axis.axhline(floor, color="black", linewidth=0.8)
        axis.annotate("BM25", (0, floor), (2, 3), textcoords="offset points", fontsize=8)
        axis.set_xlabel(f"{titles[kind]}, %")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"{MEASURE} x100, simulated")
    handles, labels = axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, ncol=5, fontsize=7, loc="lower center")
    drawn.suptitle("Simulated: an oracle that errs reranks CSFCube's development pools", fontsize=10)
    drawn.tight_layout(rect=(0, 0.16, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(path, metadata={"Date": None})
    plt.close(drawn)


if __name__ == "__main__":
    main()
