"""Optimal transport between sentences as a judge: no language model, vectors made on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.base.trust import Permission
from aspectra.papers.text.sentences import split_sentences
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.judges.cross_encoder import Local
from aspectra.search.rerank.judges.protocol import JUDGES, Answers
from aspectra.search.rerank.shown_texts import Candidate
from aspectra.views.dense.transport import transport
from aspectra.views.encoders.protocol import Encoder, load_encoder, needs_of

_MOST = 200  # sentences read of a text


@JUDGES.register("transport")
@dataclass(frozen=True)
class Transport:
    """Negated cost of carrying all sentences of the query to all of a paper's, from -2 to 0.

    Attributes:
        encoder: that makes the sentences' vectors, as in ``index --encoder``.
    """

    name: ClassVar[str] = "transport"
    answers: ClassVar[Answers] = "scores"
    width: ClassVar[int] = 1
    needs_model: ClassVar[bool] = False
    encoder: str = "minilm"

    @property
    def needs(self) -> list[Permission]:
        """What the user must have permitted before the encoder is loaded."""
        return needs_of(self.encoder)

    async def score(self, papers: Sequence[Candidate], asker: Asker) -> list[float | None]:
        """A score for each paper; None for one without text.

        Raises:
            UsageError: the question names an aspect.
        """
        if aspects := asker.shown.question.aspects:
            raise UsageError(
                f"the judge {self.name} does not compare aspects ({', '.join(aspects)})",
                why="it reads texts, and no roles of their sentences",
                hint='a probe of a recipe with matching = "transport" and aspect = true (docs/pipelines.md)',
            )
        return await Local(self._carry, self.name).score(papers, asker)

    def _carry(self, query: str, texts: Sequence[str]) -> list[float]:
        encoder = _encoder(self.encoder)
        parts = [_sentences(text) for text in (query, *texts)]
        vectors = encoder.encode([sentence for held in parts for sentence in held]).vectors
        offsets = np.cumsum([0, *(len(held) for held in parts)])
        first = int(offsets[1])
        found = transport(vectors[:first], vectors[first:], offsets[1:] - first)
        return [float(score) for score in found.scores]


def _sentences(text: str) -> list[str]:
    found = [text[start:end] for start, end in split_sentences(text)][:_MOST]
    return [sentence for sentence in found if sentence.strip()]


_encoders: dict[str, Encoder] = {}


def _encoder(spec: str) -> Encoder:
    if spec not in _encoders:
        _encoders[spec] = load_encoder(spec)
    return _encoders[spec]
