"""Admission: as many searches at once as there are cores, few that wait, and a clear refusal for the rest."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import anyio.to_thread

from aspectra.base.errors import AspectraError, Overloaded

__all__ = ["DeadlineReached", "Gate"]

T = TypeVar("T")


class DeadlineReached(AspectraError):
    """The caller's deadline, or the service's own, was reached before the answer."""

    code = "deadline"
    http_status = 408
    retryable = True


class Gate:
    """Runs work in threads, a few at once.

    A request that would wait longer than ``patience`` is refused at once, by the mean time of the work before
    it: a refusal costs nothing, an answer that nobody waits for any more costs a core.

    Args:
        running: pieces of work under way at once; None for the cores of this machine.
        patience: seconds that a request may wait for its turn.
        deadline: seconds after which a request is answered with an error.
    """

    def __init__(self, running: int | None = None, *, patience: float = 2.0, deadline: float = 30.0) -> None:
        self.running = running or os.cpu_count() or 1
        self.patience, self.deadline = patience, deadline
        self.waiting = self.refused = self.done = 0
        self._mean = 0.05  # seconds of one piece of work, a moving average
        self._turns = asyncio.Semaphore(self.running)
        self._threads = anyio.CapacityLimiter(self.running + 2)

    async def run(
        self,
        work: Callable[[], T],
        *,
        deadline: float | None = None,
        gone: Callable[[], Awaitable[bool]] | None = None,
    ) -> T:
        """What ``work`` returns.

        Args:
            work: blocking.
            deadline: seconds that the caller waits; at most the gate's own.
            gone: whether the caller has left; asked when its turn has come.

        Raises:
            Overloaded: too many wait already.
            DeadlineReached: work that has begun ends in the background.
        """
        allowed = min(self.deadline, deadline or self.deadline)
        expected = self.waiting * self._mean / self.running
        if expected > min(self.patience, allowed):
            self.refused += 1
            error = Overloaded("too many requests are waiting", hint="try again in a moment")
            error.retry_after = max(1.0, round(expected))
            raise error
        until = time.monotonic() + allowed
        self.waiting += 1
        try:
            async with asyncio.timeout(allowed):
                await self._turns.acquire()
        except TimeoutError:
            raise _late(allowed) from None
        finally:
            self.waiting -= 1
        if gone is not None and await gone():
            self._turns.release()
            raise DeadlineReached("the caller has left")
        task = asyncio.ensure_future(self._work(work))
        left = max(0.001, until - time.monotonic())
        done, _ = await asyncio.wait({task}, timeout=left)
        if not done:
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # heard, at least
            raise _late(allowed)
        return task.result()

    async def _work(self, work: Callable[[], T]) -> T:
        clock = time.monotonic()
        try:
            return await anyio.to_thread.run_sync(partial(work), limiter=self._threads)
        finally:
            self._turns.release()
            self.done += 1
            self._mean += 0.05 * (time.monotonic() - clock - self._mean)


def _late(allowed: float) -> DeadlineReached:
    return DeadlineReached(
        f"there was no answer within {allowed:g} s", hint="ask for fewer papers, or allow more time"
    )
