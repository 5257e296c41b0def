"""Views of an encoder's vectors: one for each paper (abstracts, readings, lens texts) or for each unit."""

from __future__ import annotations

from aspectra.views.dense.view import DenseView
from aspectra.views.index.generation import Generation
from aspectra.views.index.kinds.protocol import VIEW_KINDS, Other
from aspectra.views.protocol import ViewFacts

__all__ = ["open_vectors"]


@VIEW_KINDS.register("dense")
def open_vectors(generation: Generation, facts: ViewFacts, other: Other) -> DenseView:
    """The view, opened; its encoder is loaded when a text is encoded."""
    return DenseView(
        facts,
        generation.files.folder(facts.stored["folder"]),
        generation.positions,
        generation.id_order,
        generation.query_encoder(facts),
        generation.units_of(facts),
        sample=lambda: generation.sample,
        role_weights=generation.role_weights if facts.units == "sentences" else None,
        other=other,
    )
