"""How quick are the scorers between units, beside a plain loop and POT?

    python benchmarks/bench_matching.py [--papers 2000] [--rows 8] [--query-rows 4] [--threads 1]

Made-up float16 vectors with cosines like those of sentences of one field, already gathered; papers have
2 to twice ``--rows`` rows less 2, so that padding is paid for. Systems take turns; of each the median turn
counts. POT solves one paper at a time at the same final epsilon, without annealing, to the same tolerance.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

GOALS = {"single_match": 12.0, "max_sim": 12.0, "transport": 80.0}


def unit(rows: Any) -> Any:
    import numpy as np

    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--papers", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--query-rows", type=int, default=4)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    # Read when numpy is imported, so it comes first.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    import numpy as np
    import ot

    from aspectra.views.dense.matching import max_sim, single_match, transport

    rng = np.random.default_rng(7)
    wide, papers = options.dimensions, options.papers
    counts = rng.integers(2, 2 * options.rows - 1, papers)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    field, topics = rng.normal(size=wide), rng.normal(size=(papers, wide))
    rows = np.repeat(topics, counts, axis=0) * 0.8 + rng.normal(size=(offsets[-1], wide)) + 0.6 * field
    rows = unit(rows).astype(np.float16)
    query = unit(topics[0] * 0.8 + rng.normal(size=(options.query_rows, wide)) + 0.6 * field)
    query = query.astype(np.float32)
    soft = rng.random(len(rows)).astype(np.float32), rng.random(len(query)).astype(np.float32)

    def each() -> Any:
        for start, end in itertools.pairwise(offsets):
            yield query @ rows[start:end].astype(np.float32).T

    def loop_single() -> Any:
        return np.array([cells.max() for cells in each()])

    def loop_max_sim() -> Any:
        return np.array([cells.max(axis=1).mean() for cells in each()])

    def problem(cells: Any) -> tuple[Any, Any, Any]:
        costs = np.sqrt(np.maximum(2.0 - 2.0 * cells, 0.0)).astype(np.float64)
        left, right = np.exp(-costs.min(axis=1)), np.exp(-costs.min(axis=0))
        return left / left.sum(), right / right.sum(), costs

    def pot_single() -> Any:
        out = []
        for cells in each():
            left, right, costs = problem(cells)
            plan = ot.bregman.sinkhorn_log(left, right, costs, 0.05, stopThr=1e-5, numItermax=2000)
            out.append(-(plan * costs).sum())
        return np.array(out)

    systems: dict[str, Callable[[], Any]] = {
        "single_match": lambda: single_match(query, rows, offsets).scores,
        "single_match, soft weights": lambda: single_match(query, rows, offsets, soft[1], soft[0]).scores,
        "single_match, plain loop": loop_single,
        "max_sim": lambda: max_sim(query, rows, offsets).scores,
        "max_sim, plain loop": loop_max_sim,
        "transport": lambda: transport(query, rows, offsets).scores,
        "transport, soft weights": lambda: transport(query, rows, offsets, soft[1], soft[0]).scores,
        "transport, POT paper by paper": pot_single,
    }
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    results = {}
    for turn in range(options.turns + 1):
        for name, system in systems.items():
            if turn > 3 and ("loop" in name or "POT" in name):  # slow: a few turns are enough
                continue
            began = time.perf_counter()
            results[name] = system()
            if turn:  # the first warms caches and thread pools
                seconds[name].append(time.perf_counter() - began)
    print(
        f"{papers:,} papers, {len(rows):,} rows (float16), {len(query)} query rows, {wide} dimensions, "
        f"{options.threads} thread{'s' * (options.threads > 1)}, medians\n"
    )
    print("| scorer | ms | goal | met | quickest |\n|---|---|---|---|---|")
    for name, turns in seconds.items():
        middle, quickest = statistics.median(turns) * 1e3, min(turns) * 1e3
        limit = GOALS.get(name)
        met = "" if limit is None else "yes" if middle <= limit else "no"
        goal = "" if limit is None else f"<= {limit:.0f}"
        print(f"| {name} | {middle:.1f} | {goal} | {met} | {quickest:.1f} |")
    print()
    for name, peer in (
        ("single_match", "single_match, plain loop"),
        ("max_sim", "max_sim, plain loop"),
        ("transport", "transport, POT paper by paper"),
    ):
        print(f"{name}: largest difference to {peer}: {np.abs(results[name] - results[peer]).max():.1e}")


if __name__ == "__main__":
    main()
