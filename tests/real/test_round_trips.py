"""A real record that went through any two formats cannot be told from the first.

Decisions, tags and notes of their own are in ``tests/unit/papers/test_marks_carried.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.papers.bibliography import shared_list, shared_text
from aspectra.papers.export.protocol import WRITERS
from aspectra.papers.names import name_parts, stated_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers

FORMATS = ("bibtex", "ris", "csl-json", "csv", "jsonl")
TEXTS = ("volume", "issue", "pages", "publisher", "place", "edition", "series", "issn", "note")


def _through(papers: list[Paper], form: str, folder: Path) -> list[Paper]:
    path = folder / "out"
    path.write_text(WRITERS.get(form).write(papers), encoding="utf-8", newline="")
    return [item for item in read_papers(path) if isinstance(item, Paper)]


def _said(paper: Paper) -> dict[str, object]:
    """What a format has to keep of a record."""
    stated = stated_names(paper.metadata)
    return {
        "title": paper.title,
        "abstract": " ".join(paper.abstract.split()),
        "authors": paper.authors,
        "families": [name_parts(name, stated) for name in paper.authors],
        "year": paper.year,
        "venue": paper.venue,
        "identifiers": dict(paper.identifiers),
        "language": paper.language,
        # RIS keeps an arXiv id as a link, and a link has no blanks.
        "url": "" if "arxiv.org" in paper.url else paper.url.replace(" ", ""),
        "keywords": shared_list(paper.metadata, "keywords"),
        "editors": shared_list(paper.metadata, "editors"),
        **{name: shared_text(paper.metadata, name) for name in TEXTS},
    }


def _changed(before: list[Paper], after: list[Paper]) -> list[tuple[str, str, object, object]]:
    assert len(before) == len(after)
    pairs = [(one.id, _said(one), _said(other)) for one, other in zip(before, after, strict=True)]
    return [
        (i, name, old[name], new[name]) for i, old, new in pairs for name in old if old[name] != new[name]
    ]


@pytest.fixture(scope="module")
def once(real_papers, tmp_path_factory):
    """The records, and what they are behind each format."""
    folder = tmp_path_factory.mktemp("once")
    return real_papers, {form: _through(real_papers, form, folder) for form in FORMATS}


@pytest.mark.parametrize("form", FORMATS)
def test_what_went_through_a_format_is_the_same(once, form):
    before, after = once
    assert _changed(before, after[form]) == []


@pytest.mark.parametrize("first", FORMATS)
@pytest.mark.parametrize("then", FORMATS)
def test_what_went_through_two_formats_is_the_same(once, first, then, tmp_path):
    _, after = once
    assert _changed(after[first], _through(after[first], then, tmp_path)) == []


def test_what_went_through_all_formats_in_turn_is_the_same(once, tmp_path):
    before, after = once
    last = after["bibtex"]
    for form in (*FORMATS[1:], "bibtex"):
        last = _through(last, form, tmp_path)
    assert _changed(before, last) == []
