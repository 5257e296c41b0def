"""From recorded rankings to scores: which judgements, modes and pairs a benchmark asks for."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.benchmark import Benchmark, Grades
from aspectra.lab.evaluate import evaluate
from aspectra.lab.evaluation import Evaluation, Score
from aspectra.lab.experiment import BASE_MODE, Cell
from aspectra.lab.measure import Arity
from aspectra.lab.measures.pmrr import pair_up
from aspectra.lab.presets import get_preset
from aspectra.lab.records import Record, Records

__all__ = ["Outcome", "runs_of", "score_cell"]

_INSTRUCTED = ("original", "instructed", "reversed")


@dataclass(frozen=True)
class Outcome:
    """A cell's scores.

    Attributes:
        cell: what was run.
        preset: under which reading it was scored.
        evaluations: judgement set (``gold``, ``pooled``, or ``modes``) -> its evaluation; ``pairs`` holds
            p-MRR over the ordered pairs of aspects of one seed, where the benchmark has aspects.
        topics, ranked: topics of the benchmark, and those with a recorded ranking.
        seconds: median time of one ranking.
        appended: documents of pools that the recipe did not rank and that follow behind.
        cost: sums over all rankings.
    """

    cell: Cell
    preset: str
    evaluations: Mapping[str, Evaluation]
    topics: int
    ranked: int
    seconds: float
    appended: int
    cost: Mapping[str, float]

    def scores(self) -> list[tuple[str, Score]]:
        """(judgement set, score), in order."""
        return [(name, s) for name, evaluation in self.evaluations.items() for s in evaluation.scores]

    def score(self, measure: str, mode: str | None = None, judgements: str | None = None) -> Score:
        """The one score of a measure.

        Raises:
            UsageError: there is none, or more than one.
        """
        found = [
            s
            for name, s in self.scores()
            if measure == str(s.measure) and mode in (None, s.mode) and judgements in (None, name)
        ]
        if len(found) != 1:
            raise UsageError(
                f"{len(found)} scores of {measure} on {self.cell.label}",
                why="there are " + ", ".join(dict.fromkeys(str(s.measure) for _, s in self.scores())),
            )
        return found[0]


def runs_of(records: Sequence[Record]) -> dict[str, dict[str, dict[str, float]]]:
    """Mode -> topic -> document -> score."""
    out: dict[str, dict[str, dict[str, float]]] = {}
    for record in records:
        ranking = dict(zip(record.ids, record.scores, strict=True))
        out.setdefault(record.mode, {})[record.topic] = ranking
    return out


def score_cell(
    cell: Cell,
    records: Records,
    *,
    preset: str = "paper",
    measures: Sequence[str] = (),
    incomplete: bool = False,
) -> Outcome:
    """Score what is recorded of a cell.

    Args:
        cell: what was run.
        records: its rankings.
        preset: see :mod:`aspectra.lab.presets`.
        measures: spellings; default: those the benchmark's paper reports.
        incomplete: average although topics are missing.

    Raises:
        BadInput: topics are missing and ``incomplete`` is False.
    """
    benchmark = cell.benchmark
    held = records.of(cell.key)
    runs = runs_of(held)
    judged = _judged(benchmark)
    ranked = {topic for run in runs.values() for topic in run}
    if (lost := judged - ranked) and not incomplete:
        raise BadInput(
            f"{cell.label}: {len(lost):,} of {len(judged):,} topics have no ranking",
            why="a mean over some of the topics would not be the benchmark's",
            hint="run the experiment again (finished rankings are kept), or say --incomplete",
        )
    asked = list(measures) or list(benchmark.measures)
    chosen = get_preset(preset)
    parsed = {text: chosen.parse(text) for text in asked}
    across = [t for t in asked if parsed[t].arity is Arity.MODES]
    labels = _labels(benchmark)
    groups = {t.id: t.group for t in benchmark.topics if t.group}
    options: dict[str, Any] = {
        "preset": preset,
        "excluded": benchmark.excluded,
        "labels": labels,
        "incomplete": incomplete,
        "missing": "skip" if incomplete else "declared",
    }
    if preset == "csfcube" and not benchmark.folds:
        options["average"] = ()
    out: dict[str, Evaluation] = {}
    if len(benchmark.modes) > 1:
        by_mode = {m: runs.get(m, {}) for m in benchmark.modes if m in runs}
        wanted = [t for t in asked if set(parsed[t].modes) <= set(by_mode)]
        qrels = {m: q for m, q in benchmark.qrels.items() if m in by_mode}
        if wanted and by_mode:
            out["modes"] = evaluate(wanted, qrels, by_mode, groups=groups, **options)
    else:
        single = [t for t in asked if parsed[t].arity in (Arity.RANKING, Arity.GROUP)]
        for name, grades in benchmark.qrels.items():
            if single and runs.get(BASE_MODE):
                out[name] = evaluate(single, grades, runs[BASE_MODE], groups=groups, **options)
        pairs = _pairs(benchmark, runs.get(BASE_MODE, {}))
        if pairs is not None:
            text = across or ["p-MRR(rel=2)"]
            found = evaluate(
                text,
                pairs.qrels,
                pairs.runs,
                preset=preset,
                labels=pairs.labels,
                average=("pair", "aspect"),
                incomplete=True,
                missing=options["missing"],
            )
            if any(s.values for s in found.scores):
                out["pairs"] = found
    costs: dict[str, float] = {}
    for record in held:
        for name, value in record.cost.items():
            costs[name] = costs.get(name, 0.0) + value
    return Outcome(
        cell,
        preset,
        out,
        len(judged),
        len(judged & ranked),
        statistics.median(r.seconds for r in held) if held else 0.0,
        sum(r.missing for r in held),
        costs,
    )


def _judged(benchmark: Benchmark) -> set[str]:
    """Topics that some judgement set judges."""
    known = {t.id for t in benchmark.topics}
    return {topic for grades in benchmark.qrels.values() for topic, docs in grades.items() if docs} & known


def _labels(benchmark: Benchmark) -> dict[str, dict[str, str]]:
    out = {t.id: {**t.labels, **({"aspect": t.aspect} if t.aspect else {})} for t in benchmark.topics}
    for fold, topics in benchmark.folds.items():
        for topic in topics:
            if topic in out:
                out[topic]["fold"] = fold
    return out


def _pairs(benchmark: Benchmark, run: Grades) -> Any:
    """p-MRR's input over aspects of one seed, or None where the benchmark has no such pairs."""
    aspects = {t.id: t.aspect for t in benchmark.topics if t.aspect}
    groups = {t.id: t.group or t.seed for t in benchmark.topics if t.aspect}
    sizes: dict[str, int] = {}
    for group in groups.values():
        sizes[group] = sizes.get(group, 0) + 1
    if not run or max(sizes.values(), default=0) < 2 or "gold" not in benchmark.qrels:
        return None
    return pair_up(run, benchmark.qrels["gold"], groups, aspects)
