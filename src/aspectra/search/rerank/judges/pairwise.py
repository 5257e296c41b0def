"""The judge of two papers: which fits better?

Whoever uses it asks in both orders, because models favour a place (CSFCube exploration, section 3: pairwise
ranking prompting).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aspectra.llm.chat import Reply, Request
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.judges.protocol import JUDGES, Answers
from aspectra.search.rerank.question import Candidate
from aspectra.search.rerank.repair import read_choice
from aspectra.search.rerank.templates import Prompt

_SCHEMA = {
    "type": "object",
    "properties": {"better": {"type": "string", "enum": ["A", "B"]}},
    "required": ["better"],
    "additionalProperties": False,
}


@JUDGES.register("pairwise")
@dataclass(frozen=True)
class Pairwise:
    """Which of two fits better?

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
        """Whether the first fits better; None where no answer could be had."""
        prompt = Prompt.load(self.name, self.prompt_file)

        def build(share: float) -> Request:
            values = asker.shown.values([first, second], ["A", "B"], share)
            more = {"max_tokens": 32 + self.thinking, "schema": _SCHEMA}
            return prompt.request(values, subjects=(first.id, second.id), **more)

        reply = await asker.ask(build, lambda reply: _read(reply) is not None)
        return None if reply is None else _read(reply) == "A"


def _read(reply: Reply) -> str | None:
    return read_choice(reply.text, "AB", cut=reply.finish == "length")
