"""Records of experiments, as figures need them: systems by place, means with intervals, costs."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from aspectra.base.errors import BadInput, UsageError, unknown_name
from aspectra.lab.evaluation.means import get_preset
from aspectra.lab.experiments.directory import FILES, Opened, open_study
from aspectra.lab.experiments.execute import results, score_study
from aspectra.lab.experiments.experiment import RankingRecord, Records
from aspectra.lab.measures.protocol import Arity, parse
from aspectra.lab.reports.scores import (
    System,
    by_place,
    columns_of,
    family_of,
    read_systems,
    spelled,
    together,
)
from aspectra.lab.reports.tables import Column, failed_note

COSTS = ("ms/query", "calls/query", "tokens/query", "money")


@dataclass(frozen=True)
class FigureChoice:
    """The part of experiments to draw; empty fields leave everything in.

    Attributes:
        measures: spellings.
        mode: of measures that have several.
        systems: names.
        baseline: system that others are compared with; "" takes the first.
        benchmark, protocol: where several were run.
        by: label that a radar breaks down by; "" takes the first of dimension, facet, aspect that there is.
        cost: one of :data:`COSTS`.
        queries: of a map; empty takes four.
        depth: documents of a map.
        seed, perplexity: of t-SNE.
        test, correction: of comparisons.
        libraries: folder of the benchmarks' libraries, for maps.
    """

    measures: tuple[str, ...] = ()
    mode: str = ""
    systems: tuple[str, ...] = ()
    baseline: str = ""
    benchmark: str = ""
    protocol: str = ""
    by: str = ""
    cost: str = "ms/query"
    queries: tuple[str, ...] = ()
    depth: int = 100
    seed: int = 0
    perplexity: float = 30.0
    test: str = "t"
    correction: str = "bonferroni"
    libraries: Path | None = None


@dataclass(frozen=True)
class Place:
    """All systems of one benchmark under one protocol: at least one.

    Attributes:
        systems: by name, in order.
        opened: name -> experiment, of those that the systems are from.
        failed: a sentence on each system that was left out because calls to a model failed.
    """

    systems: Mapping[str, System]
    opened: Mapping[str, Opened]
    failed: tuple[str, ...] = ()

    @property
    def first(self) -> System:
        """The first system, which says benchmark, protocol and labels of all."""
        return next(iter(self.systems.values()))

    @property
    def title(self) -> str:
        """As printed: ``csfcube (pools)``."""
        return self.first.title

    @property
    def columns(self) -> list[Column]:
        """All columns that some system was scored by, in order."""
        return columns_of(self.systems.values())

    def with_column(self, column: Column) -> dict[str, System]:
        """The systems that were scored by a column."""
        return {name: s for name, s in self.systems.items() if s.means.get(column) is not None}

    def is_ceiling(self, system: System) -> bool:
        """True if a row was made from the judgements, see :mod:`aspectra.lab.experiments.execute`."""
        opened = self.opened[system.where]
        names = {cell["recipe"] for cell in opened.about.cells if cell["cell"] == system.cell["cell"]}
        return bool(names & {*opened.study.ceilings, *opened.study.people})

    @cached_property
    def _records(self) -> dict[str, Records]:
        return {name: Records(one.file("records"), write=False) for name, one in self.opened.items()}

    def records(self, system: System) -> list[RankingRecord]:
        """The recorded rankings of a system."""
        return self._records[system.where].of(system.cell["cell"])

    @property
    def simulated(self) -> str:
        """A sentence where a model was simulated, or ""."""
        told = "Simulated: an oracle that knows the judgements answers, and no language model."
        return told if any("[simulated]" in name for name in self.systems) else ""

    def costs(self, cost: str) -> dict[str, float]:
        """System -> median milliseconds, or mean calls, tokens or money, of a ranking, where recorded."""
        out: dict[str, float] = {}
        for name, system in self.systems.items():
            if not (records := self.records(system)):
                continue
            if cost == "ms/query":
                out[name] = 1000 * statistics.median(r.seconds for r in records)
                continue
            paid = [r.tally.cost for r in records]
            if cost == "money" and any(p.calls and p.unpriced for p in paid):
                continue
            amount = {
                "calls/query": sum(p.calls + p.recorded for p in paid),
                "tokens/query": sum(p.tokens + p.recorded_tokens for p in paid),
                "money": sum(p.money for p in paid),
            }[cost]
            out[name] = amount / len(records)
        return out


def open_all(folders: Iterable[Path]) -> dict[str, Opened]:
    """Name -> experiment; the folder of a study stands for its parts.

    Raises:
        BadInput: a folder holds neither.
    """
    out: dict[str, Opened] = {}
    for folder in folders:
        if (folder / FILES["study"]).exists():
            out[str(folder)] = open_study(folder)
            continue
        parts = sorted(p.parent for p in folder.glob(f"*/{FILES['study']}"))
        if not parts:
            raise BadInput(
                f"{folder} is no experiment",
                why="it holds no experiment.json, and no folder in it does",
                hint=f"aspectra bench run NAME=FOLDER --recipe bm25 --output {folder}",
            )
        out |= {str(part): open_study(part) for part in parts}
    return out


def places_of(
    opened: Mapping[str, Opened], choice: FigureChoice, *, rescored: Sequence[str] = ()
) -> list[Place]:
    """Every benchmark and protocol with its chosen systems.

    Args:
        opened: name -> experiment.
        choice: what is wanted.
        rescored: measures by which the recorded rankings are scored now, instead of what results.json holds.

    Raises:
        UsageError: nothing fits, or a system is unknown.
        BadInput: files were changed or are damaged, or several experiments cannot be compared.
    """
    every: list[System] = []
    for name, one in opened.items():
        held = results(score_study(one, measures=rescored)) if rescored else one.results()
        every += read_systems(name, held)
    # Behind a name that comes twice, the last part of its folder's name is enough where no other has it.
    lasts = Counter(Path(name).name for name in opened)
    every = together(every, {n: Path(n).name for n in opened if lasts[Path(n).name] == 1})
    names = list(dict.fromkeys(system.name for system in every))
    for name in filter(None, (*choice.systems, choice.baseline)):
        if name not in names:
            raise unknown_name(f"no system is called {name!r}", name, names)
    out: list[Place] = []
    lost: list[str] = []
    for (benchmark, protocol), here in by_place(every).items():
        if choice.benchmark not in ("", benchmark) or choice.protocol not in ("", protocol):
            continue
        chosen = [s for s in here if not choice.systems or s.name in (*choice.systems, choice.baseline)]
        failed = tuple(f"F{failed_note(s.name, s.failed)[1:]}." for s in chosen if s.failed)
        lost += failed
        if scored := {s.name: s for s in chosen if not s.failed}:
            out.append(Place(scored, {s.where: opened[s.where] for s in scored.values()}, failed))
    if not out:
        raise UsageError(
            "nothing that was run fits",
            why="; ".join(lost or dict.fromkeys(f"{s.benchmark}, {s.protocol}" for s in every)) or "no cells",
        )
    return out


def axis_name(column: Column) -> str:
    """A column's measure as an axis prints it: with its mode, and x100 where it is scaled."""
    return spelled(column) + (", x100" if family_of(column).scale == 100 else "")


def choose_column(
    place: Place, choice: FigureChoice, *, wanted: str = "", arity: Arity | None = None
) -> Column:
    """The column that is meant: by the first of the chosen measures, else the first that will do.

    Without a name a measure will do of which more, or less, is better.

    Args:
        place: whose columns.
        choice: names measure and mode.
        wanted: spelling that takes the place of the choice's.
        arity: of measures that will do; None for all.

    Raises:
        UsageError: no column fits.
    """
    named = wanted or next(iter(choice.measures), "")
    spelling = str(get_preset(place.first.preset).parse(named)) if named else ""
    fits = [
        column
        for column in place.columns
        if (column[1] == spelling if named else family_of(column).better)
        and (arity is None or named or parse(column[1]).arity is arity)
        and choice.mode in ("", column[2])
    ]
    if not fits:
        scored = ", ".join(dict.fromkeys(map(spelled, place.columns)))
        raise UsageError(
            f"{place.title} was not scored by {named or 'a measure that fits'}",
            why=f"scored by {scored or 'nothing'}",
            hint="--measure with one of these, or: aspectra bench run --output DIR --measure M",
        )
    return fits[0]
