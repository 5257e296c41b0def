"""A study as a value: benchmarks, recipes, and how they are crossed and scored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from aspectra.base.errors import UsageError, check_choice, unknown_name
from aspectra.base.hashing import digest, digest_texts
from aspectra.base.spelling import file_name, read_member
from aspectra.base.values import Value, replace
from aspectra.base.values import replace as changed
from aspectra.lab.benchmarks.protocol import BENCHMARKS, Benchmark
from aspectra.lab.evaluation.means import get_preset
from aspectra.lab.experiments.experiment import (
    Cell,
    Protocol,
    needs_full_text,
    needs_style,
    needs_tokens,
    needs_vectors,
)
from aspectra.lab.experiments.gap.verification import Pooling, pooled
from aspectra.lab.simulation.oracle import Oracle, Rates
from aspectra.search.recipe import Recipe
from aspectra.search.stages.protocol import needs_model
from aspectra.views.settings import IndexSettings

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
    """What is to be measured.

    Attributes:
        sources: the benchmarks.
        recipes: how to search; their names are the rows of the tables.
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
        """What libraries are indexed with: only the views that some recipe uses."""
        defaults = IndexSettings()
        encoders = self.encoders
        if encoders is None:
            encoders = defaults.encoders if any(map(needs_vectors, self.recipes)) else ()
        chunks = defaults.chunks if any(map(needs_full_text, self.recipes)) else ()
        lenses = (*defaults.lenses, *(("style",) if any(map(needs_style, self.recipes)) else ()))
        made = IndexSettings(encoders=encoders, chunks=chunks, lenses=lenses)
        late = {"late": "bits"} if any(map(needs_tokens, self.recipes)) else {}
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
        """Whether any recipe calls a language model, or an oracle in its place."""
        return any(needs_model(recipe.stages) for recipe in self.recipes)

    @property
    def calls_model(self) -> bool:
        """Whether any recipe calls a language model, and no oracle answers in its place."""
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
                deterministic=not (remote and needs_vectors(recipe)) and not needs_model(recipe.stages),
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
            replace(cell, recipe=changed(cell.recipe, name=name), ceiling_of=cell.key, person=person)
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
