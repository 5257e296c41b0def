"""Conditions on who wrote a paper: a family name, or a whole name.

As in ``aspectra search --author``: a family name alone means anybody of that name; *A. Lovelace* and *Ada
Lovelace* are taken as one person.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper, normalise_title
from aspectra.search.condition import ATTRIBUTES
from aspectra.views.index import Index
from aspectra.views.lens import TextSpan
from aspectra.views.view import Floats, Positions

__all__ = ["AuthorAttribute"]

_MANY = 500  # papers asked for at once; for more the whole table is read
_NAMELESS = "SELECT p.id FROM papers p WHERE NOT EXISTS (SELECT 1 FROM authors a WHERE a.pos = p.pos)"


class AuthorAttribute:
    """See the module."""

    name = "author"
    cheap = True

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
        out = np.zeros(len(index), np.float32)
        if 0 < len(papers) <= _MANY:
            marks = ",".join("?" * len(papers))
            rows = index.library.rows(f"{_NAMELESS} AND p.id IN ({marks})", [index.ids[p] for p in papers])
        else:
            rows = index.library.rows(_NAMELESS)
        out[[known[i] for (i,) in rows if i in known]] = np.nan
        out[[known[i] for i in index.library.ids_by_author(value) if i in known]] = 1
        return out[papers]

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False for other people's papers."""
        return np.asarray(self.grades(value, index, np.arange(len(index))) != 0)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """None: the record decides."""
        return None


ATTRIBUTES.register("author")(AuthorAttribute())
