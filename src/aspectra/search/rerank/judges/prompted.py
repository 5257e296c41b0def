"""Judges that ask a language model: about one paper, about two, or about a list."""

from __future__ import annotations

import asyncio
import json
import math
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from aspectra.base.errors import UsageError
from aspectra.llm.chat import Reply, Request, object_schema
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.judges.protocol import JUDGES, Answers
from aspectra.search.rerank.question import Candidate
from aspectra.search.rerank.repair import read_choice, read_labels, read_number
from aspectra.search.rerank.shown_texts import Prompt

_BLANKS = " \t\r\n▁Ġ\"'*.:"  # what tokenizers and habits put around a word
_BETTER = object_schema(better={"type": "string", "enum": ["A", "B"]})
_TEXT = {"type": "string"}
_WIDEST = 200  # papers in one list


class _Pointwise:
    """Common part of the three pointwise judges: one question for each paper, all at once."""

    name: ClassVar[str]
    answers: ClassVar[Answers] = "scores"
    width: ClassVar[int] = 1
    needs_model: ClassVar[bool] = True
    tokens: ClassVar[int] = 4  # of an answer
    schema: ClassVar[Mapping[str, Any] | None] = None
    thinking: int
    prompt_file: str

    async def score(self, papers: Sequence[Candidate], asker: Asker) -> list[float | None]:
        """A score for each paper; None where no answer could be had."""
        return list(await asyncio.gather(*(self._one(paper, asker) for paper in papers)))

    async def _one(self, paper: Candidate, asker: Asker) -> float | None:
        prompt, logprobs = Prompt.load(self.name, self.prompt_file), self._wants_logprobs()

        def build(share: float) -> Request:
            return prompt.request(
                {**asker.shown.values([paper], [""], share), **self._more()},
                max_tokens=self.tokens + self.thinking,
                schema=self.schema,
                top_logprobs=20 if logprobs else 0,
                subjects=(paper.id,),
            )

        reply = await asker.ask(build, lambda reply: self._read(reply) is not None)
        if reply is None:
            return None
        if logprobs and not reply.logprobs:
            asker.defects["no-logprobs"] += 1
        return self._read(reply)

    def _wants_logprobs(self) -> bool:
        return False

    def _more(self) -> dict[str, str]:
        """Values of placeholders that its prompt alone has."""
        return {}

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
    """Probability that a paper fits: that of yes against no, 0 to 1.

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

    def _more(self) -> dict[str, str]:
        return dict(zip(("yes", "no"), self.words.split("-"), strict=True))

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
    """A grade from 0 to 3 for the fit of a paper; with log-probabilities the score is the expected grade.

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

    def _read(self, reply: Reply) -> float | None:
        said = read_number(reply.text, ("grade", "score"), 0, 3, cut=reply.finish == "length")
        mass = _mass(reply, None if said is None else f"{said:g}", ("0", "1", "2", "3"))
        if mass:
            return sum(grade * part for grade, part in enumerate(mass)) / sum(mass)
        return said


@JUDGES.register("points")
@dataclass(frozen=True)
class Points(_Pointwise):
    """A number from 0 to 100 for the fit of a paper, as the model writes it.

    Attributes:
        thinking, prompt_file: as for :class:`YesNo`.
    """

    name: ClassVar[str] = "points"
    tokens: ClassVar[int] = 32
    schema: ClassVar[Mapping[str, Any] | None] = object_schema(points={"type": "integer"})
    thinking: int = 0
    prompt_file: str = ""

    def _read(self, reply: Reply) -> float | None:
        return read_number(reply.text, ("points", "score"), 0, 100, cut=reply.finish == "length")


@JUDGES.register("pairwise")
@dataclass(frozen=True)
class Pairwise:
    """The better fit of two papers.

    Callers ask in both orders, because models favour a place (CSFCube exploration, section 3).

    Attributes:
        thinking: tokens that the model may use before it answers.
        prompt_file: another prompt than ours, or "".
    """

    name: ClassVar[str] = "pairwise"
    answers: ClassVar[Answers] = "pairs"
    width: ClassVar[int] = 2
    needs_model: ClassVar[bool] = True
    thinking: int = 0
    prompt_file: str = ""

    async def first_wins(self, first: Candidate, second: Candidate, asker: Asker) -> bool | None:
        """True if the first fits better; None without an answer."""
        prompt = Prompt.load(self.name, self.prompt_file)

        def build(share: float) -> Request:
            values = asker.shown.values([first, second], ["A", "B"], share)
            more = {"max_tokens": 32 + self.thinking, "schema": _BETTER}
            return prompt.request(values, subjects=(first.id, second.id), **more)

        reply = await asker.ask(build, lambda reply: _read(reply) is not None)
        return None if reply is None else _read(reply) == "A"


def _read(reply: Reply) -> str | None:
    return read_choice(reply.text, "AB", cut=reply.finish == "length")


class _Listwise:
    """Common part of both listwise judges."""

    answers: ClassVar[Answers] = "lists"
    needs_model: ClassVar[bool] = True
    name: ClassVar[str]
    width: int
    labels: str
    prompt_file: str

    def __post_init__(self) -> None:
        if self.labels not in ("numbers", "letters"):
            raise UsageError(f"labels are numbers or letters, not {self.labels!r}")
        most = 26 if self.labels == "letters" else _WIDEST
        if not 2 <= self.width <= most:
            raise UsageError(f"a list of {self.width} papers is not between 2 and {most}", why=self.labels)

    def _names(self, count: int) -> list[str]:
        if self.labels == "letters":
            return list(string.ascii_uppercase[:count])
        return [str(number) for number in range(1, count + 1)]

    async def order(self, papers: Sequence[Candidate], asker: Asker) -> list[str] | None:
        """Ids as the answer gives them, best first; None where no answer could be had."""
        prompt = Prompt.load(self.name, self.prompt_file)
        labels = self._names(len(papers))
        ids = {label: paper.id for label, paper in zip(labels, papers, strict=True)}
        schema, example, tokens = self._form(labels)

        @cache  # read to be accepted, to be used and to be kept
        def read(text: str, cut: bool) -> tuple[str, ...]:
            return read_labels(text, labels, cut=cut).labels

        def readable(reply: Reply) -> bool:
            return not ids.keys().isdisjoint(read(reply.text, reply.finish == "length"))

        def build(share: float) -> Request:
            values = asker.shown.values(papers, labels, share)
            values |= {
                "count": str(len(papers)),
                "labels": f"{labels[0]} to {labels[-1]}",
                "reply": json.dumps(example),
            }
            shown = tuple(paper.id for paper in papers)
            return prompt.request(values, max_tokens=tokens, schema=schema, subjects=shown)

        reply = await asker.ask(build, readable)
        if reply is None:
            return None
        # A label that was never given out becomes an id that cannot exist, so that it is counted as unknown.
        return [ids.get(label, "") for label in read(reply.text, reply.finish == "length")]

    def _form(self, labels: list[str]) -> tuple[dict[str, Any], dict[str, Any], int]:
        """JSON schema of the reply, an example of it, and how many tokens it may take."""
        raise NotImplementedError


@JUDGES.register("listwise")
@dataclass(frozen=True)
class Listwise(_Listwise):
    """Put these in order.

    Attributes:
        width: papers in one question, at most.
        labels: ``numbers`` from 1, or ``letters`` from A (at most 26 papers).
        reasons: whether to ask for a few words on each paper.
        thinking: tokens that the model may use before it answers.
        prompt_file: another prompt than ours, or "".
    """

    name: ClassVar[str] = "listwise"
    width: int = 20
    labels: Literal["numbers", "letters"] = "numbers"
    reasons: bool = False
    thinking: int = 0
    prompt_file: str = ""

    def _form(self, labels: list[str]) -> tuple[dict[str, Any], dict[str, Any], int]:
        item: dict[str, Any] = {"type": "string", "enum": labels}
        example: list[Any] = [labels[-1], labels[0], "..."]
        if self.reasons:
            item = object_schema(label=item, reason=_TEXT)
            example = [{"label": labels[-1], "reason": "why, in a few words"}, "..."]
        schema = object_schema(order={"type": "array", "items": item})
        each = 60 if self.reasons else 6
        return schema, {"order": example}, 64 + each * len(labels) + self.thinking


@JUDGES.register("think-first")
@dataclass(frozen=True)
class ThinkFirst(_Listwise):
    """Think about the query and each paper in turn, then put them in order, in one reply.

    Attributes:
        width, labels, thinking, prompt_file: as for :class:`Listwise`.
    """

    name: ClassVar[str] = "think-first"
    width: int = 20
    labels: Literal["numbers", "letters"] = "numbers"
    thinking: int = 0
    prompt_file: str = ""

    def _form(self, labels: list[str]) -> tuple[dict[str, Any], dict[str, Any], int]:
        label: dict[str, Any] = {"type": "string", "enum": labels}
        schema = object_schema(
            query_thought=_TEXT,
            thoughts={"type": "array", "items": object_schema(label=label, thought=_TEXT)},
            order={"type": "array", "items": label},
        )
        example = {
            "query_thought": "what the search turns on",
            "thoughts": [{"label": labels[0], "thought": "what this text turns on"}, "..."],
            "order": [labels[-1], labels[0], "..."],
        }
        return schema, example, 256 + 90 * len(labels) + self.thinking
