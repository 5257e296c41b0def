"""Outcomes as tables: one row a recipe, measures with intervals, marks against a baseline."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Mapping, Sequence

from aspectra.base.errors import UsageError
from aspectra.base.spelling import file_name
from aspectra.lab.evaluation.means import Score
from aspectra.lab.experiments.scoring import Outcome
from aspectra.lab.reports.tables import SMALL_NOTE, Column, Number, Table, failed_note, first_of, set_shown
from aspectra.lab.reports.tables import Cell as TableCell
from aspectra.lab.statistics.significance import SMALL, Interval, bootstrap_interval, compare, mean_interval

INTERVALS_NOTE = (
    "in brackets: 95 % t-intervals of means over units, bootstrap intervals where those would leave the "
    "scale, not of differences between recipes; none where a mean is of other means (folds, pairs) or of a "
    "ratio"
)


def _scores(outcome: Outcome) -> dict[Column, Score]:
    return {(name, str(score.measure), score.mode): score for name, score in outcome.scores()}


def _heading(column: Column, columns: Collection[Column]) -> str:
    _, measure, mode = column
    return " ".join(filter(None, (measure, mode[:3], set_shown(column, columns))))


def plain_interval(values: Mapping[str, float], mean: float, bounds: tuple[float, float]) -> Interval | None:
    """The t-interval of a mean, or the bootstrap one where that would leave ``bounds``, the measure's scale.

    None where the mean is not the plain one over units, of which the interval would be.
    """
    span = mean_interval(values)
    if span is None or not math.isclose(0.5 * (span.low + span.high), mean, abs_tol=1e-9):
        return None
    return span if bounds[0] <= span.low and span.high <= bounds[1] else bootstrap_interval(values)


def _places(outcomes: Sequence[Outcome]) -> dict[tuple[str, str], list[Outcome]]:
    """(benchmark, protocol) -> its outcomes, in order of first appearance."""
    out: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        out.setdefault((outcome.cell.benchmark.name, outcome.cell.protocol), []).append(outcome)
    return out


def main_tables(outcomes: Sequence[Outcome], *, baseline: str = "") -> dict[str, Table]:
    """:func:`main_table` of each benchmark and protocol, by a name fit for a file."""
    out: dict[str, Table] = {}
    for (name, protocol), here in _places(outcomes).items():
        what = "pools" if protocol == "pool" else "collection"
        file = file_name(f"{name}-{what}")
        out[file] = main_table(f"{name} ({what})", here, baseline=baseline)
    return out


def main_table(
    title: str,
    outcomes: Sequence[Outcome],
    *,
    baseline: str = "",
    intervals: bool = True,
    times: bool = True,
) -> Table:
    """One row a recipe, one column a measure, with notes on what the means are taken over.

    Args:
        title: of the table.
        outcomes: of one benchmark under one protocol.
        baseline: name of the recipe that others are compared with by paired t-tests; "" for no test.
        intervals: also print 95 % t-intervals over units, of means that are plain means over units.
        times: also print the median time of a query.

    Raises:
        UsageError: there is no such baseline.
    """
    if not outcomes:
        raise UsageError("there is nothing to print")
    found = [_scores(outcome) for outcome in outcomes]
    columns = list(dict.fromkeys(column for scores in found for column in scores))
    names = [o.cell.recipe.name for o in outcomes]
    if baseline and baseline not in names:
        raise UsageError(f"no recipe is called {baseline!r}", why="there are " + ", ".join(names))
    header = ["recipe", *(_heading(c, columns) for c in columns), *(["ms/query"] if times else [])]
    paid = sorted({name for o in outcomes for name in o.cost})
    header += paid
    rows: list[tuple[TableCell, ...]] = []
    marks: dict[tuple[int, int], str] = {}
    best: set[tuple[int, int]] = set()
    for outcome, own in zip(outcomes, found, strict=True):
        cells: list[TableCell] = [outcome.name + " [failed]" * bool(outcome.failed)]
        for column in columns:
            score = own.get(column)
            if score is None or score.mean is None:
                cells.append(None)
                continue
            span = (
                plain_interval(score.values, score.mean, score.measure.family.bounds) if intervals else None
            )
            deviation = outcome.deviations.get(column)
            cells.append(Number.of(score.mean, score.measure.family.scale, span, deviation))
        cells += [None if outcome.failed else round(1000 * outcome.seconds, 1)] if times else []
        cells += [_paid(name, outcome.cost.get(name, 0.0)) for name in paid]
        rows.append(tuple(cells))
    for j, column in enumerate(columns, start=1):
        scores = [own.get(column) for own in found]
        if any(s is not None and s.measure.family.better != "higher" for s in scores):
            continue
        means = [None if s is None else s.mean for s in scores]
        known = [m for m in means if m is not None]
        if len(set(known)) > 1:  # nothing is best where all are equal
            best.update((i, j) for i, m in enumerate(means) if m == max(known))
        if baseline:
            by_name = {n: s.values for n, s in zip(names, scores, strict=True) if s is not None}
            compared = marks_against(baseline, by_name)
            marks.update({(names.index(name), j): mark for name, mark in compared.items()})
    notes = _notes(outcomes, next(filter(None, found), {}), times)
    if baseline:
        notes.append(marks_note(baseline))
    if intervals:
        notes.append(INTERVALS_NOTE)
    return Table(title, tuple(header), tuple(rows), tuple(notes), marks=marks, best=frozenset(best))


def marks_note(baseline: str) -> str:
    """The note that explains :func:`marks_against`."""
    return f"+ / - : better / worse than {baseline}, paired test (t), p < 0.05"


def marks_against(baseline: str, scores: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """Row -> ``+`` (better than the baseline) or ``-``, where the difference is significant.

    Args:
        baseline: one of the rows; where it is not, there are no marks.
        scores: row -> unit -> value; rows with other units than the baseline's are not compared.
    """
    base = scores.get(baseline, {})
    if len(base) < 2:
        return {}
    others = {n: values for n, values in scores.items() if n != baseline and set(values) == set(base)}
    compared = compare(base, others).items()
    return {name: "+" if c.difference > 0 else "-" for name, c in compared if c.significant()}


def _paid(name: str, value: float) -> str | float:
    """Money with its parts, counts without."""
    return round(value, 4) if name == "money" else f"{value:,.0f}"


def _notes(outcomes: Sequence[Outcome], scores: Mapping[Column, Score], times: bool) -> list[str]:
    """What the numbers depend on; ``scores`` are those of the first outcome with scores."""
    first = outcomes[0]
    benchmark = first.cell.benchmark
    units: dict[int, list[str]] = {}
    for column, score in scores.items():
        units.setdefault(score.units, []).append(column[1])
    counted = "; ".join(
        f"{n} units{', small' if n < SMALL else ''}: {', '.join(dict.fromkeys(m))}" for n, m in units.items()
    )
    what = (
        "each topic's pool is ranked" if first.cell.protocol == "pool" else "the whole collection is ranked"
    )
    notes = [
        f"{benchmark.name}, revision {benchmark.revision[:12]}, {benchmark.audit.documents:,} documents; "
        f"{what}",
        f"preset {first.preset}; {counted}; measures x100 except ranks, distances and percents",
    ]
    notes += [SMALL_NOTE] if any(n < SMALL for n in units) else []
    if times:
        notes.append("ms/query: median; a query is encoded once, for the first recipe that needs its vector")
    if any(o.appended for o in outcomes):
        late = ", ".join(f"{o.cell.recipe.name} {o.appended}" for o in outcomes if o.appended)
        notes.append(f"pool documents that the recipe did not rank, placed last: {late}")
    if any(o.deviations for o in outcomes):
        several = ", ".join(
            o.cell.recipe.name if o.cell.deterministic else f"{o.cell.recipe.name} ({o.cell.runs} runs)"
            for o in outcomes
            if o.deviations
        )
        notes.append(
            f"mean ± standard deviation over runs: {several}; a deterministic recipe is run once, its "
            "deviation is 0"
        )
    notes += list(dict.fromkeys(n for o in outcomes for n in o.notes))
    remarks = list(dict.fromkeys(r for o in outcomes for e in o.evaluations.values() for r in e.remarks))
    notes += first_of(remarks, 6, "results.json")
    notes += [f"on load: {problem}" for problem in first_of(benchmark.audit.problems, 6, "bench audit")]
    return notes


def breakdown_table(title: str, outcomes: Sequence[Outcome], measure: str, label: str) -> Table:
    """One row a recipe, one column a value of a label: facets, dimensions, kinds of question.

    Args:
        title: of the table.
        outcomes: of one benchmark under one protocol.
        measure: canonical spelling, with the mode in brackets where there are several.
        label: name of the label.
    """
    rows: list[tuple[TableCell, ...]] = []
    found: list[dict[str, tuple[float, int]]] = []
    names: list[str] = []
    unlabelled = 0
    for outcome in outcomes:
        for held, score in outcome.scores():
            if score.spelling == measure and score.values:
                labels = outcome.evaluations[held].labels
                scale = score.measure.family.scale
                parts = {k: (scale * v, n) for k, (v, n) in score.by(labels, label).items()}
                unlabelled = max(unlabelled, parts.pop("", (0.0, 0))[1])
                found.append(parts)
                names.append(outcome.cell.recipe.name)
                break
    values = list(dict.fromkeys(v for parts in found for v in parts))
    failed = [failed_note(outcome.cell.recipe.name, outcome.failed) for outcome in outcomes if outcome.failed]
    if not values:
        raise UsageError(f"no topic has the label {label!r} under {measure}", why="; ".join(failed))
    for recipe, parts in zip(names, found, strict=True):
        means = [parts[v][0] if v in parts else None for v in values]
        known = [m for m in means if m is not None]
        # Over some of the values it would not be comparable with the other rows.
        rows.append((recipe, *means, math.fsum(known) / len(known) if len(known) == len(values) else None))
    sizes = {v: sorted({parts[v][1] for parts in found if v in parts}) for v in values}
    counts = ", ".join(f"{v} {' or '.join(map(str, n))}" for v, n in sizes.items())
    notes = [f"{measure}; units: {counts}"]
    notes += failed
    notes += [f"{unlabelled:,} units have no {label} and are in no column"] if unlabelled else []
    return Table(title, ("recipe", *values, f"mean of {label}s"), tuple(rows), tuple(notes))


def breakdown_tables(outcomes: Sequence[Outcome], label: str) -> list[Table]:
    """:func:`breakdown_table` for every benchmark, protocol and measure whose units have the label.

    Raises:
        UsageError: none of them has it.
    """
    out = []
    for (name, protocol), here in _places(outcomes).items():
        for measure in dict.fromkeys(score.spelling for o in here for _, score in o.scores()):
            with contextlib.suppress(UsageError):
                title = f"{name} ({protocol}): {measure} by {label}"
                out.append(breakdown_table(title, here, measure, label))
    if not out:
        known = {n for o in outcomes for e in o.evaluations.values() for u in e.labels.values() for n in u}
        raise UsageError(
            f"no topic has the label {label!r}", why="labels: " + (", ".join(sorted(known)) or "none")
        )
    return out
