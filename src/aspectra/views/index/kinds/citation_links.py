"""The view of the citations between papers, see :mod:`aspectra.views.index.citations`."""

from __future__ import annotations

from aspectra.views.index.citations import CitationView
from aspectra.views.index.generation import Generation
from aspectra.views.index.kinds.protocol import VIEW_KINDS, Other
from aspectra.views.protocol import ViewFacts


@VIEW_KINDS.register("graph")
def open_citations(generation: Generation, facts: ViewFacts, other: Other) -> CitationView:
    """The view, opened."""
    return CitationView(facts, generation.citations, lambda: generation.positions, generation.id_order)
