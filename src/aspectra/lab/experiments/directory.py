"""The directory of an experiment, and the manifest of its inputs.

It holds ``experiment.json`` (what was run, on which files and libraries), ``records.jsonl`` (every ranking),
``results.json`` (every value of every unit, unrounded and without times, so that equal rankings give equal
bytes), ``manifest.json`` and ``tables/*.md``. Running a study again in its directory makes only the rankings
that are not there yet.
"""

from __future__ import annotations

import contextlib
import json
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from aspectra.base.errors import BadInput, UsageError, check_choice, unknown_name
from aspectra.base.files import digest, digest_texts, file_name, make_folder, write_durably
from aspectra.base.registry import read_member
from aspectra.base.values import Value, now, replace
from aspectra.base.version import __version__
from aspectra.lab.benchmarks.protocol import BENCHMARKS, Benchmark
from aspectra.lab.evaluation.means import get_preset
from aspectra.lab.experiments.experiment import Cell, Protocol, Records, needs_of
from aspectra.lab.experiments.gap.verification import Pooling, pooled
from aspectra.lab.experiments.scoring import CellOutcome
from aspectra.lab.simulation.oracle import Oracle, Rates
from aspectra.search.recipe import Recipe
from aspectra.search.searcher import Searcher
from aspectra.search.stages.protocol import needs_model
from aspectra.views.settings import IndexSettings

# A study as a value: benchmarks, recipes, and how they are crossed and scored.

Protocols = Literal["auto", "pool", "collection", "both"]


class Source(Value, frozen=True):
    """A benchmark on disk.

    Attributes:
        benchmark: name of its loader.
        path: its folder.
        options: of the loader.
        pooling: pools made from recorded rankings, in place of the benchmark's own; None leaves those.
    """

    benchmark: str
    path: str
    options: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each value
    pooling: Pooling | None = None

    def open(self) -> Benchmark:
        """The benchmark, read from its files.

        Raises:
            BadInput: a file is missing, damaged, or changed under a pinned checksum. UsageError: an option
                that it does not have.
        """
        made = BENCHMARKS.get(self.benchmark)(Path(self.path), **self.options)
        return made if self.pooling is None else pooled(made, self.pooling)


class Study(Value, frozen=True):
    """Recipes to run on benchmarks, and the measures that score them.

    Attributes:
        sources: the benchmarks.
        recipes: ways to search; their names are the rows of the tables.
        protocol: ``pool``, ``collection``, ``both`` (pools where there are any), or ``auto``: the benchmark's
            own, which is its pools where it has any.
        depth: papers recorded of a ranking of a whole collection.
        modes: modes to run; empty for all of each benchmark.
        measures: spellings; empty for those of each benchmark's paper.
        preset: see :mod:`aspectra.lab.evaluation.means`.
        repeats: runs of what is not deterministic.
        encoders: specifications; None takes the default one where a recipe uses vectors.
        ceilings: name of a row -> recipe whose ceiling it is, see :mod:`aspectra.lab.experiments.execute`.
        people: name of a row -> the person of the benchmark whose ratings give its order.
        index: changes of :class:`~aspectra.views.settings.IndexSettings`, by name.
        model: name of the language model at the endpoint; "" for the one that the settings name.
        among: folder of a library whose papers are ranked too, or "" for the benchmark's alone.
        oracle: rates of the simulated model that answers instead of a language model, as in
            ``error=0.1,malformed=0.05``; None where a language model is called.

    Raises:
        UsageError: a field has a value that it cannot have.
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
    ceilings: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each value
    people: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each value
    index: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it for each value
    among: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        if not self.sources:
            raise UsageError("no benchmark is named", hint="aspectra bench run csfcube=FOLDER --recipe bm25")
        if not self.recipes:
            raise UsageError("no recipe is named", hint="--recipe bm25")
        for source in self.sources:
            BENCHMARKS.get(source.benchmark)
        names = self.rows
        if unknown := set(self.ceilings.values()) - set(names):
            raise unknown_name(f"a ceiling of {min(unknown)!r}, which is no recipe", min(unknown), names)
        if twice := [name for n, name in enumerate(names) if name in names[:n]]:
            raise UsageError(
                f"two recipes are called {twice[0]!r}", hint="give one another name in its TOML file"
            )
        check_choice(self.protocol, get_args(Protocols), "protocol")
        for what, number in (("depth", self.depth), ("repeats", self.repeats)):
            if number < 1:
                raise UsageError(f"{what} must be 1 or more, not {number}")
        if self.oracle is not None:
            read_oracle(self.oracle)
        preset = get_preset(self.preset)
        for text in self.measures:
            preset.parse(text)
        self.settings()

    @property
    def rows(self) -> list[str]:
        """Names of its rows: recipes, ceilings and people."""
        return [*(recipe.name for recipe in self.recipes), *self.ceilings, *self.people]

    def settings(self) -> IndexSettings:
        """Settings by which libraries are indexed: only the views that some recipe uses."""
        defaults, needs = IndexSettings(), set[str]().union(*map(needs_of, self.recipes))
        encoders = self.encoders
        if encoders is None:
            encoders = defaults.encoders if "vectors" in needs else ()
        chunks = defaults.chunks if "full text" in needs else ()
        lenses = (*defaults.lenses, *(needs & {"style"}))
        made = IndexSettings(encoders=encoders, chunks=chunks, lenses=lenses)
        late = {"late": "bits"} if "tokens" in needs else {}
        return made.changed(**{**late, **self.index})

    def benchmarks(self) -> dict[str, Benchmark]:
        """Name -> benchmark, read from their files, in order.

        Raises:
            UsageError: two sources are one benchmark, so that their rows could not be told apart.
        """
        out: dict[str, Benchmark] = {}
        for source in self.sources:
            benchmark = source.open()
            if benchmark.name in out:
                raise UsageError(
                    f"two benchmarks are called {benchmark.name!r}",
                    why="their numbers could not be told apart",
                    hint="run them into two directories, and put them together with bench compare",
                )
            out[benchmark.name] = benchmark
        return out

    @property
    def needs_model(self) -> bool:
        """True if any recipe calls a language model, or an oracle in its place."""
        return any(needs_model(recipe.stages) for recipe in self.recipes)

    @property
    def calls_model(self) -> bool:
        """True if any recipe calls a language model, and no oracle answers in its place."""
        return self.needs_model and self.oracle is None

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
            benchmarks: from :meth:`benchmarks`.
            states: benchmark -> state of its library.
            remote: whether a service encodes, which may answer differently from call to call. Everything
                else gives the same ranking each time.
            model: name of the language model that stages call, as in its journal.
        """
        if self.oracle is not None:
            model = read_oracle(self.oracle).name
        cells = [
            Cell(
                recipe=recipe,
                benchmark=benchmark,
                protocol=protocol,
                depth=self.depth,
                state=states[name],
                repeats=self.repeats,
                deterministic=not ((remote and "vectors" in needs_of(recipe)) or needs_model(recipe.stages)),
                model=model if needs_model(recipe.stages) else "",
            )
            for name, benchmark in benchmarks.items()
            for protocol in protocols_of(self.protocol, benchmark)
            for recipe in self.recipes
        ]
        made = {name: (of, "") for name, of in self.ceilings.items()}
        # What the first recipe ranked, people put in order.
        made |= {name: (self.recipes[0].name, person) for name, person in self.people.items()}
        return cells + [
            replace(cell, recipe=replace(cell.recipe, name=name), ceiling_of=cell.key, person=person)
            for cell in cells
            for name, (of, person) in made.items()
            if cell.recipe.name == of
        ]


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
    if benchmark.pools is None and wanted == "pool":
        raise UsageError(f"{benchmark.name} has no pools", hint="--protocol collection")
    if benchmark.pools is None or wanted == "collection":
        return ("collection",)
    return ("pool", "collection") if wanted == "both" else ("pool",)


def corpus_hash(benchmark: Benchmark) -> str:
    """Hash of a benchmark's papers, which options of its loader may change, topics and judgements not."""
    return digest_texts(part for paper in benchmark.papers() for part in (paper.id, paper.content_hash))


def library_folder(
    libraries: Path, benchmark: Benchmark, settings: IndexSettings, corpus: str, among: str = ""
) -> Path:
    """The folder of a benchmark's library: one for each corpus and way of indexing.

    Args:
        libraries: the folder that holds all of them.
        benchmark: gives the first part of the name.
        settings: what is indexed.
        corpus: from :func:`corpus_hash`.
        among: see :class:`Study`.
    """
    name = file_name(benchmark.name.partition("/")[0])
    return libraries / f"{name}-{digest([corpus, settings.dumps(), *filter(None, [among])])[:10]}"


# Those whose version can change a ranking.
_PACKAGES = "numpy PyStemmer openvino tokenizers torch sentence-transformers httpx msgspec".split()


def _versions() -> dict[str, str]:
    out = {"aspectra": __version__, "python": platform.python_version(), "platform": sys.platform}
    for name in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            out[name] = metadata.version(name)
    return out


def cell_facts(outcome: CellOutcome) -> dict[str, Any]:
    """Facts about one cell, without anything that changes from run to run."""
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


def _counted(outcome: CellOutcome, records: Records) -> dict[str, Any]:
    """:func:`cell_facts` with the recipe, and what running the cell took."""
    cell, held = outcome.cell, records.of(outcome.cell.key)
    return {
        **cell_facts(outcome),
        "recipe": cell.recipe.to_dict(),
        "revision": cell.benchmark.revision,
        "made_by": sorted({r.version for r in held if r.version}),
        "ties": sum(a == b for r in held for a, b in pairwise(r.scores)),  # neighbours, ordered by their ids
        "seconds": round(sum(r.seconds for r in held), 3),
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
    words = ["aspectra", "bench", "run"]
    pooling = (source.pooling for source in study.sources)
    if any((study.ceilings, study.people, study.index, study.among, *pooling)):
        others = ["--among", "LIBRARY"] if study.among else []
        return shlex.join([*words, "STUDY.toml", "--data", "FOLDER", *others, "--output", "DIR"])
    words += (f"{source.benchmark}=FOLDER" for source in study.sources)
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
    outcomes: Sequence[CellOutcome],
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
        "created": now(),
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


FILES: Mapping[str, str] = {
    "study": "experiment.json",
    "records": "records.jsonl",
    "results": "results.json",
    "manifest": "manifest.json",
    "tables": "tables",
}
_FORMAT = 1


class Description(Value, frozen=True):
    """Content of ``experiment.json``.

    Attributes:
        format: of the file.
        study: the study that was run.
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
        """The study that was run."""
        return self.about.study

    def file(self, name: str) -> Path:
        """One of :data:`FILES`."""
        return self.folder / FILES[name]

    def results(self) -> dict[str, Any]:
        """Content of ``results.json``.

        Raises:
            BadInput: it is missing or damaged.
        """
        return _read(self.file("results"), f"aspectra bench run --output {self.folder}")

    def facts(self) -> dict[str, Any]:
        """Content of ``manifest.json``.

        Raises:
            BadInput: it is missing or damaged.
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
