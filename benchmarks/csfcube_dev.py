"""BM25, abstract vectors and the hybrid on the development half of CSFCube.

Prints NDCG%20 of pool re-ranking and NDCG@20 of the whole collection, so that every change is seen in a
number. Needs a copy of the data set (CC BY-NC 4.0, not part of this project):

    python benchmarks/csfcube_dev.py DATA_FOLDER [--library FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.papers.library.store import Store
from aspectra.papers.sources.detection import read_papers
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index

POOL, COLLECTION = "NDCG%20", "csfcube_ndcg@20"  # the data set's own DCG


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--library", type=Path, default=None)
    parser.add_argument("--planners", nargs="*", default=["bm25", "dense", "hybrid"])
    options = parser.parse_args()
    folder = options.library or Path(tempfile.mkdtemp()) / "library"
    library = Store.create(folder)
    with library.writing("add") as writer:
        writer.add(read_papers(options.data / "abstracts-csfcube-preds.jsonl.zst"))
    build_index(library)
    searcher = Searcher(library)
    everything = len(searcher.index)
    benchmark = BENCHMARKS.get("csfcube")(options.data)
    qrels = benchmark.qrels["gold"]
    labels = {t.id: {"facet": t.aspect} for t in benchmark.topics}
    facets = sorted({t.aspect for t in benchmark.topics})
    print(f"{everything:,} papers, {len(benchmark.topics)} query-facet pairs")
    print(f"{'plan':<10}{'pool NDCG%20':>14}{'coll. NDCG@20':>15}" + "".join(f"{f:>12}" for f in facets))
    for planner in options.planners:
        pool, collection = {}, {}
        for topic in benchmark.topics:
            query = Query(seeds=(topic.seed,), limit=everything, evidence=0, versions="all")
            ranked = list(searcher.result(searcher.plan(query, planner)).ids)
            rest = set(searcher.index.ids) - set(ranked) - {topic.seed}
            ranked += sorted(rest, reverse=True)  # what shares no word with the query
            collection[topic.id] = {doc: -float(place) for place, doc in enumerate(ranked)}
            graded = qrels[topic.id]
            pool[topic.id] = {doc: s for doc, s in collection[topic.id].items() if doc in graded}
        pooled = evaluate([POOL], qrels, pool)[POOL]
        whole = evaluate([COLLECTION], qrels, collection)[COLLECTION]
        means = [pooled.mean, whole.mean, *(v for v, _ in pooled.by(labels, "facet").values())]
        first, second, *parts = [100 * (m or 0.0) for m in means]
        print(f"{planner:<10}{first:>14.2f}{second:>15.2f}" + "".join(f"{m:>12.2f}" for m in parts))


if __name__ == "__main__":
    main()
