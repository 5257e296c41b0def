"""Conditions on papers that the user knows: by list (``have``, ``mine``, ``listed``), or one by its name.

A list is one of the user's own (``paper_lists`` of the settings: ids, DOIs, arXiv ids, titles); ``listed``
are the seeds of the query too. In a plan the papers follow its name: ``listed: owl | 10.1000/mice``. A
paper is named by any of these identifiers, by its title, or as it is cited (*Smith 2019*, *Lee et al. 2019*),
where one paper alone has that author and year.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from aspectra.base.errors import NoSuchPaper, UsageError
from aspectra.papers.library.rows import author_keys
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.attributes.record._values import NamedAttribute
from aspectra.search.conditions.lists import UserLists, joined, names_in
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_found: WeakKeyDictionary[Index, dict[tuple[str, int], frozenset[int]]] = WeakKeyDictionary()
_LISTS = ("have", "mine", "listed")
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 10  # of a paper as it is cited
_BEHIND = ("et", "and", "und", "y")  # words behind the first author


def named_papers(name: str, index: Index) -> tuple[str, ...]:
    """Ids of the paper that a name means, with its other versions; () where it means none, or several.

    Args:
        name: an id, a DOI, an arXiv id, a title, or family name and year.
        index: the generation.
    """
    library = index.library
    try:
        found = library.resolve(name)
    except (NoSuchPaper, UsageError):
        return _cited_as(name, index)
    return (found, *library.versions([found]).get(found, ()))


def _cited_as(name: str, index: Index) -> tuple[str, ...]:
    """Ids of the one work that is cited by this family name and year, or ()."""
    words = _WORD.findall(name)
    year = words[-1][:4] if words and len(words) <= _MOST_WORDS else ""
    family = [word for word in _WORD.findall(re.split("[,&(]", name)[0]) if not word[:4].isdecimal()]
    for at, word in enumerate(family):
        if word.casefold() in _BEHIND:
            family = family[:at]
            break
    if not year.isdecimal() or not family:
        return ()
    library, who = index.library, author_keys(" ".join(family))[1]
    papers = library.get_many(library.ids_by_author(" ".join(family)), full=False).values()
    first = [p.id for p in papers if p.year == int(year) and author_keys(p.authors[0])[1] == who]
    versions = library.versions(first)
    works = {frozenset((one, *versions.get(one, ()))) for one in first}
    return tuple(sorted(next(iter(works)))) if len(works) == 1 else ()


def _meant(value: str, index: Index) -> frozenset[int]:
    """Positions of the papers that a value means; kept, since each name is a query to the library."""
    kept, key = _found.setdefault(index, {}), (value, index.library.revision)
    if key not in kept:
        named, _, listed = value.partition(":")
        names = names_in(listed) if listed and named.casefold() in _LISTS else [value]
        ids = (one for name in names if value.casefold() not in _LISTS for one in named_papers(name, index))
        kept[key] = frozenset(index.positions[one] for one in ids if one in index.positions)
    return kept[key]


class KnownAttribute(NamedAttribute):
    """See the module."""

    name = "known"
    noun = "paper"
    what, example = "paper", "known=listed, known=Smith 2019"
    longest = 100_000

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """The name of a list, followed by its papers."""
        named = value.casefold()
        if named not in _LISTS:
            return value
        listed = [*lists.papers.get(named, ()), *(seeds if named == "listed" else ())]
        return f"{named}: {joined(listed, self.longest - 100)}" if listed else value

    def missing(self, value: str, index: Index) -> str:
        """Which list is empty, or that the name means no paper."""
        named = value.casefold()
        if named == "listed":
            return "no paper was given as a seed, and the settings list none under paper_lists.listed"
        if named in _LISTS:
            return f"no list says which papers you mean: name them in the settings, under paper_lists.{named}"
        return f"“{value}” names no paper of this library, or several"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 for those that are meant, else 0; NaN where none is."""
        at = list(_meant(value, index))
        out = np.full(len(index), 0.0 if at else np.nan, np.float32)
        out[at] = 1.0
        return np.asarray(out[papers], np.float32)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The list that it is on, or that it was named."""
        if index.positions.get(paper.id) not in _meant(value, index):
            return ""
        named = value.partition(":")[0].casefold()
        return f"on your list {named}" if named in _LISTS else "named by you"


ATTRIBUTES.register("known")(KnownAttribute())
