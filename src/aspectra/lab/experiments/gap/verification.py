"""From the outcomes of studies over pools to the two sides of the gap between retrieval and verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from aspectra.base.errors import UsageError
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.evaluation.presets import get_preset
from aspectra.lab.experiments.gap.pooling import PooledBenchmark, System
from aspectra.lab.experiments.scoring import Outcome, labels_of
from aspectra.lab.reports.gap import GapTask, PoolScore, gap_table, growth_table
from aspectra.lab.reports.obliqueness import RANKING, RECALL, obliqueness_table
from aspectra.lab.reports.tables import Table, failed_note
from aspectra.lab.statistics.significance import Values

_EVERYTHING = 1_000_000  # more documents than a pool has


def gap_tables(outcomes: Sequence[Outcome], measures: Sequence[str]) -> list[Table]:
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


def gap_tasks(outcomes: Sequence[Outcome], measures: Sequence[str]) -> list[GapTask]:
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
    by_name: dict[str, list[Outcome]] = {}
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


def _task(outcomes: Sequence[Outcome], judged: str, measures: Sequence[str]) -> GapTask:
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
    run: Mapping[str, Mapping[str, float]], outcome: Outcome, judged: str, measures: Sequence[str]
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


def _name(outcome: Outcome, benchmark: PooledBenchmark) -> str:
    name = outcome.cell.recipe.name
    return f"{name}, own left out" if name in benchmark.pooling.without else name


def _pool_score(
    outcome: Outcome, benchmark: PooledBenchmark, judged: str, measures: Sequence[str]
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
    benchmarks: Sequence[PooledBenchmark], systems: Mapping[str, System], judged: str
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
        outside = sum(
            grade > 0 and more.get(topic, {}).get(doc, 0) <= 0
            for topic, docs in gold.items()
            for doc, grade in docs.items()
        )
        notes.append(
            f"{name}: {outside:,} relevant documents of gold are not in pooled, which should hold them all"
            if outside
            else f"{name}: pooled holds all relevant documents of gold; its own pool's systems and depth are "
            "not in its files"
        )
    return tuple(notes)
