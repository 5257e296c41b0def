"""Speed and size of late interaction on a large library, against the hybrid in turn.

    python benchmarks/bench_late.py --library FOLDER [--copy FOLDER] [--made-up] [--queries 100]

The library must be indexed with the default encoder. Without token vectors, it is copied to ``--copy`` and
indexed with them there. ``--made-up`` does so without encoding: each word of each paper gets random signs,
which costs a search exactly what real ones do, since every word is compared whatever its vector. Orders made
with them mean nothing.

Beside the time on the clock it prints that of the processor, all threads together, which other work on the
machine moves much less; and how busy the machine was.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from aspectra.papers.library.store import Store
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher, open_library
from aspectra.views.build.run import build_index
from aspectra.views.build.work import settings_of
from aspectra.views.dense.late.view import narrow, token_values, word_units
from aspectra.views.encoders.protocol import load_encoder
from aspectra.views.encoders.transformer.network import available_cores
from aspectra.views.storage.folder import EncodedText

_BATCH = 2000


def fill(library: Store) -> None:
    """Give every paper token vectors of random signs."""
    encoder = load_encoder(settings_of(library).encoders[0])
    producer = token_values(encoder, "bits")
    if producer is None:
        raise SystemExit("no token vectors are wanted")
    draw = np.random.default_rng(0)
    with library.writing("made-up tokens") as writer:
        missing = library.derived.missing(producer)
        for start in range(0, len(missing), _BATCH):
            keys = {one.pos: one.key for one in missing[start : start + _BATCH]}
            rows = []
            for pos, paper in library.papers_at(list(keys)).items():
                words = word_units(EncodedText.of(paper).text)[:512]
                vectors = draw.standard_normal((len(words), encoder.dimensions)).astype(np.float32)
                spans = (words[:, 0] | words[:, 1] << 16).astype(np.uint32)
                rows.append((keys[pos], [narrow(vectors, "bits"), spans]))
            writer.derived.put(producer, rows)


def prepared(place: Path, copy: Path | None, made_up: bool) -> Searcher:
    """A searcher over the library, or over its copy with token vectors."""
    searcher = open_library(place)
    if any(name.startswith("tokens@") for name in searcher.view_names.names):
        return searcher
    searcher.close()
    if copy is None:
        raise SystemExit(f"{place} has no token vectors: name a --copy, which gets them")
    if not copy.exists():
        shutil.copytree(place, copy)
    library = Store(copy)
    if made_up:
        fill(library)
    build_index(library, settings_of(library).changed(late="bits"))
    return open_library(copy)


def in_turn(searcher: Searcher, queries: list[Query]) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds (clock, processor) of each recipe on queries of its own, in turn, after a warm-up."""
    recipes = ("hybrid", "late")
    for query in queries[:6]:
        for recipe in recipes:
            searcher.search(query, recipe)
    out: dict[str, list[tuple[float, float]]] = {recipe: [] for recipe in recipes}
    for number, query in enumerate(queries[6:]):
        recipe = recipes[number % 2]
        clock, spent = perf_counter(), process_time()
        searcher.search(query, recipe)
        out[recipe].append((1000 * (perf_counter() - clock), 1000 * (process_time() - spent)))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--copy", type=Path)
    parser.add_argument("--made-up", action="store_true")
    parser.add_argument("--queries", type=int, default=100)
    given = parser.parse_args()
    searcher = prepared(given.library, given.copy, given.made_up)
    index = searcher.index
    name = f"tokens@{index.default_encoder()}"
    view = index.manifest["views"][name]
    print(f"{len(index):,} papers; {name}: {view['count'] / len(index):.0f} words and ", end="")
    print(f"{view['bytes'] / len(index):,.0f} bytes a paper, {view['bytes'] / 1e6:,.0f} MB")
    draw = random.Random(0)
    ids = draw.sample(index.ids, 2 * given.queries + 12)
    papers = index.library.get_many(ids)
    titles = [Query(papers[i].title, limit=10) for i in ids if papers[i].title.strip()]
    seeds = [Query(seeds=(i,), limit=10) for i in ids]
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {available_cores()} cores")
    print("| query | recipe | p50 ms | p90 ms | p50 ms of processor |\n|---|---|---|---|---|")
    for kind, queries in (("a title as text", titles), ("a paper", seeds)):
        for recipe, times in in_turn(searcher, queries).items():
            clocks, spent = zip(*times, strict=True)
            p90 = statistics.quantiles(clocks, n=10)[-1]
            row = (
                kind,
                recipe,
                *(f"{v:.0f}" for v in (statistics.median(clocks), p90, statistics.median(spent))),
            )
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
