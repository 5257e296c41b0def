"""Conditions on who wrote a paper: a family name, or a whole name.

As in ``aspectra search --author``: a family name alone means anybody of that name; *A. Lovelace* and *Ada
Lovelace* are taken as one person. ``A | B`` is either of them, and ``same`` the authors of the seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from aspectra.papers.library.rows import author_keys
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.attributes.record._values import NamedAttribute
from aspectra.search.conditions.lists import UserLists, joined, names_in
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_SAME = "same"
_LONGEST = 160  # characters of a reason
# Per revision of the library, since reading it from a large library takes longer than a search.
_unknown: WeakKeyDictionary[Index, tuple[int, NDArray[np.bool_]]] = WeakKeyDictionary()


def _authorless(index: Index) -> NDArray[np.bool_]:
    """(all papers,) True where no author is known."""
    held, revision = _unknown.get(index), index.library.revision
    if held is None or held[0] != revision:
        mask = np.zeros(len(index), np.bool_)
        known = index.positions
        mask[[known[i] for i in index.library.ids_without_authors() if i in known]] = True
        _unknown[index] = held = revision, mask
    return held[1]


class AuthorAttribute(NamedAttribute):
    """See the module."""

    name = "author"
    noun = "authors"
    what, example = "name", "author=Lovelace, author=Ada Lovelace"

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """``same`` as the names of the seeds' authors."""
        if value.casefold() != _SAME or not seeds:
            return value
        names = [
            name for paper in index.library.get_many(seeds, full=False).values() for name in paper.authors
        ]
        return joined(names) or value

    def missing(self, value: str, index: Index) -> str:
        """Why nobody is meant, or that no paper states its authors."""
        if value.casefold() == _SAME:
            return "there is no seed paper whose authors are known"
        return "no paper of this library states its authors"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 with that author, 0 without, NaN where no author is known."""
        known = index.positions
        out = np.where(_authorless(index), np.float32(np.nan), np.float32(0))
        if value.casefold() == _SAME:  # a seed's authors would be named
            return np.full(len(papers), np.nan, np.float32)
        for name in names_in(value):
            out[[known[i] for i in index.library.ids_by_author(name) if i in known]] = 1
        return np.asarray(out[papers], np.float32)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The authors of a family name that is meant, else how many there are."""
        meant = {author_keys(name)[1] for name in names_in(value)}
        named = [author for author in paper.authors if author_keys(author)[1] in meant]
        return (
            ", ".join(named)[:_LONGEST] if named else f"{len(paper.authors)} others" if paper.authors else ""
        )


ATTRIBUTES.register("author")(AuthorAttribute())
