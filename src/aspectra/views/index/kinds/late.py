"""The view of tokens for late interaction, see :mod:`aspectra.views.dense.late.view`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from aspectra.views.dense.late.view import LateView, Rarity
from aspectra.views.index.generation import Generation
from aspectra.views.index.kinds.protocol import VIEW_KINDS, Other
from aspectra.views.lexical.collection import Statistics
from aspectra.views.protocol import ViewFacts
from aspectra.views.storage.units import EncodedText
from aspectra.views.text.tokens import Tokeniser
from aspectra.views.view import Floats


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
