"""Which files of an index a search opens: what it does not need costs the first search of a process."""

from __future__ import annotations

import pytest

from aspectra.papers.paper import Paper
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder
from small_library import searcher_over

PAPERS = [
    Paper(
        f"p{n}", title=f"Owls of the {word} night", abstract=f"We count {word} owls. They hunt {word} mice."
    )
    for n, word in enumerate(("dark", "long", "cold", "short", "clear", "silent"))
]


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """The searcher, and the names of files as they are opened from now on."""
    names: list[str] = []
    plain = StoredFolder._file

    def noting(self, name):
        names.append(name)
        return plain(self, name)

    with searcher_over(tmp_path / "lib", PAPERS, FakeEncoder()) as searcher:
        monkeypatch.setattr(StoredFolder, "_file", noting)
        yield searcher, names


def test_words_do_not_open_what_papers_are_searched_by(opened):
    searcher, names = opened
    assert len(searcher.search("owls at night", limit=3)) == 3
    assert "abstract@fake/vectors.npy" in names
    needless = ("asking", "documents", "reverse_", "terms", "citation", "publishers", "affiliations")
    assert [name for name in names if name.split("/")[-1].startswith(needless)] == []
    assert len(names) == len(set(names))


def test_a_reverse_search_opens_both_sides_of_the_words(opened):
    searcher, names = opened
    searcher.index.look_up([Probe("abstract@bm25", seeds=("p1",), reverse=True)])
    assert any(name.split("/")[-1].startswith("asking") for name in names)
