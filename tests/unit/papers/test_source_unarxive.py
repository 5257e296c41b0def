"""unarXive: both layouts, with made-up papers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import SOURCES, Remark

FLAT: dict[str, Any] = {
    "paper_id": "2101.01234",
    "title": "Umbrellas\n  in trains",
    "authors": "Ada Example, Bo Sample",
    "categories": "cs.IR",
    "discipline": "Computer Science",
    "license": "CC0",
    "abstract": "We find umbrellas.",
    "sections": [
        {"heading": "Introduction", "number": "1", "text": "As shown {{cite:k1}}, they get lost."},
        {"heading": "Walks", "number": "2.1", "text": "We walk."},
    ],
    "bib_entries": {
        "k1": {
            "raw": "C. Author. 2019. Umbrellas considered lost. In Nothing.",
            "openalex": "https://openalex.org/W123",
            "doi": "10.1234/ABC",
            "papers_corpus_id": "c7",
        },
        "k2": {"raw": "E. Third. Rain and its uses. arXiv:2002.00001, 2020."},
    },
}

PUBLISHED: dict[str, Any] = {
    "paper_id": "2101.01234",
    "_pdf_hash": None,
    "_source_hash": "0f",
    "_source_name": "2101.01234.gz",
    "metadata": {
        "id": "2101.01234",
        "submitter": "Bo Sample",
        "authors": "Ada Example and Bo Sample",
        "title": "Umbrellas in trains",
        "journal-ref": "J. Rain 1 (2022) 2",
        "doi": "10.1234/umbrella",
        "categories": "cs.IR",
        "abstract": "  From the metadata.",
        "versions": [{"version": "v1", "created": "Mon, 4 Jan 2021 10:00:00 GMT"}],
        "authors_parsed": [["Example", "Ada", ""], ["Sample", "Bo", "Jr."]],
    },
    "discipline": "Computer Science",
    "abstract": {"section": "Abstract", "text": "We find umbrellas.", "cite_spans": [], "ref_spans": []},
    "body_text": [
        {"section": "Introduction", "sec_number": "1", "text": "First {{cite:k1}}.", "cite_spans": []},
        {"section": "Introduction", "sec_number": "1", "text": "Then {{formula:f1}} see {{figure:g1}}."},
        {"section": "Walks", "sec_number": "2", "text": "We walk."},
    ],
    "ref_entries": {
        "f1": {"latex": "a+b", "type": "formula"},
        "g1": {"caption": "A map", "type": "figure"},
    },
    "bib_entries": {
        "k1": {
            "bib_entry_raw": "C. Author. 2019. Umbrellas considered lost. In Nothing.",
            "contained_arXiv_ids": [{"id": "1901.00001", "text": "1901.00001"}],
            "ids": {"open_alex_id": "https://openalex.org/W123", "doi": "10.1234/abc", "pubmed_id": ""},
        }
    },
}


def read(path: Path, *records: Any) -> list[Paper | Remark]:
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in records), "utf-8")
    return list(read_papers(path, "unarxive"))


def test_flat_layout(tmp_path: Path) -> None:
    (paper,) = read(tmp_path / "p.jsonl", FLAT)
    assert isinstance(paper, Paper)
    assert (paper.id, paper.title, paper.year) == ("2101.01234", "Umbrellas in trains", 2021)
    assert paper.authors == ("Ada Example", "Bo Sample")
    assert paper.sections[0].text == "As shown {{cite:k1}}, they get lost."
    first, second = paper.references
    assert first.key == "k1"
    assert first.title == "Umbrellas considered lost"
    assert first.identifiers == {"doi": "10.1234/abc", "openalex": "W123", "id": "c7"}
    assert second.identifiers == {"arxiv": "2002.00001"}
    assert paper.metadata["section_numbers"] == ["1", "2.1"]
    assert paper.metadata["license"] == "CC0"


def test_published_layout(tmp_path: Path) -> None:
    (paper,) = read(tmp_path / "p.jsonl", PUBLISHED)
    assert isinstance(paper, Paper)
    assert paper.abstract == "We find umbrellas."
    assert paper.authors == ("Ada Example", "Bo Sample Jr.")
    assert (paper.year, paper.venue) == (2021, "J. Rain 1 (2022) 2")
    assert paper.identifiers == {"doi": "10.1234/umbrella", "arxiv": "2101.01234"}
    assert [s.heading for s in paper.sections] == ["Introduction", "Walks"]
    assert paper.sections[0].text == "First {{cite:k1}}.\n\nThen $a+b$ see {{figure:g1}}."
    assert paper.metadata["ref_entries"] == {"g1": {"caption": "A map", "type": "figure"}}
    assert paper.references[0].identifiers == {
        "doi": "10.1234/abc",
        "arxiv": "1901.00001",
        "openalex": "W123",
    }
    assert paper.metadata["_source_name"] == "2101.01234.gz"


def test_marker_links_to_reference(tmp_path: Path) -> None:
    (paper,) = read(tmp_path / "p.jsonl", FLAT)
    assert isinstance(paper, Paper)
    assert all(f"{{{{cite:{r.key}}}}}" in paper.sections[0].text for r in paper.references if r.key == "k1")


@pytest.mark.parametrize(("record", "sure"), [(FLAT, True), (PUBLISHED, True), ({"title": "x"}, False)])
def test_sniff(tmp_path: Path, record: dict[str, Any], sure: bool) -> None:
    head = json.dumps(record).encode()
    assert (SOURCES.get("unarxive").sniff(tmp_path / "x", head) >= 0.95) is sure
    cut = json.dumps(record | {"zz": "long" * 9}).encode()[:-12]
    assert (SOURCES.get("unarxive").sniff(tmp_path / "x", cut) >= 0.95) is sure


def test_bad_records_are_remarks(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(80):
        deep = [deep]
    items = read(
        tmp_path / "p.jsonl", "{broken", FLAT, FLAT | {"extra": deep}, {"paper_id": "1"}, "[1]", FLAT
    )
    papers = [i for i in items if isinstance(i, Paper)]
    assert [p.id for p in papers] == ["2101.01234", "2101.01234~2"]
    skipped = [i for i in items if isinstance(i, Remark) and i.skipped]
    assert [r.place for r in skipped] == ["line 1", "line 3", "line 4", "line 5"]


def test_odd_types_do_not_stop_it(tmp_path: Path) -> None:
    odd = FLAT | {"authors": 3, "sections": {"a": 1}, "bib_entries": [1], "abstract": None}
    (paper,) = read(tmp_path / "p.jsonl", odd)
    assert isinstance(paper, Paper)
    assert paper.sections == ()


def test_nothing_readable(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        read(tmp_path / "p.jsonl", "{broken", "[1, 2]")
