"""S2ORC parses, CORD-19 and Science-Parse, made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import SOURCES, Remark

BODY = [
    {"text": "Lost [1].", "section": "Introduction", "sec_num": "1", "cite_spans": []},
    {"text": "Often.", "section": "Introduction", "sec_num": "1", "cite_spans": []},
    {"text": "We walk.", "section": "Method", "sec_num": "2", "cite_spans": []},
]
BIB = {
    "BIBREF0": {
        "ref_id": "b0",
        "title": "Umbrellas considered lost",
        "authors": [{"first": "C", "middle": ["D"], "last": "Author", "suffix": ""}],
        "year": 2019,
        "venue": "Nothing",
        "other_ids": {"DOI": ["10.1234/ABC"], "arXiv": ["1901.00001"]},
        "link": "77",
    },
    "BIBREF1": {"raw_text": "E. Third. 2020. Rain and its uses. Wet."},
}
DOC: dict[str, Any] = {
    "paper_id": "P1",
    "header": {"generated_with": "made up"},
    "title": "Umbrellas in trains",
    "authors": [{"first": "Ada", "middle": ["B."], "last": "Example", "suffix": "Jr.", "email": "a@x"}],
    "year": "2021",
    "venue": "Rain",
    "identifiers": {"doi": "10.1234/umbrella"},
    "abstract": "They get lost.",
    "pdf_parse": {"paper_id": "P1", "_pdf_hash": "", "abstract": [], "body_text": BODY, "bib_entries": BIB},
}
CORD: dict[str, Any] = {
    "paper_id": "P2",
    "metadata": {"title": "Umbrellas in trains", "authors": [{"first": "Ada", "last": "Example"}]},
    "abstract": [{"text": "They get lost.", "section": "Abstract"}],
    "body_text": BODY,
    "bib_entries": BIB,
    "back_matter": [{"text": "Thanks.", "section": "Acknowledgements"}],
}
SCIENCE: dict[str, Any] = {
    "name": "papers/104.pdf",
    "metadata": {
        "source": "CRF",
        "title": "Umbrellas in trains",
        "authors": ["Ada Example", "Sample, Bo"],
        "emails": [],
        "sections": [{"heading": "1 Introduction", "text": "Lost."}, {"heading": None, "text": "Found."}],
        "references": [
            {"title": "Umbrellas considered lost", "author": ["C. Author"], "venue": "Nothing", "year": 2019}
        ],
        "referenceMentions": [{"referenceID": 0, "context": "Lost"}],
        "year": 2021,
        "abstractText": "They get lost.",
    },
}


def read(path: Path, *records: Any) -> list[Paper | Remark]:
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return list(read_papers(path, "s2orc"))


def test_doc2json(tmp_path: Path) -> None:
    (paper,) = read(tmp_path / "d.json", DOC)
    assert isinstance(paper, Paper)
    assert (paper.id, paper.title, paper.year, paper.venue) == ("P1", "Umbrellas in trains", 2021, "Rain")
    assert paper.authors == ("Ada B. Example Jr.",)
    assert paper.abstract == "They get lost."
    assert [(s.heading, s.text) for s in paper.sections] == [
        ("Introduction", "Lost [1].\n\nOften."),
        ("Method", "We walk."),
    ]
    first, second = paper.references
    assert first.key == "BIBREF0"
    assert first.raw == "C D Author. 2019. Umbrellas considered lost. Nothing"
    assert first.identifiers == {"doi": "10.1234/abc", "arxiv": "1901.00001", "s2": "77"}
    assert second.title == "Rain and its uses"
    assert paper.metadata["header"] == {"generated_with": "made up"}


def test_pretty_printed_file(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps(DOC, indent=2), "utf-8")
    (paper,) = read_papers(path, "s2orc")
    assert isinstance(paper, Paper)


def test_cord19(tmp_path: Path) -> None:
    (paper,) = read(tmp_path / "d.json", CORD)
    assert isinstance(paper, Paper)
    assert (paper.title, paper.abstract) == ("Umbrellas in trains", "They get lost.")
    assert [s.heading for s in paper.sections] == ["Introduction", "Method", "Acknowledgements"]


def test_science_parse(tmp_path: Path) -> None:
    (paper,) = read(tmp_path / "d.json", SCIENCE)
    assert isinstance(paper, Paper)
    assert (paper.id, paper.year, paper.abstract) == ("104", 2021, "They get lost.")
    assert paper.authors == ("Ada Example", "Bo Sample")
    assert [s.text for s in paper.sections] == ["Lost.", "Found."]
    assert paper.references[0].title == "Umbrellas considered lost"
    assert paper.metadata["referenceMentions"][0]["context"] == "Lost"
    assert paper.metadata["name"] == "papers/104.pdf"


@pytest.mark.parametrize("record", [DOC, CORD, SCIENCE])
def test_sniff(tmp_path: Path, record: dict[str, Any]) -> None:
    assert SOURCES.get("s2orc").sniff(tmp_path / "x", json.dumps(record).encode()) >= 0.95
    assert SOURCES.get("unarxive").sniff(tmp_path / "x", json.dumps(record).encode()) == 0


def test_odd_types(tmp_path: Path) -> None:
    odd = DOC | {"authors": "x", "identifiers": 3, "pdf_parse": {"body_text": "x", "bib_entries": []}}
    (paper,) = read(tmp_path / "d.json", odd)
    assert isinstance(paper, Paper)


@pytest.mark.parametrize(
    "record",
    [
        {"abstract": [{"text": "One."}, {"text": "Two."}], "body": [{"text": "Body.", "section": "S"}]},
        {"abstract": [{"text": "One."}, {"text": "Two."}], "body_text": [{"text": "Body.", "section": "S"}]},
        {
            "grobid_parse": {
                "abstract": [{"text": "One."}, {"text": "Two."}],
                "body_text": [{"text": "Body.", "section": "S"}],
            },
            "latex_parse": None,
        },
    ],
)
def test_paragraphs_of_the_release_of_2019(tmp_path: Path, record: dict[str, Any]) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"paper_id": "7", "metadata": {"title": "Owls", "year": 2001}, **record}))
    (paper,) = read_papers(path)
    assert isinstance(paper, Paper)
    assert (paper.title, paper.abstract, paper.year) == ("Owls", "One.\n\nTwo.", 2001)
    assert [(s.heading, s.text) for s in paper.sections] == [("S", "Body.")]
