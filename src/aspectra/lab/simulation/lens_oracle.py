"""A simulated model for a prompted lens: answers with the truth about each paper, with a given noise.

It never reads a text. Without noise it shows what a lens is worth whose model never errs; with noise, how
much of that is left. Its answers are marked as *simulated*.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from aspectra.base.errors import UsageError
from aspectra.base.hashing import digest
from aspectra.llm.budget import estimate_tokens, prompt_tokens
from aspectra.llm.chat import Reply, Request, Usage


@dataclass(frozen=True)
class LensOracle:
    """A model that knows the true values of a lens.

    Its answer about a paper is drawn from the seed and the paper alone, so neither the order nor the number
    of calls changes it. The papers that are wrong at one noise are wrong at every greater one.

    Attributes:
        truth: paper id -> the lens's true value, "" for papers that are not in it.
        noise: the chance that it answers with another value than the true one, 0 to 1.
        malformed: the chance that a reply cannot be read, 0 to 1; drawn anew for each reply.
        seed: of all chances.
    """

    truth: Mapping[str, str] = field(repr=False)
    noise: float = 0.0
    malformed: float = 0.0
    seed: int = 0
    simulated: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if not (0 <= self.noise <= 1 and 0 <= self.malformed <= 1):
            raise UsageError("the rates of a lens oracle are from 0 to 1")

    @property
    def name(self) -> str:
        """With all rates: ``lens-oracle(noise=0.1,malformed=0,seed=0)``."""
        return f"lens-oracle(noise={self.noise:g},malformed={self.malformed:g},seed={self.seed})"

    @cached_property
    def _values(self) -> list[str]:
        return sorted(set(self.truth.values()))

    def value_of(self, paper: str) -> str:
        """Its answer about a paper, before the reply is made unreadable."""
        draw = random.Random(digest([self.seed, paper]))  # noqa: S311 (no secret)
        right = self.truth.get(paper, "")
        wrong = draw.random() < self.noise
        others = [value for value in self._values if value != right]
        return draw.choice(others) if wrong and others else right

    async def complete(self, request: Request) -> Reply:
        """The answer to a lens's question about one paper.

        Raises:
            UsageError: it is not about one paper.
        """
        if len(request.subjects) != 1:
            raise UsageError("a lens oracle answers about one paper at a time")
        text = json.dumps({"value": self.value_of(request.subjects[0])}, ensure_ascii=False)
        form = random.Random(digest([self.seed, "form", request.key]))  # noqa: S311 (no secret)
        if form.random() < self.malformed:
            text = text[: len(text) // 2]
        return Reply(text, self.name, Usage(prompt_tokens(request), estimate_tokens(text)), simulated=True)
