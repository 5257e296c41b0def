"""Search speed on a large library, beside raw bm25s and the machine's own limits, in one run.

    python benchmarks/bench_search.py --library FOLDER [--queries 200] [--sizes 2000 10000 30000]

The library must be indexed with the default encoder. Everything is measured here and now: nothing is
compared with numbers from elsewhere. Prints a Markdown table and, with --json FILE, writes the rows.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import bm25s
import numpy as np
import Stemmer

from aspectra.papers.library.store import Store
from aspectra.search.conditions.condition import Condition
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.build.work import settings_of
from aspectra.views.encoders.transformer.network import available_cores
from aspectra.views.lenses.protocol import default_lenses
from aspectra.views.settings import IndexSettings
from aspectra.views.view import Probe

Rows = list[tuple[str, str, str, bool | None]]


def timed(call: Callable[[str], object], value: str) -> float:
    """Milliseconds of one call."""
    clock = perf_counter()
    call(value)
    return 1000 * (perf_counter() - clock)


def p50(call: Callable[[str], object], inputs: list[str]) -> float:
    """Median milliseconds of one call, after a warm-up on the first five inputs."""
    for value in inputs[:5]:
        call(value)
    return statistics.median(timed(call, value) for value in inputs)


def paired(
    plain: Callable[[str], object], other: Callable[[str], object], inputs: list[str]
) -> tuple[float, float]:
    """Median milliseconds of two calls in turn, on inputs of their own: both see the same machine."""
    for value in inputs[:4]:
        plain(value)
        other(value)
    turns = [(timed(plain, a), timed(other, b)) for a, b in zip(inputs[4::2], inputs[5::2], strict=False)]
    before, after = zip(*turns, strict=True)
    return statistics.median(before), statistics.median(after)


def read_bandwidth() -> float:
    """GB/s that all cores together read from memory (dot products over arrays larger than the caches)."""
    cores = available_cores()
    arrays = [np.ones(64 * 2**20, dtype=np.float32) for _ in range(cores)]
    best = 0.0
    with ThreadPoolExecutor(cores) as pool:
        for _ in range(6):
            clock = perf_counter()
            list(pool.map(lambda a: float(a @ a), arrays))
            best = max(best, sum(a.nbytes for a in arrays) / (perf_counter() - clock) / 1e9)
    return best


def cold_search(folder: Path, query: str) -> tuple[float, float]:
    """(seconds, peak MB) of `aspectra search` in a fresh process; files are in the page cache."""
    code = (
        "import resource, subprocess, sys, time; t = time.perf_counter();"
        "p = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000;"
        "print(time.perf_counter() - t, peak, p.returncode)"
    )
    command = [sys.executable, "-m", "aspectra", "search", query, "--library", str(folder)]
    out = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    seconds, peak, status = out.stdout.split()
    if status != "0":
        raise SystemExit(f"`aspectra search` ended with {status}")
    return float(seconds), float(peak)


def subset(source: Store, count: int, folder: Path) -> Store:
    """A library of the first ``count`` papers with the vectors the source has cached."""
    made = Store.create(folder)
    ids = source.ids()[:count]
    with made.writing("add") as writer:
        writer.add(source.get_many(ids).values())
    with made.writing("vectors") as writer:
        writer.derived.copy(source.derived, "abstract", "sentences", "sentences-apart")
        writer.derived.collect()
    return made


def guidance(searcher: Searcher, titles: list[str], seeds: list[str]) -> Rows:
    """What aspects and conditions cost beside the plain hybrid; every query is a new one, as users' are."""
    spellings = (
        "prefer source=scholarly",
        "avoid length=article",
        "require language=en",
        "prefer keyword=model",
    )
    conditions = [Condition.parse(spelling) for spelling in spellings]
    # Words of other titles, so that no phrase was prepared for an earlier query.
    phrases = iter([" ".join(re.findall("[A-Za-z]{4,}", title)[:2]) or "deep learning" for title in titles])

    def excluding(seed: str) -> object:
        without = Condition("topic", next(phrases), "exclude")
        return searcher.similar(
            seed, same=["method"], different=["result"], conditions=[*conditions[:3], without]
        )

    ways: list[tuple[str, list[str], Callable[[str], object], Callable[[str], object]]] = [
        (
            "seed query, same method and different result",
            seeds,
            lambda s: searcher.similar(s, recipe="hybrid"),
            lambda s: searcher.similar(s, same=["method"], different=["result"]),
        ),
        (
            "title as query, four conditions",
            titles,
            lambda t: searcher.search(t, recipe="hybrid", literal=True),
            lambda t: searcher.search(t, conditions=conditions, literal=True),
        ),
        (
            "seed query, aspects and four conditions",
            seeds,
            lambda s: searcher.similar(s, recipe="hybrid"),
            lambda s: searcher.similar(s, same=["method"], different=["result"], conditions=conditions),
        ),
        (
            "seed query, aspects and four conditions, one an exclusion in free words",
            seeds,
            lambda s: searcher.similar(s, recipe="hybrid"),
            excluding,
        ),
    ]
    rows: Rows = []
    share = len(seeds) // (2 * len(ways))
    for number, (name, inputs, plain, guided) in enumerate(ways):
        mine = inputs[2 * number * share : 2 * (number + 1) * share]
        before, after = paired(plain, guided, mine)
        text = f"{after:.1f} ms, plain hybrid {before:.1f} ms: {after / before:.2f}x"
        rows.append((f"{name}, p50", text, "<= 1.5x", after / before <= 1.5))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="*", default=[2000, 10_000, 30_000])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    library = Store(options.library)
    searcher = Searcher(library)
    index = searcher.index
    random.seed(0)
    chosen = random.sample(index.ids, options.queries)
    papers = library.get_many(chosen, full=False)
    titles = [papers[i].title for i in chosen]
    abstracts = [papers[i].abstract for i in chosen]
    rows: Rows = []

    # Fresh processes first: this one has not yet filled the memory.
    cold = [cold_search(options.library, titles[n]) for n in range(5)]
    seconds = statistics.median(c[0] for c in cold)
    rows.append(("cold `aspectra search`, median of 5", f"{seconds:.2f} s", "<= 1.0 s", seconds <= 1.0))
    rows.append(("its peak memory", f"{max(c[1] for c in cold):.0f} MB", "", None))

    # Ours alone in this process so far: peers and the machine's limits are measured when its peak is known.
    for name, inputs, goal in (("title", titles, 40), ("abstract", abstracts, 60)):
        time = p50(lambda text: searcher.search(text, limit=10, literal=True), inputs)
        rows.append(
            (f"hybrid with evidence, {name} as query, p50", f"{time:.1f} ms", f"<= {goal} ms", time <= goal)
        )
    time = p50(lambda seed: searcher.similar(seed, limit=10), chosen)
    rows.append(("seed query with evidence, p50", f"{time:.1f} ms", "", None))
    rows += guidance(searcher, titles, chosen)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows.append(("peak memory of the queries above", f"{peak:.2f} GB", "<= 1.5 GB", peak <= 1.5))

    bandwidth = read_bandwidth()
    rows.append(("read bandwidth of this machine, all cores", f"{bandwidth:.1f} GB/s", "", None))

    stemmer = Stemmer.Stemmer("english")
    engine = bm25s.BM25()
    texts = [f"{paper.title}\n{paper.abstract}" for paper in library.papers("none")]
    engine.index(bm25s.tokenize(texts, stemmer=stemmer, show_progress=False), show_progress=False)
    del texts

    def raw(text: str) -> object:
        tokens = bm25s.tokenize(text, stemmer=stemmer, show_progress=False)
        return engine.retrieve(tokens, k=10, show_progress=False)

    def through_plan(text: str) -> object:
        return searcher.result(searcher.plan(Query(text, evidence=0, versions="all", literal=True), "bm25"))

    for name, inputs in (("title", titles), ("abstract", abstracts)):
        ours, theirs = p50(through_plan, inputs), p50(raw, inputs)
        ratio = ours / theirs
        text = f"{ours:.2f} ms, raw bm25s {theirs:.2f} ms: {ratio:.2f}x"
        rows.append((f"BM25 through a plan, {name} as query, p50", text, "<= 2.5x", ratio <= 2.5))

    view = index.view(f"abstract@{index.default_encoder()}")
    vectors = view.query_vectors(Probe(view.name, text=titles[0]))
    matrix = view.vectors.whole()

    def product(_: str) -> object:
        return matrix @ vectors[0]

    # The limit above is the best of several tries, so the product's best is held against it.
    time = p50(product, titles)
    quickest = min(timed(product, "") for _ in range(100))
    rate = matrix.nbytes / quickest / 1e6
    share = 100 * rate / bandwidth
    text = f"best {quickest:.1f} ms, {rate:.1f} GB/s: {share:.0f} % of the bandwidth; p50 {time:.1f} ms"
    rows.append((f"dense exact, {len(matrix):,} x {matrix.shape[1]}", text, ">= 70 %", share >= 70))

    sizes, costs = [], []
    with tempfile.TemporaryDirectory() as temporary:
        for count in [*options.sizes, len(index)]:
            if count < len(index):
                part = subset(library, count, Path(temporary) / str(count))
                build_index(part, settings_of(library))
                small = Searcher(part)
            else:
                small = searcher
            sizes.append(len(small.index))
            # Encoding a query costs the same at any size: remembered vectors leave only the search.
            for title in titles:
                small.search(title, limit=10, literal=True)
            costs.append(p50(lambda text, s=small: s.search(text, limit=10, literal=True), titles))
        text = ", ".join(f"{s:,}: {c:.1f} ms" for s, c in zip(sizes, costs, strict=True))
        if len(sizes) > 1:
            slope, base = np.polyfit(sizes, costs, 1)
            text += f"; fit {base:.1f} ms + {1e5 * slope:.1f} ms per 100,000 papers"
        rows.append(("hybrid against corpus size, query vector known", text, "", None))

        ten = subset(library, min(10_000, len(index)), Path(temporary) / "unchanged")
        build_index(ten, settings_of(library))
        clock = perf_counter()
        report = build_index(ten)
        seconds = perf_counter() - clock
        if report.changed:
            raise SystemExit("an index without changes was built again")
        rows.append(
            (f"index without changes, {len(ten):,} papers", f"{seconds:.2f} s", "<= 5 s", seconds <= 5)
        )

        fresh = Store.create(Path(temporary) / "fresh")
        clock = perf_counter()
        with fresh.writing("add") as writer:
            writer.add(library.papers())
        added = perf_counter() - clock
        report = build_index(fresh, IndexSettings(encoders=(), chunks=()))
        built = sum(report.seconds.values())
        seconds = added + built
        text = f"{seconds:.1f} s (add {added:.1f}, index with {len(default_lenses())} lenses {built:.1f})"
        rows.append((f"library of {len(fresh):,} papers without encoding", text, "<= 60 s", seconds <= 60))
        report = build_index(fresh, IndexSettings(encoders=(), chunks=(), lenses=()), rebuild=True)
        built = sum(report.seconds.values())
        text = f"{added + built:.1f} s (add {added:.1f}, index {built:.1f})"
        rows.append(("the same without lenses", text, "", None))

    print("| what | measured | goal | met |\n|---|---|---|---|")
    for what, measured, goal, met in rows:
        print(f"| {what} | {measured} | {goal} | {'' if met is None else 'yes' if met else 'no'} |")
    if options.json:
        options.json.write_text(json.dumps([list(map(str, row)) for row in rows], indent=1))


if __name__ == "__main__":
    main()
