"""arXiv metadata, made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.json.arxiv import arxiv_year
from aspectra.papers.sources.protocol import SOURCES, Remark

RECORD: dict[str, Any] = {
    "id": "2101.01234",
    "submitter": "Ada Example",
    "authors": "Ada B. Example (Rain Institute) and Bo Sample",
    "title": "Umbrellas\n  in trains",
    "comments": "4 pages",
    "journal-ref": "J. Rain 7 (2022) 1-9",
    "doi": "10.1234/UMBRELLA 10.1234/erratum",
    "report-no": None,
    "categories": "cs.IR cs.DL",
    "license": "CC0",
    "abstract": "  Umbrellas get lost\nin trains every day.\n  We find them.\n",
    "versions": [
        {"version": "v1", "created": "Mon, 4 Jan 2021 10:00:00 GMT"},
        {"version": "v2", "created": "Tue, 1 Mar 2022 10:00:00 GMT"},
    ],
    "update_date": "2022-03-02",
    "authors_parsed": [["Example", "Ada B.", "", "Rain Institute"], ["Sample", "Bo", "Jr."]],
}


def read(path: Path, *records: Any) -> list[Paper | Remark]:
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return list(read_papers(path, "arxiv"))


def test_record(tmp_path: Path) -> None:
    (paper,) = read(tmp_path / "a.jsonl", RECORD)
    assert isinstance(paper, Paper)
    assert (paper.id, paper.title, paper.year) == ("2101.01234", "Umbrellas in trains", 2021)
    assert paper.abstract == "Umbrellas get lost in trains every day.\n\nWe find them."
    assert paper.authors == ("Ada B. Example", "Bo Sample Jr.")
    assert paper.identifiers == {"doi": "10.1234/umbrella", "arxiv": "2101.01234"}
    assert (paper.venue, paper.url) == ("J. Rain 7 (2022) 1-9", "https://arxiv.org/abs/2101.01234")
    assert (paper.metadata["v1_date"], paper.metadata["latest_date"]) == ("2021-01-04", "2022-03-01")
    assert paper.metadata["versions"] == RECORD["versions"]
    assert paper.metadata["categories"] == "cs.IR cs.DL"
    assert paper.metadata["doi"] == RECORD["doi"]


def test_missing_and_odd_fields(tmp_path: Path) -> None:
    odd = {"id": "math/9912012", "title": "T", "versions": [{"created": "soon"}], "authors_parsed": "x"}
    (paper,) = read(tmp_path / "a.jsonl", odd)
    assert isinstance(paper, Paper)
    assert (paper.year, paper.identifiers) == (1999, {"arxiv": "math/9912012"})


def test_sniff(tmp_path: Path) -> None:
    source = SOURCES.get("arxiv")
    assert source.sniff(tmp_path / "x", json.dumps(RECORD).encode()) >= 0.95
    assert source.sniff(tmp_path / "x", b'{"id": "1", "title": "x", "abstract": "y"}') == 0


@pytest.mark.parametrize(
    ("name", "year"), [("2501.00001", 2025), ("9999.1", None), ("", None), ("abc", None)]
)
def test_year_of_an_id(name: str, year: int | None) -> None:
    assert arxiv_year(name) == year
