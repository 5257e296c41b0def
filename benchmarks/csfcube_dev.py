"""BM25, abstract vectors and the hybrid on the development half of CSFCube.

Prints NDCG%20 of pool re-ranking and NDCG@20 of the whole collection, so that every change is seen in a
number. Needs a copy of the data set (CC BY-NC 4.0, not part of this project):

    python benchmarks/csfcube_dev.py DATA_FOLDER [--library FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from ranking import rankings

from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.experiment import BASE_MODE, benchmark_library

POOL, COLLECTION = "NDCG%20", "csfcube_ndcg@20"  # the data set's own DCG


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--library", type=Path, default=None)
    parser.add_argument("--planners", nargs="*", default=["bm25", "dense", "hybrid"])
    options = parser.parse_args()
    benchmark = BENCHMARKS.get("csfcube")(options.data)
    folder = options.library or Path(tempfile.mkdtemp()) / "library"
    searcher = benchmark_library(benchmark, folder)
    qrels = benchmark.qrels["gold"]
    labels = {t.id: {"facet": t.aspect} for t in benchmark.topics}
    facets = sorted({t.aspect for t in benchmark.topics})
    print(f"{len(searcher.index):,} papers, {len(benchmark.topics)} query-facet pairs")
    print(f"{'plan':<10}{'pool NDCG%20':>14}{'coll. NDCG@20':>15}" + "".join(f"{f:>12}" for f in facets))
    for planner in options.planners:
        pool = rankings(planner, benchmark, searcher, "pool")[BASE_MODE]
        collection = rankings(planner, benchmark, searcher)[BASE_MODE]
        pooled = evaluate([POOL], qrels, pool)[POOL]
        whole = evaluate([COLLECTION], qrels, collection)[COLLECTION]
        means = [pooled.mean, whole.mean, *(v for v, _ in pooled.by(labels, "facet").values())]
        first, second, *parts = [100 * (m or 0.0) for m in means]
        print(f"{planner:<10}{first:>14.2f}{second:>15.2f}" + "".join(f"{m:>12.2f}" for m in parts))


if __name__ == "__main__":
    main()
