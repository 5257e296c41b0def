"""One paper as a document: its record, links and marks, and on demand its sentences with their roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aspectra.papers.record_facts import is_retracted

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.papers.paper import Paper

# Scheme of an identifier -> the address of its page.
RESOLVERS = {
    "doi": "https://doi.org/{}",
    "arxiv": "https://arxiv.org/abs/{}",
    "acl": "https://aclanthology.org/{}",
    "pmcid": "https://pmc.ncbi.nlm.nih.gov/articles/{}/",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/{}/",
    "openalex": "https://openalex.org/{}",
}


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
    from aspectra.papers.text.sentences import abstract_sentences, lead_field

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
    """What is shown of each paper; what is empty is absent."""
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
