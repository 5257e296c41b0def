"""Views of an encoder's vectors: one for each paper (abstracts, readings, lens texts) or for each unit."""

from __future__ import annotations

from aspectra.views.dense.view import DenseView
from aspectra.views.index import Index
from aspectra.views.kinds.protocol import VIEW_KINDS, ViewFacts

__all__ = ["open_vectors"]


@VIEW_KINDS.register("dense")
def open_vectors(index: Index, facts: ViewFacts) -> DenseView:
    """The view, opened; its encoder is loaded when a text is encoded."""
    return DenseView(
        facts,
        index.folder / facts.stored["folder"],
        index.positions,
        index.id_order,
        index.query_encoder(facts),
        index.units_of(facts),
        sample=lambda: index.sample,
        role_weights=index.role_weights if facts.units == "sentences" else None,
        other=index.vector_view,
    )
