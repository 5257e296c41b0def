"""The view of terms of aspects, see :mod:`aspectra.views.terms.view`."""

from __future__ import annotations

from functools import partial

from aspectra.views.index.generation import Generation
from aspectra.views.index.kinds.protocol import VIEW_KINDS, Other
from aspectra.views.protocol import ViewFacts
from aspectra.views.terms.values import terms_of_paper
from aspectra.views.terms.view import TermView


@VIEW_KINDS.register("terms")
def open_terms(generation: Generation, facts: ViewFacts, other: Other) -> TermView:
    """The view, opened; terms of seeds are those stored in the library."""
    return TermView(
        facts,
        generation.files.folder(facts.stored["folder"]),
        lambda: generation.positions,
        generation.id_order,
        generation.lexical,
        partial(terms_of_paper, generation.library, facts.stored["values"]),
    )
