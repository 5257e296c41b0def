"""The directory of an experiment, and the manifest that says what it was made from.

It holds ``experiment.json`` (what was run, on which files and libraries), ``records.jsonl`` (every ranking),
``results.json`` (every value of every unit, unrounded and without times, so that equal rankings give equal
bytes), ``manifest.json`` and ``tables/*.md``. Running a study again in its directory makes only the rankings
that are not there yet.
"""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import make_folder, write_durably
from aspectra.base.hashing import digest
from aspectra.base.values import Value, replace
from aspectra.base.version import __version__
from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.lab.experiments.experiment import Cell
from aspectra.lab.experiments.records import Records
from aspectra.lab.experiments.scoring import Outcome
from aspectra.lab.experiments.study import Study
from aspectra.search.searcher import Searcher

# Those whose version can change a ranking.
_PACKAGES = (
    "numpy",
    "PyStemmer",
    "openvino",
    "tokenizers",
    "torch",
    "sentence-transformers",
    "httpx",
    "msgspec",
)


def _versions() -> dict[str, str]:
    out = {"aspectra": __version__, "python": platform.python_version(), "platform": sys.platform}
    for name in _PACKAGES:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return out


def _ties(records: Records, cell: Cell) -> int:
    """Neighbours in rankings with equal scores, told apart by id."""
    return sum(a == b for r in records.of(cell.key) for a, b in zip(r.scores, r.scores[1:], strict=False))


def cell_facts(outcome: Outcome) -> dict[str, Any]:
    """What was run in one cell, without anything that changes from run to run."""
    cell = outcome.cell
    return {
        "cell": cell.key,
        "benchmark": cell.benchmark.name,
        "protocol": cell.protocol,
        "depth": cell.depth,
        "recipe_hash": cell.recipe.hash,
        "preset": outcome.preset,
        "topics": outcome.topics,
        "ranked": outcome.ranked,
        "appended_to_pools": outcome.appended,
    }


def _counted(outcome: Outcome, records: Records) -> dict[str, Any]:
    """:func:`cell_facts` with the recipe, and what running the cell took."""
    cell = outcome.cell
    return {
        **cell_facts(outcome),
        "recipe": cell.recipe.to_dict(),
        "revision": cell.benchmark.revision,
        "made_by": sorted({r.version for r in records.of(cell.key) if r.version}),
        "ties": _ties(records, cell),
        "seconds": round(sum(r.seconds for r in records.of(cell.key)), 3),
        "cost": dict(outcome.cost),
        "model": cell.model,
        "simulated": outcome.tally.simulated,
        "cut": outcome.tally.cut,
    }


def _command_of(study: Study) -> str:
    """The command that runs the study elsewhere: FOLDER and FILE.toml take the place of paths.

    What only a study file can hold needs that file: STUDY.toml. Seeds are part of what they seed: an
    oracle's is one of its rates.
    """
    if (
        study.ceilings
        or study.people
        or study.index
        or study.among
        or any(source.pooling for source in study.sources)
    ):
        others = ["--among", "LIBRARY"] if study.among else []
        return shlex.join(
            ["aspectra", "bench", "run", "STUDY.toml", "--data", "FOLDER", *others, "--output", "DIR"]
        )
    words = ["aspectra", "bench", "run", *(f"{source.benchmark}=FOLDER" for source in study.sources)]
    for number, source in enumerate(study.sources, 1):
        for name, value in source.options.items():
            words += ["--option", f"{number}.{name}={value}"]
    for recipe in study.recipes:
        spelled = all(isinstance(step, str) for step in recipe.steps) and not recipe.instruction
        words += ["--recipe", " | ".join(map(str, recipe.steps)) if spelled else f"{recipe.name}.toml"]
    default = Study(study.sources, study.recipes)
    for name in ("protocol", "depth", "preset", "repeats", "oracle"):
        if (value := getattr(study, name)) != getattr(default, name):
            words += [f"--{name}", str(value)]
    for name, values in (("mode", study.modes), ("measure", study.measures), ("encoder", study.encoders)):
        for value in values or ():
            words += [f"--{name}", value]
    words += ["--no-encoder"] if study.encoders == () else []
    return shlex.join([*words, "--output", "DIR"])


def manifest(
    study: Study,
    outcomes: Sequence[Outcome],
    records: Records,
    searchers: Mapping[str, Searcher],
    *,
    results: Any = None,
) -> dict[str, Any]:
    """The manifest of an experiment; it holds no path and no name of a machine.

    Args:
        study: what was to be measured.
        outcomes: of all cells.
        records: their rankings.
        searchers: benchmark -> searcher over its corpus.
        results: what ``results.json`` holds, whose hash ties the two files together.
    """
    benchmarks = {o.cell.benchmark.name: o.cell.benchmark for o in outcomes}
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": _command_of(study),
        "results_hash": digest(results),
        "versions": _versions(),
        "benchmarks": {
            name: {
                **b.facts(),
                "judgement_hash": b.judgement_hash,
                "index": {
                    key: searchers[name].index.manifest[key]
                    for key in ("generation", "state", "papers", "settings", "views")
                },
            }
            for name, b in benchmarks.items()
        },
        "cells": [_counted(outcome, records) for outcome in outcomes],
    }


def write_json(path: Path, value: Any) -> None:
    """Write a file whole or not at all; it is on the disk when this returns.

    Raises:
        ValueError: a number is NaN or infinite: no result may hold one.
    """
    make_folder(path.parent)
    write_durably(path, json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


FILES = MappingProxyType(
    {
        "study": "experiment.json",
        "records": "records.jsonl",
        "results": "results.json",
        "manifest": "manifest.json",
        "tables": "tables",
    }
)
_FORMAT = 1


class Description(Value, frozen=True):
    """What ``experiment.json`` holds.

    Attributes:
        format: of the file.
        study: what was to be measured.
        states: benchmark -> state of its library when it was run.
        revisions: benchmark -> revision of its files then.
        cells: ``cell`` (its key), ``benchmark``, ``protocol`` and ``recipe`` of every cell.
        remote: whether a service encoded.
        model: name of the language model that was called, or "".
    """

    format: int
    study: Study
    states: dict[str, str]
    revisions: dict[str, str]
    cells: tuple[dict[str, str], ...]
    remote: bool = False
    model: str = ""


@dataclass(frozen=True)
class Opened:
    """An experiment directory: its folder, and what its ``experiment.json`` holds."""

    folder: Path
    about: Description

    @property
    def study(self) -> Study:
        """What was to be measured."""
        return self.about.study

    def file(self, name: str) -> Path:
        """One of :data:`FILES`."""
        return self.folder / FILES[name]

    def results(self) -> dict[str, Any]:
        """What ``results.json`` holds.

        Raises:
            BadInput: there is none, or it is damaged.
        """
        return _read(self.file("results"), f"aspectra bench run --output {self.folder}")

    def facts(self) -> dict[str, Any]:
        """What ``manifest.json`` holds.

        Raises:
            BadInput: there is none, or it is damaged.
        """
        return _read(self.file("manifest"), f"aspectra bench run --output {self.folder}")

    def load(self) -> tuple[dict[str, Benchmark], list[Cell]]:
        """The benchmarks and cells as they were run.

        Raises:
            BadInput: a benchmark's files are gone, or are others than those the experiment ran on.
        """
        benchmarks = self.study.benchmarks()
        for name, benchmark in benchmarks.items():
            then = self.about.revisions.get(name, "")
            if then != benchmark.revision:
                raise BadInput(
                    f"the files of {name} are not those that {self.folder} was run on",
                    why=f"their revision is {benchmark.revision}, then it was {then or 'not known'}",
                    hint="bring the files back, or run the experiment again",
                )
        about = self.about
        cells = self.study.cells(benchmarks, about.states, remote=about.remote, model=about.model)
        # What was recorded is scored, whatever a ranking made now would depend on: prompts may have changed.
        keys = {(c["benchmark"], c["protocol"], c["recipe"]): c["cell"] for c in about.cells}
        return benchmarks, [
            replace(cell, recorded=keys.get((cell.benchmark.name, cell.protocol, cell.recipe.name), ""))
            for cell in cells
        ]


def save_study(
    folder: Path, study: Study, cells: Sequence[Cell], *, remote: bool = False, model: str = ""
) -> Opened:
    """Write ``experiment.json``."""
    about = Description(
        format=_FORMAT,
        study=study,
        states={cell.benchmark.name: cell.state for cell in cells},
        revisions={cell.benchmark.name: cell.benchmark.revision for cell in cells},
        cells=tuple(
            {
                "cell": cell.key,
                "benchmark": cell.benchmark.name,
                "protocol": cell.protocol,
                "recipe": cell.recipe.name,
            }
            for cell in cells
        ),
        remote=remote,
        model=model,
    )
    write_json(folder / FILES["study"], about.to_dict())
    return Opened(folder, about)


def open_study(folder: Path) -> Opened:
    """An experiment directory that ``bench run`` made.

    Raises:
        BadInput: it is none, was damaged, or was written by a newer version.
    """
    path = folder / FILES["study"]
    value = _read(path, "aspectra bench run NAME=FOLDER --recipe bm25 --output DIR")
    if value.get("format") != _FORMAT:
        raise BadInput(
            f"{folder} was written by another version", why=f"its format is {value.get('format')!r}"
        )
    try:
        return Opened(folder, Description.from_dict(value))
    except UsageError as error:
        raise BadInput(f"{path} is damaged", why=error.why or error.what) from error


def _read(path: Path, hint: str) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise BadInput(f"there is no {path}", hint=hint) from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path} cannot be read", why=str(error), hint=hint) from error
    if not isinstance(value, dict):
        raise BadInput(f"{path} is damaged", why="it holds no object", hint=hint)
    return value
