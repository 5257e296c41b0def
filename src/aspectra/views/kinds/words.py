"""Views of words: BM25 on abstracts, full texts, chunks of them, and texts of prompted lenses."""

from __future__ import annotations

from aspectra.views.index import Index
from aspectra.views.kinds.protocol import VIEW_KINDS, ViewFacts
from aspectra.views.lexical.bm25 import LexicalView

__all__ = ["open_words"]


@VIEW_KINDS.register("lexical")
def open_words(index: Index, facts: ViewFacts) -> LexicalView:
    """The view, opened."""
    return LexicalView(
        facts,
        index.folder / facts.stored["folder"],
        lambda: index.positions,
        index.id_order,
        index.settings.lexical,
        index.seed_text(facts),
        index.units_of(facts),
    )
