"""The result tables of the papers, and their numbers beside those of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from aspectra.base.errors import UsageError
from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.lab.measures.protocol import parse
from aspectra.lab.reports.scores import System, wanted_measures
from aspectra.lab.reports.tables import Number, Table

# The tables are data: what others measured, and whether a run is comparable with it.
#
# A published number is comparable with a run only where collection, judgements and protocol are the same.
# Where they are not, the row gives the reason, to be printed beside it. Nothing here is a target for a
# test: cells that look misprinted or cannot be reproduced carry the doubt.

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Published:
    """One printed number.

    Attributes:
        benchmark: name of the benchmark it belongs to.
        paper: number of the data file.
        title: of the paper.
        table: its number in the paper.
        system: what was measured, as printed.
        setup: group, family or setting, as printed, or "".
        measure: canonical name.
        value: in the unit of our measures (fractions, not percent), or None where the cell is empty or lost.
        printed: as printed.
        deviation: standard deviation over runs, in the unit of ``value``, or None.
        labels: the part of the topics it is over, as :attr:`Topic.labels`; empty for all. A value such as
            ``mean of ACL and EMNLP`` is the mean of two parts.
        mean_of: label whose values' means it is the plain mean of, or "" for a mean over topics.
        mode: ``original``, ``instructed``, ``reversed``, or "".
        judgements: ``gold``, ``pooled``, or "" where there is one set.
        doubt: why the cell is not to be trusted, or "".
        why_not: why it cannot be held beside a run on the benchmark as loaded; "" where it can.
    """

    benchmark: str
    paper: str
    title: str
    table: str
    system: str
    setup: str
    measure: str
    value: float | None
    printed: float | None
    deviation: float | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: _NONE)
    mean_of: str = ""
    mode: str = ""
    judgements: str = ""
    doubt: str = ""
    why_not: str = ""

    @property
    def label(self) -> str:
        """System and setup, as printed."""
        return f"{self.system}, {self.setup}" if self.setup else self.system


@cache
def _papers() -> tuple[Mapping[str, Any], ...]:
    """The data files, by the papers' numbers.

    Besides the tables, a file holds: ``part``, the label by which the benchmark's name is divided (the word
    after ``/``); ``topics_by``, the labels by which the paper counts topics; ``why_not``, why none of its
    numbers is comparable; ``other_setups``, beginning of a setup -> why that one is not; ``kin``, collections
    of our own in the layout of the benchmark -> the part they are like, and what is different.
    """
    folder = resources.files("aspectra.lab.reports") / "data"
    files = sorted((f for f in folder.iterdir() if f.name.startswith("published-")), key=lambda f: f.name)
    return tuple(json.loads(file.read_text(encoding="utf-8")) for file in files)


def tables(benchmark: str | Benchmark) -> tuple[Published, ...]:
    """All published numbers on a benchmark, in the order of the papers' tables.

    Args:
        benchmark: a benchmark's name (``litsearch``, ``infosearch/language``, ``obliq/math``), or, better, a
            loaded one: then the numbers of documents and topics are compared with the published ones.

    Returns:
        Nothing for a benchmark of which no table is held. A collection that only has the layout of a
        published benchmark gets that benchmark's rows, none of them comparable.
    """
    name = benchmark if isinstance(benchmark, str) else benchmark.name
    family, _, given = name.partition("/")
    out: list[Published] = []
    for paper in _papers():
        kin = paper.get("kin", {}).get(family)
        if kin is None and family != paper["benchmark"]:
            continue
        part = (kin or {}).get("part") or (given if "part" in paper else "")
        if kin is not None:
            reasons = [kin["why_not"]]
        else:
            reasons = list(paper.get("why_not", ()))
            reasons += [] if isinstance(benchmark, str) else _differences(benchmark, paper, part)
        out += _rows(paper["paper"], part, tuple(reasons))
    return tuple(out)


def paper_rows(number: str, table: str, benchmark: str | Benchmark = "") -> tuple[Published, ...]:
    """The numbers of one table of a paper, in its order.

    Args:
        number: of the paper's data file.
        table: its number in the paper.
        benchmark: what they are compared with, see :func:`tables`; "" for nothing.

    Returns:
        Nothing where the benchmark is a part of which the table has no number.

    Raises:
        UsageError: the paper or table is not held.
    """
    papers = {paper["paper"]: paper for paper in _papers()}
    if number not in papers:
        raise UsageError(f"no published numbers of paper {number!r} are held", why=", ".join(papers))
    known = [one["table"] for one in papers[number]["tables"]]
    if table not in known:
        raise UsageError(f"paper {number} has no table {table!r} here", why="tables: " + ", ".join(known))
    held = tables(benchmark or papers[number]["benchmark"])
    return tuple(row for row in held if (row.paper, row.table) == (number, table))


def part_of(number: str, benchmark: str) -> str:
    """The part of a paper's benchmark that a benchmark is, or is like; "" without parts.

    >>> part_of("004", "obliq/math"), part_of("004", "style-authorship"), part_of("002", "litsearch")
    ('math', 'writing', '')
    """
    kin = next(paper for paper in _papers() if paper["paper"] == number).get("kin", {})
    family, _, given = benchmark.partition("/")
    return str(kin.get(family, {}).get("part", given))


@lru_cache(64)  # a study's page asks for the same rows for each of its own
def _rows(number: str, part: str, reasons: tuple[str, ...]) -> tuple[Published, ...]:
    data = next(paper for paper in _papers() if paper["paper"] == number)
    out = []
    for table in data["tables"]:
        scale = table["scale"]
        for row in table["rows"]:
            spread = row.get("deviations") or [None] * len(row["values"])
            for place, column in enumerate(table["columns"]):
                labels = column.get("labels", {})
                if part and part not in labels.values():
                    continue
                printed, deviation = row["values"][place], spread[place]
                doubt = row.get("doubtful", {}).get(str(place), "")
                setup = row.get("setup", "")
                found = [*reasons, table.get("why_not", "")]
                found += [
                    why for start, why in data.get("other_setups", {}).items() if setup.startswith(start)
                ]
                found += [f"doubtful: {doubt}"] if doubt else []
                found += ["the cell is empty or lost"] if printed is None else []
                why_not = "; ".join(filter(None, found))
                out.append(
                    Published(
                        benchmark=data["benchmark"],
                        paper=data["paper"],
                        title=data["title"],
                        table=table["table"],
                        system=row["system"],
                        setup=setup,
                        value=None if printed is None else round(printed * scale, 9),
                        printed=printed,
                        deviation=None if deviation is None else round(deviation * scale, 9),
                        **{**column, "labels": MappingProxyType(labels)},
                        doubt=doubt,
                        why_not=why_not,
                    )
                )
    return tuple(out)


def _differences(benchmark: Benchmark, data: Mapping[str, Any], part: str) -> list[str]:
    """Differences of the loaded benchmark from the published one: numbers of topics and of documents."""
    topics, documents = (_counts(data["counts"][what], part) for what in ("topics", "documents"))
    by = data.get("topics_by", ())
    here = Counter("/".join(topic.labels.get(name, "") for name in by) or part for topic in benchmark.topics)
    out = []
    for key, wanted in topics.items():
        found = here[key]
        if found != wanted:
            half = "half of the topics, " if abs(2 * found - wanted) <= 2 else ""
            of = f" of {key}" if key else ""
            out.append(f"other topics: {half}{found:,}{of}, the paper has {wanted:,}")
    held, whole = benchmark.audit.documents, sum(documents.values())
    if held != whole:
        out.append(f"other collection: {held:,} documents, the paper has {whole:,}")
    return out


def _counts(given: int | Mapping[str, int], part: str) -> dict[str, int]:
    """Part -> number, of one part or of all; "" for a benchmark without parts."""
    known = {"": given} if isinstance(given, int) else given
    return {key: number for key, number in known.items() if not part or key == part}


def published_table(
    benchmark: str | Benchmark, systems: Sequence[System], measures: Sequence[str] = ()
) -> Table | None:
    """The papers' numbers beside those of a run; None where no paper's table is held.

    Args:
        benchmark: better the loaded one, so that its size can be compared with the published.
        systems: of this benchmark; their means come first.
        measures: only these; default: all that the systems were scored by.
    """
    name = benchmark if isinstance(benchmark, str) else benchmark.name
    held = tables(benchmark)
    if not held:
        return None
    here = [s for s in systems if s.benchmark == name]
    shown = {column[1] for s in here for column in s.values}
    if measures:
        shown &= {name for s in here for name in wanted_measures(measures, s.preset)}
    chosen = [row for row in held if row.measure in shown and row.value is not None]
    told = {row.judgements for row in chosen}  # the judgement sets that the papers tell apart
    rows: list[tuple[Any, ...]] = []
    for system in here:
        for column, mean in system.means.items():
            if column[1] in {row.measure for row in chosen} and mean is not None:
                part = ", ".join(filter(None, (column[2], column[0] if column[0] in told else "")))
                value = Number.of(mean, parse(column[1]).family.scale)
                rows.append((column[1], part, f"here: {system.name}, {system.protocol}", "", value, ""))
    titles = {title: n for n, title in enumerate(dict.fromkeys(row.title for row in chosen), 1)}
    rows += [_published_row(row, titles[row.title]) for row in chosen]
    rows.sort(key=lambda row: (row[0], not row[2].startswith("here: ")))
    left = len(held) - len(chosen)
    notes = [f"[{n}] {title}" for title, n in titles.items()]
    if left:
        notes.append(f"{left:,} published numbers by other measures, or lost in print, are not shown")
    if isinstance(benchmark, str):
        notes.append("the benchmark's files were not read: its size could not be compared with the papers'")
    header = ("measure", "of", "system", "source", "value", "comparable")
    return Table(f"{name}: published results", header, tuple(rows), tuple(notes))


def _published_row(row: Published, number: int) -> tuple[Any, ...]:
    part = [row.mode, row.judgements, *(f"{k} {v}" for k, v in row.labels.items())]
    value = Number.of(row.value or 0.0, parse(row.measure).family.scale, deviation=row.deviation)
    of, source = ", ".join(filter(None, part)), f"[{number}] table {row.table}"
    told = f"not comparable: {row.why_not}" if row.why_not else "comparable"
    return row.measure, of, row.label, source, value, told
