"""Judges of several papers at once: put them in order, at once or after thinking about each.

The list-wise setting of InfoSearch (appendix C) and LitSearch (appendix E), and the two-stage one of
OBLIQ-Bench (appendix D.3.6), in one call each.
"""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from aspectra.base.errors import UsageError
from aspectra.llm.chat import Reply, Request
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.judges.protocol import JUDGES, Answers
from aspectra.search.rerank.question import Candidate
from aspectra.search.rerank.repair import read_labels
from aspectra.search.rerank.templates import Prompt

_WIDEST = 200


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}


class _Listwise:
    """What both have in common."""

    answers: ClassVar[Answers] = "lists"
    needs_model: ClassVar[bool] = True
    name: ClassVar[str]
    width: int
    labels: str
    prompt_file: str

    def _check(self) -> None:
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

    def __post_init__(self) -> None:
        self._check()

    def _form(self, labels: list[str]) -> tuple[dict[str, Any], dict[str, Any], int]:
        label: dict[str, Any] = {"type": "string", "enum": labels}
        if self.reasons:
            entry = _object(label=label, reason=_TEXT)
            example: list[Any] = [{"label": labels[-1], "reason": "why, in a few words"}, "..."]
            return (
                _object(order={"type": "array", "items": entry}),
                {"order": example},
                (64 + 60 * len(labels) + self.thinking),
            )
        schema = _object(order={"type": "array", "items": label})
        return schema, {"order": [labels[-1], labels[0], "..."]}, 64 + 6 * len(labels) + self.thinking


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

    def __post_init__(self) -> None:
        self._check()

    def _form(self, labels: list[str]) -> tuple[dict[str, Any], dict[str, Any], int]:
        label: dict[str, Any] = {"type": "string", "enum": labels}
        schema = _object(
            query_thought=_TEXT,
            thoughts={"type": "array", "items": _object(label=label, thought=_TEXT)},
            order={"type": "array", "items": label},
        )
        example = {
            "query_thought": "what the search turns on",
            "thoughts": [{"label": labels[0], "thought": "what this text turns on"}, "..."],
            "order": [labels[-1], labels[0], "..."],
        }
        return schema, example, 256 + 90 * len(labels) + self.thinking
