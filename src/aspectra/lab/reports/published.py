"""The result tables of the papers, as data: what others measured, and whether it can be held beside a run.

A published number is comparable with a run only where collection, judgements and protocol are the same. Where
they are not, the row gives the reason, to be printed beside it. Nothing here is a target for a test:
cells that look misprinted or cannot be reproduced carry the doubt.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from aspectra.lab.benchmarks.protocol import Benchmark

__all__ = ["PAPERS", "Published", "tables"]

PAPERS = ("000", "001", "002", "003", "004")

# Collections in the layout of a published benchmark: name -> (benchmark, its part, what is different).
_KIN = {
    "attribute-docs": (
        "infosearch",
        "",
        "other collection and other questions, made in the layout of InfoSearch",
    ),
    "theorem-analogue": (
        "obliq",
        "math",
        "other collection: theorem problems in the layout of OBLIQ-Bench's math",
    ),
    "style-authorship": (
        "obliq",
        "writing",
        "other collection: novels in the layout of OBLIQ-Bench's writing",
    ),
    "acl-fulltext": ("scifullbench", "", "other collection: ACL papers, searched as SciFullBench is"),
    "litquery": ("litsearch", "", "other collection and other questions, in the shape of LitSearch"),
}
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
        labels: the part of the topics it is over, as :attr:`Topic.labels`; empty for all.
        mode: ``original``, ``instructed``, ``reversed``, or "".
        judgements: ``gold``, ``pooled``, or "" where there is one set.
        doubt: why the cell is not to be trusted, or "".
        comparable: whether it can be held beside a run on the benchmark as loaded.
        why_not: the reasons when it cannot.
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
    mode: str = ""
    judgements: str = ""
    doubt: str = ""
    comparable: bool = True
    why_not: str = ""


@cache
def _data(paper: str) -> Mapping[str, Any]:
    file = resources.files("aspectra.lab.reports").joinpath("data", f"published-{paper}.json")
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


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
    first, _, part = name.partition("/")
    family, kin_part, other = _KIN.get(first, (first, part, ""))
    part = kin_part or (part if first in ("infosearch", "obliq", "attribute-docs") else "")
    out: list[Published] = []
    for paper in PAPERS:
        data = _data(paper)
        if data["benchmark"] != family:
            continue
        reasons = [other] if other else []
        if not isinstance(benchmark, str) and not other:
            reasons += _differences(benchmark, data, part)
        if family == "csfcube" and not other:
            here = "" if isinstance(benchmark, str) else f", here {benchmark.audit.documents:,}"
            whole = data["counts"]["documents"]
            reasons.insert(0, f"other collection: {whole:,} papers, of which 200 are re-ranked{here}")
            reasons.append("other judgements: papers outside the pools count as not relevant")
        out += _rows(data, part, tuple(reasons))
    return tuple(out)


def _rows(data: Mapping[str, Any], part: str, reasons: tuple[str, ...]) -> Iterator[Published]:
    for table in data["tables"]:
        scale = table["scale"]
        for row in table["rows"]:
            spread = row.get("deviations") or [None] * len(row["values"])
            for number, column in enumerate(table["columns"]):
                labels = column.get("labels", {})
                if part and part not in labels.values():
                    continue
                printed, deviation = row["values"][number], spread[number]
                doubt = row.get("doubtful", {}).get(str(number), "")
                setup = row.get("setup", "")
                found = [*reasons, table.get("why_not", ""), _protocol(data["benchmark"], setup)]
                found += [f"doubtful: {doubt}"] if doubt else []
                found += ["the cell is empty or lost"] if printed is None else []
                why_not = "; ".join(filter(None, found))
                yield Published(
                    benchmark=data["benchmark"],
                    paper=data["paper"],
                    title=data["title"],
                    table=table["table"],
                    system=row["system"],
                    setup=setup,
                    measure=column["measure"],
                    value=None if printed is None else round(printed * scale, 9),
                    printed=printed,
                    deviation=None if deviation is None else round(deviation * scale, 9),
                    labels=MappingProxyType(labels),
                    mode=column.get("mode", ""),
                    judgements=column.get("judgements", ""),
                    doubt=doubt,
                    comparable=not why_not,
                    why_not=why_not,
                )


def _protocol(benchmark: str, setup: str) -> str:
    if benchmark == "infosearch" and setup.startswith(("pointwise", "listwise")):
        return "other protocol: re-ranks the first 100 of E5-Mistral"
    return ""


def _differences(benchmark: Benchmark, data: Mapping[str, Any], part: str) -> list[str]:
    """What of the loaded benchmark is not as published: numbers of topics and of documents."""
    counts = data["counts"]
    out = []
    wanted = counts["topics"]
    if isinstance(wanted, dict):
        label = "dimension" if data["benchmark"] == "infosearch" else ""
        if data["benchmark"] == "obliq":
            here = {part: len(benchmark.topics)}
        elif label:
            here = dict(Counter(topic.labels.get(label, "") for topic in benchmark.topics))
        else:
            here = dict(
                Counter(
                    f"{t.labels.get('venue', '')}/{t.labels.get('direction', '')}" for t in benchmark.topics
                )
            )
        chosen = {key: number for key, number in wanted.items() if key == part or not part}
        for key, number in chosen.items():
            if here.get(key, 0) != number:
                out.append(f"other topics: {here.get(key, 0):,} of {key}, the paper has {number:,}")
    elif len(benchmark.topics) != wanted:
        half = "half of the topics, " if len(benchmark.topics) * 2 in range(wanted - 2, wanted + 3) else ""
        out.append(f"other topics: {half}{len(benchmark.topics):,}, the paper has {wanted:,}")
    documents = counts["documents"]
    if data["benchmark"] == "csfcube":
        return out
    if isinstance(documents, dict):
        keys = [part] if part else list(documents)
        documents = sum(documents.get(key, 0) for key in keys)
    if benchmark.audit.documents != documents:
        out.append(f"other collection: {benchmark.audit.documents:,} documents, the paper has {documents:,}")
    return out
