"""A study: recipes x benchmarks x measures as a value, and the directory that an experiment leaves.

A directory holds ``experiment.json`` (the study and what it met: revisions, states of libraries, cells),
``records.jsonl`` (every finished ranking), ``results.json`` (values of every unit, unrounded and without
times, so that equal rankings give equal bytes), ``manifest.json`` and ``tables/*.md``. Running a study again
in its directory makes only the rankings that are not there yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from aspectra.base.checking import refuse_unknown
from aspectra.base.errors import BadInput, UsageError
from aspectra.base.hashing import digest
from aspectra.lab.benchmarks.protocol import BENCHMARKS, Benchmark
from aspectra.lab.evaluation.presets import get_preset
from aspectra.lab.experiments.experiment import Cell, Protocol, needs_full_text, needs_style, needs_vectors
from aspectra.lab.experiments.manifest import write_json
from aspectra.lab.simulation.oracle import Oracle, Rates
from aspectra.search.recipe import Recipe
from aspectra.search.spelling import read_member
from aspectra.search.stages.protocol import needs_model
from aspectra.views.lenses.protocol import default_lenses
from aspectra.views.settings import IndexSettings

__all__ = [
    "FILES",
    "Opened",
    "Source",
    "Study",
    "asks_model",
    "library_folder",
    "open_study",
    "protocols_of",
    "read_oracle",
    "save_study",
]

FILES = MappingProxyType(
    {
        "study": "experiment.json",
        "records": "records.jsonl",
        "results": "results.json",
        "manifest": "manifest.json",
        "tables": "tables",
    }
)
Protocols = Literal["auto", "pool", "collection", "both"]
_FORMAT = 1
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Source:
    """A benchmark on disk.

    Attributes:
        benchmark: name of its loader.
        path: its folder.
        options: of the loader.
    """

    benchmark: str
    path: str
    options: Mapping[str, str] = field(default_factory=lambda: _NONE)

    def load(self) -> Benchmark:
        """The benchmark.

        Raises:
            BadInput: a file is missing, damaged, or changed under a pinned checksum. UsageError: an option
                that it does not have.
        """
        return BENCHMARKS.get(self.benchmark)(Path(self.path), **dict(self.options))


@dataclass(frozen=True)
class Study:
    """What is to be measured.

    Attributes:
        sources: the benchmarks.
        recipes: how to search; their names are the rows of the tables.
        protocol: ``pool``, ``collection``, ``both`` (pools where there are any), or ``auto``: the benchmark's
            own, which is its pools where it has any.
        depth: papers kept of a ranking of a whole collection.
        modes: modes to run; empty for all of each benchmark.
        measures: spellings; empty for those of each benchmark's paper.
        preset: see :mod:`aspectra.lab.evaluation.presets`.
        repeats: runs of what is not deterministic.
        encoders: specifications; None takes the default one where a recipe looks at vectors.
        oracle: rates of the simulated model that answers instead of a language model, as in
            ``error=0.1,malformed=0.05``; None where a language model is asked.

    Raises:
        UsageError: something in it cannot mean anything.
    """

    sources: tuple[Source, ...]
    recipes: tuple[Recipe, ...]
    protocol: Protocols = "auto"
    depth: int = 1000
    modes: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    preset: str = "paper"
    repeats: int = 1
    encoders: tuple[str, ...] | None = None
    oracle: str | None = None

    def __post_init__(self) -> None:
        if not self.sources:
            raise UsageError("no benchmark is named", hint="aspectra bench run csfcube=FOLDER --recipe bm25")
        if not self.recipes:
            raise UsageError("no recipe is named", hint="--recipe bm25")
        for source in self.sources:
            BENCHMARKS.get(source.benchmark)
        names = [recipe.name for recipe in self.recipes]
        if twice := [name for n, name in enumerate(names) if name in names[:n]]:
            raise UsageError(
                f"two recipes are called {twice[0]!r}", hint="give one another name in its TOML file"
            )
        if self.protocol not in get_args(Protocols):
            raise UsageError(
                f"unknown protocol {self.protocol!r}", why="known: " + ", ".join(get_args(Protocols))
            )
        for what, number in (("depth", self.depth), ("repeats", self.repeats)):
            if number < 1:
                raise UsageError(f"{what} must be 1 or more, not {number}")
        if self.oracle is not None:
            read_oracle(self.oracle)
        preset = get_preset(self.preset)
        for text in self.measures:
            preset.parse(text)

    def settings(self) -> IndexSettings:
        """What libraries are indexed with: only the views that some recipe looks at."""
        encoders = self.encoders
        if encoders is None:
            some = any(map(needs_vectors, self.recipes))
            encoders = IndexSettings.encoders if some else ()
        chunks = IndexSettings.chunks if any(map(needs_full_text, self.recipes)) else ()
        lenses = (*default_lenses(), *(("style",) if any(map(needs_style, self.recipes)) else ()))
        return IndexSettings(encoders=encoders, chunks=chunks, lenses=lenses)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        out: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        out["sources"] = [
            {"benchmark": s.benchmark, "path": s.path, "options": dict(s.options)} for s in self.sources
        ]
        out["recipes"] = [recipe.to_dict() for recipe in self.recipes]
        for name in ("modes", "measures", "encoders"):
            out[name] = None if out[name] is None else list(out[name])
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Study:
        """Inverse of :meth:`to_dict`.

        Raises:
            UsageError: a field is unknown or of the wrong kind.
        """
        known = {f.name for f in fields(cls)}
        refuse_unknown(data, known, "field in a study")
        try:
            values = dict(data)
            values["sources"] = tuple(Source(**source) for source in data.get("sources", ()))
            values["recipes"] = tuple(Recipe.from_dict(dict(r)) for r in data.get("recipes", ()))
            for name in ("modes", "measures", "encoders"):
                if values.get(name) is not None:
                    values[name] = tuple(values[name])
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise UsageError("the study cannot be read", why=str(error)) from error

    def load(self) -> dict[str, Benchmark]:
        """Name -> benchmark, in order.

        Raises:
            UsageError: two sources are one benchmark, so that their rows could not be told apart.
        """
        out: dict[str, Benchmark] = {}
        for source in self.sources:
            benchmark = source.load()
            if benchmark.name in out:
                raise UsageError(
                    f"two benchmarks are called {benchmark.name!r}",
                    why="their numbers could not be told apart",
                    hint="run them into two directories (--out), and put them together with bench compare",
                )
            out[benchmark.name] = benchmark
        return out

    @property
    def needs_model(self) -> bool:
        """Whether any recipe asks a language model, or an oracle in its place."""
        return any(map(asks_model, self.recipes))

    def cells(
        self,
        benchmarks: Mapping[str, Benchmark],
        states: Mapping[str, str],
        *,
        remote: bool = False,
        model: str = "",
    ) -> list[Cell]:
        """Every recipe on every benchmark under every protocol.

        Args:
            benchmarks: from :meth:`load`.
            states: benchmark -> state of its library.
            remote: whether a service encodes, which may answer differently from call to call. Everything
                else gives the same ranking each time.
            model: name of the language model that stages ask, as in its journal.
        """
        if self.oracle is not None:
            model = read_oracle(self.oracle).name
        return [
            Cell(
                recipe,
                benchmark,
                protocol,
                self.depth,
                states[name],
                self.repeats,
                not (remote and needs_vectors(recipe)) and not asks_model(recipe),
                model if asks_model(recipe) else "",
            )
            for name, benchmark in benchmarks.items()
            for protocol in protocols_of(self.protocol, benchmark)
            for recipe in self.recipes
        ]


def asks_model(recipe: Recipe) -> bool:
    """Whether the recipe, or a first stage of it, asks a language model.

    >>> asks_model(Recipe.parse("bm25|rerank")), asks_model(Recipe.parse("bm25|citations"))
    (True, False)
    """
    return needs_model(recipe.stages) or (recipe.first is not None and asks_model(recipe.first))


def read_oracle(rates: str) -> Oracle:
    """An oracle without a topic, from its rates.

    Raises:
        UsageError: a rate is unknown or out of its range.

    >>> read_oracle("error=0.1").name
    'oracle(error=0.1,bias=0,malformed=0,seed=0)'
    """
    made: Oracle = read_member(lambda _: Rates, f"oracle({rates})", "model").oracle
    return made


def protocols_of(wanted: str, benchmark: Benchmark) -> tuple[Protocol, ...]:
    """The protocols to run on a benchmark.

    Raises:
        UsageError: pools are wanted and it has none.
    """
    pools = benchmark.pools is not None
    if wanted == "pool" and not pools:
        raise UsageError(f"{benchmark.name} has no pools", hint="--protocol collection")
    if wanted == "both":
        return ("pool", "collection") if pools else ("collection",)
    if wanted == "auto":
        return ("pool",) if pools else ("collection",)
    return ("pool",) if wanted == "pool" else ("collection",)


def library_folder(libraries: Path, benchmark: Benchmark, settings: IndexSettings) -> Path:
    """Where the library of a benchmark is kept: one for each revision and way of indexing."""
    name = "".join(c if c.isalnum() else "-" for c in benchmark.name)
    return libraries / f"{name}-{digest([benchmark.name, benchmark.revision, settings.dumps()])[:10]}"


@dataclass(frozen=True)
class Opened:
    """An experiment directory.

    Attributes:
        folder: the directory.
        study: what was to be measured.
        states: benchmark -> state of its library when it was run.
        revisions: benchmark -> revision of its files then.
        cells: key, benchmark, protocol and recipe of every cell.
        remote: whether a service encoded.
        model: name of the language model that was asked, or "".
    """

    folder: Path
    study: Study
    states: Mapping[str, str]
    revisions: Mapping[str, str]
    cells: tuple[Mapping[str, str], ...]
    remote: bool = False
    model: str = ""

    def file(self, name: str) -> Path:
        """One of :data:`FILES`."""
        return self.folder / FILES[name]

    def results(self) -> dict[str, Any]:
        """What ``results.json`` holds.

        Raises:
            BadInput: there is none, or it is damaged.
        """
        return _read(self.file("results"), f"aspectra bench run --out {self.folder}")

    def facts(self) -> dict[str, Any]:
        """What ``manifest.json`` holds.

        Raises:
            BadInput: there is none, or it is damaged.
        """
        return _read(self.file("manifest"), f"aspectra bench run --out {self.folder}")

    def load(self) -> tuple[dict[str, Benchmark], list[Cell]]:
        """The benchmarks and cells as they were run.

        Raises:
            BadInput: a benchmark's files are gone, or are others than those the experiment ran on.
        """
        benchmarks = self.study.load()
        for name, benchmark in benchmarks.items():
            then = self.revisions.get(name, "")
            if then != benchmark.revision:
                raise BadInput(
                    f"the files of {name} are not those that {self.folder} was run on",
                    why=f"their revision is {benchmark.revision}, then it was {then or 'not known'}",
                    hint="bring the files back, or run the experiment again",
                )
        return benchmarks, self.study.cells(benchmarks, self.states, remote=self.remote, model=self.model)


def save_study(
    folder: Path, study: Study, cells: Sequence[Cell], *, remote: bool = False, model: str = ""
) -> Opened:
    """Write ``experiment.json``."""
    revisions = {cell.benchmark.name: cell.benchmark.revision for cell in cells}
    states = {cell.benchmark.name: cell.state for cell in cells}
    listed = tuple(
        {
            "cell": cell.key,
            "benchmark": cell.benchmark.name,
            "protocol": str(cell.protocol),
            "recipe": cell.recipe.name,
        }
        for cell in cells
    )
    value = {
        "format": _FORMAT,
        "study": study.to_dict(),
        "revisions": revisions,
        "states": states,
        "remote": remote,
        "model": model,
        "cells": listed,
    }
    write_json(folder / FILES["study"], value)
    return Opened(folder, study, states, revisions, listed, remote, model)


def open_study(folder: Path) -> Opened:
    """An experiment directory that ``bench run`` made.

    Raises:
        BadInput: it is none, was damaged, or was written by a newer version.
    """
    value = _read(folder / FILES["study"], "aspectra bench run NAME=FOLDER --recipe bm25 --out DIR")
    if value.get("format") != _FORMAT:
        raise BadInput(
            f"{folder} was written by another version", why=f"its format is {value.get('format')!r}"
        )
    try:
        return Opened(
            folder,
            Study.from_dict(value["study"]),
            value["states"],
            value["revisions"],
            tuple(value["cells"]),
            bool(value.get("remote")),
            str(value.get("model", "")),
        )
    except (KeyError, TypeError, UsageError) as error:
        raise BadInput(f"{folder / FILES['study']} is damaged", why=str(error)) from error


def _read(path: Path, hint: str) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise BadInput(f"there is no {path}", hint=hint) from error
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read", why=str(error), hint=hint) from error
    if not isinstance(value, dict):
        raise BadInput(f"{path} is damaged", why="it holds no object", hint=hint)
    return value
