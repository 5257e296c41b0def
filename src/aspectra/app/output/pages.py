"""Pages of a ranking, and other orders of the papers that were found."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aspectra.base.checking import check_choice, check_number
from aspectra.base.errors import UsageError
from aspectra.papers.paper import normalise_title

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.search.ranking import Hit

MOST_PAGES = 10  # pages that are found, and sorted, together
_SHARE = 0.2  # of the best score; the newest of all papers need not have anything to do with the question
SORTS = {
    "score": "by score",
    "year": "by year, newest first",
    "citations": "by citations, most cited first",
    "title": "by title",
    "added": "by when they were added, newest first",
}


@dataclass(frozen=True, slots=True)
class Page:
    """A part of what was found.

    Attributes:
        number: of the page, from 1.
        of: pages that there are.
        size: papers on a whole page.
        found: papers that were found, in another order than the score's without weak matches: at most
            ``size`` x :data:`MOST_PAGES`.
        sort: a key of :data:`SORTS`.
    """

    number: int
    of: int
    size: int
    found: int
    sort: str

    @property
    def header(self) -> str:
        """What a person should know, in one line."""
        page = f"page {self.number} of {self.of}"
        if self.sort == "score":
            return page
        return f"the {self.found:,} best matches, sorted {SORTS[self.sort]} · {page}"


def check_page(sort: str, number: int) -> None:
    """Refuse an order or a page that cannot be, before anything is searched.

    Raises:
        UsageError: there is no such order, or no such page.
    """
    check_choice(sort, SORTS, "order")
    check_number("the page", number, 1, MOST_PAGES, hint="the limit sets how many papers a page has")


def page_of(
    library: Library, hits: Sequence[Hit], sort: str, number: int, size: int
) -> tuple[Page, list[Hit]]:
    """One page of the hits in an order; papers that are equal in it stay ordered by rank.

    Args:
        library: that was searched.
        hits: all that were found, best first; each keeps its rank.
        sort: a key of :data:`SORTS`; papers of which it is not known come last. In another order than the
            score's, those with less than a fifth of the best score are left out.
        number: of the page, from 1.
        size: papers on a page.

    Raises:
        UsageError: so many were not found.
    """
    ordered = sorted(hits, key=lambda hit: hit.rank)
    if sort != "score" and ordered:
        least = _SHARE * ordered[0].score  # of scores below 0, such as the places after a stage, none is weak
        ordered = [hit for hit in ordered if hit.score >= least or least <= 0]
        ordered.sort(key=_key(library, ordered, sort))
    pages = max(1, -(-len(ordered) // size)) if size else 1
    if number > pages:
        raise UsageError(
            f"there is no page {number}", why=f"{len(ordered):,} papers were found: {pages} pages of {size}"
        )
    page = Page(number, pages, size, len(ordered), sort)
    return page, ordered[(number - 1) * size : number * size]


def _key(library: Library, hits: Sequence[Hit], sort: str) -> Callable[[Hit], Any]:
    """What papers are ordered by, lowest first."""
    if sort == "title":
        titles = {hit.id: normalise_title(hit.title) for hit in hits}
        return lambda hit: (not titles[hit.id], titles[hit.id])
    if sort == "year":
        return lambda hit: -(hit.paper.year or -10_000)
    if sort == "added":
        places = _places(library, [hit.id for hit in hits])
        return lambda hit: -places.get(hit.id, 0)
    from aspectra.search.conditions.attributes.record.facts import citation_counts

    index = library.searcher.index
    counts = citation_counts(index)[0]  # -1 where unknown
    return lambda hit: -int(counts[index.positions[hit.id]])


def _places(library: Library, ids: Sequence[str]) -> dict[str, int]:
    """Id -> position in the library, which grows with every paper that is added."""
    store = library.store
    statement = "SELECT p.id, p.pos FROM papers p WHERE p.id IN (SELECT value FROM json_each(?)) AND "
    return dict(store.fetch(statement + store.checksums.sound("p"), [json.dumps([*ids])]))
