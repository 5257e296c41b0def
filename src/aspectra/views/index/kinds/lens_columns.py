"""Views of vector lenses: standardised values of each paper, see :mod:`aspectra.views.dense.lens_vectors`."""

from __future__ import annotations

from functools import partial

from aspectra.views.dense.lens_vectors import LensEncoder
from aspectra.views.dense.view import DenseView
from aspectra.views.encoders.query_encoder import QueryEncoder
from aspectra.views.index.generation import Generation
from aspectra.views.index.kinds.protocol import VIEW_KINDS, Other
from aspectra.views.protocol import ViewFacts


@VIEW_KINDS.register("vector")
def open_lens_columns(generation: Generation, facts: ViewFacts, other: Other) -> DenseView:
    """The view, opened; query texts are encoded by its lens."""
    folder = generation.files.folder(facts.stored["folder"])
    encoder = QueryEncoder(partial(LensEncoder, facts.lens, folder))
    return DenseView(facts, folder, generation.positions, generation.id_order, encoder)
