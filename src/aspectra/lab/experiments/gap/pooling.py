"""Pools of several systems' first documents, as a benchmark whose pools are to be ranked.

A verifier ranks each pool as it was found (the lower bound), or with the relevant documents that are missing
from it put in (the upper bound): OBLIQ-Bench, section 3.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from aspectra.base.checking import unknown_name
from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import Value
from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.lab.experiments.records import Records
from aspectra.lab.reports.tables import failed_note
from aspectra.lab.runs.judged import Grades
from aspectra.lab.runs.run import Run
from aspectra.search.recipe import Recipe
from aspectra.search.stages.protocol import needs_model


class Pooling(Value, frozen=True):
    """How pools are made from rankings that were recorded.

    Attributes:
        runs: directories of experiments, all of whose recipes count, and run files in any format of
            ``aspectra measure``.
        size: documents of a pool before any are put in. The systems give one document each in turn, best
            first, until there are so many.
        inject: judgement set (``gold``, ``pooled``) whose relevant documents are put in where they are
            missing; "" puts in none.
        without: systems that give no document: the one that is tested, say.
        agents: systems that search in several steps, beside the recipes that call a model.
    """

    runs: tuple[str, ...]
    size: int = 100
    inject: str = ""
    without: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.runs:
            raise UsageError("a pool needs rankings", hint='runs = ["DIRECTORY OF AN EXPERIMENT"]')
        if self.size < 1:
            raise UsageError(f"a pool cannot have {self.size} documents")


@dataclass(frozen=True)
class System:
    """A system whose rankings were recorded.

    Attributes:
        name: of the recipe, or of the run file.
        run: topic -> document -> score.
        agent: whether it searches in several steps.
        simulated: whether a simulated model had a part in it.
        in_pools: whether it ranked the benchmark's own pools, and did not search the collection.
    """

    name: str
    run: Grades
    agent: bool = False
    simulated: bool = False
    in_pools: bool = False


@dataclass(frozen=True, kw_only=True)
class PooledBenchmark(Benchmark):
    """A benchmark whose pools were made from rankings.

    Attributes:
        systems: all whose rankings were read, in order.
        pooling: how the pools were made.
        found: topic -> its pool before any document was put in.
        depths: topic -> the lowest place that a document of its pool was taken from.
    """

    systems: tuple[System, ...]
    pooling: Pooling
    found: Mapping[str, tuple[str, ...]]
    depths: Mapping[str, int]

    def facts(self) -> dict[str, Any]:
        """Those of a benchmark, and how its pools were made."""
        depths, pooling = sorted(self.depths.values()) or [0], self.pooling
        pools = self.pools or {}
        return {
            **super().facts(),
            "pool": {
                "size": pooling.size,
                "systems": [s.name for s in self.systems if s.name not in pooling.without],
                "left_out": list(pooling.without),
                "depth": {"least": depths[0], "median": depths[len(depths) // 2], "most": depths[-1]},
                "smaller": sum(len(docs) < pooling.size for docs in self.found.values()),
                "inject": pooling.inject,
                "injected": sum(len(docs) - len(self.found[topic]) for topic, docs in pools.items()),
            },
        }


def first_documents(rankings: Sequence[Sequence[str]], size: int) -> tuple[list[str], int]:
    """So many documents, taken from the rankings in turn, and the lowest place that one was taken from.

    >>> first_documents([["a", "b", "c"], ["a", "d"]], 3)
    (['a', 'b', 'd'], 2)
    """
    out: dict[str, int] = {}
    for place, row in enumerate(zip_longest(*rankings), start=1):
        for document in row:
            if document is not None and len(out) < size:
                out.setdefault(document, place)
        if len(out) == size:
            break
    return list(out), max(out.values(), default=0)


def pooled(benchmark: Benchmark, pooling: Pooling) -> PooledBenchmark:
    """The benchmark with pools made from rankings; what is excluded for a topic is in none of its pools.

    Raises:
        BadInput: a directory or file cannot be read. UsageError: nothing is recorded of the benchmark, it has
            several modes, two systems have one name, or no system or judgement set is called like one that is
            named.
    """
    return with_pools(
        benchmark, pooling, recorded_systems(benchmark.name, {one.id for one in benchmark.topics}, pooling)
    )


def with_pools(benchmark: Benchmark, pooling: Pooling, systems: Sequence[System]) -> PooledBenchmark:
    """The benchmark with pools made from the rankings of systems, see :func:`pooled`."""
    if len(benchmark.modes) > 1:
        raise UsageError(
            f"{benchmark.name} has several modes",
            why="a pool is of one ranking by each system and one set of judgements",
        )
    names = [system.name for system in systems]
    for name in (*pooling.without, *pooling.agents):
        if name not in names:
            raise unknown_name(f"no ranking is recorded of a system {name!r}", name, names)
    if pooling.inject and pooling.inject not in benchmark.qrels:
        raise unknown_name(
            f"{benchmark.name} has no judgements {pooling.inject!r}", pooling.inject, benchmark.qrels
        )
    runs = [Run(system.run) for system in systems if system.name not in pooling.without]
    if not runs:
        raise UsageError("no system is left to make pools from")
    judged = benchmark.qrels.get(pooling.inject, {})
    found, pools, depths = {}, {}, {}
    for topic in benchmark.topics:
        hidden = {topic.seed, *benchmark.excluded.get(topic.id, ())}
        rankings = [[doc for doc in run.ranking(topic.id) if doc not in hidden] for run in runs]
        docs, depths[topic.id] = first_documents(rankings, pooling.size)
        missing = {doc for doc, grade in judged.get(topic.id, {}).items() if grade > 0} - hidden - {*docs}
        found[topic.id] = tuple(docs)
        pools[topic.id] = tuple(sorted([*docs, *missing]))  # no order that tells where one came from
    given = {field.name: getattr(benchmark, field.name) for field in fields(benchmark)}
    made = {"pools": pools, "systems": tuple(systems), "pooling": pooling, "found": found, "depths": depths}
    return PooledBenchmark(**{**given, **made})


def recorded_systems(benchmark: str, topics: Collection[str], pooling: Pooling) -> tuple[System, ...]:
    """The systems whose rankings of a benchmark were recorded, in the order in which they are named.

    Args:
        benchmark: its name in the experiments; "" for the only one in each.
        topics: ids of its topics.
        pooling: names the directories and run files.

    Raises:
        BadInput, UsageError: as :func:`pooled`.
    """
    out: list[System] = []
    for place in map(Path, pooling.runs):
        if place.is_dir():
            out += _recorded(place, benchmark)
        else:
            run = Run.read(place)
            out.append(System(run.name, run.data))
    names = [system.name for system in out]
    if twice := [name for n, name in enumerate(names) if name in names[:n]]:
        raise UsageError(f"two systems are called {twice[0]!r}", hint="give one of the files another name")
    for system in out:
        if not system.run.keys() & set(topics):
            raise BadInput(
                f"the rankings of {system.name} are of other topics than those of {benchmark or 'the set'}",
                why=f"they rank {min(system.run, default='none')!r}, it has {min(topics, default='none')!r}",
            )
    return tuple(replace(s, agent=s.agent or s.name in pooling.agents) for s in out)


def _recorded(folder: Path, benchmark: str) -> list[System]:
    """The systems of an experiment: rankings of the collection, where there are none those of pools."""
    path = folder / "experiment.json"
    try:
        about = json.loads(path.read_text("utf-8"))
        recipes = {r["name"]: Recipe.from_dict(r) for r in about["study"]["recipes"]}
        only = {cell["benchmark"] for cell in about["cells"]} if not benchmark else {benchmark}
        cells = [cell for cell in about["cells"] if cell["benchmark"] in only and len(only) == 1]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadInput(
            f"{folder} is no directory of an experiment",
            why=f"{path.name}: {error}",
            hint="aspectra bench run NAME=FOLDER --recipe bm25 --output DIR",
        ) from error
    whole = [cell for cell in cells if cell["protocol"] == "collection"] or cells
    out = []
    with Records(folder / "records.jsonl", write=False) as records:
        for cell in whole:
            held = [r for r in records.of(cell["cell"]) if r.mode == "original" and r.repeat == 0]
            if failed := sum(r.failed for r in held):
                raise UsageError(
                    f"{folder} makes no pools",
                    why=failed_note(cell["recipe"], failed),
                    hint="run the experiment again, which asks again",
                )
            if held:
                run = {r.topic: dict(zip(r.ids, r.scores, strict=True)) for r in held}
                recipe = recipes.get(cell["recipe"])
                agent = recipe is not None and needs_model(recipe.stages)
                simulated = any(r.tally.simulated for r in held)
                out.append(System(cell["recipe"], run, agent, simulated, cell["protocol"] == "pool"))
    if not out:
        raise UsageError(
            f"{folder} holds no rankings of {benchmark or 'one benchmark alone'}",
            why="recorded: " + (", ".join(sorted({c["benchmark"] for c in about["cells"]})) or "nothing"),
        )
    return out
