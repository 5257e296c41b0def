"""What experiments recorded, as figures need it: systems by place, means with intervals, costs."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput, UsageError, unknown_name
from aspectra.base.values import replace
from aspectra.lab.evaluation.means import get_preset
from aspectra.lab.experiments.directory import FILES, Opened, open_study
from aspectra.lab.experiments.execute import results, score_study
from aspectra.lab.experiments.experiment import Records
from aspectra.lab.experiments.recipe_tables import plain_interval
from aspectra.lab.measures.protocol import Arity, Family, parse
from aspectra.lab.reports.comparison import System, systems_of
from aspectra.lab.reports.tables import Column, Number, failed_note

COSTS = ("ms/query", "calls/query", "tokens/query", "money")


@dataclass(frozen=True)
class Choice:
    """What is to be drawn of experiments; empty fields leave everything in.

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


@dataclass(frozen=True)
class Place:
    """All systems of one benchmark under one protocol.

    Attributes:
        benchmark, protocol: which.
        systems: by name, in order.
        labels: unit -> label -> value.
        cells: system -> its experiment and the key of its cell.
        documents: of the benchmark.
        failed: a sentence on each system that was left out because calls to a model failed.
    """

    benchmark: str
    protocol: str
    systems: Mapping[str, System]
    labels: Mapping[str, Mapping[str, str]]
    cells: Mapping[str, tuple[Opened, str]]
    documents: int = 0
    failed: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """As printed: ``csfcube (pools)``."""
        return f"{self.benchmark} ({'pools' if self.protocol == 'pool' else 'collection'})"

    @property
    def columns(self) -> list[Column]:
        """All that some system was scored by, in order."""
        return list(dict.fromkeys(column for s in self.systems.values() for column in s.means))

    def with_column(self, column: Column) -> dict[str, System]:
        """The systems that were scored by a column."""
        return {name: s for name, s in self.systems.items() if s.means.get(column) is not None}

    def is_ceiling(self, system: str) -> bool:
        """Whether a row was made from the judgements, see :mod:`aspectra.lab.experiments.execute`."""
        opened, key = self.cells[system]
        names = {cell["recipe"] for cell in opened.about.cells if cell["cell"] == key}
        return bool(names & {*opened.study.ceilings, *opened.study.people})

    def costs(self, cost: str) -> dict[str, float]:
        """System -> median milliseconds, or mean calls, tokens or money, of a ranking, where recorded."""
        held: dict[Path, Records] = {}
        out: dict[str, float] = {}
        for name, (opened, key) in self.cells.items():
            path = opened.file("records")
            records = held.setdefault(path, Records(path, write=False)).of(key)
            if not records:
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


def places_of(opened: Mapping[str, Opened], choice: Choice, *, rescored: Sequence[str] = ()) -> list[Place]:
    """Every benchmark and protocol with its chosen systems.

    Args:
        opened: name -> experiment.
        choice: what is wanted.
        rescored: measures by which the recorded rankings are scored now, instead of what results.json holds.

    Raises:
        UsageError: nothing fits, or a system is unknown.
        BadInput: files were changed or are damaged, or several experiments cannot be compared.
    """
    found = {
        name: results(score_study(one, measures=rescored)) if rescored else one.results()
        for name, one in opened.items()
    }
    keys = [(one, cell["cell"]) for name, one in opened.items() for cell in found[name].get("cells") or ()]
    every = list(zip(_by_part(found), keys, strict=True))
    groups: dict[tuple[str, str], list[tuple[System, tuple[Opened, str]]]] = {}
    for system, key in every:
        if choice.benchmark in ("", system.benchmark) and choice.protocol in ("", system.protocol):
            groups.setdefault((system.benchmark, system.protocol), []).append((system, key))
    names = list(dict.fromkeys(system.name for system, _ in every))
    for name in filter(None, (*choice.systems, choice.baseline)):
        if name not in names:
            raise unknown_name(f"no system is called {name!r}", name, names)
    out = []
    lost: list[str] = []
    for (benchmark, protocol), held in groups.items():
        chosen = [
            (system, key)
            for system, key in held
            if not choice.systems or system.name in (*choice.systems, choice.baseline)
        ]
        failed = tuple(f"F{failed_note(s.name, s.failed)[1:]}." for s, _ in chosen if s.failed)
        lost += failed
        chosen = [(system, key) for system, key in chosen if not system.failed]
        facts = next(f["benchmarks"][benchmark] for f in found.values() if benchmark in f["benchmarks"])
        if chosen:
            out.append(
                Place(
                    benchmark,
                    protocol,
                    {system.name: system for system, _ in chosen},
                    facts.get("labels") or {},
                    {system.name: key for system, key in chosen},
                    int(facts.get("documents") or 0),
                    failed,
                )
            )
    if not out:
        raise UsageError(
            "nothing that was run fits",
            why="; ".join(lost or dict.fromkeys(f"{s.benchmark}, {s.protocol}" for s, _ in every))
            or "no cells",
        )
    return out


def _by_part(found: Mapping[str, Mapping[str, Any]]) -> list[System]:
    """Systems of all experiments; a name that comes twice gets the last part of its folder's name.

    It keeps the whole name of its folder where the last part belongs to several of them.
    """
    lasts = Counter(Path(where).name for where in found)
    out = []
    for system in systems_of(found):
        name = system.name
        for where in found:
            if name.endswith(f" ({where})") and lasts[Path(where).name] == 1:
                name = f"{name.removesuffix(f' ({where})')} ({Path(where).name})"
        out.append(replace(system, name=name))
    return out


def family_of(column: Column) -> Family:
    """The family of a column's measure."""
    return parse(column[1]).family


def spelled(column: Column) -> str:
    """A column's measure as printed, with its mode: ``nDCG@10 [instructed]``, and x100 where it is scaled."""
    scaled = ", x100" if family_of(column).scale == 100 else ""
    return column[1] + (f" [{column[2]}]" if column[2] else "") + scaled


def choose_column(
    place: Place, choice: Choice, *, wanted: str = "", arity: Arity | None = None, better: bool = True
) -> Column:
    """The column that is meant: by the first of the chosen measures, else the first that will do.

    Args:
        place: whose columns.
        choice: names measure and mode.
        wanted: spelling that takes the place of the choice's.
        arity: of measures that will do; None for all.
        better: only measures of which more, or less, is better.

    Raises:
        UsageError: there is none.
    """
    named = wanted or next(iter(choice.measures), "")
    preset = next(iter(place.systems.values())).preset
    spelling = str(get_preset(preset).parse(named)) if named else ""
    fits = [
        column
        for column in place.columns
        if (column[1] == spelling if named else not better or family_of(column).better)
        and (arity is None or named or parse(column[1]).arity is arity)
        and choice.mode in ("", column[2])
    ]
    if not fits:
        scored = ", ".join(dict.fromkeys(c[1] + (f" [{c[2]}]" if c[2] else "") for c in place.columns))
        raise UsageError(
            f"{place.title} was not scored by {named or 'a measure that fits'}",
            why=f"scored by {scored or 'nothing'}",
            hint="--measure with one of these, or: aspectra bench run --output DIR --measure M",
        )
    return fits[0]


def mean_of(system: System, column: Column, units: Iterable[str] | None = None) -> Number | None:
    """A system's mean with its interval, times the measure's scale; over some units alone where named."""
    scale = family_of(column).scale
    values = system.values.get(column, {})
    if units is None:
        mean = system.means.get(column)
        return (
            None
            if mean is None
            else Number.of(mean, scale, plain_interval(values, mean, family_of(column).bounds))
        )
    own = {unit: values[unit] for unit in units if unit in values}
    if not own:
        return None
    mean = statistics.fmean(own.values())
    return Number.of(mean, scale, plain_interval(own, mean, family_of(column).bounds))


def study_table(path: Path, title: str) -> list[dict[str, Any]]:
    """Rows of a table in a study's ``tables.json``, numbers as :class:`~aspectra.lab.reports.tables.Number`.

    Raises:
        BadInput: the file is damaged, or holds no such table.
    """
    try:
        tables = json.loads(path.read_text("utf-8"))["tables"]
        rows = next(table["rows"] for table in tables if table["title"] == title)
        return [
            {name: Number(**cell) if isinstance(cell, dict) else cell for name, cell in row.items()}
            for row in rows
        ]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration) as error:
        raise BadInput(
            f"{path} holds no table {title!r}",
            why=str(error),
            hint="aspectra bench run STUDY.toml --data DIR --output DIR",
        ) from error
