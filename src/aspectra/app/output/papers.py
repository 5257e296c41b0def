"""One paper as a document: its record, links and marks, and on demand its sentences with their roles."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from aspectra.base.errors import UsageError, check_choice, check_number
from aspectra.papers.bibliography import is_retracted
from aspectra.papers.paper import Paper, normalise_title

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.search.ranking import Hit


# Scheme of an identifier -> the address of its page.
RESOLVERS = {
    "doi": "https://doi.org/{}",
    "arxiv": "https://arxiv.org/abs/{}",
    "acl": "https://aclanthology.org/{}",
    "pmcid": "https://pmc.ncbi.nlm.nih.gov/articles/{}/",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/{}/",
    "openalex": "https://openalex.org/{}",
}


# Kind of link to papers of the library -> how it is called.
LINKS = {"versions": "other versions", "cites": "cites", "cited_by": "cited by"}


def paper_document(library: Library, paper: Paper, *, sentences: bool = False) -> dict[str, Any]:
    """The document ``paper`` of ``show --json``.

    Args:
        library: that holds it.
        paper: whole.
        sentences: also the sentences of its abstract, see :func:`sentence_rows`.
    """
    held = {"links": library.links(paper.id), "marks": library.marks.of(paper.id)}
    spans = {"sentence_spans": sentence_rows(library, paper)} if sentences else {}
    marked = {"retracted": True} if is_retracted(paper) else {}
    return {**paper.to_dict(), **marked, **held, **spans}


def sentence_rows(library: Library, paper: Paper) -> list[dict[str, Any]]:
    """The sentences of a paper, counted from 1; roles that the source does not bring are the index's."""
    from aspectra.papers.text.structure import abstract_sentences, lead_field

    known = _roles(library, paper)
    place, lead = lead_field(paper)  # without an abstract: the beginning of the full text
    where = {} if place == "abstract" else {"field": place}
    return [
        {
            "number": number,
            "start": s.start,
            "end": s.end,
            "role": s.role or (known[number - 1] if known else ""),
            "text": lead[s.start : s.end],
            **where,
        }
        for number, s in enumerate(abstract_sentences(paper), start=1)
    ]


def _roles(library: Library, paper: Paper) -> list[str]:
    """The role of each sentence by the index; [] where there is none, or it knows another text."""
    from aspectra.search.planning.index_views import IndexSeeds

    if library.store.generations.current() is None:
        return []
    index = library.searcher.index
    if paper.id not in index.positions or not index.unchanged(paper):
        return []
    return IndexSeeds(index).roles(paper.id)


def listed_rows(library: Library, ids: list[str]) -> list[dict[str, Any]]:
    """Rows of a listing, one per paper; empty fields are absent."""
    papers = library.store.get_many(ids, full=False)
    tags, decided = library.marks.read.tags(ids), library.marks.read.decisions(ids)
    rows = []
    for one, paper in papers.items():
        decision = decided.get(one)
        row = {
            "id": one,
            "title": paper.title,
            "authors": list(paper.authors),
            "year": paper.year,
            "venue": paper.venue,
            "retracted": is_retracted(paper),
            "decision": decision.decision if decision else "",
            "reason": decision.reason if decision else "",
            "tags": tags.get(one, []),
        }
        rows.append({name: value for name, value in row.items() if value or name in ("id", "title")})
    return rows


MOST_PAGES = 10  # pages that are found, and sorted, together
_SHARE = 0.2  # of the best score; the newest of all papers need not have anything to do with the question
SORTS = {
    "score": "by score",
    "year": "by year, newest first",
    "citations": "by citations, most cited first",
    "title": "by title",
    "added": "by when they were added, newest first",
}


class Page(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which of the papers that were found these are: page ``number`` of ``of``, in the order ``sort``."""

    number: int  # from 1
    of: int
    size: int  # papers on a whole page
    found: int  # at most `size` x MOST_PAGES; in another order than the score's without weak matches
    sort: str  # a key of SORTS

    @property
    def header(self) -> str:
        """The line above a page: its number, and the order unless it is by score."""
        page = f"page {self.number} of {self.of}"
        if self.sort == "score":
            return page
        return f"the {self.found:,} best matches, sorted {SORTS[self.sort]} · {page}"


def check_page(sort: str, number: int) -> None:
    """Check an order and a page before anything is searched.

    Raises:
        UsageError: the order or the page does not exist.
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
    """The sort key of hits, lowest first."""
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
    counts = citation_counts(index)  # -1 where unknown
    return lambda hit: -int(counts[index.positions[hit.id]])


def _places(library: Library, ids: Sequence[str]) -> dict[str, int]:
    """Id -> position in the library, which grows with every paper that is added."""
    store = library.store
    statement = "SELECT p.id, p.pos FROM papers p WHERE p.id IN (SELECT value FROM json_each(?)) AND "
    return dict(store.fetch(statement + store.checksums.sound("papers", "p"), [json.dumps([*ids])]))
