"""How many calls a minute."""

from __future__ import annotations

import asyncio
import threading

from aspectra.base.errors import UsageError
from aspectra.llm.budget import prompt_tokens
from aspectra.llm.chat import ChatModel, Reply, Request, Wrapper

__all__ = ["RateLimit"]


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
