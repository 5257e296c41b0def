"""How many calls at once, and a minute."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable

from aspectra.base.errors import UsageError
from aspectra.llm.budget import prompt_tokens
from aspectra.llm.chat import ChatModel, Reply, Request, Wrapper

_LOG = logging.getLogger(__name__)


class Lanes:
    """Calls under way at once, in the order in which they came; belongs to one event loop.

    Args:
        most: calls at once.
        start: 0 to allow ``most`` at all times. Else so many at first, as for a server on this computer: one
            more where answers come early, fewer where they come late.
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
        """Whether a call must wait."""
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
