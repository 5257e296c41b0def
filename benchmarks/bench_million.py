"""A library of a million papers on one machine: seconds, memory and bytes of each step, and of searches.

    python benchmarks/bench_million.py --corpus papers.jsonl.zst --library DIR [--papers 1000000] [--vectors]

Real papers are tiled: each copy has an id of its own, three made-up words before its title, and no
identifiers, so that no two are versions of one work. Without ``--vectors`` words and lenses are searched.
With it vectors are drawn by the hash of a text: they cost what real ones do, and mean nothing. A library that
is there is gone on with. Memory is what processes hold beside mapped files, all together, at the peak:
psutil counts it, which comes with the extra ``cluster``.
"""

from __future__ import annotations

import argparse
import statistics
import threading
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import count, islice
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np
import psutil

from aspectra.base.values import replace
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.encoders.protocol import Encoding
from aspectra.views.settings import IndexSettings

_POOL = 1 << 20  # numbers that vectors are cut out of
_SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]


class Drawn:
    """An encoder whose vectors are drawn by the hash of a text."""

    name, fingerprint, dimensions, max_tokens, late_pooling, remote = "drawn", "drawn-1", 384, 512, True, ""

    def __init__(self) -> None:
        self._pool = np.random.default_rng(0).standard_normal(_POOL).astype(np.float32)

    def _vector(self, text: str) -> Any:
        key = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "little")
        vector = self._pool[(at := key % (_POOL - self.dimensions)) : at + self.dimensions]
        return vector / np.linalg.norm(vector)

    def _rows(self, texts: list[str]) -> Any:
        return np.stack([*map(self._vector, texts)]) if texts else np.zeros((0, self.dimensions), np.float32)

    def encode(
        self, texts: Any, *, kind: str = "document", instruction: str = "", spans: Any = None
    ) -> Encoding:
        """See :class:`~aspectra.views.encoders.protocol.Encoder`."""
        pooled = [
            self._rows([text[a:b] for a, b in some]) for text, some in zip(texts, spans or (), strict=False)
        ]
        return Encoding(self._rows(list(texts)), pooled, np.zeros(len(texts), np.bool_))


class Peak(threading.Thread):
    """Watches the memory of this process and those that it started, in GB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.held = 0.0
        self.start()

    def run(self) -> None:
        """Look four times a second."""
        me = psutil.Process()
        while True:
            total = 0
            for one in (me, *me.children(recursive=True)):
                try:
                    lines = Path(f"/proc/{one.pid}/status").read_text().splitlines()
                except OSError:  # it has ended
                    continue
                total += sum(
                    int(line.split()[1]) for line in lines if line.startswith(("RssAnon", "RssShmem"))
                )
            self.held = max(self.held, total / 1e6)
            sleep(0.25)


def tiled(corpus: Path, first: int = 0) -> Iterator[Paper]:
    """Papers of a file again and again, from a number on; the same for the same number."""
    papers = [one for one in read_papers(corpus) if isinstance(one, Paper)]
    for number in count(first):
        draw = np.random.default_rng(number)
        words = " ".join("".join(draw.choice(_SYLLABLES, 4)) for _ in range(3))
        one = papers[number % len(papers)]
        yield replace(
            one, id=f"t{number}", title=f"{words}: {one.title}", identifiers={}, url="", references=()
        )


def step(name: str, peak: Peak, work: Callable[[], object]) -> None:
    """Print a row: seconds, processor seconds of this process, memory."""
    peak.held = 0.0
    clock, processor = perf_counter(), process_time()
    work()
    used = process_time() - processor
    print(f"| {name} | {perf_counter() - clock:.1f} s | {used:.1f} s | {peak.held:.2f} GB |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--papers", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--vectors", action="store_true")
    given = parser.parse_args()
    there = (given.library / "library.db").exists()
    library = Store(given.library) if there else Store.create(given.library)
    peak, encoder = Peak(), Drawn()
    settings = IndexSettings(encoders=("drawn",) if given.vectors else ())

    def add(papers: int) -> None:
        with library.writing("add") as writer:
            writer.add(islice(tiled(given.corpus, len(library)), papers))

    def index() -> None:
        build_index(library, settings, load=lambda _: encoder)

    print("| step | clock | processor of this process | memory |\n|---|---|---|---|")
    if len(library) < given.papers:
        step(f"add {given.papers - len(library):,} papers", peak, lambda: add(given.papers - len(library)))
    step("index", peak, index)
    for papers in (100, 1):
        add(papers)
        step(f"index {papers} more", peak, index)
    for path in (given.library / "library.db", *sorted((given.library / "generations").iterdir())):
        files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
        size = sum(one.stat().st_size for one in files)
        print(f"| {path.name} | {size / len(library) / 1000:.2f} kB a paper | | |")

    searcher = Searcher(library, load=lambda _: encoder)
    chosen = np.random.default_rng(0).choice(searcher.index.ids, 6 * (given.queries + 5)).tolist()
    papers = library.get_many(chosen, full=False)
    ways: dict[str, Callable[[str], object]] = {
        "bm25, title": lambda one: searcher.search(papers[one].title, recipe="bm25", literal=True),
        "hybrid, title": lambda one: searcher.search(papers[one].title, recipe="hybrid", literal=True),
        "guided, title as a question": lambda one: searcher.search(papers[one].title),
        "guided, since 2018, no surveys": lambda one: searcher.search(
            f"{papers[one].title}, since 2018, no surveys"
        ),
        "hybrid, seed": lambda one: searcher.similar(one, recipe="hybrid"),
    }
    if given.vectors:
        ways["same method, different result"] = lambda one: searcher.similar(
            one, same=["method"], different=["result"]
        )
    for (name, way), some in zip(ways.items(), np.array_split(chosen, len(ways)), strict=True):
        times = []
        for one in some.tolist():
            clock = perf_counter()
            way(one)
            times.append(1000 * (perf_counter() - clock))
        times = sorted(times[5:])  # the first ones open files
        middle, late = statistics.median(times), times[len(times) * 9 // 10]
        print(f"| {name} | p50 {middle:.1f} ms, p90 {late:.1f} ms | | |")


if __name__ == "__main__":
    main()
