"""Papers in the order of what their years allow: in time, just out of it, of unknown year."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_] | None


def in_year_order(years: NDArray[Any], wanted: str, allowed: Mask) -> list[Mask]:
    """Masks of the papers that may be ranked, each to be ranked after those before it.

    Args:
        years: (papers,) 0 where unknown.
        wanted: ``<=2021`` or ``>=2021``; "" and ``any`` make one mask of all.
        allowed: (papers,) True where a paper may be ranked; None where every paper may.

    >>> masks = in_year_order(np.array([0, 2022, 2021]), "<=2021", None)
    >>> [mask.tolist() for mask in masks]
    [[False, False, True], [False, True, False], [True, False, False]]
    """
    if wanted in ("", "any"):
        return [allowed]
    bound = int(wanted[2:])
    inside = years <= bound if wanted.startswith("<=") else years >= bound
    known = years != 0
    masks = [known & inside, known & ~inside, ~known]
    if allowed is not None:
        masks = [mask & allowed for mask in masks]
    return [masks[0], *(mask for mask in masks[1:] if mask.any())]
