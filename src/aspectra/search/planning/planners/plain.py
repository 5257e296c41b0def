"""Planners that search one view, or two, whatever is asked beside the words and seeds."""

from __future__ import annotations

from aspectra.search.defaults import LEXICAL_WEIGHT, TEXT_WEIGHT
from aspectra.search.plan import Fusion, Search
from aspectra.search.planning.planners.protocol import ViewNames, planner, probe
from aspectra.search.query import Query
from aspectra.views.index.citations import GRAPH_VIEW
from aspectra.views.protocol import ViewFacts
from aspectra.views.view import Probe


@planner("bm25")
def bm25(query: Query, views: ViewNames) -> Search:
    """Words of titles and abstracts (BM25)."""
    return Search(probes=(probe(query, views.words("abstract")),))


@planner("dense", vectors="needed")
def dense(query: Query, views: ViewNames) -> Search:
    """Vectors of titles and abstracts."""
    return Search(probes=(probe(query, views.dense("abstract")),))


@planner("fulltext", vectors="used", full_text="needed")
def fulltext(query: Query, views: ViewNames) -> Search:
    """Abstracts and chunks of full text, by words and, where there are any, by vectors.

    Rank fusion, because a paper without full text has no chunk score to standardise.
    """
    base = views.chunks()
    names = [views.words("abstract"), views.words(base)]
    if views.encoder:
        names += [n for n in (f"abstract@{views.encoder}", f"{base}@{views.encoder}") if n in views.names]
    return Search(probes=tuple(probe(query, n) for n in names), fusion=Fusion(kind="rrf"))


STYLE_VIEW = ViewFacts.lens_vectors_of("style").name


@planner("hand", lenses=("style",))
def hand(query: Query, views: ViewNames) -> Search:
    """Texts written in the same style as a passage or a paper, whatever they are about."""
    return Search(probes=(probe(query, STYLE_VIEW),))


@planner("hybrid", vectors="used")
def hybrid(query: Query, views: ViewNames) -> Search:
    """Vectors of titles and abstracts, and 0.3 of BM25; BM25 alone where nothing was encoded."""
    lexical = views.words("abstract")
    if not views.encoder:
        return Search(probes=(probe(query, lexical),))
    return Search(probes=(probe(query, views.dense("abstract")), probe(query, lexical, LEXICAL_WEIGHT)))


@planner("linked", seeds=True, views=(GRAPH_VIEW,))
def linked(query: Query, views: ViewNames) -> Search:
    """What the seeds cite, what cites them, and what shares their references or citations.

    Further words are searched in titles and abstracts.
    """
    probes = [Probe(GRAPH_VIEW, seeds=query.seeds)]
    if query.text.strip():
        probes.append(Probe(views.words("abstract"), text=query.text, weight=TEXT_WEIGHT))
    return Search(probes=tuple(probes))


@planner("notes", views=("notes@bm25",))
def notes(query: Query, views: ViewNames) -> Search:
    """Words of your notes and annotations (BM25)."""
    return Search(probes=(probe(query, views.words("notes")),))
