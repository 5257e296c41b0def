"""The kinds of views: how each is opened, and what it stores.

To add one, write a function ``(generation, facts, other) -> view`` decorated by
``@VIEW_KINDS.register(name)``; ``name`` is the ``kind`` of such views in a manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Protocol

import numpy as np

from aspectra.base.registry import Registry
from aspectra.views.dense.late.view import LateView, Rarity
from aspectra.views.dense.lens_vectors import LensEncoder
from aspectra.views.dense.view import DenseView
from aspectra.views.encoders.query_encoder import QueryEncoder
from aspectra.views.index.citations import CitationView
from aspectra.views.index.generation import Generation
from aspectra.views.lexical.bm25 import LexicalView
from aspectra.views.lexical.collection import Statistics
from aspectra.views.lexical.notes import NotesView
from aspectra.views.protocol import NOTES, TERMS, VectorView, View, ViewFacts
from aspectra.views.storage.units import EncodedText
from aspectra.views.terms.values import terms_of_paper
from aspectra.views.terms.view import TermView, aspect_weights
from aspectra.views.text.tokens import Tokeniser
from aspectra.views.view import Floats

Other = Callable[[str], VectorView]


class ViewKind(Protocol):
    """Opens a view of one kind: of a generation; ``other`` gives another view of vectors by its name."""

    def __call__(self, generation: Generation, facts: ViewFacts, other: Other, /) -> View: ...


VIEW_KINDS: Registry[ViewKind] = Registry("view kind")


@VIEW_KINDS.register("graph")
def open_citations(generation: Generation, facts: ViewFacts, other: Other) -> CitationView:
    """The view, opened."""
    return CitationView(facts, generation.citations, lambda: generation.positions, generation.id_order)


@VIEW_KINDS.register("late")
def open_late(generation: Generation, facts: ViewFacts, other: Other) -> LateView:
    """The view, opened; its encoder is loaded when a text is encoded."""
    query = generation.query_encoder(facts)
    return LateView(
        facts,
        generation.files.folder(facts.stored["folder"]),
        generation.positions,
        generation.id_order,
        query,
        _rarity(generation),
        _text(generation),
        lambda: generation.sample,
    )


def _rarity(generation: Generation) -> Rarity:
    """Words -> how rare each is in titles and abstracts: ln(1 + papers / papers with the word)."""

    @cache
    def known() -> tuple[Statistics, Tokeniser]:
        folder = generation.facts(ViewFacts.words_of("abstract").name).stored["folder"]
        return Statistics.of(generation.files.folder(folder)), Tokeniser(generation.lexical.tokens)

    def rarity(words: Sequence[str]) -> Floats:
        statistics, tokeniser = known()
        often = [
            min((statistics.frequency.get(stem, 1) for stem in tokeniser.words(word)), default=0)
            or statistics.documents  # a stop word
            for word in words
        ]
        return np.log1p(statistics.documents / np.maximum(often, 1)).astype(np.float32)

    return rarity


def _text(generation: Generation) -> Callable[[str], str | None]:
    """Id -> the text that was encoded of a paper; None where it is another now."""

    def text(paper_id: str) -> str | None:
        paper = generation.library.get(paper_id)
        return EncodedText.of(paper).text if generation.unchanged(paper) else None

    return text


@VIEW_KINDS.register("vector")
def open_lens_columns(generation: Generation, facts: ViewFacts, other: Other) -> DenseView:
    """The view, opened; query texts are encoded by its lens."""
    folder = generation.files.folder(facts.stored["folder"])
    encoder = QueryEncoder(partial(LensEncoder, facts.lens, folder))
    return DenseView(facts, folder, generation.positions, generation.id_order, encoder)


@VIEW_KINDS.register(NOTES)
def open_notes(generation: Generation, facts: ViewFacts, other: Other) -> NotesView:
    """The view, opened; it reads the notes when it is first used."""
    return NotesView(
        facts,
        generation.library,
        lambda: generation.positions,
        generation.id_order,
        generation.lexical,
        generation.seed_text(facts),
    )


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
