"""Views of vector lenses: standardised values of each paper, see :mod:`aspectra.views.dense.lens_vectors`."""

from __future__ import annotations

from functools import partial

from aspectra.views.dense.lens_vectors import LensEncoder
from aspectra.views.dense.query_encoder import QueryEncoder
from aspectra.views.dense.view import DenseView
from aspectra.views.index import Index
from aspectra.views.kinds.protocol import VIEW_KINDS, ViewFacts

__all__ = ["open_lens_columns"]


@VIEW_KINDS.register("vector")
def open_lens_columns(index: Index, facts: ViewFacts) -> DenseView:
    """The view, opened; query texts are encoded by its lens."""
    folder = index.folder / facts.stored["folder"]
    encoder = QueryEncoder(partial(LensEncoder, facts.lens, folder))
    return DenseView(facts, folder, index.positions, index.id_order, encoder)
