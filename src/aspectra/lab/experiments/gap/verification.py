"""From the outcomes of studies over pools to the two sides of the gap between retrieval and verification."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from aspectra.base.errors import BadInput, UsageError, unknown_name
from aspectra.base.values import Value, replace
from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.evaluation.means import get_preset
from aspectra.lab.experiments.experiment import Records
from aspectra.lab.experiments.scoring import CellOutcome, labels_of
from aspectra.lab.reports.gap import (
    RANKING,
    RECALL,
    GapTask,
    PoolScore,
    gap_table,
    growth_table,
    obliqueness_table,
)
from aspectra.lab.reports.tables import Table, failed_note
from aspectra.lab.runs.files import Grades, only_in
from aspectra.lab.runs.run import Run
from aspectra.lab.statistics.significance import Values
from aspectra.search.recipe import Recipe
from aspectra.search.stages.protocol import needs_model

# Pools of several systems' first documents, as a benchmark whose pools are to be ranked.
#
# A verifier ranks each pool as it was found (the lower bound), or with the relevant documents that are
# missing from it put in (the upper bound): OBLIQ-Bench, section 3.


class Pooling(Value, frozen=True):
    """A way to make pools from recorded rankings.

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
class RecordedSystem:
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

    systems: tuple[RecordedSystem, ...]
    pooling: Pooling
    found: Mapping[str, tuple[str, ...]]
    depths: Mapping[str, int]

    def facts(self) -> dict[str, Any]:
        """The facts of a benchmark, and the way its pools were made."""
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


def with_pools(benchmark: Benchmark, pooling: Pooling, systems: Sequence[RecordedSystem]) -> PooledBenchmark:
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


def recorded_systems(benchmark: str, topics: Collection[str], pooling: Pooling) -> tuple[RecordedSystem, ...]:
    """The systems whose rankings of a benchmark were recorded, in the order in which they are named.

    Args:
        benchmark: its name in the experiments; "" for the only one in each.
        topics: ids of its topics.
        pooling: names the directories and run files.

    Raises:
        BadInput, UsageError: as :func:`pooled`.
    """
    out: list[RecordedSystem] = []
    for place in map(Path, pooling.runs):
        if place.is_dir():
            out += _recorded(place, benchmark)
        else:
            run = Run.read(place)
            out.append(RecordedSystem(run.name, run.data))
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


def _recorded(folder: Path, benchmark: str) -> list[RecordedSystem]:
    """The systems of an experiment: rankings of the collection, or of pools if there are none."""
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
                out.append(RecordedSystem(cell["recipe"], run, agent, simulated, cell["protocol"] == "pool"))
    if not out:
        raise UsageError(
            f"{folder} holds no rankings of {benchmark or 'one benchmark alone'}",
            why="recorded: " + (", ".join(sorted({c["benchmark"] for c in about["cells"]})) or "nothing"),
        )
    return out


_EVERYTHING = 1_000_000  # more documents than a pool has


def gap_tables(outcomes: Sequence[CellOutcome], measures: Sequence[str]) -> list[Table]:
    """The gaps, the test of obliqueness (where the gap is of nDCG@10), and the growth of the pool.

    Args:
        outcomes: as for :func:`gap_tasks`.
        measures: complete spellings; the first one gives the gap, the others (the first, if it is alone) a
            table of growth for each task.
    """
    tasks = gap_tasks(outcomes, measures)
    made = [gap_table(tasks, measures[0])]
    made += [obliqueness_table(tasks)] if measures[0] == RANKING else []
    return made + [growth_table(task, measure) for task in tasks for measure in measures[1:] or measures]


def gap_tasks(outcomes: Sequence[CellOutcome], measures: Sequence[str]) -> list[GapTask]:
    """One task for each benchmark with pools made from rankings, and each of its judgement sets.

    The systems that gave the pools are the retrievers; they are scored here. A recipe with a stage ``rerank``
    is a verifier, any other one is a retriever that ranks a pool.

    Args:
        outcomes: of all parts; those on other benchmarks are left out, and those in which calls failed.
        measures: complete spellings, which the parts were scored by.

    Raises:
        UsageError: no outcome is over such pools, a measure was not scored, or one system ranked two
            different pools of one size.
    """
    by_name: dict[str, list[CellOutcome]] = {}
    for outcome in outcomes:
        if isinstance(outcome.cell.benchmark, PooledBenchmark) and not outcome.failed:
            by_name.setdefault(outcome.cell.benchmark.name, []).append(outcome)
    failed = [failed_note(outcome.cell.recipe.name, outcome.failed) for outcome in outcomes if outcome.failed]
    if not by_name:
        raise UsageError(
            "no part ranks pools made from rankings",
            why="; ".join(failed),
            hint='sources = [{..., pooling = {runs = ["DIR"]}}]',
        )
    tasks = [
        _task(here, judged, measures)
        for here in by_name.values()
        for judged in here[0].evaluations
        if judged in here[0].cell.benchmark.qrels
    ]
    return [replace(task, notes=(*task.notes, *failed)) for task in tasks]


def _task(outcomes: Sequence[CellOutcome], judged: str, measures: Sequence[str]) -> GapTask:
    benchmarks = [cast("PooledBenchmark", outcome.cell.benchmark) for outcome in outcomes]
    systems = {system.name: system for benchmark in benchmarks for system in benchmark.systems}
    retrievers: dict[str, dict[str, Values]] = {}
    agents: dict[str, dict[str, Values]] = {}
    for system in systems.values():
        side = agents if system.agent else retrievers
        side[system.name] = _values(system.run, outcomes[0], judged, (*measures, RECALL))
    if not retrievers:
        raise UsageError(f"{benchmarks[0].name}: every system searches in several steps", why="none is left")
    pools: dict[tuple[str, int, str], PoolScore] = {}
    recall: dict[int, Values] = {}
    for outcome, benchmark in zip(outcomes, benchmarks, strict=True):
        score = _pool_score(outcome, benchmark, judged, measures)
        if pools.setdefault((score.name, score.size, score.bound), score) is not score:
            raise UsageError(f"{score.name} ranked two different pools of {score.size} documents")
        if score.verifier and score.size not in recall:
            found = {t: dict.fromkeys(docs, 0.0) for t, docs in benchmark.found.items()}
            every = f"R@{_EVERYTHING}"
            recall[score.size] = _values(found, outcome, judged, (every,))[every]
    simulated = {_name(o, b) for o, b in zip(outcomes, benchmarks, strict=True) if o.tally.simulated}
    return GapTask(
        name=benchmarks[0].name,
        judged=judged,
        retrievers=retrievers,
        agents=agents,
        pools=tuple(pools.values()),
        recall=recall,
        simulated=frozenset(simulated | {s.name for s in systems.values() if s.simulated}),
        notes=_notes(benchmarks, systems, judged),
        in_pools=any(system.in_pools for system in systems.values()),
    )


def _values(
    run: Mapping[str, Mapping[str, float]], outcome: CellOutcome, judged: str, measures: Sequence[str]
) -> dict[str, Values]:
    """Measure -> unit -> value, scored as the outcome was."""
    benchmark = outcome.cell.benchmark
    found = evaluate(
        list(measures),
        benchmark.qrels[judged],
        run,
        preset=get_preset(outcome.preset),
        excluded=benchmark.excluded,
        labels=labels_of(benchmark),
        average=(),
        incomplete=True,
    )
    return {spelled: found[spelled].values for spelled in measures}


def _name(outcome: CellOutcome, benchmark: PooledBenchmark) -> str:
    name = outcome.cell.recipe.name
    return f"{name}, own left out" if name in benchmark.pooling.without else name


def _pool_score(
    outcome: CellOutcome, benchmark: PooledBenchmark, judged: str, measures: Sequence[str]
) -> PoolScore:
    scores = {str(score.measure): score.values for score in outcome.evaluations[judged].scores}
    if lacking := [measure for measure in measures if measure not in scores]:
        raise UsageError(
            f"{outcome.cell.label} was not scored by {lacking[0]}",
            why="scored by " + ", ".join(scores),
            hint=f'measures = ["{lacking[0]}"] in the part',
        )
    ranked = max(outcome.ranked, 1)
    return PoolScore(
        name=_name(outcome, benchmark),
        size=benchmark.pooling.size,
        bound="upper" if benchmark.pooling.inject else "lower",
        values={measure: scores[measure] for measure in measures},
        verifier=any(stage.partition("(")[0] == "rerank" for stage in outcome.cell.recipe.stages),
        calls=outcome.cost.get("calls", 0.0) / ranked,
        tokens=outcome.cost.get("tokens", 0.0) / ranked,
    )


def _notes(
    benchmarks: Sequence[PooledBenchmark], systems: Mapping[str, RecordedSystem], judged: str
) -> tuple[str, ...]:
    largest = max(benchmarks, key=lambda benchmark: benchmark.pooling.size)
    pool = largest.facts()["pool"]
    name, depth = largest.name, pool["depth"]
    notes = [
        f"{name}: {largest.audit.documents:,} documents, {len(largest.topics):,} queries; pools from "
        f"{', '.join(pool['systems'])}; for K = {pool['size']} down to their place {depth['least']} to "
        f"{depth['most']} (median {depth['median']})"
    ]
    if pool["smaller"]:
        notes.append(f"{name}: {pool['smaller']:,} pools have fewer than {pool['size']} documents")
    if any(system.in_pools for system in systems.values()):
        notes.append(f"{name}: retrievers ranked the benchmark's own pools and did not search the collection")
    lacking = sum(max(docs.values()) < 1 for docs in largest.qrels[judged].values() if docs)
    if lacking:
        notes.append(f"{name}: {lacking:,} queries have no document of grade 1 or more, so that R@k is 0")
    gold, more = largest.qrels.get("gold", {}), largest.qrels.get("pooled")
    if judged == "pooled" and more is not None:
        outside = only_in(gold, more)
        notes.append(
            f"{name}: {outside:,} relevant documents of gold are not in pooled, which should hold them all"
            if outside
            else f"{name}: pooled holds all relevant documents of gold; its own pool's systems and depth are "
            "not in its files"
        )
    return tuple(notes)
