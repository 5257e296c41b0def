"""Judges without a language model: a cross-encoder (extra ``torch``), and transport between sentences."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.base.trust import Permission, require
from aspectra.papers.text.structure import split_sentences
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.judges.protocol import JUDGES, Answers
from aspectra.search.rerank.question import Candidate
from aspectra.views.dense.matching import transport
from aspectra.views.encoders.protocol import load_encoder, needs_of
from aspectra.views.encoders.torch.loading import model_permissions


class _WithoutModel:
    """Common part of judges that score papers one by one and ask no language model."""

    answers: ClassVar[Answers] = "scores"
    width: ClassVar[int] = 1
    needs_model: ClassVar[bool] = False


@dataclass(frozen=True)
class Local(_WithoutModel):
    """Scores from a function, computed in a thread so that calls in flight go on.

    Attributes:
        function: (query with instruction and conditions, texts) -> one score per text, higher is better.
            Texts are whole, for the function knows its own limits.
        name: what results call it.
    """

    function: Callable[[str, Sequence[str]], Sequence[float]]
    name: str = "local"

    async def score(self, papers: Sequence[Candidate], asker: Asker) -> list[float | None]:
        """A score for each paper; None if it is not a finite number.

        Raises:
            UsageError: the function gives another number of scores than there are texts.
        """
        question = asker.shown.question
        texts = ["\n\n".join(part for part in (p.text, p.judge_text) if part) for p in papers]
        query = "\n\n".join(part for part in (question.spoken, question.judge_text) if part)
        scores = [float(score) for score in await asyncio.to_thread(self.function, query, texts)]
        if len(scores) != len(papers):
            raise UsageError(f"judge {self.name!r} gave {len(scores)} scores for {len(papers)} papers")
        asker.questions += len(papers)
        odd = sum(not math.isfinite(score) for score in scores)
        asker.bad += odd
        asker.unanswered += odd
        asker.defects["unreadable"] += odd
        return [score if math.isfinite(score) else None for score in scores]


@JUDGES.register("cross-encoder")
@dataclass(frozen=True)
class CrossEncoder(_WithoutModel):
    """Scores of a sentence-transformers cross-encoder; instruction and conditions join the query.

    Attributes:
        model: a folder, or a name on the hub.
        max_tokens: tokens read of query and text together; 0 for the model's own limit.
        batch: texts read at once.
    """

    name: ClassVar[str] = "cross-encoder"
    model: str = ""
    max_tokens: int = 0
    batch: int = 32

    def __post_init__(self) -> None:
        if not self.model:
            raise UsageError(
                "a cross-encoder needs a model", hint='--rerank "cross-encoder(model=FOLDER)", or a hub name'
            )
        if self.max_tokens < 0 or self.batch < 1:
            raise UsageError("a cross-encoder's max_tokens must be 0 or more, and its batch 1 or more")

    @property
    def needs(self) -> list[Permission]:
        """Permissions that must be given before the model is loaded."""
        return model_permissions(self.model, {})

    def load(self) -> Any:
        """The model; once loaded it stays.

        Raises:
            MissingExtra, NotTrusted, UsageError: as :meth:`score`.
        """
        for needed in self.needs:
            require(needed, f"the reranking method {self.name}")
        return _load(self.model, self.max_tokens)

    async def score(self, papers: Sequence[Candidate], asker: Asker) -> list[float | None]:
        """A score for each paper, higher is better; None if it is not a finite number.

        Raises:
            MissingExtra: sentence-transformers is not installed.
            NotTrusted: the user has not permitted the model.
            UsageError: the model cannot be loaded, or gives more than one score per text.
        """
        return await Local(self._read, self.name).score(papers, asker)

    def _read(self, query: str, texts: Sequence[str]) -> list[float]:
        found = self.load().predict(
            [(query, text) for text in texts], batch_size=self.batch, show_progress_bar=False
        )
        if getattr(found, "ndim", 1) != 1:
            raise UsageError(f"the cross-encoder {self.model} gives {found.shape[1]} scores a text, not one")
        return [float(score) for score in found]


@cache
def _load(name: str, max_tokens: int) -> Any:
    try:
        from sentence_transformers import CrossEncoder as Model
    except ImportError as error:
        raise MissingExtra(
            "the judge cross-encoder needs torch", hint="pip install 'aspectra[torch]'"
        ) from error
    try:
        return Model(name, max_length=max_tokens or None)
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(
            f"the cross-encoder {name!r} cannot be loaded",
            why=str(error).partition("\n")[0],
            hint="name a folder that holds one, or let its name be looked up on the hub",
        ) from error


_MOST = 200  # sentences read of a text


@JUDGES.register("transport")
@dataclass(frozen=True)
class Transport(_WithoutModel):
    """Negated cost of carrying all sentences of the query to all of a paper's, from -2 to 0.

    Attributes:
        encoder: that makes the sentences' vectors, as in ``index --encoder``.
    """

    name: ClassVar[str] = "transport"
    encoder: str = "minilm"

    @property
    def needs(self) -> list[Permission]:
        """Permissions that must be given before the encoder is loaded."""
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


_encoder = cache(load_encoder)
