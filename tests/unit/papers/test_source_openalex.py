"""OpenAlex works, made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aspectra.papers.bibliography import shared_list
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import SOURCES, Remark

WORK: dict[str, Any] = {
    "id": "https://openalex.org/W100",
    "doi": "https://doi.org/10.1234/UMBRELLA",
    "title": "Umbrellas in trains",
    "display_name": "Umbrellas in trains",
    "publication_year": 2021,
    "ids": {
        "openalex": "https://openalex.org/W100",
        "pmid": "https://pubmed.ncbi.nlm.nih.gov/42",
        "mag": "7",
    },
    "language": "en",
    "type": "article",
    "primary_location": {
        "landing_page_url": "https://x.org/u",
        "source": {"display_name": "Rain", "type": "journal"},
    },
    "locations": [{"landing_page_url": "http://arxiv.org/abs/2101.01234"}],
    "authorships": [{"author": {"display_name": "Ada Example"}}, {"author": {"display_name": "Bo Sample"}}],
    "biblio": {"volume": "7", "issue": None, "first_page": "1", "last_page": "9"},
    "cited_by_count": 3,
    "referenced_works": ["https://openalex.org/W7", "https://openalex.org/W8"],
    "abstract_inverted_index": {"get": [1], "Umbrellas": [0], "lost,": [2], "lost.": [4], "really": [3]},
    "topics": [{"display_name": "Rain"}],
    "keywords": [{"id": "https://openalex.org/keywords/rain", "display_name": "Wet weather"}],
}


def read(path: Path, *records: Any) -> list[Paper | Remark]:
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return list(read_papers(path, "openalex"))


def test_work(tmp_path: Path) -> None:
    (paper,) = read(tmp_path / "w.jsonl", WORK)
    assert isinstance(paper, Paper)
    assert (paper.id, paper.title, paper.year, paper.venue) == ("W100", "Umbrellas in trains", 2021, "Rain")
    assert paper.abstract == "Umbrellas get lost, really lost."
    assert paper.authors == ("Ada Example", "Bo Sample")
    assert paper.identifiers == {
        "doi": "10.1234/umbrella",
        "arxiv": "2101.01234",
        "openalex": "W100",
        "pmid": "42",
    }
    assert [r.identifiers for r in paper.references] == [{"openalex": "W7"}, {"openalex": "W8"}]
    assert paper.metadata["topics"] == [{"display_name": "Rain"}]
    assert shared_list(paper.metadata, "keywords") == ["Wet weather"]
    assert paper.metadata["cited_by_count"] == 3
    assert paper.metadata["ids"]["mag"] == "7"
    assert (paper.metadata["type"], paper.metadata["pages"]) == ("article-journal", "1-9")


def test_answer_of_the_api(tmp_path: Path) -> None:
    answer = {"meta": {"count": 2}, "results": [WORK, "x"]}
    head = json.dumps(answer).encode()
    assert SOURCES.get("openalex").sniff(tmp_path / "x", head) >= 0.95
    items = read(tmp_path / "w.json", answer)
    assert isinstance(items[0], Paper)
    assert isinstance(items[1], Remark)


def test_hostile_index(tmp_path: Path) -> None:
    odd = WORK | {"abstract_inverted_index": {"a": [0, 10**30, -1, "x", None, True, 0], "b": 3, "c": [2.5]}}
    remark, paper = read(tmp_path / "w.jsonl", odd)
    assert isinstance(remark, Remark)
    assert not remark.skipped
    assert isinstance(paper, Paper)
    assert paper.abstract == "a a"


def test_sniff(tmp_path: Path) -> None:
    source = SOURCES.get("openalex")
    assert source.sniff(tmp_path / "x", json.dumps(WORK).encode()) >= 0.95
    assert source.sniff(tmp_path / "x", b'{"id": "1", "title": "x"}') == 0


def test_an_empty_work_is_kept_by_its_number(tmp_path: Path) -> None:
    remark, paper = read(tmp_path / "w.jsonl", {"id": "https://openalex.org/W1"})
    assert isinstance(remark, Remark)
    assert "to be completed" in remark.reason
    assert isinstance(paper, Paper)
    assert (paper.title, paper.identifiers) == ("", {"openalex": "W1"})
