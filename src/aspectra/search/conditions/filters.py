"""Papers that may be ranked at all, as a mask over the positions of a generation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aspectra.views.index import Index

__all__ = ["allowed_mask"]


def allowed_mask(
    index: Index, exclude: tuple[str, ...], gone: set[str], within: tuple[str, ...] = ()
) -> NDArray[np.bool_] | None:
    """(papers,) True where a paper may be ranked; None when every paper may.

    Args:
        index: the generation.
        exclude: ids never shown.
        gone: ids removed from the library since the generation was built.
        within: where given, only these ids.
    """
    hidden = [i for i in (*exclude, *gone) if i in index.positions]
    if not hidden and not within:
        return None
    mask = np.ones(len(index), dtype=np.bool_)
    if within:
        mask[:] = False
        mask[[index.positions[i] for i in within if i in index.positions]] = True
    mask[[index.positions[i] for i in hidden]] = False
    return mask
