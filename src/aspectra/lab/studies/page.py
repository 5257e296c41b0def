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
from aspectra.base.files import make_folder
from aspectra.base.spelling import file_name
from aspectra.base.values import replace
from aspectra.lab.evaluation.means import Labels, Score
from aspectra.lab.experiments.directory import write_json
from aspectra.lab.experiments.execute import results, run_study
from aspectra.lab.experiments.gap.verification import gap_tables
from aspectra.lab.experiments.recipe_tables import INTERVALS_NOTE, breakdown_table, main_table, plain_interval
from aspectra.lab.experiments.scoring import Outcome
from aspectra.lab.reports.scores import comparison_tables, half_of, systems_of
from aspectra.lab.reports.tables import SMALL_NOTE, Cell, Number, Table, render, to_dict
from aspectra.lab.statistics.significance import BOOTSTRAP_NOTE, SMALL, bootstrap_interval
from aspectra.lab.studies.file import Column, Need, StudyFile, TableSpec, absent_data, lacking
from aspectra.lab.studies.paper_tables import Ran, check_paper_table, paper_tables
from aspectra.llm.chat import ChatModel
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.settings import IndexSettings

Outcomes = Mapping[str, Sequence[Outcome]]


@dataclass(frozen=True)
class Page:
    """What a study file gives.

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
) -> Page:
    """Run every part into a folder of its own; what is recorded there is not made again.

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
    outcomes: dict[str, tuple[Outcome, ...]] = {}
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
    for spec in file.tables:
        if file.paper is not None and spec.published:
            tables.append((spec, paper_tables(spec, file.paper, ran)))
            continue
        if missing := [name for name in spec.parts or file.parts if name not in outcomes]:
            absent.append(f"the table {spec.title!r} needs the part {missing[0]}")
            continue
        tables.append((spec, _study_tables(spec, outcomes)))
    make_folder(folder)
    (folder / "page.md").write_text(_page(file, tables, absent), "utf-8")
    every = [table for _, made_of in tables for table in made_of]
    write_json(folder / "tables.json", {"tables": [to_dict(table) for table in every]})
    write_json(folder / "manifest.json", _manifest(manifests, needs))
    return Page(tuple(every), made, kept, tuple(absent))


def _page(file: StudyFile, tables: Sequence[tuple[TableSpec, Sequence[Table]]], absent: Sequence[str]) -> str:
    parts = [f"# {file.title}", file.about.strip(), *(f"Left out here: {sentence}." for sentence in absent)]
    for spec, made in tables:
        parts += [render(table, "markdown").rstrip() for table in made]
        if spec.figure:
            parts.append(f"![{spec.title}](figures/{spec.figure})")
    return "\n\n".join(filter(None, parts)) + "\n"


def _manifest(parts: Mapping[str, Mapping[str, Any]], needs: Mapping[str, Need]) -> dict[str, Any]:
    """What the numbers depend on, of all parts: files, libraries, versions, and the key of every cell.

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


def _study_tables(spec: TableSpec, outcomes: Outcomes) -> list[Table]:
    """The tables of one description: several where recipes are compared under several protocols.

    Args:
        spec: the description.
        outcomes: part -> its outcomes.

    Raises:
        UsageError: a row or column names something that was not measured.
    """
    held = {part: found for part, found in outcomes.items() if not spec.parts or part in spec.parts}
    if spec.gap:
        return gap_tables([one for found in held.values() for one in found], spec.gap)
    here = [
        outcome
        for found in held.values()
        for outcome in found
        if spec.benchmark in ("", outcome.cell.benchmark.name)
        and spec.protocol in ("", outcome.cell.protocol)
        and (not spec.rows or outcome.cell.recipe.name in spec.rows)
    ]
    names = {outcome.cell.recipe.name for outcome in here}
    if missing := [row for row in spec.rows if row not in names]:
        raise UsageError(f"the table {spec.title!r} has no recipe for its row {missing[0]!r}")
    here.sort(key=lambda o: spec.rows.index(o.cell.recipe.name) if spec.rows else 0)
    if spec.against:
        systems = systems_of({part: results(of) for part, of in held.items()})
        kept = [
            s.on(spec.where) if spec.where else s
            for s in systems
            if (s.name == spec.against or not spec.rows or s.name in spec.rows)
            and spec.benchmark in ("", s.benchmark)
            and spec.protocol in ("", s.protocol)
        ]
        return comparison_tables(kept, spec.against, measures=spec.measures)
    if spec.columns:
        return [_column_table(spec, held, list(dict.fromkeys(o.cell.recipe.name for o in here)), here)]
    if len({(o.cell.benchmark.name, o.cell.protocol) for o in here}) != 1:
        raise UsageError(f"the table {spec.title!r} shows several benchmarks or protocols, and no columns")
    if spec.by:
        return [breakdown_table(spec.title, here, spec.measure, spec.by)]
    return [main_table(spec.title, here, baseline=spec.baseline, intervals=spec.intervals, times=False)]


def _column_table(spec: TableSpec, held: Outcomes, rows: Sequence[str], here: Sequence[Outcome]) -> Table:
    cells: list[tuple[Cell, ...]] = []
    units: dict[str, int] = {}
    empty = set(range(len(spec.columns)))
    for row in rows:
        values: list[Cell] = [row]
        for number, column in enumerate(spec.columns):
            found = _fitting(column, row, held, spec)
            value = _cell(column, found, spec, units)
            if value is not None:
                empty.discard(number)
            values.append(value)
        cells.append(tuple(values))
    if empty and not any(outcome.failed for outcome in here):
        missing = spec.columns[min(empty)]
        raise UsageError(
            f"the table {spec.title!r} has nothing in its column {missing.name or missing.measure!r}",
            why="measured: " + ", ".join(sorted({s.spelling for o in here for _, s in o.scores()})),
        )
    header = ("recipe", *(column.name or column.measure for column in spec.columns))
    return Table(spec.title, header, tuple(cells), (*spec.notes, *_notes(spec, here, units)))


def _fitting(column: Column, row: str, held: Outcomes, spec: TableSpec) -> list[Outcome]:
    return [
        outcome
        for part, found in held.items()
        for outcome in found
        if column.part in ("", part)
        and (column.benchmark or spec.benchmark) in ("", outcome.cell.benchmark.name)
        and (column.protocol or spec.protocol) in ("", outcome.cell.protocol)
        and outcome.cell.recipe.name == row
    ]


def _cell(column: Column, outcomes: Sequence[Outcome], spec: TableSpec, units: dict[str, int]) -> Cell:
    """The one value of a column in a row, or None.

    Raises:
        UsageError: there are several.
    """
    found: list[Cell] = []
    where = {**spec.where, **column.where}
    for outcome in outcomes:
        if column.measure == "ms/query":
            found.append(round(1000 * outcome.seconds, 1))
        elif column.measure == "calls/query":
            found.append(round(outcome.cost.get("calls", 0.0) / max(outcome.ranked, 1)))
        for name, score in outcome.scores():
            if score.spelling == column.measure and score.mean is not None:
                value, count = _number(score, outcome.evaluations[name].labels, where, spec)
                units[column.measure + "".join(f", {k} {v}" for k, v in where.items())] = count
                found.append(value)
                break
    if len(found) > 1:
        raise UsageError(
            f"the column {column.name or column.measure!r} fits several scores",
            why="; ".join(o.cell.label for o in outcomes),
            hint="name its part, benchmark or protocol",
        )
    return found[0] if found else None


def _number(
    score: Score, labels: Labels, where: Mapping[str, str], spec: TableSpec
) -> tuple[Number | None, int]:
    values = {unit: value for unit, value in score.values.items() if _holds(unit, labels, where)}
    if not values:
        return None, 0
    mean = math.fsum(values.values()) / len(values) if where else score.mean
    bounds = score.measure.family.bounds
    made = bootstrap_interval(values) if spec.resampled else plain_interval(values, mean or 0.0, bounds)
    span = made if spec.intervals and mean is not None else None
    return Number.of(mean, score.measure.family.scale, span), len(values)


def _holds(unit: str, labels: Labels, where: Mapping[str, str]) -> bool:
    own = {"half": half_of(unit), **labels.get(unit, {})}
    return all(own.get(name) == wanted for name, wanted in where.items())


def _notes(spec: TableSpec, here: Sequence[Outcome], units: Mapping[str, int]) -> list[str]:
    benchmarks = {o.cell.benchmark.name: o.cell.benchmark for o in here}
    notes = [
        f"{name}, revision {b.revision[:12]}, {b.audit.documents:,} documents, {len(b.topics):,} topics"
        for name, b in benchmarks.items()
    ]
    by_count: dict[int, list[str]] = {}
    for name, count in units.items():
        by_count.setdefault(count, []).append(name)
    notes += [
        f"{count:,} units{', small' if count < SMALL else ''}: {', '.join(names)}"
        for count, names in by_count.items()
    ]
    notes += [SMALL_NOTE] if any(count < SMALL for count in by_count) else []
    if any(o.tally.simulated for o in here):
        notes.append("*simulated*: an oracle that knows the judgements answers, and no language model")
    if spec.intervals:
        notes.append(BOOTSTRAP_NOTE if spec.resampled else INTERVALS_NOTE)
    shown = {column.measure for column in spec.columns}
    notes += [n for n in dict.fromkeys(n for o in here for n in o.notes) if n.partition(" ")[0] not in shown]
    return notes
