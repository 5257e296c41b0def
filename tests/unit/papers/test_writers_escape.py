"""What a record holds cannot swallow the next one, whatever braces it has."""

from __future__ import annotations

import pytest

from aspectra.papers.export.protocol import WRITERS
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers


@pytest.mark.parametrize("name", ["note", "author", "editor", "booktitle", "volume", "month", "doi"])
@pytest.mark.parametrize(
    "value", ["An {open brace", "A closed} brace", "Both }{ turned", r"An \{ escaped {one"]
)
def test_braces_of_raw_fields_stay_inside_their_entry(tmp_path, name, value):
    raw = {"bibtex": {"type": "article", "fields": {name: value, "title": "First"}}}
    papers = [Paper("one", "First", metadata=raw), Paper("two", "Second")]
    file = tmp_path / "out.bib"
    file.write_text(WRITERS.get("bibtex").write(papers), "utf-8")
    found = list(read_papers(file, "bibtex"))
    assert [item.title for item in found if isinstance(item, Paper)] == ["First", "Second"]
    assert len(found) == 2
