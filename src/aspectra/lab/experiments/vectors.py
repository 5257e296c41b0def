"""Vectors of retrieved papers, for measures of diversity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.search.searcher import Searcher

DIVERSE = 200  # first papers of a ranking whose diversity is measured (PRISM, table 8)
# Ids of papers -> (papers with a vector, dimensions).
PaperVectors = Callable[[Sequence[str]], NDArray[np.float64]]


def vectors_by_id(searcher: Searcher, ids: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Paper -> the vector of its title and abstract; papers without text have none and are left out.

    Raises:
        UsageError: the library has no encoder.
    """
    encoder = searcher.index.default_encoder()
    if not encoder:
        raise UsageError(
            "the library has no vectors",
            why="no recipe needs them, so none were made",
            hint="run a recipe such as dense beside the others, or name an --encoder",
        )
    view: Any = searcher.index.view(f"abstract@{encoder}")
    rows = {paper: view.vectors_of(paper) for paper in ids}
    return {paper: own[0] for paper, own in rows.items() if len(own) and np.any(own[0])}


def paper_vectors(searcher: Searcher) -> PaperVectors:
    """A function that gives the vectors of papers, by the library's first encoder."""

    def of(ids: Sequence[str]) -> NDArray[np.float64]:
        found = list(vectors_by_id(searcher, ids).values())
        return np.stack(found).astype(np.float64) if found else np.zeros((0, 0))

    return of
