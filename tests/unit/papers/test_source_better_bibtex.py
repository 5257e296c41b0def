"""Better BibTeX's JSON, made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import detect, read_papers
from aspectra.papers.sources.protocol import Remark

ITEM = {
    "itemType": "journalArticle",
    "title": "Owls at night",
    "creators": [
        {"creatorType": "author", "firstName": "Ada", "lastName": "van den Owl"},
        {"creatorType": "author", "name": "Owl Group"},
        {"creatorType": "editor", "firstName": "Ed", "lastName": "Tree"},
    ],
    "date": "[2007]",
    "abstractNote": "Owls listen.",
    "publicationTitle": "Journal of Owls",
    "extra": ["arXiv: 1910.07512", "tex.note: x"],
    "libraryCatalog": "arXiv.org",
    "tags": [{"tag": "owls"}, {"tag": "night", "type": 1}],
    "notes": ["<p>Read it.</p>"],
    "attachments": [{"path": "owls.pdf"}],
    "citationKey": "owl2007",
}


def read(folder: Path, items: list[Any]) -> list[Paper | Remark]:
    path = folder / "export.json"
    path.write_text(json.dumps({"config": {"label": "BetterBibTeX JSON"}, "items": items}))
    assert detect(path) == "better-bibtex"
    return list(read_papers(path))


def test_an_item(tmp_path: Path) -> None:
    (paper,) = read(tmp_path, [ITEM])
    assert isinstance(paper, Paper)
    assert (paper.id, paper.title, paper.year) == ("owl2007", "Owls at night", 2007)
    assert paper.authors == ("Ada van den Owl", "Owl Group")
    assert (paper.abstract, paper.venue) == ("Owls listen.", "Journal of Owls")
    assert paper.identifiers == {"arxiv": "1910.07512"}
    meta = paper.metadata
    assert (meta["editors"], meta["keywords"], meta["database"]) == (["Ed Tree"], ["owls", "night"], "arXiv")
    assert meta["zotero"]["notes"] == ["<p>Read it.</p>"]
    assert meta["zotero"]["attachments"] == [{"path": "owls.pdf"}]


@pytest.mark.parametrize("item", [{"itemType": "note", "note": "x"}, {"title": "T"}, {"itemType": "book"}])
def test_what_is_no_paper_is_remarked(tmp_path: Path, item: dict[str, Any]) -> None:
    items = read(tmp_path, [item, ITEM])
    assert [isinstance(one, Paper) for one in items] == [False, True]
    assert isinstance(items[0], Remark)
    assert items[0].skipped
