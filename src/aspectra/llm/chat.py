"""The seam to language models: one asynchronous method, whatever is behind it.

A wrapper (journal, budget, retry, rate limit) is a :class:`ChatModel` around another one. There is no default
provider: nothing is asked of a model unless somebody names one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from aspectra.base.hashing import digest

Role = Literal["system", "user", "assistant"]


def object_schema(**properties: Any) -> dict[str, Any]:
    """JSON schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class Request:
    """One question to a model.

    Attributes:
        messages: the conversation, the question last.
        prompt: name and hash of the prompt file that made them, as in ``listwise/3f2a``, for the journal.
        temperature: 0 for the likeliest answer.
        max_tokens: of the answer.
        seed: for models that take one, or None.
        schema: JSON schema that the answer should follow, for models that can be held to one, or None.
        top_logprobs: how many alternatives of the first answer token are wanted, 0 for none.
        repetition_penalty: for endpoints that take one; 0 for none.
        repeat: number of this repeat; another number is another call with another answer.
        subjects: ids of the papers it is about, for records and simulated models; never sent.
        accept: says whether a reply can be used; a journal gives only accepted ones again. None accepts
            what is not blank (and is JSON, where ``schema`` asks for it). Must not raise. It should accept
            every reply that is used, or a run cannot be repeated from its journal.
    """

    messages: tuple[Message, ...]
    prompt: str = ""
    temperature: float = 0.0
    max_tokens: int = 512
    seed: int | None = None
    schema: Mapping[str, Any] | None = None
    top_logprobs: int = 0
    repetition_penalty: float = 0.0
    repeat: int = 0
    subjects: tuple[str, ...] = ()
    accept: Callable[[Reply], bool] | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> str:
        """Hash of everything that an answer depends on, but the model."""
        turns = [[m.role, m.content] for m in self.messages]
        asked = [self.prompt, self.temperature, self.max_tokens, self.seed, self.top_logprobs, self.repeat]
        asked += [self.repetition_penalty] if self.repetition_penalty else []
        return digest([turns, asked, None if self.schema is None else dict(self.schema)])


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call cost, in tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class Reply:
    """One answer.

    Attributes:
        text: what was answered.
        model: who answered, as the endpoint names it.
        usage: tokens; zeros where the endpoint does not say.
        finish: why it stopped: ``stop``, ``length``, ``content_filter`` ...
        logprobs: (token, log-probability) of the first answer token's alternatives, likeliest first.
        seconds: how long it took; 0 when it came from a journal.
        recorded: whether it came from a journal.
        lost: tokens of each attempt before it that was, or may have been, charged for in vain.
        simulated: whether no language model was asked (scripted, oracle); said wherever results are printed.
        facts: what else is known, JSON values only: ``attempts``, ``fingerprint``.
    """

    text: str
    model: str = ""
    usage: Usage = Usage()
    finish: str = "stop"
    logprobs: tuple[tuple[str, float], ...] = ()
    seconds: float = 0.0
    recorded: bool = False
    lost: tuple[Usage, ...] = ()
    simulated: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)


class ChatModel(Protocol):
    """Something that answers.

    Attributes:
        name: model name as in a journal's key; wrappers have that of what they wrap.
        simulated: whether no language model is behind it.
    """

    @property
    def name(self) -> str: ...

    @property
    def simulated(self) -> bool: ...

    async def complete(self, request: Request) -> Reply:
        """The answer to one request.

        Raises:
            ModelError: it could not be had; see :mod:`aspectra.llm.failures`.
        """
        ...


class Wrapper:
    """A model around another one, with its name.

    Args:
        inner: the other model.
    """

    def __init__(self, inner: ChatModel) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self.inner.name

    @property
    def simulated(self) -> bool:
        """Whether no language model is behind it."""
        return self.inner.simulated
