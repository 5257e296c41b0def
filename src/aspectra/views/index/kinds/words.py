"""Views of words: BM25 on abstracts, full texts, chunks of them, and texts of prompted lenses."""

from __future__ import annotations

from aspectra.views.index.generation import Generation
from aspectra.views.index.kinds.protocol import VIEW_KINDS, Other
from aspectra.views.lexical.bm25 import LexicalView
from aspectra.views.protocol import ViewFacts


@VIEW_KINDS.register("lexical")
def open_words(generation: Generation, facts: ViewFacts, other: Other) -> LexicalView:
    """The view, opened."""
    return LexicalView(
        facts,
        generation.files.folder(facts.stored["folder"]),
        lambda: generation.positions,
        generation.id_order,
        generation.lexical,
        generation.seed_text(facts),
        generation.units_of(facts),
    )
