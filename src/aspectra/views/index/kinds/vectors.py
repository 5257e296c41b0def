"""Views of an encoder's vectors: one for each paper (abstracts, readings, lens texts) or for each unit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from aspectra.views.dense.view import DenseView
from aspectra.views.index.generation import Generation
from aspectra.views.index.kinds.protocol import VIEW_KINDS, Other
from aspectra.views.protocol import TERMS, ViewFacts
from aspectra.views.terms.view import aspect_weights
from aspectra.views.view import Floats


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
        role_weights=_role_weights(generation, facts),
        other=other,
        seed_text=None if facts.seed_prompts is None else generation.seed_text(facts),
    )


def _role_weights(generation: Generation, facts: ViewFacts) -> Callable[[tuple[str, ...]], Floats] | None:
    """Roles -> which units have one of them; None where units have no roles."""
    if facts.units == "sentences":
        return generation.role_weights
    return partial(aspect_weights, len(generation)) if facts.units == TERMS else None
