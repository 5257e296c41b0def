"""A searcher over papers of a test."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings


def searcher_over(folder: Path, papers: Iterable[Paper], encoder: Any = None, **settings: Any) -> Searcher:
    """A new library in a folder, indexed by words, and by an encoder where one is given; without chunks."""
    library = Store.create(folder)
    with library.writing("add") as writer:
        writer.add(papers)
    encoders = ("fake",) if encoder else ()
    chosen = IndexSettings(**{"encoders": encoders, "chunks": (), **settings})
    build_index(library, chosen, load=lambda _: encoder)
    return Searcher(library, load=lambda _: encoder)
