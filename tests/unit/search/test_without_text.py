"""Papers that are known by their identifiers only are never found."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.base.errors import UsageError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder


def test_they_are_neither_found_nor_seeds(tmp_path: Path) -> None:
    library = Store.create(tmp_path / "library")
    papers = [Paper(f"p{n}", title=f"Owls at night {n}", abstract=f"We watch {n} owls.") for n in range(4)]
    with library.writing("test") as writer:
        writer.add([Paper("bare", identifiers={"pmid": "5"}), *papers])
    build_index(
        library, IndexSettings(encoders=("fake",), lenses=(), chunks=()), load=lambda _: FakeEncoder()
    )
    searcher = Searcher(library, load=lambda _: FakeEncoder())
    query = Query(text="owls at night", limit=20, evidence=0)
    assert set(searcher.result(searcher.plan(query)).ids) == {"p0", "p1", "p2", "p3"}
    with pytest.raises(UsageError, match="has no title and no text yet"):
        searcher.plan(Query(seeds=("bare",), limit=20))
