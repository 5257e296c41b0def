"""Tables for people and programs: the same rows as Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aspectra.base.errors import check_choice
from aspectra.lab.statistics.significance import SMALL, Interval

# Judgement set, measure, mode.
Column = tuple[str, str, str]

SMALL_NOTE = (
    f"small: fewer than {SMALL} units, so that t-tests and t-intervals lean on values that are about normal"
)


def failed_note(name: str, failed: int) -> str:
    """What is said of a recipe with ``failed`` rankings in which calls to a model failed."""
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
        """
        out = f"{self.value:.{digits}f}"
        if self.deviation is not None:
            out += f" ± {self.deviation:.{digits}f}"
        if self.low is not None and self.high is not None:
            rough = max(0, digits - 1)
            out += f" [{self.low:.{rough}f}, {self.high:.{rough}f}]"
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
        """Which columns hold numbers."""
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


FORMATS: Mapping[str, Callable[[Table], str]] = {
    "markdown": _markdown,
    "latex": _latex,
    "csv": _csv,
    "json": _json,
}


def render(table: Table, how: str) -> str:
    """The table as ``markdown``, ``latex``, ``csv`` or ``json``.

    Raises:
        UsageError: no such format.
    """
    return FORMATS[check_choice(how, FORMATS, "table format")](table)
