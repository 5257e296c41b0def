"""Scores by system, measure and unit, read from ``results.json`` or made in memory, and their tables."""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import file_name
from aspectra.base.values import replace
from aspectra.lab.evaluation.means import Labels, by_label, get_preset
from aspectra.lab.measures.protocol import Family, parse
from aspectra.lab.reports.tables import (
    SMALL_NOTE,
    Cell,
    Column,
    Number,
    Table,
    failed_note,
    first_of,
    set_shown,
)
from aspectra.lab.statistics.significance import (
    SMALL,
    Interval,
    Values,
    bootstrap_interval,
    compare,
    mean_interval,
    win_tie_loss,
)

INTERVALS_NOTE = (
    "in brackets: 95 % t-intervals of means over units, bootstrap intervals where those would leave the "
    "scale, not of differences between recipes; none where a mean is of other means (folds, pairs) or of a "
    "ratio"
)


def mean_of(values: Values) -> float | None:
    """The plain mean over units; None without any."""
    return math.fsum(values.values()) / len(values) if values else None


def interval_of(values: Values, measure: str) -> Interval | None:
    """The t-interval of the plain mean; the bootstrap one where that would leave the measure's scale."""
    low, high = parse(measure).family.bounds
    span = mean_interval(values)
    return span if span is None or low <= span.low <= span.high <= high else bootstrap_interval(values)


def number_of(
    values: Values,
    measure: str,
    mean: float | None,
    *,
    intervals: bool = True,
    deviation: float | None = None,
) -> Number | None:
    """A mean as printed, times the measure's scale.

    Args:
        values: unit -> value. The interval is of their plain mean, so that a mean which is not it has none.
        measure: complete spelling.
        mean: over the units, or None, which gives None.
        intervals: also give the interval.
        deviation: over runs.
    """
    known = intervals and mean is not None and _is_plain(mean, mean_of(values))
    span = interval_of(values, measure) if known else None
    return Number.of(mean, parse(measure).family.scale, span, deviation)


def _is_plain(mean: float | None, plain: float | None) -> bool:
    """False if a mean is not the plain mean over units: of other means (folds, pairs), or of a ratio."""
    return mean is None or plain is None or math.isclose(mean, plain, abs_tol=1e-9)


def half_of(unit: str) -> str:
    """``dev`` or ``test``, by a hash: settings are chosen on one half of the units, claims made on the other.

    >>> [half_of(unit) for unit in ("owl", "mouse", "nest")]
    ['dev', 'dev', 'test']
    """
    return "test" if hashlib.md5(unit.encode(), usedforsecurity=False).digest()[0] % 2 else "dev"


def family_of(column: Column) -> Family:
    """The family of a column's measure."""
    return parse(column[1]).family


def spelled(column: Column, *behind: str) -> str:
    """A column's measure with its mode, and what else is given, in brackets: ``nDCG@10 [instructed]``."""
    told = ", ".join(filter(None, (column[2], *behind)))
    return column[1] + (f" [{told}]" if told else "")


@dataclass(frozen=True)
class System:
    """One recipe's scores on one benchmark under one protocol.

    Attributes:
        name: as tables call it.
        benchmark, protocol, preset: what it was scored on, and how.
        values: column -> unit -> value.
        means: column -> mean; None without values to average.
        cell: what ``results.json`` says of it besides, and ``seconds`` and ``cost`` where it was made in
            memory, see :func:`~aspectra.lab.experiments.execute.scores_of`.
        about: what ``results.json`` says of the benchmark.
        labels: unit -> label -> value.
        deviations: column -> standard deviation over runs.
        where: the experiment that it is from.
    """

    name: str
    benchmark: str
    protocol: str
    preset: str
    values: Mapping[Column, Values]
    means: Mapping[Column, float | None]
    cell: Mapping[str, Any]
    about: Mapping[str, Any] = field(default_factory=dict)
    labels: Labels = field(default_factory=dict)
    deviations: Mapping[Column, float] = field(default_factory=dict)
    where: str = ""

    @property
    def recipe(self) -> str:
        """The recipe's own name, without what tables add."""
        return str(self.cell["recipe"]).removesuffix(" [simulated]")

    @property
    def made_on(self) -> tuple[str, str, str]:
        """Revision of the files, preset, and hash of the judgements ("" where no file names it)."""
        return self.about["revision"], self.preset, self.about.get("judgement_hash", "")

    @property
    def failed(self) -> int:
        """Rankings in which calls to a model failed; with any, ``values`` is empty."""
        return int(self.cell.get("failed", 0))

    @property
    def title(self) -> str:
        """Benchmark and protocol as printed: ``csfcube (pools)``."""
        return f"{self.benchmark} ({'pools' if self.protocol == 'pool' else 'collection'})"

    def mean(self, column: Column, units: Iterable[str] | None = None) -> Number | None:
        """The mean with its interval, times the measure's scale; over some units alone where named."""
        values = self.values.get(column, {})
        if units is None:
            return number_of(values, column[1], self.means.get(column))
        own = {unit: values[unit] for unit in units if unit in values}
        return number_of(own, column[1], mean_of(own))

    def on(self, where: Mapping[str, str]) -> System:
        """The system on the units that have the labels (``half``: see :func:`half_of`), with plain means."""

        def fits(unit: str) -> bool:
            own = {"half": half_of(unit), **self.labels.get(unit, {})}
            return all(own.get(name) == wanted for name, wanted in where.items())

        values = {c: {u: v for u, v in own.items() if fits(u)} for c, own in self.values.items()}
        return replace(self, values=values, means={column: mean_of(own) for column, own in values.items()})


def read_systems(where: str, held: Mapping[str, Any]) -> list[System]:
    """The systems of one ``results.json``, from the experiment ``where``.

    Raises:
        BadInput: the file lacks something.
    """
    out = []
    try:
        for cell in held.get("cells") or ():
            about = held["benchmarks"][cell["benchmark"]]
            rows = {
                (name, row["measure"], row["mode"]): row
                for name, evaluation in cell["sets"].items()
                for row in evaluation["scores"]
            }
            system = System(
                name=cell["recipe"],
                benchmark=cell["benchmark"],
                protocol=cell["protocol"],
                preset=cell["preset"],
                values={column: row["values"] for column, row in rows.items()},
                means={column: row["mean"] for column, row in rows.items()},
                cell={"ranked": cell["ranked"], "topics": cell["topics"], **cell},
                about={"revision": about["revision"], **about},
                labels=cell.get("labels", about.get("labels")) or {},
                deviations={c: row["deviation"] for c, row in rows.items() if "deviation" in row},
                where=where,
            )
            out.append(system)
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"the results of {where} are damaged", why=f"{type(error).__name__}: {error}"
        ) from error
    return out


_MADE_ON = ("revision", "preset", "judgements")


def together(systems: Sequence[System], shown: Mapping[str, str] | None = None) -> list[System]:
    """Systems of several experiments side by side; a name that comes twice gets its experiment behind it.

    Args:
        systems: of all experiments.
        shown: experiment -> its name there; default: its own.

    Raises:
        BadInput: two of them scored other files of a benchmark, under other presets or by other judgements.
    """
    firsts: dict[tuple[str, str], System] = {}
    for system in systems:
        first = firsts.setdefault((system.benchmark, system.protocol), system)
        for what, one, other in zip(_MADE_ON, first.made_on, system.made_on, strict=True):
            if one != other and (what != "judgements" or (one and other)):
                raise BadInput(
                    f"{first.where} and {system.where} differ in {what} of {system.benchmark}",
                    why=f"{one} and {other}: their numbers cannot be compared",
                    hint="run or score both on the same files under the same preset",
                )
    names = [(s.benchmark, s.protocol, s.name) for s in systems]
    return [
        replace(s, name=f"{s.name} ({(shown or {}).get(s.where, s.where)})") if names.count(name) > 1 else s
        for name, s in zip(names, systems, strict=True)
    ]


def systems_of(results: Mapping[str, Mapping[str, Any]]) -> list[System]:
    """All systems of one or several ``results.json``, see :func:`together`.

    Args:
        results: name of a directory -> what its file holds.
    """
    return together([system for where, held in results.items() for system in read_systems(where, held)])


def by_place(systems: Iterable[System]) -> dict[tuple[str, str], list[System]]:
    """(benchmark, protocol) -> its systems, in order of first appearance."""
    out: dict[tuple[str, str], list[System]] = {}
    for system in systems:
        out.setdefault((system.benchmark, system.protocol), []).append(system)
    return out


def columns_of(systems: Iterable[System]) -> list[Column]:
    """All columns that some system was scored by, in order."""
    return list(dict.fromkeys(column for system in systems for column in system.means))


def comparable(baseline: str, scores: Mapping[str, Values]) -> tuple[Values, dict[str, Values]]:
    """The baseline's values, and those of the others that were scored on the same units."""
    base = scores.get(baseline, {})
    return base, {n: own for n, own in scores.items() if n != baseline and own.keys() == base.keys()}


def marks_against(baseline: str, scores: Mapping[str, Values]) -> dict[str, str]:
    """Row -> ``+`` (better than the baseline) or ``-``, where the difference is significant.

    Args:
        baseline: one of the rows; otherwise nothing is marked.
        scores: row -> unit -> value; rows with other units than the baseline's are not compared.
    """
    base, others = comparable(baseline, scores)
    compared = compare(base, others).items() if len(base) > 1 else ()
    return {name: "+" if c.difference > 0 else "-" for name, c in compared if c.significant()}


def marks_note(baseline: str) -> str:
    """The note that explains :func:`marks_against`."""
    return f"+ / - : better / worse than {baseline}, paired test (t), p < 0.05"


def best_cells(systems: Sequence[System], columns: Sequence[Column]) -> frozenset[tuple[int, int]]:
    """(row, column) of the best means, where more is better; nothing is best where all are equal.

    Columns are counted from the one behind the systems' names.
    """
    best: set[tuple[int, int]] = set()
    for j, column in enumerate(columns, start=1):
        means = [system.means.get(column) for system in systems]
        known = {m for m in means if m is not None}
        if len(known) > 1 and family_of(column).better == "higher":
            best.update((i, j) for i, m in enumerate(means) if m == max(known))
    return frozenset(best)


def counted(units: Iterable[tuple[str, int]]) -> list[str]:
    """The measures of each number of units; small numbers are called small."""
    by_count: dict[int, dict[str, None]] = {}
    for name, count in units:
        by_count.setdefault(count, {})[name] = None
    return [f"{n} units{', small' if n < SMALL else ''}: {', '.join(of)}" for n, of in by_count.items()]


def main_tables(systems: Sequence[System], *, baseline: str = "") -> dict[str, Table]:
    """:func:`main_table` of each benchmark and protocol, by a name fit for a file."""
    out: dict[str, Table] = {}
    for (name, protocol), here in by_place(systems).items():
        file = file_name(f"{name}-{'pools' if protocol == 'pool' else 'collection'}")
        out[file] = main_table(here[0].title, here, baseline=baseline)
    return out


def main_table(
    title: str,
    systems: Sequence[System],
    *,
    baseline: str = "",
    intervals: bool = True,
    times: bool = True,
) -> Table:
    """One row per recipe, one column per measure, with notes on what the means are taken over.

    Args:
        title: of the table.
        systems: made in memory, of one benchmark under one protocol.
        baseline: name of the recipe that others are compared with by paired t-tests; "" for no test.
        intervals: also print 95 % t-intervals over units, of means that are plain means over units.
        times: also print the median time of a query.

    Raises:
        UsageError: the baseline is not among the systems.
    """
    if not systems:
        raise UsageError("there is nothing to print")
    columns = columns_of(systems)
    names = [system.recipe for system in systems]
    if baseline and baseline not in names:
        raise UsageError(f"no recipe is called {baseline!r}", why="there are " + ", ".join(names))
    paid = sorted({name for system in systems for name in system.cell["cost"]})
    rows: list[tuple[Cell, ...]] = []
    for system in systems:
        cells: list[Cell] = [system.name + " [failed]" * bool(system.failed)]
        for c in columns:
            values, spread = system.values.get(c, {}), system.deviations.get(c)
            spans = intervals and c[0] != "pairs"
            cells.append(number_of(values, c[1], system.means.get(c), intervals=spans, deviation=spread))
        cells += [None if system.failed else round(1000 * system.cell["seconds"], 1)] if times else []
        # Money with its parts, counts without.
        cost = {name: system.cell["cost"].get(name, 0.0) for name in paid}
        cells += [round(n, 4) if name == "money" else f"{n:,.0f}" for name, n in cost.items()]
        rows.append(tuple(cells))
    marks: dict[tuple[int, int], str] = {}
    for j, column in enumerate(columns, start=1):
        if baseline and family_of(column).better == "higher":
            own = {s.recipe: s.values[column] for s in systems if column in s.values}
            marks |= {(names.index(name), j): mark for name, mark in marks_against(baseline, own).items()}
    notes = _notes(systems, times)
    notes += [marks_note(baseline)] if baseline else []
    notes += [INTERVALS_NOTE] if intervals else []
    shown = (" ".join(filter(None, (c[1], c[2][:3], set_shown(c, columns)))) for c in columns)
    header = ("recipe", *shown, *(["ms/query"] if times else []), *paid)
    return Table(title, header, tuple(rows), tuple(notes), marks=marks, best=best_cells(systems, columns))


def _notes(systems: Sequence[System], times: bool) -> list[str]:
    """Notes on everything that the numbers depend on."""
    first, about = systems[0], systems[0].about
    scored: Mapping[Column, Values] = next((s.values for s in systems if s.values), {})
    units = counted((column[1], len(values)) for column, values in scored.items())
    what = "each topic's pool is ranked" if first.protocol == "pool" else "the whole collection is ranked"
    notes = [
        f"{first.benchmark}, revision {about['revision'][:12]}, {about['documents']:,} documents; {what}",
        f"preset {first.preset}; {'; '.join(units)}; measures x100 except ranks, distances and percents",
    ]
    notes += [SMALL_NOTE] if any(len(values) < SMALL for values in scored.values()) else []
    if times:
        notes.append("ms/query: median; a query is encoded once, for the first recipe that needs its vector")
    if late := [f"{s.recipe} {n}" for s in systems if (n := s.cell["appended_to_pools"])]:
        notes.append(f"pool documents that the recipe did not rank, placed last: {', '.join(late)}")
    if several := [s for s in systems if s.deviations]:
        runs = ("" if s.cell["deterministic"] else f" ({s.cell['runs']} runs)" for s in several)
        told = ", ".join(s.recipe + of for s, of in zip(several, runs, strict=True))
        notes.append(
            f"mean ± standard deviation over runs: {told}; a deterministic recipe is run once, its "
            "deviation is 0"
        )
    notes += list(dict.fromkeys(n for s in systems for n in s.cell["notes"]))
    remarks = dict.fromkeys(r for s in systems for e in s.cell["sets"].values() for r in e["remarks"])
    notes += first_of(list(remarks), 6, "results.json")
    return notes + [f"on load: {problem}" for problem in first_of(about["problems"], 6, "bench audit")]


def breakdown_table(title: str, systems: Sequence[System], measure: str, label: str) -> Table:
    """One row per recipe, one column per value of a label: facets, dimensions, kinds of question.

    Args:
        title: of the table.
        systems: of one benchmark under one protocol.
        measure: canonical spelling, with the mode in brackets where there are several.
        label: name of the label.
    """
    found: list[tuple[str, dict[str, tuple[float, int]]]] = []
    unlabelled = 0
    for system in systems:
        column = next((c for c, own in system.values.items() if own and spelled(c) == measure), None)
        if column is not None:
            parts = by_label(system.values[column], system.labels, label)
            unlabelled = max(unlabelled, parts.pop("", (0.0, 0))[1])
            scale = family_of(column).scale
            found.append((system.recipe, {k: (scale * v, n) for k, (v, n) in parts.items()}))
    values = list(dict.fromkeys(v for _, parts in found for v in parts))
    failed = [failed_note(system.recipe, system.failed) for system in systems if system.failed]
    if not values:
        raise UsageError(f"no topic has the label {label!r} under {measure}", why="; ".join(failed))
    rows: list[tuple[Cell, ...]] = []
    for recipe, parts in found:
        known = {v: mean for v, (mean, _) in parts.items()}
        # Over some of the values it would not be comparable with the other rows.
        rows.append((recipe, *map(known.get, values), mean_of(known) if len(known) == len(values) else None))
    sizes = {v: sorted({parts[v][1] for _, parts in found if v in parts}) for v in values}
    counts = ", ".join(f"{v} {' or '.join(map(str, n))}" for v, n in sizes.items())
    notes = [f"{measure}; units: {counts}", *failed]
    notes += [f"{unlabelled:,} units have no {label} and are in no column"] if unlabelled else []
    return Table(title, ("recipe", *values, f"mean of {label}s"), tuple(rows), tuple(notes))


def breakdown_tables(systems: Sequence[System], label: str) -> list[Table]:
    """:func:`breakdown_table` for every benchmark, protocol and measure whose units have the label.

    Raises:
        UsageError: none of them has it.
    """
    out = []
    for (name, protocol), here in by_place(systems).items():
        for measure in dict.fromkeys(map(spelled, columns_of(here))):
            with contextlib.suppress(UsageError):
                title = f"{name} ({protocol}): {measure} by {label}"
                out.append(breakdown_table(title, here, measure, label))
    if not out:
        known = {name for s in systems for own in s.labels.values() for name in own}
        raise UsageError(
            f"no topic has the label {label!r}", why="labels: " + (", ".join(sorted(known)) or "none")
        )
    return out


# How the intervals relate to the p beside them, by correction.
_SIMULTANEOUS = "95 % intervals by the same test, simultaneous over the systems of a measure: "
_INTERVALS = {
    "none": "95 % intervals by the same test: one excludes 0 exactly if p < 0.05",
    "bonferroni": _SIMULTANEOUS + "one excludes 0 exactly if p < 0.05",
    "holm": _SIMULTANEOUS + "where one excludes 0, p < 0.05; holm also finds differences that no simple "
    "interval shows",
}
_UNITS = 5  # the column that counts them


def wanted_measures(measures: Sequence[str], preset: str) -> set[str]:
    """Complete spellings of measures as they were scored."""
    return {str(get_preset(preset).parse(text)) for text in measures}


def comparison_tables(
    systems: Sequence[System],
    baseline: str,
    *,
    test: str = "t",
    correction: str = "none",
    measures: Sequence[str] = (),
) -> list[Table]:
    """One table per benchmark and protocol: each system against the baseline, by measure.

    Args:
        systems: what to compare.
        baseline: its name.
        test: ``t``, ``wilcoxon`` or ``randomisation``.
        correction: ``none``, ``holm`` or ``bonferroni``, over the systems of one measure.
        measures: only these; default: all there are.

    Raises:
        UsageError: the baseline, a measure, the test or the correction does not exist.
    """
    compare({}, {}, test=test, correction=correction)  # complains about unknown names
    out = []
    for here in by_place(systems).values():
        base = next((s for s in here if s.name == baseline), None)
        if base is None or len(here) < 2:
            continue
        wanted = wanted_measures(measures, base.preset)
        rows: list[tuple[Any, ...]] = []
        notes = [failed_note(s.name, s.failed) for s in here if s.failed]
        notes += [
            "{}: of {:,} questions to the model {:,} got no readable answer".format(s.name, *lost[::-1])
            for s in here
            if (lost := s.cell.get("unanswered", (0, 0)))[0]
        ]
        columns = [] if base.failed else columns_of(here)
        for column in columns:
            if not wanted or column[1] in wanted:
                found, told = _compared(column, columns, base, here, test=test, correction=correction)
                rows += found
                notes += told
        if not rows and not notes:
            continue
        small = {(i, _UNITS): " small" for i, row in enumerate(rows) if row[_UNITS] < SMALL}
        corrected = "" if correction == "none" else f", {correction}-corrected over the systems of a measure"
        notes = [
            f"mean differences from {baseline} over units; paired test: {test}{corrected}; * p < 0.05; "
            f"preset {base.preset}; measures x100 except ranks, distances and percents",
            _INTERVALS[correction] if test != "wilcoxon" else "no intervals: wilcoxon tests ranks, not means",
            *([SMALL_NOTE] if small else []),
            *(
                f"incomplete: {s.name} ranked {s.cell['ranked']:,} of {s.cell['topics']:,} topics"
                for s in here
                if s.cell["ranked"] < s.cell["topics"]
            ),
            *notes,
        ]
        header = ("measure", "system", "mean", "difference", "wins/ties/losses", "units", "p", "")
        out.append(Table(f"{base.title}, against {baseline}", header, tuple(rows), tuple(notes), marks=small))
    if not out:
        names = ", ".join(dict.fromkeys(s.name for s in systems))
        if baseline not in {s.name for s in systems}:
            raise UsageError(f"no system is called {baseline!r}", why=f"there are {names}")
        raise UsageError(
            f"there is nothing to compare with {baseline}",
            why=f"systems: {names}" + (f"; measures wanted: {', '.join(measures)}" if measures else ""),
        )
    return out


def _compared(
    column: Column, columns: Sequence[Column], base: System, here: Sequence[System], **how: Any
) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Rows of one measure, the baseline's first, and notes on it."""
    name, family = spelled(column, set_shown(column, columns)), family_of(column)
    scored = [s for s in here if s is base or column in s.values]
    values = {s.name: s.values.get(column, {}) for s in scored}
    own, others = comparable(base.name, values)
    notes = [
        f"{name}: {other} was scored on other units ({len(values[other]):,}, the baseline on {len(own):,}): "
        "not compared"
        for other in values
        if other not in (base.name, *others)
    ]
    if column[0] == "pairs" and others:
        notes.append(f"{name}: pairs of one paper are tested as if independent: p and intervals flatter")
    shown = [base, *(s for s in scored if s.name in others)]
    # The baseline alone does not show it: where its values are equal, so are all means of them.
    if not all(_is_plain(s.means.get(column), mean_of(values[s.name])) for s in shown):
        notes.append(
            f"{name}: its mean is of other means (folds, pairs) or of a ratio; differences are plain means"
            " over units"
        )
    compared = compare(own, others, **how)
    rows: list[tuple[Any, ...]] = []
    for system in shown:
        first = (name, system.name, Number.of(system.means.get(column), family.scale))
        if system is base:
            rows.append((*first, None, None, len(own), None, ""))
            continue
        found, ours = compared[system.name], others[system.name]
        p = found.p if found.adjusted is None else found.adjusted
        won = win_tie_loss(*((own, ours) if family.better == "lower" else (ours, own)))
        difference = Number.of(found.difference, family.scale, found.interval)
        printed = None if p is None else f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}"
        star = "*" if found.significant() else ""
        rows.append((*first, difference, "{}/{}/{}".format(*won), found.units, printed, star))
    return rows, notes
