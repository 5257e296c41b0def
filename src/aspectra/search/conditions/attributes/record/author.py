"""Conditions on who wrote a paper: a family name, or a whole name.

As in ``aspectra search --author``: a family name alone means anybody of that name; *A. Lovelace* and *Ada
Lovelace* are taken as one person.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.paper import normalise_title
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

__all__ = ["AuthorAttribute"]

# Per generation, since reading it from a large library takes longer than a search.
_unknown: WeakKeyDictionary[Index, NDArray[np.bool_]] = WeakKeyDictionary()


def _authorless(index: Index) -> NDArray[np.bool_]:
    """(all papers,) True where no author is known."""
    if index not in _unknown:
        mask = np.zeros(len(index), np.bool_)
        known = index.positions
        mask[[known[i] for i in index.library.ids_without_authors() if i in known]] = True
        _unknown[index] = mask
    return _unknown[index]


class AuthorAttribute(Attribute):
    """See the module."""

    name = "author"

    def check(self, value: str) -> None:
        """Refuse a name without letters.

        Raises:
            UsageError: always then.
        """
        if not normalise_title(value):
            raise UsageError(f"{value!r} is no name", why="write a family name or a whole name")

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 with that author, 0 without, NaN where no author is known."""
        known = index.positions
        out = np.where(_authorless(index), np.float32(np.nan), np.float32(0))
        out[[known[i] for i in index.library.ids_by_author(value) if i in known]] = 1
        return np.asarray(out[papers], np.float32)


ATTRIBUTES.register("author")(AuthorAttribute())
