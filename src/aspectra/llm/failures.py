"""What can go wrong between a question and its answer, as classes that a caller can tell apart.

Two facts decide what happens next: ``retryable`` (the same request may succeed later) and ``fatal`` (no other
request can do better, so a run stops asking). Exit codes are those of the command line: 5 when money or quota
is spent, 7 when the service cannot serve.
"""

from __future__ import annotations

from typing import ClassVar, Self

from aspectra.base.errors import AspectraError
from aspectra.llm.chat import Usage


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
        return type(self)(
            self.what,
            why=why or self.why,
            hint=self.hint,
            status=self.status,
            retry_after=self.retry_after,
            lost=lost,
        )


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
