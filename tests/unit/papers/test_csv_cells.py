"""Cells that a spreadsheet would run get an apostrophe."""

from __future__ import annotations

import csv
import io

import pytest

from aspectra.papers.export.protocol import WRITERS
from aspectra.papers.paper import Paper


@pytest.mark.parametrize("title", ["=1+1", "|calc", ";=1", '"=1', "“@x", " -1", "'=1", "＝1"])
def test_formulas(title: str) -> None:
    cell = next(csv.DictReader(io.StringIO(WRITERS.get("csv").write([Paper("a", title)]))))["title"]
    assert cell.startswith("'")


@pytest.mark.parametrize("title", ['"Why should I trust you?"', "Graphs | trees", "3-D models"])
def test_ordinary_titles(title: str) -> None:
    cell = next(csv.DictReader(io.StringIO(WRITERS.get("csv").write([Paper("a", title)]))))["title"]
    assert cell == title
