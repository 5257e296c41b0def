"""BM25, abstract vectors and the hybrid on the development half of CSFCube.

Prints NDCG%20 of pool re-ranking and NDCG@20 of the whole collection, so that every change is seen in a
number. Needs a copy of the data set (CC BY-NC 4.0, not part of this project):

    python benchmarks/csfcube_dev.py DATA_FOLDER [--library FOLDER]
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import tempfile
from pathlib import Path

from aspectra.papers.detect import read_papers
from aspectra.papers.library import Library
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build import build_index

FACETS = ("background", "method", "result")


def dcg(grades: list[float]) -> float:
    """The data set's own: positions 1 and 2 undiscounted, linear gain."""
    return sum(g / (math.log2(i) if i > 1 else 1.0) for i, g in enumerate(grades, start=1))


def ndcg(grades: list[float], ideal: list[float], cut: int) -> float:
    best = dcg(sorted(ideal, reverse=True)[:cut])
    return dcg(grades[:cut]) / best if best else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--library", type=Path, default=None)
    parser.add_argument("--planners", nargs="*", default=["bm25", "dense", "hybrid"])
    options = parser.parse_args()
    folder = options.library or Path(tempfile.mkdtemp()) / "library"
    library = Library.create(folder)
    with library.writing("add") as writer:
        writer.add(read_papers(options.data / "abstracts-csfcube-preds.jsonl.zst"))
    build_index(library)
    searcher = Searcher(library)
    everything = len(searcher.index)
    judged = {}
    for facet in FACETS:
        with gzip.open(options.data / f"test-pid2anns-csfcube-{facet}.json.gz") as stream:
            for seed, facts in json.load(stream).items():
                grades = dict(zip(facts["cands"], facts["relevance_adju"], strict=True))
                grades.pop(seed, None)
                judged[seed, facet] = grades
    print(f"{everything:,} papers, {len(judged)} query-facet pairs")
    print(f"{'plan':<10}{'pool NDCG%20':>14}{'coll. NDCG@20':>15}" + "".join(f"{f:>12}" for f in FACETS))
    for planner in options.planners:
        pool, collection, by_facet = [], [], {f: [] for f in FACETS}
        for (seed, facet), grades in judged.items():
            query = Query(seeds=(seed,), limit=everything, evidence=0, versions="all")
            order, _ = searcher.order(searcher.plan(query, planner))
            ranked = [searcher.index.ids[p] for p in order]
            shown = set(ranked)
            ranked += sorted((i for i in searcher.index.ids if i not in shown and i != seed), reverse=True)
            pooled = [grades[i] for i in ranked if i in grades]
            value = ndcg(pooled, list(grades.values()), int(0.2 * len(grades)))
            pool.append(value)
            by_facet[facet].append(value)
            collection.append(ndcg([grades.get(i, 0.0) for i in ranked], list(grades.values()), 20))
        means = [100 * sum(v) / len(v) for v in (pool, collection, *by_facet.values())]
        print(f"{planner:<10}{means[0]:>14.2f}{means[1]:>15.2f}" + "".join(f"{m:>12.2f}" for m in means[2:]))


if __name__ == "__main__":
    main()
