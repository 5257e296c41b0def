"""Tables: the same rows as Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json

import pytest

from aspectra.base.errors import UsageError
from aspectra.lab.reports.tables import FORMATS, Number, Table, render

TABLE = Table(
    "A & B_1",
    ("recipe", "nDCG%20", "n"),
    (("bm25>5|x", Number(1 / 3, 0.1, 0.5, 0.25), 3), ("dense", None, 4)),
    ("a note",),
    2,
    {(0, 1): "*"},
    frozenset({(0, 1)}),
)


def test_markdown_is_aligned_and_escaped():
    lines = render(TABLE, "markdown").splitlines()
    assert lines[3] == "|:--|--:|--:|"
    assert lines[4] == "| bm25>5\\|x | **0.33 ± 0.25 [0.1, 0.5]\\*** | 3 |"
    assert lines[5] == "| dense |  | 4 |"
    assert lines[-1] == "- a note"


def test_latex_is_escaped():
    text = render(TABLE, "latex")
    assert r"\caption{A \& B\_1}" in text
    assert r"nDCG\%20" in text
    assert r"bm25\textgreater{}5|x & \textbf{0.33 ± 0.25 [0.1, 0.5]}$^{*}$ & 3 \\" in text
    assert r"\begin{tabular}{lrr}" in text


def test_programs_get_unrounded_numbers():
    rows = list(csv.DictReader(io.StringIO(render(TABLE, "csv"))))
    assert float(rows[0]["nDCG%20"]) == 1 / 3
    assert [rows[0][f"nDCG%20 {what}"] for what in ("low", "high", "deviation")] == ["0.1", "0.5", "0.25"]
    assert rows[0]["marks"] == "nDCG%20:*"
    assert rows[1]["nDCG%20"] == ""
    value = json.loads(render(TABLE, "json"))
    assert value["rows"][0]["nDCG%20"] == {"value": 1 / 3, "low": 0.1, "high": 0.5, "deviation": 0.25}
    assert value["rows"][1]["nDCG%20"] is None
    assert value["marks"] == [[0, "nDCG%20", "*"]]


@pytest.mark.parametrize("how", FORMATS)
def test_an_empty_table_renders(how):
    assert render(Table("", ("a",), ()), how)


def test_an_unknown_format_is_refused():
    with pytest.raises(UsageError, match="no table format 'word'"):
        render(TABLE, "word")
