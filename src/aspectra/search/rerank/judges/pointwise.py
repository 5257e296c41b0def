"""Judges of one paper at a time: yes or no by log-probabilities, a grade, points.

The first is the point-wise setting of InfoSearch (section 4.2: probabilities of True and False).
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from aspectra.base.errors import UsageError
from aspectra.llm.chat import Reply, Request
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.judges.protocol import JUDGES, Answers
from aspectra.search.rerank.question import Candidate
from aspectra.search.rerank.repair import read_choice, read_number
from aspectra.search.rerank.templates import Prompt

_BLANKS = " \t\r\n▁Ġ\"'*.:"  # what tokenizers and habits put around a word
_POINTS_SCHEMA = {
    "type": "object",
    "properties": {"points": {"type": "integer"}},
    "required": ["points"],
    "additionalProperties": False,
}


class _Pointwise:
    """What the three have in common: one question for each paper, all at once."""

    answers: ClassVar[Answers] = "scores"
    width: ClassVar[int] = 1
    needs_model: ClassVar[bool] = True

    async def score(self, papers: Sequence[Candidate], asker: Asker) -> list[float | None]:
        """A score for each paper; None where no answer could be had."""
        return list(await asyncio.gather(*(self._one(paper, asker) for paper in papers)))

    async def _one(self, paper: Candidate, asker: Asker) -> float | None:
        def build(share: float) -> Request:
            return self._request(paper, asker.shown.values([paper], [""], share))

        reply = await asker.ask(build, lambda reply: self._read(reply) is not None)
        if reply is None:
            return None
        if self._wants_logprobs() and not reply.logprobs:
            asker.defects["no-logprobs"] += 1
        return self._read(reply)

    def _wants_logprobs(self) -> bool:
        return False

    def _request(self, paper: Candidate, values: Mapping[str, Any]) -> Request:
        raise NotImplementedError

    def _read(self, reply: Reply) -> float | None:
        raise NotImplementedError


def _mass(reply: Reply, said: str | None, words: Sequence[str]) -> list[float]:
    """Probability of each word at the token that answers; empty where these are of another token.

    They are where the likeliest one is a word, and the text is blank or begins with the answer.
    """
    found = [(token.strip(_BLANKS).casefold(), logprob) for token, logprob in reply.logprobs]
    lead = re.search(r"\w+", reply.text)
    leads = lead is None or (said is not None and lead[0].casefold() == said)
    if not leads or not found or found[0][0] not in words:
        return []
    return [sum(math.exp(min(0.0, p)) for w, p in found if w == word and math.isfinite(p)) for word in words]


@JUDGES.register("yes-no")
@dataclass(frozen=True)
class YesNo(_Pointwise):
    """Does it fit? The score is the probability of yes against no, 0 to 1.

    Where an endpoint gives no log-probabilities the word decides, 1 or 0, and that is counted.

    Attributes:
        words: the two words: ``yes-no`` or ``true-false``.
        thinking: tokens that the model may use before it answers; log-probabilities are then not asked for,
            because they are those of the first token.
        prompt_file: another prompt than ours, or "".
    """

    name: ClassVar[str] = "yes-no"
    words: Literal["yes-no", "true-false"] = "yes-no"
    thinking: int = 0
    prompt_file: str = ""

    def __post_init__(self) -> None:
        if self.words not in ("yes-no", "true-false"):
            raise UsageError(f"the words of a yes-no judge are yes-no or true-false, not {self.words!r}")

    def _wants_logprobs(self) -> bool:
        return not self.thinking

    def _request(self, paper: Candidate, values: Mapping[str, Any]) -> Request:
        prompt = Prompt.load("yes-no", self.prompt_file)
        yes, no = self.words.split("-")
        return prompt.request(
            {**values, "yes": yes, "no": no},
            max_tokens=4 + self.thinking,
            top_logprobs=0 if self.thinking else 20,
            subjects=(paper.id,),
        )

    def _read(self, reply: Reply) -> float | None:
        yes, no = self.words.split("-")
        said = read_choice(reply.text, (yes, no), cut=reply.finish == "length")
        mass = _mass(reply, said, (yes, no))
        if mass:
            return mass[0] / sum(mass)
        return None if said is None else float(said == yes)


@JUDGES.register("grade")
@dataclass(frozen=True)
class Grade(_Pointwise):
    """How well does it fit, 0 to 3? With log-probabilities the score is the expected grade, else the grade.

    Attributes:
        expected: whether to ask for log-probabilities.
        thinking, prompt_file: as for :class:`YesNo`.
    """

    name: ClassVar[str] = "grade"
    expected: bool = True
    thinking: int = 0
    prompt_file: str = ""

    def _wants_logprobs(self) -> bool:
        return self.expected and not self.thinking

    def _request(self, paper: Candidate, values: Mapping[str, Any]) -> Request:
        prompt = Prompt.load("grade", self.prompt_file)
        return prompt.request(
            values,
            max_tokens=4 + self.thinking,
            top_logprobs=20 if self._wants_logprobs() else 0,
            subjects=(paper.id,),
        )

    def _read(self, reply: Reply) -> float | None:
        said = read_number(reply.text, ("grade", "score"), 0, 3, cut=reply.finish == "length")
        mass = _mass(reply, None if said is None else f"{said:g}", ("0", "1", "2", "3"))
        if mass:
            return sum(grade * part for grade, part in enumerate(mass)) / sum(mass)
        return said


@JUDGES.register("points")
@dataclass(frozen=True)
class Points(_Pointwise):
    """How well does it fit, 0 to 100, as the model writes it?

    Attributes:
        thinking, prompt_file: as for :class:`YesNo`.
    """

    name: ClassVar[str] = "points"
    thinking: int = 0
    prompt_file: str = ""

    def _request(self, paper: Candidate, values: Mapping[str, Any]) -> Request:
        prompt = Prompt.load("points", self.prompt_file)
        most = 32 + self.thinking
        return prompt.request(values, max_tokens=most, schema=_POINTS_SCHEMA, subjects=(paper.id,))

    def _read(self, reply: Reply) -> float | None:
        return read_number(reply.text, ("points", "score"), 0, 100, cut=reply.finish == "length")
