"""Asking again, within bounds, and not asking an endpoint that is known to be down.

Waits are drawn evenly between nothing and a bound that doubles (full jitter), so that calls which failed
together do not come back together. A wait that the endpoint asks for is kept. Time is that of the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Awaitable, Callable

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.llm.budget import charged, prompt_tokens
from aspectra.llm.chat import (
    ChatModel,
    KeyRefused,
    Late,
    Malformed,
    ModelError,
    NoSuchModel,
    QuotaSpent,
    Reply,
    Request,
    Transient,
    Usage,
    Wrapper,
)

_CLOSED_DOOR = (KeyRefused, QuotaSpent, NoSuchModel)  # of the endpoint, for every request


class Retry(Wrapper):
    """A model that is asked again where another attempt may succeed.

    Args:
        inner: the model.
        tries: attempts in all, 1 or more.
        seconds: from the first attempt to the start of the last; a longer wait asked for by the endpoint ends
            the call at once.
        first_wait: bound of the first wait, in seconds; each next one is twice as long.
        longest_wait: bound of every wait that the endpoint did not ask for, in seconds.
        down_after: the endpoint counts as down when so many attempts in a row failed ...
        down_seconds: ... over at least so many seconds. It is then left alone for as long, and calls fail at
            once. So they do after one that found the key refused, the credit spent or no such model.
        queues: whether the caller waits for a lane again after a late answer, which is then not an attempt.
        draw: gives a number in [0, 1).
    """

    def __init__(
        self,
        inner: ChatModel,
        *,
        tries: int = 5,
        seconds: float = 120.0,
        first_wait: float = 0.5,
        longest_wait: float = 20.0,
        down_after: int = 20,
        down_seconds: float = 20.0,
        queues: bool = False,
        draw: Callable[[], float] = random.random,
    ) -> None:
        if tries < 1:
            raise UsageError(f"at least one attempt must be allowed, not {tries}")
        super().__init__(inner)
        self._tries, self._seconds = tries, seconds
        self._first_wait, self._longest_wait = first_wait, longest_wait
        self._down_after, self._down_seconds = down_after, down_seconds
        self._draw, self._queues = draw, queues
        self._lock = threading.Lock()
        self._failures = 0
        self._failing_since = 0.0
        self._shut: ModelError | None = None
        self._shut_until = 0.0

    async def complete(self, request: Request) -> Reply:
        """The inner model's answer; ``facts["attempts"]`` says how many it took where it took several.

        The cost of failed attempts is in ``lost``, of the answer or of the error.

        Raises:
            ModelError: the last attempt's, with the number of attempts in its ``why``.
        """
        started = _now()
        attempt = 0
        last: ModelError | None = None
        lost: tuple[Usage, ...] = ()
        while True:
            self._refuse_if_shut(attempt, lost)
            attempt += 1
            try:
                reply = await self.inner.complete(request)
            except ModelError as error:
                self._note(error)
                wait = self._wait(error, attempt, started)
                if wait is None or _says_the_same(error, last):
                    raise _after(error, attempt, lost) from None
                last, lost = error, (*lost, *charged(request, error))
            else:
                self._note(None)
                if attempt == 1:
                    return reply
                return replace(reply, facts={**reply.facts, "attempts": attempt}, lost=lost)
            await asyncio.sleep(wait)

    def _wait(self, error: ModelError, attempt: int, started: float) -> float | None:
        """Seconds until the next attempt, or None if there is to be none."""
        if not error.retryable or (self._queues and isinstance(error, Late)) or attempt >= self._tries:
            return None
        if error.retry_after is not None:  # a little later than asked, and not all at the same moment
            wait = error.retry_after * (1 + 0.1 * self._draw())
        else:
            wait = self._draw() * min(self._longest_wait, self._first_wait * 2 ** (attempt - 1))
        return wait if _now() - started + wait <= self._seconds else None

    def _note(self, error: ModelError | None) -> None:
        """Remember what an attempt says about the endpoint itself."""
        with self._lock:
            now = _now()
            if isinstance(error, _CLOSED_DOOR):
                self._shut, self._shut_until = error, now + self._down_seconds
            elif self._queues and isinstance(error, Late):
                pass  # busy, not down
            elif isinstance(error, Transient | Malformed) and error.retry_after is None:
                if not self._failures:
                    self._failing_since = now
                self._failures += 1
                if self._failures >= self._down_after and now - self._failing_since >= self._down_seconds:
                    self._shut, self._shut_until = error, now + self._down_seconds
            elif error is None or error.status is not None:  # it lives
                self._failures = 0

    def _refuse_if_shut(self, attempt: int, lost: tuple[Usage, ...]) -> None:
        with self._lock:
            shut = self._shut
            if shut is None:
                return
            if _now() >= self._shut_until:  # let one try find out; its result is noted
                self._shut = None
                return
        raise shut.again(f"{shut.why}; not asked again for a while" if not attempt else "", lost)


def _says_the_same(error: ModelError, last: ModelError | None) -> bool:
    """True if an unreadable answer, such as a web page, came twice; a third attempt would get it too."""
    return last is not None and (error.status, error.why) == (200, last.why)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _after(error: ModelError, attempts: int, lost: tuple[Usage, ...]) -> ModelError:
    """The last failure, which says how many attempts there were and what each cost."""
    if attempts == 1:
        return error
    again = error.again(f"{error.why}, after {attempts} attempts".lstrip(", "), lost)
    again.billable, again.usage = error.billable, error.usage
    return again


_LOG = logging.getLogger(__name__)


class Lanes:
    """Calls under way at once, in the order in which they came; belongs to one event loop.

    Args:
        most: calls at once.
        start: 0 to allow ``most`` at all times. Else the number at first, as for a server on this computer:
            one more when answers come early, fewer when they come late.
        seconds: within which an answer must come.
        slots: asks the server how many calls it answers at once; None where it does not say.

    Attributes:
        limit: calls allowed now.
    """

    def __init__(
        self,
        most: int,
        *,
        start: int = 0,
        seconds: float = 60.0,
        slots: Callable[[], Awaitable[int | None]] | None = None,
    ) -> None:
        if most < 1:
            raise UsageError(f"at least one call must be allowed at a time, not {most}")
        self.limit = min(start or most, most)
        self._most = most if start else self.limit
        self._seconds, self._slots = seconds if start else 0.0, slots if start else None
        self._early = self._over = 0  # early answers since the last change; lanes that end with their call
        self._free = asyncio.Semaphore(self.limit)
        self._first = asyncio.Lock()

    @property
    def full(self) -> bool:
        """True if a call must wait."""
        return self._free.locked()

    async def __aenter__(self) -> int:
        async with self._first:
            if self._slots is not None:
                slots, self._slots = self._slots, None
                if stated := await slots():
                    self._most = min(self._most, stated)
                    self._set(self._most)
        await self._free.acquire()
        return self.limit

    async def __aexit__(self, *_: object) -> None:
        if self._over:
            self._over -= 1
        else:
            self._free.release()

    def answered(self, seconds: float) -> None:
        """Note how long an answer took."""
        self._early += seconds < self._seconds / 4
        if self._early > self.limit < self._most:
            self._set(self.limit + 1)

    def late(self, began: int) -> bool:
        """Note that no answer came in time; returns whether it may come where fewer calls are under way.

        Args:
            began: calls that were allowed when it was sent.
        """
        if self._seconds and began > 1 and self.limit > began // 2:
            self._most = began // 2
            self._set(self._most)
            _LOG.warning("Answers come too late: %d calls at once from now on, not %d.", self.limit, began)
        return began > 1 and self._seconds > 0

    def _set(self, limit: int) -> None:
        self._early, self._over = 0, self._over + self.limit - limit
        self.limit = limit
        while self._over < 0:
            self._over += 1
            self._free.release()


class RateLimit(Wrapper):
    """A model asked no faster than its endpoint allows.

    Calls are spread evenly, without bursts: each is sent when the one before it has used up its share of the
    minute. A question's tokens are estimated, and the longest answer allowed is added, as endpoints do; what
    was not used is given back after the reply. A call that needs more than a minute's tokens is sent all the
    same, and the next one waits accordingly. One that is cancelled while it waits keeps its place, since
    those behind it have theirs. Time is that of the event loop.

    Args:
        inner: the model.
        requests_per_minute: 0 for no limit.
        tokens_per_minute: 0 for no limit.
    """

    def __init__(
        self,
        inner: ChatModel,
        *,
        requests_per_minute: float = 0.0,
        tokens_per_minute: float = 0.0,
    ) -> None:
        if requests_per_minute < 0 or tokens_per_minute < 0:
            raise UsageError("a rate cannot be negative", hint="0 sets no limit")
        super().__init__(inner)
        self._per_request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._per_token = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._lock = threading.Lock()
        self._request_free = self._token_free = float("-inf")  # when the next call may be sent

    async def complete(self, request: Request) -> Reply:
        """The inner model's answer, when the rate allows to ask."""
        expected = prompt_tokens(request) + request.max_tokens
        with self._lock:
            now = asyncio.get_running_loop().time()
            start = max(now, self._request_free, self._token_free)
            self._request_free = start + self._per_request
            self._token_free = start + self._per_token * expected
        if start > now:
            await asyncio.sleep(start - now)
        reply = await self.inner.complete(request)
        used = reply.usage.prompt_tokens + reply.usage.completion_tokens
        if used:
            with self._lock:
                self._token_free -= self._per_token * (expected - used)
        return reply
