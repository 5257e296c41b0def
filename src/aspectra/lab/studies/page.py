"""A study file run: its parts one after the other, and its tables, as a page with a manifest beside it."""

from __future__ import annotations

import json
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
from aspectra.lab.experiments.directory import write_json
from aspectra.lab.experiments.execute import run_study, scores_of
from aspectra.lab.experiments.gap.verification import gap_tables
from aspectra.lab.experiments.scoring import Outcome
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
    number_of,
    spelled,
    together,
)
from aspectra.lab.reports.tables import SMALL_NOTE, Cell, Number, Table, render, to_dict
from aspectra.lab.statistics.significance import BOOTSTRAP_NOTE, SMALL, bootstrap_interval
from aspectra.lab.studies.file import Column, Need, StudyFile, TableSpec, absent_data, lacking
from aspectra.lab.studies.paper_tables import Ran, check_paper_table, paper_tables
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
    spec: TableSpec, outcomes: Mapping[str, Sequence[Outcome]], scored: Callable[[str], Sequence[System]]
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


def _column_table(spec: TableSpec, every: Sequence[System], here: Sequence[System]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    units: dict[str, int] = {}
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


def _cell(column: Column, systems: Sequence[System], spec: TableSpec, units: dict[str, int]) -> Cell:
    """The one value of a column in a row, or None.

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
            span = bootstrap_interval(values) if spec.resampled and spec.intervals else None
            number = number_of(values, key[1], mean, intervals=spec.intervals and not spec.resampled)
            found.append(Number.of(mean, family_of(key).scale, span) if span else number)
            units[column.measure + "".join(f", {k} {v}" for k, v in where.items())] = len(values)
    if len(found) > 1:
        labels = (f"{s.recipe} on {s.benchmark}{' (pools)' * (s.protocol == 'pool')}" for s in fitting)
        raise UsageError(
            f"the column {column.name or column.measure!r} fits several scores",
            why="; ".join(labels),
            hint="name its part, benchmark or protocol",
        )
    return found[0] if found else None


def _notes(spec: TableSpec, here: Sequence[System], units: Mapping[str, int]) -> list[str]:
    benchmarks = {s.benchmark: s.about for s in here}
    notes = [
        f"{name}, revision {b['revision'][:12]}, {b['documents']:,} documents, {b['topics']:,} topics"
        for name, b in benchmarks.items()
    ]
    notes += counted(units.items())
    notes += [SMALL_NOTE] if any(count < SMALL for count in units.values()) else []
    if any(s.name != s.recipe for s in here):
        notes.append("*simulated*: an oracle that knows the judgements answers, and no language model")
    if spec.intervals:
        notes.append(BOOTSTRAP_NOTE if spec.resampled else INTERVALS_NOTE)
    shown = {column.measure for column in spec.columns}
    told = dict.fromkeys(note for s in here for note in s.cell["notes"])
    return notes + [note for note in told if note.partition(" ")[0] not in shown]
