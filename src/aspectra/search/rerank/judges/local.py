"""A judge that is a function: a cross-encoder, a transport scorer, whatever scores texts by itself."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.judges.protocol import Answers
from aspectra.search.rerank.question import Candidate


@dataclass(frozen=True)
class Local:
    """Scores from a function, computed in a thread so that calls in flight go on.

    Attributes:
        function: (query with instruction and conditions, texts) -> one score a text, higher is better. Texts
            are whole, for the function knows its own limits.
        name: what results call it.
    """

    function: Callable[[str, Sequence[str]], Sequence[float]]
    name: str = "local"
    answers: ClassVar[Answers] = "scores"
    width: ClassVar[int] = 1
    needs_model: ClassVar[bool] = False

    async def score(self, papers: Sequence[Candidate], asker: Asker) -> list[float | None]:
        """A score for each paper; None where it is no number.

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
