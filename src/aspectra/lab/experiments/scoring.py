"""From recorded rankings to scores: the judgements, modes and pairs of each benchmark."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import replace
from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.evaluation.means import Evaluation, Preset, Score, get_preset
from aspectra.lab.experiments.experiment import (
    BASE_MODE,
    DIVERSE,
    Cell,
    PaperVectors,
    RankingRecord,
    Records,
    modes_of,
)
from aspectra.lab.measures.instructed import pair_up
from aspectra.lab.measures.protocol import Arity, Measure
from aspectra.lab.reports.tables import failed_note
from aspectra.search.plan import Tally


@dataclass(frozen=True)
class CellOutcome:
    """A cell, run and scored.

    Attributes:
        cell: what was run.
        preset: under which reading it was scored.
        evaluations: judgement set (``gold``, ``pooled``, or ``modes``) -> its evaluation; ``pairs`` holds
            p-MRR over the ordered pairs of aspects of one seed, where the benchmark has aspects.
        topics, ranked: topics of the benchmark, and those with a recorded ranking.
        seconds: median time of one ranking.
        appended: documents of pools that the recipe did not rank and that follow behind, see
            :func:`~aspectra.lab.experiments.experiment.placed_whole`.
        tally: sum over all rankings.
        deviations: (judgement set, measure, mode) -> standard deviation (n - 1) of the means of the runs,
            where there were to be several: 0 for a deterministic recipe, which is run once; absent where
            fewer than two runs have a mean. Values and means are then means over the runs.
        notes: measures that were left out, each one sentence.
        failed: rankings in which calls to a model failed; then nothing is scored.
    """

    cell: Cell
    preset: str
    evaluations: Mapping[str, Evaluation]
    topics: int
    ranked: int
    seconds: float
    appended: int
    tally: Tally = Tally()
    deviations: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failed: int = 0

    @property
    def cost(self) -> dict[str, float]:
        """Cost of making the rankings: calls, tokens, money; empty if no model was called.

        An answer from a journal was paid for once, so it counts too; money is what was paid now.
        """
        if not self.tally.questions:
            return {}
        paid = self.tally.cost
        calls, tokens = paid.calls + paid.recorded, paid.tokens + paid.recorded_tokens
        out = {"calls": float(calls), "tokens": float(tokens)}
        return {**out, "money": paid.money} if paid.calls and not paid.unpriced else out

    @property
    def name(self) -> str:
        """The recipe's name in tables, with ``[simulated]`` where a model was simulated."""
        return f"{self.cell.recipe.name} [simulated]" if self.tally.simulated else self.cell.recipe.name

    def scores(self) -> list[tuple[str, Score]]:
        """(judgement set, score), in order."""
        return [(name, s) for name, evaluation in self.evaluations.items() for s in evaluation.scores]


def runs_of(records: Sequence[RankingRecord]) -> dict[str, dict[str, dict[str, float]]]:
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
    modes: Sequence[str] | None = None,
    incomplete: bool = False,
    vectors: PaperVectors | None = None,
) -> CellOutcome:
    """Score what is recorded of a cell; nothing where calls to a model failed in one of its rankings.

    Args:
        cell: what was run.
        records: its rankings.
        preset: see :mod:`aspectra.lab.evaluation.means`.
        measures: spellings; default: those the benchmark's paper reports.
        modes: modes that were to be run; default: all of the benchmark.
        incomplete: average although rankings are missing, or were made while calls failed.
        vectors: of papers, for measures of diversity over the first :data:`DIVERSE` of each ranking.

    Raises:
        BadInput: rankings are missing and ``incomplete`` is False. UsageError: a measure needs something that
            is not there.
    """
    benchmark = cell.benchmark
    every = records.of(cell.key)
    held = [r for r in every if not (incomplete and r.failed)]
    failed = sum(r.failed for r in held)
    judged = _judged(benchmark)
    wanted_modes = tuple(modes) if modes is not None else benchmark.modes
    wanted = {(t.id, m) for t in benchmark.topics if t.id in judged for m in modes_of(t, wanted_modes)}
    runs = [[r for r in held if r.repeat == n and r.mode in wanted_modes] for n in range(cell.runs)]
    found = [{(r.topic, r.mode) for r in run} & wanted for run in runs]
    total, made = len(wanted) * cell.runs, sum(map(len, found))
    if made < total and not incomplete:
        lost = {topic for run in found for topic, _ in wanted - run}
        raise BadInput(
            f"{cell.label}: {total - made:,} of {total:,} rankings are missing, of {len(lost):,} topics",
            why="a mean over some of the topics would not be the benchmark's",
            hint="run the experiment again (finished rankings are reused), or use --incomplete",
        )
    chosen = get_preset(preset)
    parsed = [chosen.parse(text) for text in measures or benchmark.measures]
    spatial = [measure for measure in parsed if measure.arity is Arity.VECTORS and vectors is not None]
    scorable, notes = _scorable(cell, [m for m in parsed if m not in spatial], wanted_modes, bool(spatial))
    if made < total:
        notes.append(f"incomplete: {total - made:,} of {total:,} rankings are missing and left out")
    if held and not any(r.ids for r in held):
        notes.append(f"{cell.recipe.name} found nothing for any topic")
    notes += _degraded(cell, every)
    if cut := sum(r.tally.cut for r in held):
        notes.append(f"{cell.recipe.name}: the model was shown {cut:,} texts only in part")
    if len(versions := sorted({r.version or "unknown" for r in held})) > 1:
        notes.append(f"rankings were made by several versions: {', '.join(versions)}")
    runs = [run for run in runs if run and not failed]
    scored = [_score_run(benchmark, run, scorable, chosen, incomplete=incomplete) for run in runs]
    for run, found_of_run in zip(runs, scored, strict=True):
        if spatial and vectors is not None:
            first = {r.topic: vectors(r.ids[:DIVERSE]) for r in run if r.mode == BASE_MODE}
            labels = labels_of(benchmark)
            found_of_run["vectors"] = evaluate(
                spatial, None, None, vectors=first, preset=chosen, labels=labels, average=()
            )
    evaluations, deviations = _over_runs(scored, cell)
    return CellOutcome(
        cell=cell,
        preset=preset,
        evaluations=evaluations,
        topics=len(judged),
        ranked=len({topic for run in found for topic, _ in run}),
        seconds=statistics.median(r.seconds for r in held) if held else 0.0,
        appended=sum(r.missing for r in held),
        tally=sum((r.tally for r in held), Tally()),
        deviations=deviations,
        notes=tuple(notes),
        failed=failed,
    )


def _degraded(cell: Cell, held: Sequence[RankingRecord]) -> list[str]:
    bad = sum(bool(r.tally.degraded or r.failed) for r in held)
    if not bad:
        return []
    total = sum((r.tally for r in held), Tally())
    why = f"{total.repairs:,} of {total.questions:,} answers were missing or repaired"
    failed = sum(r.failed for r in held)
    last = next((f"; last: {r.error}" for r in reversed(held) if r.error), "")
    again = [f"{failed_note(cell.recipe.name, failed)}{last}; the same command asks again"] if failed else []
    return [*again, f"{bad:,} of {len(held):,} rankings are degraded: {why}"]


def _scorable(
    cell: Cell, measures: Sequence[Measure], modes: Sequence[str], others: bool
) -> tuple[list[Measure], list[str]]:
    """The measures that this cell can be scored by, and a note on each of the others.

    ``others``: whether there are measures besides these.
    """
    benchmark = cell.benchmark
    several = len(benchmark.modes) > 1
    scorable, notes = [], []
    for measure in measures:
        lacking = [m for m in dict.fromkeys(measure.modes) if m not in modes] if several else []
        if measure.arity in (Arity.VECTORS, Arity.POOLS):
            raise UsageError(
                f"{measure} needs {measure.arity}, which an experiment does not have",
                hint="name it in bench run, which reuses rankings"
                if measure.arity is Arity.VECTORS
                else "use aspectra.lab.evaluate from Python",
            )
        if measure.family.needs_pool and cell.protocol == "collection":
            notes.append(f"{measure} is of a whole pool: not scored where the whole collection is ranked")
        elif lacking:
            notes.append(f"{measure} needs the mode {' and '.join(lacking)}, which was not run")
        elif measure.arity is Arity.MODES and not several and not _pairs_of(benchmark):
            notes.append(f"{measure} needs several modes or aspects, which {benchmark.name} does not have")
        elif measure.arity is Arity.GROUP and not any(t.group for t in benchmark.topics):
            notes.append(f"{measure} needs variants of one query, which {benchmark.name} does not have")
        else:
            scorable.append(measure)
    if not scorable and not others:
        raise UsageError(f"{cell.label}: no measure is left", why="; ".join(notes), hint="--measure nDCG@10")
    return scorable, notes


def _score_run(
    benchmark: Benchmark,
    held: Sequence[RankingRecord],
    measures: Sequence[Measure],
    preset: Preset,
    *,
    incomplete: bool,
) -> dict[str, Evaluation]:
    """Judgement set -> evaluation of one run over the topics."""
    runs = runs_of(held)
    labels = labels_of(benchmark)
    groups = {t.id: t.group for t in benchmark.topics if t.group}
    options: dict[str, Any] = {
        "preset": preset,
        "incomplete": True,  # every ranking is there, or its absence was counted; one may be empty
        "missing": "skip" if incomplete else "declared",
    }
    topics = {**options, "excluded": benchmark.excluded, "labels": labels, "groups": groups}
    if not {name for held in labels.values() for name in held}.issuperset(preset.average):
        topics["average"] = ()  # the preset averages within labels that the benchmark does not have
    out: dict[str, Evaluation] = {}
    if len(benchmark.modes) > 1:
        by_mode = {m: runs[m] for m in benchmark.modes if m in runs}
        wanted = [measure for measure in measures if set(measure.modes) <= set(by_mode)]
        needed = {m for measure in wanted for m in measure.modes} | set(by_mode)
        qrels = {m: q for m, q in benchmark.qrels.items() if m in needed}
        if wanted and by_mode:
            out["modes"] = evaluate(wanted, qrels, by_mode, **topics)
        return out
    run = runs.get(BASE_MODE, {})
    single = [measure for measure in measures if measure.arity is not Arity.MODES]
    for name, grades in benchmark.qrels.items():
        if single and run:
            out[name] = evaluate(single, grades, run, **topics)
    across = [measure for measure in measures if measure.arity is Arity.MODES]
    if across and run:
        aspects = {t.id: t.aspect for t in benchmark.topics if t.aspect}
        pairs = pair_up(run, benchmark.qrels["gold"], _pairs_of(benchmark), aspects)
        averaged = {"labels": pairs.labels, "average": ("pair", "aspect")}
        found = evaluate(across, pairs.qrels, pairs.runs, **{**options, **averaged, "incomplete": True})
        if any(s.values for s in found.scores):
            out["pairs"] = found
    return out


def _over_runs(
    scored: Sequence[dict[str, Evaluation]], cell: Cell
) -> tuple[dict[str, Evaluation], dict[tuple[str, str, str], float]]:
    """Means over runs of values and means, and the standard deviations of the means."""
    if not scored:
        return {}, {}
    out: dict[str, Evaluation] = {}
    deviations: dict[tuple[str, str, str], float] = {}
    for name, first in scored[0].items():
        every = [run[name] for run in scored if name in run]
        remarks = [remark for evaluation in every for remark in evaluation.remarks]
        scores = []
        for number, score in enumerate(first.scores):
            same = [evaluation.scores[number] for evaluation in every]
            means = [s.mean for s in same if s.mean is not None]
            if cell.repeats > 1 and (len(means) > 1 or (means and cell.deterministic)):
                spread = statistics.stdev(means) if len(means) > 1 else 0.0
                deviations[name, str(score.measure), score.mode] = spread
            if len(same) > 1:
                every_unit = dict.fromkeys(unit for s in same for unit in s.values)
                units = [u for u in every_unit if all(u in s.values for s in same)]
                values = {u: math.fsum(s.values[u] for s in same) / len(same) for u in units}
                mean = math.fsum(means) / len(means) if means else None
                score = replace(score, values=values, mean=mean)  # noqa: PLW2901
                if lost := len(every_unit) - len(units):
                    remarks.append(
                        f"{score.spelling}: {lost:,} units have a value in some of {len(same)} runs only, and"
                        " are in the means of those"
                    )
            scores.append(score)
        out[name] = replace(first, scores=tuple(scores), remarks=tuple(dict.fromkeys(remarks)))
    return out, deviations


def _judged(benchmark: Benchmark) -> set[str]:
    """Topics that some judgement set judges."""
    known = {t.id for t in benchmark.topics}
    return {topic for grades in benchmark.qrels.values() for topic, docs in grades.items() if docs} & known


def labels_of(benchmark: Benchmark) -> dict[str, dict[str, str]]:
    """Topic -> label -> value, with its aspect and fold where there are any."""
    out = {t.id: {**t.labels, **({"aspect": t.aspect} if t.aspect else {})} for t in benchmark.topics}
    for fold, topics in benchmark.folds.items():
        for topic in topics:
            if topic in out:
                out[topic]["fold"] = fold
    return out


def _pairs_of(benchmark: Benchmark) -> dict[str, str]:
    """Topic -> seed, of topics that differ from another in their aspect only; they give ordered pairs."""
    groups = {t.id: t.group or t.seed for t in benchmark.topics if t.aspect}
    several = {group for group, count in Counter(groups.values()).items() if count > 1}
    return {t: group for t, group in groups.items() if group in several} if "gold" in benchmark.qrels else {}
