"""The directory of an experiment.

It holds ``experiment.json`` (what was run, on which files and libraries), ``records.jsonl`` (every ranking),
``results.json`` (every value of every unit, unrounded and without times, so that equal rankings give equal
bytes), ``manifest.json`` and ``tables/*.md``. Running a study again in its directory makes only the rankings
that are not there yet.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import Value
from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.lab.experiments.experiment import Cell
from aspectra.lab.experiments.manifest import write_json
from aspectra.lab.experiments.study import Study

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
