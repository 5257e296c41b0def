"""Tables for people and programs, as Markdown, LaTeX, CSV and JSON; statistics of a collection."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aspectra.base.errors import check_choice
from aspectra.lab.benchmarks.protocol import Benchmark, Topic
from aspectra.lab.statistics.significance import SMALL, Interval
from aspectra.papers.paper import Paper

# Judgement set, measure, mode.
Column = tuple[str, str, str]

SMALL_NOTE = (
    f"small: fewer than {SMALL} units, so that t-tests and t-intervals lean on values that are about normal"
)


def failed_note(name: str, failed: int) -> str:
    """Note on a recipe with ``failed`` rankings in which calls to a model failed."""
    rankings = f"{failed:,} ranking" + "s" * (failed > 1)
    return f"failed: {name}: calls to the model failed in {rankings}; nothing is computed from it"


@dataclass(frozen=True, slots=True)
class Number:
    """A mean with what is known about its precision.

    Attributes:
        value: the mean.
        low, high: bounds of its interval, or None.
        deviation: standard deviation over runs, or None where there was one run.
    """

    value: float
    low: float | None = None
    high: float | None = None
    deviation: float | None = None

    @classmethod
    def of(
        cls,
        value: float | None,
        scale: float = 1.0,
        interval: Interval | None = None,
        deviation: float | None = None,
    ) -> Number | None:
        """The number with everything known about it, times ``scale``; None for None."""
        if value is None:
            return None
        known = (interval and interval.low, interval and interval.high, deviation)
        return cls(scale * value, *(None if one is None else scale * one for one in known))

    def text(self, digits: int) -> str:
        """As printed.

        >>> Number(53.284, 50.01, 55.0).text(2), Number(1.0, deviation=0.5).text(1)
        ('53.28 [50.0, 55.0]', '1.0 ± 0.5')
        >>> Number(99.8, 99.6, 99.9).text(1), Number(-0.01, -0.4, 0.2).text(1)
        ('99.8 [99.6, 99.9]', '0.0 [0, 0]')
        """
        out = f"{self.value:z.{digits}f}"
        if self.deviation is not None:
            out += f" ± {self.deviation:.{digits}f}"
        if self.low is not None and self.high is not None:
            rough = max(0, digits - 1)
            if not round(self.low, rough) <= round(self.value, digits) <= round(self.high, rough):
                rough = digits  # the mean would be printed outside its interval
            out += f" [{self.low:z.{rough}f}, {self.high:z.{rough}f}]"
        return out

    def to_dict(self) -> dict[str, float]:
        """JSON form, unrounded; what is not known is absent."""
        named = {"value": self.value, "low": self.low, "high": self.high, "deviation": self.deviation}
        return {name: value for name, value in named.items() if value is not None}


def set_shown(column: Column, columns: Collection[Column]) -> str:
    """The name of a column's judgement set where another set scores the same measure, else "".

    >>> set_shown(("gold", "AP", ""), [("gold", "AP", ""), ("pooled", "AP", "")])
    'gold'
    >>> set_shown(("gold", "AP", ""), [("gold", "AP", ""), ("pooled", "MRR", "")])
    ''
    """
    name, *rest = column
    return name if any(other != name and same == rest for other, *same in columns) else ""


def first_of(lines: Sequence[str], count: int, where: str) -> list[str]:
    """The first lines, and how many more there are and where; none is dropped without a word.

    >>> first_of(["a", "b", "c"], 2, "results.json")
    ['a', 'b', 'and 1 more: see results.json']
    """
    rest = len(lines) - count
    return [*lines[:count], *([f"and {rest:,} more: see {where}"] if rest > 0 else [])]


Cell = str | int | float | Number | None


@dataclass(frozen=True)
class Table:
    """Rows with one header.

    Attributes:
        title: what it shows.
        columns: names.
        rows: cells; numbers are formatted by ``digits``, None is an empty cell.
        notes: sentences below the table: preset, units, what the marks mean, what was left out.
        digits: decimals of floating-point cells.
        marks: (row, column) -> mark behind a number, such as ``*``.
        best: (row, column) printed bold.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    digits: int = 2
    marks: Mapping[tuple[int, int], str] | None = None
    best: frozenset[tuple[int, int]] = frozenset()

    def text(self, row: int, column: int) -> str:
        """One cell as printed, without its mark."""
        value = self.rows[row][column]
        if value is None:
            return ""
        if isinstance(value, Number):
            return value.text(self.digits)
        return f"{value:.{self.digits}f}" if isinstance(value, float) else str(value)

    def mark(self, row: int, column: int) -> str:
        """The mark behind a cell, or ""."""
        return (self.marks or {}).get((row, column), "")

    @property
    def numeric(self) -> list[bool]:
        """For each column, True if it holds numbers."""
        return [
            any(isinstance(row[i], int | float | Number) for row in self.rows)
            for i in range(len(self.columns))
        ]


def _markdown(table: Table) -> str:
    def clean(text: str) -> str:
        return text.replace("|", "\\|").replace("\n", " ")

    lines = [f"### {clean(table.title)}", ""] if table.title else []
    lines.append("| " + " | ".join(map(clean, table.columns)) + " |")
    lines.append("|" + "|".join("--:" if n else ":--" for n in table.numeric) + "|")
    for i in range(len(table.rows)):
        cells = []
        for j in range(len(table.columns)):
            text = clean(table.text(i, j)) + table.mark(i, j).replace("*", "\\*")
            cells.append(f"**{text}**" if (i, j) in table.best and text else text)
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"- {note}" for note in table.notes)] if table.notes else []
    return "\n".join(lines).rstrip() + "\n"


_WORDS = {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
_WORDS |= {"<": r"\textless{}", ">": r"\textgreater{}"}
_LATEX = str.maketrans({**{mark: "\\" + mark for mark in "&%$#_{}"}, **_WORDS})


def _latex(table: Table) -> str:
    lines = [
        r"\begin{table}",
        rf"\caption{{{table.title.translate(_LATEX)}}}",
        r"\begin{tabular}{" + "".join("r" if n else "l" for n in table.numeric) + "}",
        r"\hline",
        " & ".join(c.translate(_LATEX) for c in table.columns) + r" \\",
        r"\hline",
    ]
    for i in range(len(table.rows)):
        cells = []
        for j in range(len(table.columns)):
            text = table.text(i, j).translate(_LATEX)
            text = rf"\textbf{{{text}}}" if (i, j) in table.best and text else text
            mark = table.mark(i, j)
            cells.append(text + (rf"$^{{{mark.translate(_LATEX)}}}$" if mark else ""))
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\hline", r"\end{tabular}"]
    lines += [rf"% {note}" for note in table.notes]
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def _csv(table: Table) -> str:
    """Unrounded; intervals and deviations of means are in columns of their own, behind the others."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    marked = table.marks or {}
    parts = [
        (j, name)
        for j in range(len(table.columns))
        for name in ("low", "high", "deviation")
        if any(isinstance(v := row[j], Number) and name in v.to_dict() for row in table.rows)
    ]
    header = [*table.columns, *(f"{table.columns[j]} {name}" for j, name in parts)]
    writer.writerow([*header, "marks"] if marked else header)
    for i, row in enumerate(table.rows):
        cells: list[Any] = ["" if v is None else v.value if isinstance(v, Number) else v for v in row]
        cells += [v.to_dict().get(name, "") if isinstance(v := row[j], Number) else "" for j, name in parts]
        if marked:
            cells.append(
                " ".join(f"{table.columns[j]}:{m}" for (r, j), m in sorted(marked.items()) if r == i)
            )
        writer.writerow(cells)
    return stream.getvalue()


def to_dict(table: Table) -> dict[str, Any]:
    """JSON form: rows as objects with unrounded numbers."""
    return {
        "title": table.title,
        "columns": list(table.columns),
        "rows": [
            {
                name: value.to_dict() if isinstance(value, Number) else value
                for name, value in zip(table.columns, row, strict=True)
            }
            for row in table.rows
        ],
        "marks": [[i, table.columns[j], m] for (i, j), m in sorted((table.marks or {}).items())],
        "notes": list(table.notes),
    }


def _json(table: Table) -> str:
    return json.dumps(to_dict(table), ensure_ascii=False, indent=1) + "\n"


FORMATS = {"markdown": _markdown, "latex": _latex, "csv": _csv, "json": _json}


def render(table: Table, how: str) -> str:
    """The table as ``markdown``, ``latex``, ``csv`` or ``json``.

    Raises:
        UsageError: no such format.
    """
    return FORMATS[check_choice(how, FORMATS, "table format")](table)


# Statistics of a benchmark, as the papers that publish one print them: queries by label, and the corpus.
#
# Words are what white space separates, and not a model's tokens. A column that a benchmark has nothing for is
# left out. Sources: InfoSearch, table 9; LitSearch, table 2; SciFullBench, tables 3 and 4; OBLIQ-Bench,
# table 1.

_MOST_VALUES = 40  # of a label that queries are broken down by
_WORD = re.compile(r"[^\W_]+")


@dataclass
class _Corpus:
    """Results of one pass over the papers: sums, and the words of relevant papers."""

    documents: int = 0
    words: list[int] = field(default_factory=list)
    characters: int = 0
    full: list[int] = field(default_factory=list)
    sections: int = 0
    years: list[int] = field(default_factory=list)
    texts: dict[str, frozenset[str]] = field(default_factory=dict)


def collection_tables(benchmark: Benchmark) -> list[Table]:
    """Two tables: queries, all and by each of their labels; and the corpus.

    Reads the corpus once, and the query papers where queries are papers outside of it.
    """
    wanted = {
        document
        for grades in benchmark.qrels.values()
        for docs in grades.values()
        for document, grade in docs.items()
        if grade > 0
    }
    corpus = _read(benchmark.papers(), wanted)
    seeds = {paper.id: _full_words(paper) for paper in benchmark.seeds()} if benchmark.seeds else {}
    return [_queries(benchmark, corpus, seeds), _papers(benchmark, corpus)]


def _full_words(paper: Paper) -> int:
    return sum(len(text.split()) for text in (paper.title, paper.abstract, *(s.text for s in paper.sections)))


def _read(papers: Iterable[Paper], wanted: set[str]) -> _Corpus:
    out = _Corpus()
    for paper in papers:
        text = f"{paper.title} {paper.abstract}".strip()
        out.documents += 1
        out.words.append(len(text.split()))
        out.characters += len(text) + sum(len(section.text) for section in paper.sections)
        if paper.has_full_text:
            out.full.append(_full_words(paper))
            out.sections += len(paper.sections)
        if paper.year is not None:
            out.years.append(paper.year)
        if paper.id in wanted:
            out.texts[paper.id] = frozenset(_WORD.findall(text.lower()))
    return out


def _groups(topics: Sequence[Topic]) -> list[tuple[str, str, list[Topic]]]:
    """(label, value, its topics): first all topics, then those of each value of each label."""
    out = [("all", "", list(topics))]
    for label in sorted({name for topic in topics for name in topic.labels}):
        values = sorted({topic.labels[label] for topic in topics if label in topic.labels})
        if 1 < len(values) <= _MOST_VALUES:
            out += [(label, v, [t for t in topics if t.labels.get(label) == v]) for v in values]
    return out


Measured = Callable[[Sequence[Topic]], Cell]


def _queries(benchmark: Benchmark, corpus: _Corpus, seeds: Mapping[str, int]) -> Table:
    columns = _query_columns(benchmark, corpus, seeds)
    groups = _groups(benchmark.topics)
    rows = [(label, value, *(made(own) for made in columns.values())) for label, value, own in groups]
    kept = [n for n in range(2, len(columns) + 2) if any(row[n] is not None for row in rows)]
    header = ("label", "value", *(list(columns)[n - 2] for n in kept))
    notes = [f"{benchmark.name}, revision {benchmark.revision[:12]}; words are separated by white space"]
    if "overlap" in header:
        notes.append(
            "overlap: share of a query's different words that are in title or abstract of its relevant papers"
        )
    shown = tuple((row[0], row[1], *(row[n] for n in kept)) for row in rows)
    return Table(f"{benchmark.name}: queries", header, shown, tuple(notes))


def _query_columns(benchmark: Benchmark, corpus: _Corpus, seeds: Mapping[str, int]) -> dict[str, Measured]:
    out: dict[str, Measured] = {
        "queries": len,
        "core queries": lambda own: len({t.group for t in own if t.group and not t.seed}) or None,
        "query papers": lambda own: len({t.seed for t in own if t.seed}) or None,
        "words/query": lambda own: _mean([len(t.text.split()) for t in own if t.text]),
        "characters/query": lambda own: _mean([len(t.text) for t in own if t.text]),
        "words/query paper": lambda own: _mean([seeds[t.group] for t in own if t.group in seeds]),
    }
    for mode in [mode for mode in benchmark.modes if mode != "original"]:
        out[mode] = lambda own, mode=mode: sum(mode in t.instructions for t in own) or None  # type: ignore[misc]
        out[f"words/{mode}"] = lambda own, mode=mode: _mean(  # type: ignore[misc]
            [len(t.instructions[mode].split()) for t in own if mode in t.instructions]
        )
    for name in benchmark.qrels:
        grades = benchmark.qrels[name]
        counts = {t: sum(grade > 0 for grade in docs.values()) for t, docs in grades.items()}
        out[f"relevant/query, {name}"] = lambda own, c=counts: _mean([c[t.id] for t in own if t.id in c])  # type: ignore[misc]
        out[f"least, {name}"] = lambda own, c=counts: min((c[t.id] for t in own if t.id in c), default=None)  # type: ignore[misc]
    out["documents judged"] = lambda own: len(
        {d for grades in benchmark.qrels.values() for t in own for d in grades.get(t.id, ())}
    )
    if benchmark.pools is not None:
        pools = benchmark.pools
        out["candidates/query"] = lambda own: _mean([len(pools[t.id]) for t in own if t.id in pools])
    gold = next(iter(benchmark.qrels.values()), {})
    out["overlap"] = lambda own: _mean(
        [share for t in own if t.text and (share := _overlap(t, gold.get(t.id, {}), corpus)) is not None]
    )
    return out


def _overlap(topic: Topic, grades: Mapping[str, float], corpus: _Corpus) -> float | None:
    words = set(_WORD.findall(topic.text.lower()))
    texts = [corpus.texts[d] for d, grade in grades.items() if grade > 0 and d in corpus.texts]
    return len(words & frozenset().union(*texts)) / len(words) if words and texts else None


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _papers(benchmark: Benchmark, corpus: _Corpus) -> Table:
    rows: list[tuple[Cell, ...]] = [
        ("documents", corpus.documents),
        ("words of title and abstract, mean", _mean(corpus.words)),
        ("characters of the whole text, mean", corpus.characters / max(1, corpus.documents)),
    ]
    if corpus.full:
        rows += [
            ("with full text", len(corpus.full)),
            ("words of a full text, mean", _mean(corpus.full)),
            ("sections of a full text, mean", corpus.sections / len(corpus.full)),
        ]
    if corpus.years:
        rows += [("with a year", len(corpus.years)), ("years", f"{min(corpus.years)} to {max(corpus.years)}")]
    note = f"{benchmark.name}, revision {benchmark.revision[:12]}"
    return Table(f"{benchmark.name}: corpus", ("corpus", "number"), tuple(rows), (note,))
