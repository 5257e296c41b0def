"""A study file run: its parts one after the other, and its tables, as a page with a manifest beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from aspectra.base.display import Progress, quiet
from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import file_name, make_folder
from aspectra.base.values import replace
from aspectra.lab.evaluation.means import Labels, nested_mean
from aspectra.lab.experiments.directory import Study, write_json
from aspectra.lab.experiments.execute import run_study, scores_of
from aspectra.lab.experiments.gap.verification import gap_tables
from aspectra.lab.experiments.scoring import CellOutcome
from aspectra.lab.measures.protocol import parse
from aspectra.lab.reports.published import Published, paper_rows, part_of
from aspectra.lab.reports.scores import (
    INTERVALS_NOTE,
    System,
    breakdown_table,
    by_place,
    columns_of,
    comparison_tables,
    counted,
    family_of,
    main_table,
    marks_against,
    marks_note,
    number_of,
    spelled,
    together,
)
from aspectra.lab.reports.tables import SMALL_NOTE, Cell, Number, Table, failed_note, render, to_dict
from aspectra.lab.statistics.significance import BOOTSTRAP_NOTE, SMALL, bootstrap_interval
from aspectra.lab.studies.file import Column, Need, PaperTable, StudyFile, TableSpec, absent_data, lacking
from aspectra.llm.chat import ChatModel
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.settings import IndexSettings


@dataclass(frozen=True)
class StudyPage:
    """Result of a study file.

    Attributes:
        tables: in its order.
        made, kept: rankings made now, and recorded before.
        absent: parts and tables that were left out, one sentence each.
    """

    tables: tuple[Table, ...]
    made: int
    kept: int
    absent: tuple[str, ...]


def run_study_file(
    file: StudyFile,
    folder: Path,
    libraries: Path,
    *,
    only: Sequence[str] = (),
    progress: Progress = quiet,
    load: Callable[[str], Encoder] = load_encoder,
    answering: Callable[[str], ChatModel] | None = None,
) -> StudyPage:
    """Run every part into a folder of its own; rankings recorded there are not made again.

    A part that lacks its data or a model is left out, and the others are run. The tables of a paper say what
    each row lacks; other tables that need the part are left out with it.

    ``page.md``, ``tables.json`` (unrounded) and ``manifest.json`` (the parts' manifests) are written into
    ``folder``.

    Args:
        file: what is to be run and shown.
        folder: of all parts; made when it does not exist.
        libraries: where the benchmarks' libraries are kept.
        only: names of parts; empty for all. Tables that need another part are left out.
        progress: called with (step, done, total).
        load: makes an encoder from its specification.
        answering: makes a language model from its name at the endpoint, see
            :func:`~aspectra.lab.studies.file.lacking`.

    Raises:
        UsageError: no such part, or a table shows something that was not measured.
        BadInput, LibraryBusy: as ``run_study``.
    """
    if unknown := set(only) - {*file.parts, *file.absent}:
        raise UsageError(f"the study has no part {min(unknown)!r}", why="parts: " + ", ".join(file.parts))
    for spec in file.tables:
        if file.paper is not None and spec.published:
            check_paper_table(spec, file.paper, file.parts)
    chosen = {name: study for name, study in file.parts.items() if not only or name in only}
    outcomes: dict[str, tuple[CellOutcome, ...]] = {}
    needs: dict[str, Need] = {}
    manifests: dict[str, Any] = {}
    made = kept = 0
    loaded = cache(load)
    encoders: tuple[str, ...] = ()
    for name, study in chosen.items():
        if (used := study.settings().encoders) != encoders:
            loaded.cache_clear()  # those of all parts might not fit into memory
            encoders = used
        need = lacking(study, load=loaded, answering=answering, known=file.needs)
        place = folder / file_name(name)
        if need is None:
            model = answering(study.model) if answering and study.calls_model else None
            try:
                done = run_study(study, place, libraries, progress=progress, load=loaded, model=model)
            except BadInput as error:  # a folder may be there without the task or dimension
                if (need := absent_data(error)) is None:
                    raise
        if need is not None:
            needs[name] = replace(need, text=need.text.replace(str(file.data), "DATA"))
            continue
        outcomes[name] = done.outcomes
        made, kept = made + done.made, kept + done.kept
        manifests[name] = json.loads((place / "manifest.json").read_text("utf-8"))
    if needs and not outcomes and file.paper is None:
        name, need = next(iter(needs.items()))
        raise BadInput(f"no part of the study can be run: {name} needs {need.kind}", why=need.text)
    absent = [f"the part {name} needs a library of other papers (--among)" for name in file.absent]
    if file.paper is None:  # whose tables say it
        absent += [f"the part {name} needs {need.kind}: {need.text}" for name, need in needs.items()]
    tables: list[tuple[TableSpec, list[Table]]] = []
    ran = Ran(file.parts, outcomes, needs)
    scored = cache(lambda part: scores_of(outcomes[part], part))
    for spec in file.tables:
        if file.paper is not None and spec.published:
            tables.append((spec, paper_tables(spec, file.paper, ran)))
            continue
        if missing := [name for name in spec.parts or file.parts if name not in outcomes]:
            absent.append(f"the table {spec.title!r} needs the part {missing[0]}")
            continue
        tables.append((spec, _study_tables(spec, outcomes, scored)))
    make_folder(folder)
    (folder / "page.md").write_text(_page(file, tables, absent), "utf-8")
    every = [table for _, made_of in tables for table in made_of]
    write_json(folder / "tables.json", {"tables": [to_dict(table) for table in every]})
    write_json(folder / "manifest.json", _manifest(manifests, needs))
    return StudyPage(tuple(every), made, kept, tuple(absent))


def _page(file: StudyFile, tables: Sequence[tuple[TableSpec, Sequence[Table]]], absent: Sequence[str]) -> str:
    parts = [f"# {file.title}", file.about.strip(), *(f"Left out here: {sentence}." for sentence in absent)]
    for spec, made in tables:
        parts += [render(table, "markdown").rstrip() for table in made]
        if spec.figure:
            parts.append(f"![{spec.title}](figures/{spec.figure})")
    return "\n\n".join(filter(None, parts)) + "\n"


def _manifest(parts: Mapping[str, Mapping[str, Any]], needs: Mapping[str, Need]) -> dict[str, Any]:
    """Everything that the numbers depend on, by part: files, libraries, versions, and the key of every cell.

    Of a part that was not run, what it lacks.
    """
    first: Mapping[str, Any] = next(iter(parts.values()), {})
    usual = json.loads(IndexSettings().dumps())
    shown: dict[str, Any] = {name: {"needs": f"{need.kind}: {need.text}"} for name, need in needs.items()}
    for name, held in parts.items():
        benchmarks = {
            benchmark: {
                **{key: facts[key] for key in ("revision", "documents", "topics", "checksums")},
                "library": facts["index"]["state"],
                "papers": facts["index"]["papers"],
                "settings": {k: v for k, v in facts["index"]["settings"].items() if v != usual.get(k)},
                **({"pool": facts["pool"]} if "pool" in facts else {}),
            }
            for benchmark, facts in held["benchmarks"].items()
        }
        cells = [
            f"{c['recipe']['name']} on {c['benchmark']}, {c['protocol']}: {c['cell']}, {c['ranked']} topics, "
            f"{c['seconds']} s" + (f", {c['model']}" if c["model"] else "")
            for c in held["cells"]
        ]
        shown[name] = {"benchmarks": benchmarks, "cells": cells}
    return {"created": first.get("created"), "versions": first.get("versions"), "parts": shown}


def _study_tables(
    spec: TableSpec, outcomes: Mapping[str, Sequence[CellOutcome]], scored: Callable[[str], Sequence[System]]
) -> list[Table]:
    """The tables of one description: several where recipes are compared under several protocols.

    Args:
        spec: the description.
        outcomes: part -> its outcomes.
        scored: part -> its scores.

    Raises:
        UsageError: a row or column names something that was not measured.
    """
    parts = [part for part in outcomes if not spec.parts or part in spec.parts]
    if spec.gap:
        return gap_tables([one for part in parts for one in outcomes[part]], spec.gap)
    every = [system for part in parts for system in scored(part)]
    here = [s for s in every if _fits(s, spec) and (not spec.rows or s.recipe in spec.rows)]
    if missing := [row for row in spec.rows if row not in {s.recipe for s in here}]:
        raise UsageError(f"the table {spec.title!r} has no recipe for its row {missing[0]!r}")
    here.sort(key=lambda s: spec.rows.index(s.recipe) if spec.rows else 0)
    if spec.against:
        kept = [
            s.on(spec.where) if spec.where else s
            for s in together(every)
            if _fits(s, spec) and (s.name == spec.against or not spec.rows or s.name in spec.rows)
        ]
        return comparison_tables(kept, spec.against, measures=spec.measures)
    if spec.columns:
        return [_column_table(spec, every, here)]
    if len(by_place(here)) != 1:
        raise UsageError(f"the table {spec.title!r} shows several benchmarks or protocols, and no columns")
    if spec.by:
        return [breakdown_table(spec.title, here, spec.measure, spec.by)]
    return [main_table(spec.title, here, baseline=spec.baseline, intervals=spec.intervals, times=False)]


def _fits(system: System, spec: TableSpec, column: Column | None = None) -> bool:
    """True if a system is of the benchmark and protocol of a table, or of its column and part."""
    benchmark = (column and column.benchmark) or spec.benchmark
    protocol = (column and column.protocol) or spec.protocol
    part = column.part if column else ""
    wanted = ((benchmark, system.benchmark), (protocol, system.protocol), (part, system.where))
    return all(one in ("", own) for one, own in wanted)


_Units = tuple[str, str, int]  # measure of a column, its heading, the units of one of its means


def _column_table(spec: TableSpec, every: Sequence[System], here: Sequence[System]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    units: list[_Units] = []
    for recipe in dict.fromkeys(system.recipe for system in here):
        own = [system for system in every if system.recipe == recipe]
        rows.append((recipe, *(_cell(column, own, spec, units) for column in spec.columns)))
    empty = [column for j, column in enumerate(spec.columns, 1) if all(row[j] is None for row in rows)]
    if empty and not any(system.failed for system in here):
        raise UsageError(
            f"the table {spec.title!r} has nothing in its column {empty[0].name or empty[0].measure!r}",
            why="measured: " + ", ".join(sorted(set(map(spelled, columns_of(here))))),
        )
    header = ("recipe", *(column.name or column.measure for column in spec.columns))
    return Table(spec.title, header, tuple(rows), (*spec.notes, *_notes(spec, here, units)))


def _cell(column: Column, systems: Sequence[System], spec: TableSpec, units: list[_Units]) -> Cell:
    """The one value of a column in a row, or None; its number of units is added to ``units``.

    Raises:
        UsageError: there are several.
    """
    found: list[Cell] = []
    where = {**spec.where, **column.where}
    fitting = [system for system in systems if _fits(system, spec, column)]
    for system in fitting:
        cell = system.cell
        if column.measure == "ms/query":
            found.append(round(1000 * cell["seconds"], 1))
        elif column.measure == "calls/query":
            found.append(round(cell["cost"].get("calls", 0.0) / max(cell["ranked"], 1)))
        scored = (c for c, mean in system.means.items() if mean is not None and spelled(c) == column.measure)
        if (key := next(scored, None)) is not None:
            own = system.on(where) if where else system
            values, mean = own.values[key], own.means[key]
            spans = spec.intervals and (bool(where) or key[0] != "pairs")
            span = bootstrap_interval(values) if spec.resampled and spans else None
            number = number_of(values, key[1], mean, intervals=spans and not spec.resampled)
            found.append(Number.of(mean, family_of(key).scale, span) if span else number)
            only = "".join(f", {k} {v}" for k, v in where.items())
            heading = column.name or f"{column.measure} on {system.benchmark}"
            units.append((column.measure + only, heading + only, len(values)))
    if len(found) > 1:
        labels = (f"{s.recipe} on {s.benchmark}{' (pools)' * (s.protocol == 'pool')}" for s in fitting)
        raise UsageError(
            f"the column {column.name or column.measure!r} fits several scores",
            why="; ".join(labels),
            hint="name its part, benchmark or protocol",
        )
    return found[0] if found else None


def _notes(spec: TableSpec, here: Sequence[System], units: Sequence[_Units]) -> list[str]:
    benchmarks = {s.benchmark: s.about for s in here}
    notes = [
        f"{name}, revision {b['revision'][:12]}, {b['documents']:,} documents, {b['topics']:,} topics"
        for name, b in benchmarks.items()
    ]
    counts = {measure: {n for name, _, n in units if name == measure} for measure, *_ in units}
    notes += counted((heading if len(counts[name]) > 1 else name, n) for name, heading, n in units)
    notes += [SMALL_NOTE] if any(n < SMALL for *_, n in units) else []
    if any(s.name != s.recipe for s in here):
        notes.append("*simulated*: an oracle that knows the judgements answers, and no language model")
    if spec.intervals:
        notes.append(BOOTSTRAP_NOTE if spec.resampled else INTERVALS_NOTE)
    shown = {column.measure for column in spec.columns}
    told = dict.fromkeys(note for s in here for note in s.cell["notes"])
    return notes + [note for note in told if note.partition(" ")[0] not in shown]


# A paper's tables: every row as printed, with its measurement here, or the needs of measuring it.

_MEAN = "mean of "
_PAIR = "pair"
_OWN_PROMPT = "own prompt"
# Measure, mode, judgements, labels.
_Column = tuple[str, str, str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Ran:
    """Results of running a study file's parts.

    Attributes:
        studies: part -> its study, of all parts.
        outcomes: part -> its outcomes, of those that were run.
        needs: part -> what it lacks, of those that could not be.
    """

    studies: Mapping[str, Study]
    outcomes: Mapping[str, Sequence[CellOutcome]]
    needs: Mapping[str, Need]


_Notes = dict[str, int]  # sentence below a table -> its number


def _mark(notes: _Notes, line: str) -> str:
    """``[3]``, for the third sentence."""
    return f"[{notes.setdefault(line, len(notes) + 1)}]"


def check_paper_table(spec: TableSpec, paper: PaperTable, studies: Mapping[str, Study]) -> None:
    """Refuse a table with rows of which nothing is known, before anything is run.

    Raises:
        UsageError: the table is not held, or a row is neither a recipe nor among ``paper.others``.
    """
    printed = dict.fromkeys(row.label for row in paper_rows(paper.number, spec.published))
    for label in (*printed, *spec.rows, *filter(None, [spec.baseline])):
        name = paper.names.get(label, label)
        if label not in paper.others and not _parts_of(name, spec, studies):
            raise UsageError(
                f"the table {spec.title!r} has no recipe for its row {label!r}",
                why=f"no part runs {name!r}, and [paper] does not say why",
            )


def paper_tables(spec: TableSpec, paper: PaperTable, ran: Ran) -> list[Table]:
    """The published table that ``spec`` names: one line per printed row, and one below it if it was run.

    Args:
        spec: ``published`` is its number; ``by`` is a label by which it is divided; ``rows`` names recipes
            that are not rows of the paper and follow below; ``baseline`` names the recipe that the measured
            ones are marked against.
        paper: whose it is.
        ran: what was run.

    Raises:
        UsageError: the table is not held.
    """
    printed = paper_rows(paper.number, spec.published)
    parts: dict[str, list[Published]] = {}
    for row in printed:
        parts.setdefault(row.labels.get(spec.by, ""), []).append(row)
    return [_table(part, rows, spec, paper, ran) for part, rows in parts.items()]


def _table(value: str, printed: Sequence[Published], spec: TableSpec, paper: PaperTable, ran: Ran) -> Table:
    title = f"{spec.title}: {value}" if value else spec.title
    columns = list(dict.fromkeys(map(_column, printed)))
    by_system: dict[str, dict[_Column, Published]] = {}
    for one in printed:
        by_system.setdefault(one.label, {})[_column(one)] = one
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], str] = {}
    ran_here: dict[str, tuple[int, list[Mapping[str, float]]]] = {}  # recipe -> its row, values by column
    notes: _Notes = {}
    means = {_column(one): one for one in printed}
    family = printed[0].benchmark
    nothing: dict[_Column, Published] = {}
    for label, own in (*by_system.items(), *((name, nothing) for name in spec.rows)):
        name = paper.names.get(label, label) if own else label
        status, outcomes = _status(label, name, value, spec, paper, ran, notes)
        own_prompt = _own_prompt(name, paper, ran)
        for place, column in enumerate(columns, start=2):
            if column in own and own[column].doubt:
                marks[len(rows), place] = "?"
        if own or not outcomes:
            told = status if outcomes else status + own_prompt
            rows.append((label, told, *(_printed(own.get(column)) for column in columns)))
        found = [_measured(column, (own or means).get(column), outcomes, spec) for column in columns]
        numbers = [number for number, _ in found]
        if outcomes and (own or any(n is not None for n in numbers) or any(o.failed for o in outcomes)):
            where = {o.cell.benchmark.name for o in outcomes if not own}
            others = sorted(one for one in where if one.partition("/")[0] != family)
            on = f" on {', '.join(others)}" if others else ""
            ran_here[name] = len(rows), [values for _, values in found]
            rows.append((label, _ran(outcomes, own, notes, on) + own_prompt, *numbers))
    for place in range(len(columns)):
        compared = marks_against(spec.baseline, {name: of[place] for name, (_, of) in ran_here.items()})
        marks |= {(ran_here[name][0], place + 2): mark for name, mark in compared.items()}
    doubts = {one.doubt for one in printed if one.doubt}
    below = [f"[{number}] {line}" for line, number in notes.items()]
    below += [f"?: a printed number that is doubtful: {'; '.join(sorted(doubts))}"] if doubts else []
    if any(_OWN_PROMPT in str(row[1]) for row in rows):
        below.append(
            f"{_OWN_PROMPT}: its model was tuned on another prompt than ours; --prompts FOLDER gives it"
        )
    if spec.baseline:
        unmarked = f"no marks of significance: {spec.baseline}, the baseline of the tests, was not run"
        below.append(marks_note(spec.baseline) if spec.baseline in ran_here else unmarked)
    below += [*spec.notes, "measures x100 except ranks, distances and percents"]
    header = ("system", "", *_headings(columns))
    return Table(title, header, tuple(rows), tuple(below), _decimals(printed), marks=marks)


def _decimals(printed: Sequence[Published]) -> int:
    """Number of decimals that the paper prints, in the unit of the table."""
    shown = [_printed(row) for row in printed]
    return max(len(f"{one.value:.6f}".rstrip("0").partition(".")[2]) for one in shown if one is not None)


def _column(row: Published) -> _Column:
    return row.measure, row.mode, row.judgements, tuple(row.labels.items())


def _headings(columns: Sequence[_Column]) -> list[str]:
    """Headings of columns, without the labels that all of them share."""
    shared = set.intersection(*({*labels} for *_, labels in columns))
    several = len({judgements for _, _, judgements, _ in columns}) > 1
    out = []
    for measure, mode, judgements, labels in columns:
        own = [value for name, value in labels if (name, value) not in shared]
        out.append(" ".join(filter(None, (measure, mode[:3], judgements if several else "", *own))))
    return out


def _parts_of(name: str, spec: TableSpec, studies: Mapping[str, Study], value: str = "") -> list[str]:
    """The parts that run a recipe for a table, or for the one of its tables that is of a value of ``by``."""
    return [
        part
        for part, study in studies.items()
        if (not spec.parts or part in spec.parts)
        and name in study.rows
        and (not value or all(source.options.get(spec.by, value) == value for source in study.sources))
    ]


def _status(
    label: str, name: str, value: str, spec: TableSpec, paper: PaperTable, ran: Ran, notes: _Notes
) -> tuple[str, list[CellOutcome]]:
    """Status of a printed row, and the outcomes of its recipe."""
    if label in paper.others:
        return f"not run {_mark(notes, paper.others[label])}", []
    where = _parts_of(name, spec, ran.studies, value)
    outcomes = [
        outcome
        for part in where
        for outcome in ran.outcomes.get(part, ())
        if outcome.cell.recipe.name == name
        and spec.protocol in ("", outcome.cell.protocol)
        and (not value or part_of(paper.number, outcome.cell.benchmark.name) in ("", value))
    ]
    if outcomes:
        return "published", outcomes
    if found := [ran.needs[part] for part in where if part in ran.needs]:
        first = found[0]
        model = f" and model {_mark(notes, first.model)}" if first.model else ""
        return f"needs {first.kind} {_mark(notes, first.text)}{model}", []
    return f"not run {_mark(notes, 'left out by --part')}", []


def _own_prompt(name: str, paper: PaperTable, ran: Ran) -> str:
    """Remark on a row whose model was tuned on its own prompt, until its recipe has that prompt's file."""
    recipes = [recipe for study in ran.studies.values() for recipe in study.recipes if recipe.name == name]
    has_file = any("prompt_file=" in stage for recipe in recipes for stage in recipe.stages)
    return f"; {_OWN_PROMPT}" if name in paper.own_prompts and not has_file else ""


def _ran(
    outcomes: Sequence[CellOutcome], own: Mapping[_Column, Published], notes: _Notes, on: str = ""
) -> str:
    """Status of a row that was run; ``own`` are the printed numbers, empty for none."""
    if lost := [o for o in outcomes if o.failed]:
        return f"failed {_mark(notes, failed_note(lost[0].cell.recipe.name, lost[0].failed))}"
    words = f"run here{on}" + ", simulated" * any(o.tally.simulated for o in outcomes)
    words += "" if own else ", not in the paper"
    if reasons := _not_comparable(outcomes, own):
        words += f"; not comparable {_mark(notes, reasons[0])}"
    if cut := sum(o.tally.cut for o in outcomes):
        words += f"; texts cut {_mark(notes, f'the model was shown {cut:,} texts only in part')}"
    return words


def _not_comparable(outcomes: Sequence[CellOutcome], own: Mapping[_Column, Published]) -> list[str]:
    held: list[Published] = []
    reasons: list[str] = []
    for benchmark in (outcome.cell.benchmark for outcome in outcomes if own):
        first = next(iter(own.values()))
        rows = paper_rows(first.paper, first.table, benchmark)
        found = [row for row in rows if row.label == first.label and _column(row) in own]
        if not found and part_of(first.paper, benchmark.name):
            reasons.append(f"measured on {benchmark.name} alone, and the printed numbers are of all parts")
        held += found
    # A doubt about a printed number has its own mark; what stands before it holds for the row.
    told = (row.why_not.partition("doubtful: ")[0].removesuffix("; ") for row in held)
    return [*reasons, *filter(None, told)]


def _printed(row: Published | None) -> Number | None:
    return None if row is None else Number.of(row.value, parse(row.measure).family.scale)


def _measured(
    column: _Column, row: Published | None, outcomes: Sequence[CellOutcome], spec: TableSpec
) -> tuple[Number | None, Mapping[str, float]]:
    """The measured number of a column, or None, and the values of its units."""
    measure, mode, judgements, wanted = column
    for outcome in outcomes:
        part = part_of(row.paper, outcome.cell.benchmark.name) if row else ""
        for name, score in outcome.scores():
            if (str(score.measure), score.mode) != (measure, mode) or judgements not in ("", name):
                continue
            labels = outcome.evaluations[name].labels
            mean, values = _mean(score.values, labels, dict(wanted), part, row.mean_of if row else "")
            if mean is not None:
                return number_of(values, measure, mean, intervals=spec.intervals), values
    return None, {}


def _mean(
    values: Mapping[str, float], labels: Labels, wanted: Mapping[str, str], part: str, mean_of: str
) -> tuple[float | None, dict[str, float]]:
    """The mean of the units that have the labels, and their values; see :class:`Published`."""
    for name, value in wanted.items():
        if value.startswith(_MEAN):
            both = [{**wanted, name: one} for one in value.removeprefix(_MEAN).split(" and ")]
            return _mean_of([_mean(values, labels, one, part, mean_of) for one in both])
    kept = {
        unit: value
        for unit, value in values.items()
        if all(labels.get(unit, {}).get(name, part) == one for name, one in wanted.items())
    }
    if mean_of:
        groups = dict.fromkeys(labels.get(unit, {}).get(mean_of, "") for unit in kept)
        return _mean_of([_mean(kept, labels, {mean_of: group}, part, "") for group in groups])
    # p-MRR of a topic is the mean of its pairs with other aspects.
    pairs = [_PAIR] if kept and all(_PAIR in labels.get(unit, {}) for unit in kept) else []
    return nested_mean(kept, labels, pairs), kept


def _mean_of(found: Sequence[tuple[float | None, dict[str, float]]]) -> tuple[float | None, dict[str, float]]:
    means = [mean for mean, _ in found if mean is not None]
    values = {unit: value for _, own in found for unit, value in own.items()}
    return (math.fsum(means) / len(means) if means and len(means) == len(found) else None), values
