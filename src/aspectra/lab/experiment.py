"""Experiments: recipes run over benchmarks, resumable, every finished ranking kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal

from aspectra.base.errors import UsageError
from aspectra.base.hashing import digest
from aspectra.lab.benchmark import Benchmark, Topic
from aspectra.lab.records import Record, Records
from aspectra.papers.library import Library
from aspectra.search.plan import Plan
from aspectra.search.query import Query
from aspectra.search.recipe import Recipe
from aspectra.search.searcher import Searcher
from aspectra.views.build import build_index
from aspectra.views.encoder import Encoder, load_encoder
from aspectra.views.settings import IndexSettings

__all__ = ["Cell", "benchmark_library", "run_cells"]

Protocol = Literal["collection", "pool"]
Progress = Callable[[str, int, int], None]
BASE_MODE = "original"


@dataclass(frozen=True)
class Cell:
    """One recipe on one benchmark under one protocol.

    Attributes:
        recipe: how to search.
        benchmark: what is asked.
        protocol: ``collection`` ranks the whole collection, ``pool`` each topic's pool.
        depth: papers kept of a collection ranking; pools are kept whole.
        state: of the library searched: generation and encoder fingerprints.
    """

    recipe: Recipe
    benchmark: Benchmark
    protocol: Protocol
    depth: int
    state: str

    @property
    def key(self) -> str:
        """Changes with whatever a ranking depends on."""
        parts = [self.recipe.hash, self.benchmark.name, self.benchmark.revision, self.protocol]
        return digest([*parts, self.depth, self.state])[:16]

    @property
    def label(self) -> str:
        """For people: recipe, benchmark and protocol."""
        pool = " (pools)" if self.protocol == "pool" else ""
        return f"{self.recipe.name} on {self.benchmark.name}{pool}"


def _quiet(stage: str, done: int, total: int) -> None:
    """No progress shown."""


def benchmark_library(
    benchmark: Benchmark,
    folder: Path,
    settings: IndexSettings | None = None,
    *,
    progress: Progress = _quiet,
    load: Callable[[str], Encoder] = load_encoder,
) -> Searcher:
    """A searcher over the benchmark's corpus; the library is made once and used again.

    Args:
        benchmark: whose papers are added.
        folder: where the library is kept; the same folder serves the same corpus only.
        settings: what to index; default: as the library was indexed before, else the defaults.
        progress: called with (step, done, total).
        load: makes an encoder from its specification.

    Raises:
        UsageError: the folder holds another corpus.
    """
    library = Library.create(folder)
    mark = f"{benchmark.name} {benchmark.revision}"
    held = library.meta("benchmark")
    if held and held != mark:
        raise UsageError(
            f"the library at {folder} holds another corpus", why=f"it is of {held}, not of {mark}"
        )
    if library.meta("benchmark complete") != "yes":
        with library.writing("bench") as writer:
            writer.set_meta("benchmark", mark)
            report = writer.add(benchmark.papers(), path=benchmark.name, source="benchmark")
            if report.remarks:
                # A renamed document could not be matched with its judgements.
                raise UsageError(
                    f"the corpus of {benchmark.name} does not fit a library",
                    why=f"{len(report.remarks)} remarks, the first: {report.remarks[0].reason}",
                )
            writer.set_meta("benchmark complete", "yes")
    build_index(library, settings, progress=progress, load=load)
    return Searcher(library, load)


def library_state(searcher: Searcher) -> str:
    """What rankings depend on beside recipe and topic: texts and encoders."""
    return str(searcher.index.manifest["state"])


def run_cells(
    cells: Sequence[Cell],
    searchers: dict[str, Searcher],
    records: Records,
    *,
    modes: Iterable[str] | None = None,
    progress: Progress = _quiet,
) -> int:
    """Make every ranking that is not yet recorded; returns how many were made.

    Topics are the outer loop: the query is encoded once, and a first stage shared by several recipes is run
    once.

    Args:
        cells: what to run.
        searchers: benchmark name -> searcher over its corpus.
        records: where finished rankings are kept and looked up.
        modes: modes to run; default: all of the benchmark.
        progress: called with (step, done, total).
    """
    made = 0
    for name in dict.fromkeys(cell.benchmark.name for cell in cells):
        here = [cell for cell in cells if cell.benchmark.name == name]
        benchmark = here[0].benchmark
        chosen = tuple(modes) if modes is not None else benchmark.modes
        searcher = searchers[name]
        total = len(benchmark.topics)
        for number, topic in enumerate(benchmark.topics):
            progress(f"ranking {name}", number, total)
            shared: dict[str, list[str]] = {}
            for mode in chosen:
                if mode != BASE_MODE and mode not in topic.instructions:
                    continue
                for cell in here:
                    if records.get(cell.key, topic.id, mode, 0) is None:
                        records.add(_rank(cell, topic, mode, searcher, shared))
                        made += 1
        progress(f"ranking {name}", total, total)
    return made


def topic_query(topic: Topic, mode: str, limit: int) -> Query:
    """The query of a topic in a mode."""
    return Query(
        text=topic.text,
        seeds=(topic.seed,) if topic.seed else (),
        limit=limit,
        evidence=0,
        versions="all",
        instruction=topic.instructions.get(mode, ""),
    )


def _rank(cell: Cell, topic: Topic, mode: str, searcher: Searcher, shared: dict[str, list[str]]) -> Record:
    benchmark = cell.benchmark
    index = searcher.index
    dropped = benchmark.excluded.get(topic.id, frozenset())
    pool: tuple[str, ...] = ()
    if cell.protocol == "pool":
        if benchmark.pools is None:
            raise UsageError(f"{benchmark.name} has no pools", hint="--protocol collection")
        pool = tuple(i for i in benchmark.pools[topic.id] if i not in dropped and i != topic.seed)
    depth = len(pool) or cell.depth
    clock = perf_counter()

    def narrowed(plan: Plan) -> Plan:
        hidden = tuple(dict.fromkeys((*plan.exclude, *sorted(dropped))))
        return Plan(**{**{f: getattr(plan, f) for f in plan.__dataclass_fields__}, "exclude": hidden})

    def first(plan: Plan) -> list[str]:
        plan = narrowed(plan)
        if plan.hash not in shared:
            shared[plan.hash] = [index.ids[p] for p in searcher.order(plan)[0]]
        return shared[plan.hash]

    query = topic_query(topic, mode, depth)
    plan = narrowed(cell.recipe.order(query, searcher.view_names, first, pool))
    positions, scores = searcher.order(plan)
    ids = [index.ids[p] for p in positions]
    values = [float(s) for s in scores]
    missing = 0
    if pool:
        # Everything in the pool must have a place: what was not ranked follows, in the one order.
        rest = sorted(set(pool) - set(ids), reverse=True)
        missing = len(rest)
        lowest = min(values, default=0.0)
        values += [lowest - 1.0 - n for n in range(missing)]
        ids += rest
    return Record(cell.key, topic.id, mode, 0, tuple(ids), tuple(values), perf_counter() - clock, {}, missing)
