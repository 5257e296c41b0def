"""Hard filters as a mask over the positions of a generation."""

from __future__ import annotations

import fnmatch

import numpy as np
from numpy.typing import NDArray

from aspectra.search.query import Filters
from aspectra.views.index import Index

__all__ = ["allowed_mask"]


def _coded(index: Index, column: str, wanted: tuple[str, ...]) -> NDArray[np.bool_]:
    codes, names = index.coded(column)
    folded = [w.casefold() for w in wanted]
    fits = np.array([any(fnmatch.fnmatchcase(n.casefold(), w) for w in folded) and bool(n) for n in names])
    return fits[codes] if len(names) else np.zeros(len(index), dtype=np.bool_)


def allowed_mask(
    index: Index, filters: Filters, exclude: tuple[str, ...], gone: set[str], within: tuple[str, ...] = ()
) -> NDArray[np.bool_] | None:
    """True where a paper may be ranked; None when every paper may.

    Args:
        index: the generation.
        filters: hard limits.
        exclude: ids never shown.
        gone: ids removed from the library since the generation was built.
        within: where given, only these ids.
    """
    hidden = [i for i in (*exclude, *gone) if i in index.positions]
    if not filters and not hidden and not within:
        return None
    mask = np.ones(len(index), dtype=np.bool_)
    if within:
        mask[:] = False
        mask[[index.positions[i] for i in within if i in index.positions]] = True
    if filters.since is not None:
        mask &= index.years >= filters.since
    if filters.until is not None:
        mask &= (index.years <= filters.until) & (index.years != 0)
    if filters.venues:
        mask &= _coded(index, "venues", filters.venues)
    if filters.languages:
        mask &= _coded(index, "languages", filters.languages)
    if filters.authors:
        by_author = np.zeros(len(index), dtype=np.bool_)
        for name in filters.authors:
            at = [index.positions[i] for i in index.library.ids_by_author(name) if i in index.positions]
            by_author[at] = True
        mask &= by_author
    mask[[index.positions[i] for i in hidden]] = False
    return mask
