"""What an endpoint can do, found out by asking it; nothing is concluded from a model's name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from aspectra.llm.chat import ChatModel, Message, Reply, Request
from aspectra.llm.failures import BadRequest, NoSuchModel

__all__ = ["Capabilities", "probe"]

_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string"}},
    "required": ["colour"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint can do, as a test showed.

    Attributes:
        logprobs: it gave log-probabilities of the first answer token's alternatives.
        schema: a question that did not ask for JSON was answered by JSON that follows the schema given.
        seed: two hot answers with the same seed were equal. An endpoint that always says the same passes too.
        context: tokens that it says it reads, question and answer; None where it does not say.
    """

    logprobs: bool = False
    schema: bool = False
    seed: bool = False
    context: int | None = None


async def probe(model: ChatModel, context: int | None = None) -> Capabilities:
    """Ask four short questions.

    Args:
        model: what to ask; not a journal, which would answer for an endpoint that has changed.
        context: tokens that the endpoint says it reads, where that was found out otherwise.

    Raises:
        ModelError: the endpoint does not answer at all. A refusal of one option is an answer.
    """
    word = await _try(model, "Answer with one word: is water wet?", max_tokens=16, top_logprobs=2)
    form = await _try(model, "Name a colour that you like.", max_tokens=512, schema=_SCHEMA)
    hot = [
        await _try(
            model,
            "Write twenty random letters and nothing else.",
            max_tokens=48,
            temperature=1.0,
            seed=7,
            repeat=number,
        )
        for number in range(2)
    ]
    return Capabilities(
        logprobs=word is not None and len(word.logprobs) > 0,
        schema=form is not None and _follows(form.text),
        seed=hot[0] is not None and hot[1] is not None and bool(hot[0].text) and hot[0].text == hot[1].text,
        context=context,
    )


async def _try(model: ChatModel, question: str, **options: Any) -> Reply | None:
    """The reply, or None where the endpoint refuses the options."""
    try:
        return await model.complete(Request((Message("user", question),), prompt="probe", **options))
    except NoSuchModel:
        raise
    except BadRequest:
        return None


def _follows(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(value) == {"colour"} and isinstance(value["colour"], str)
