from __future__ import annotations

import json
from pathlib import Path

import pytest

from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import SOURCES

ITEM = {
    "id": "http://example.org/items/AB12",
    "citation-key": "berg2020",
    "type": "article-journal",
    "title": "A <i>short</i> title",
    "author": [
        {"family": "Berg", "given": "Anna", "non-dropping-particle": "van der"},
        {"literal": "World Health Organization"},
    ],
    "issued": {"date-parts": [["2020", 1, 2]]},
    "container-title": "J &amp; K",
    "DOI": "10.1000/X",
    "keyword": "a, b",
    "note": "arXiv: 2004.07180",
    "custom": {"kept": True},
}


def read(tmp_path: Path, value: object) -> list[Paper]:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return [i for i in read_papers(path, "csl-json") if isinstance(i, Paper)]


def test_an_item(tmp_path: Path) -> None:
    (paper,) = read(tmp_path, [ITEM])
    assert (paper.id, paper.title, paper.venue, paper.year) == ("berg2020", "A short title", "J & K", 2020)
    assert paper.authors == ("Anna van der Berg", "World Health Organization")
    assert paper.identifiers == {"doi": "10.1000/x", "arxiv": "2004.07180"}
    assert paper.metadata["csl"]["custom"] == {"kept": True}
    assert paper.metadata["keywords"] == ["a", "b"]


def test_wrapped_and_crossref(tmp_path: Path) -> None:
    assert [p.id for p in read(tmp_path, {"items": [ITEM]})] == ["berg2020"]
    work = {
        "DOI": "10.1000/y",
        "type": "journal-article",
        "title": ["Listed"],
        "container-title": ["J"],
        "abstract": "<jats:p>One &lt; two.</jats:p>",
        "issued": {"date-parts": [[None]]},
    }
    (paper,) = read(tmp_path, {"status": "ok", "message": {"items": [work]}})
    assert (paper.id, paper.title, paper.venue, paper.year) == ("doi:10.1000/y", "Listed", "J", None)
    assert paper.abstract == "One < two."
    (again,) = read(tmp_path, {"status": "ok", "message-type": "work", "message": work})
    assert again == paper


@pytest.mark.parametrize(
    ("issued", "year"),
    [
        ([{"date-parts": [2006]}], 2006),
        ([{"year": "1950", "season": 1}], 1950),
        ({"date-time": "2018-03-02T00:00:00Z", "timestamp": 1519948800000}, 2018),
        ({"date-parts": "2018"}, 2018),
        ({"edtf": "2018-03"}, 2018),
        ({"date-parts": [2006, 3]}, 2006),
        ({"date-parts": [[]], "raw": "Winter 1987"}, 1987),
        ([], None),
    ],
)
def test_dates_as_older_programs_give_them(tmp_path: Path, issued: object, year: int | None) -> None:
    assert [p.year for p in read(tmp_path, [{**ITEM, "issued": issued}])] == [year]


def test_generic_records_are_left_to_others(tmp_path: Path) -> None:
    head = b'{"id": "1", "title": "T", "abstract": "x", "authors": []}'
    assert SOURCES.get("csl-json").sniff(tmp_path / "x", head) == 0
