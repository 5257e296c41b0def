"""The seam to language models: one asynchronous method, whatever is behind it.

A wrapper (journal, budget, retry, rate limit) is a :class:`ChatModel` around another one. There is no default
provider: nothing is asked of a model unless somebody names one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, Self

import msgspec
from msgspec import Struct

from aspectra.base.errors import AspectraError
from aspectra.base.files import digest

Role = Literal["system", "user", "assistant"]


def object_schema(**properties: Any) -> dict[str, Any]:
    """JSON schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class Message(Struct, frozen=True):
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


class Usage(Struct, frozen=True):
    """Tokens that one call used."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class Reply(Struct, frozen=True):
    """One answer.

    Attributes:
        text: what was answered.
        model: who answered, as the endpoint names it.
        usage: tokens; zeros where the endpoint does not say.
        finish: why it stopped: ``stop``, ``length``, ``content_filter`` ...
        logprobs: (token, log-probability) of the first answer token's alternatives, likeliest first.
        seconds: how long it took; 0 when it came from a journal.
        recorded: whether it came from a journal.
        lost: tokens of each failed attempt before it that was, or may have been, charged for.
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
    facts: Mapping[str, Any] = msgspec.field(default_factory=dict)


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
            ModelError: it could not be had; see :mod:`aspectra.llm.chat`.
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
        """True if the answers do not come from a language model."""
        return self.inner.simulated


# What can go wrong between a question and its answer, as classes that a caller can tell apart.
#
# Two facts decide what happens next: ``retryable`` (the same request may succeed later) and ``fatal`` (no
# other request can do better, so a run stops asking). Exit codes are those of the command line: 5 when
# money or quota is spent, 7 when the service cannot serve.


class ModelError(AspectraError):
    """No usable answer could be had from a model.

    Args:
        what: what went wrong.
        why: the reason, never with a key in it.
        hint: the next step.
        status: HTTP status, or None where there was none.
        retry_after: seconds that the endpoint asks to wait, or None.
        billable: whether the endpoint may have done, and charged for, the work. A budget keeps such calls.
        usage: tokens that the endpoint says it charged; zeros where it does not say.
        lost: tokens of each attempt before it that was, or may have been, charged for.
    """

    code = "model"
    http_status = 502
    exit_code = 7
    fatal: ClassVar[bool] = False

    def __init__(
        self,
        what: str,
        *,
        why: str = "",
        hint: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        billable: bool = False,
        usage: Usage | None = None,
        lost: tuple[Usage, ...] = (),
    ) -> None:
        super().__init__(what, why=why, hint=hint)
        self.status = status
        self.retry_after = retry_after
        self.billable = billable
        self.usage = usage or Usage()
        self.lost = lost

    def again(self, why: str = "", lost: tuple[Usage, ...] = ()) -> Self:
        """The same failure for another call, which cost only what it lost in attempts of its own.

        Args:
            why: the reason; "" for the same one.
            lost: see :class:`ModelError`.
        """
        same: dict[str, Any] = {"hint": self.hint, "status": self.status, "retry_after": self.retry_after}
        return type(self)(self.what, why=why or self.why, lost=lost, **same)


class Transient(ModelError):
    """Overloaded, too many requests, unreachable, too slow: another attempt may succeed."""

    code = "model-unavailable"
    retryable = True


class Late(Transient):
    """No answer in time from a server on this computer, where calls wait for each other."""


class Malformed(ModelError):
    """The endpoint's answer cannot be read: no JSON, no choices, cut off. Another attempt may be whole."""

    code = "model-malformed"
    retryable = True


class QuotaSpent(ModelError):
    """The account has no credit left, or met a limit that somebody set on it; waiting does not help."""

    code = "quota"
    http_status = 402
    exit_code = 5
    fatal = True


class KeyRefused(ModelError):
    """There is no key, or the endpoint refuses it."""

    code = "key-refused"
    fatal = True


class BadRequest(ModelError):
    """The endpoint refuses the request itself: no such model, an option it does not know."""

    code = "bad-request"


class NoSuchModel(BadRequest):
    """The endpoint knows no model of that name, or the address is not that of a chat endpoint."""

    code = "no-such-model"
    fatal = True


class ContextExceeded(BadRequest):
    """The texts and the answer asked for do not fit into the model's context."""

    code = "context-exceeded"


class Refused(ModelError):
    """The model or a filter in front of it declines to answer this request."""

    code = "refused"


class BudgetReached(ModelError):
    """The next call might pass a limit on calls, tokens or money; it was not sent."""

    code = "budget"
    http_status = 402
    exit_code = 5
    fatal = True


class Offline(ModelError):
    """The answer is not recorded, and no connection may be opened."""

    code = "offline"
    http_status = 503
    fatal = True
