"""Access to a service: where it listens, by which names, with which token, for how many at once."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

import anyio.to_thread

from aspectra.base.errors import AspectraError, NotAllowed, Overloaded, UsageError
from aspectra.base.trust import is_loopback

_LOG = logging.getLogger("aspectra.surfaces")


def as_error(error: BaseException) -> AspectraError:
    """The error of the catalogue that any failure is; what is unknown is logged and tells nothing outside."""
    if isinstance(error, AspectraError):
        return error
    _LOG.error("%s while answering", type(error).__name__, exc_info=error)
    if isinstance(error, MemoryError):
        return AspectraError("there is not enough memory", hint="ask for fewer papers")
    return AspectraError("internal error", hint="the log of the service tells more")


def retry_headers(error: AspectraError) -> dict[str, str]:
    """The header ``retry-after`` in whole seconds, where the error tells when a retry is worth it."""
    return {} if error.retry_after is None else {"retry-after": str(max(1, round(error.retry_after)))}


COOKIE = "aspectra_token"


class NoToken(NotAllowed, code="no-token", http_status=401):
    """A request without the token of the service, or with another one."""


_ANY = ("0.0.0.0", "::", "[::]")  # noqa: S104 - refused without a name and a token
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_RANDOM = 'export ASPECTRA_TOKEN=$(python -c "import secrets; print(secrets.token_hex(16))")'


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Attributes:
        hosts: names and addresses by which the service is reached, as a Host header has them; first the one
            where it listens.
        port: on which it listens.
        token: that each request must bring, or "" where only this computer reaches the service.
        body: most bytes of a request.
        upload: most bytes of a request that brings files.
    """

    hosts: tuple[str, ...]
    port: int
    token: str = ""
    body: int = 1_048_576
    upload: int = 268_435_456

    @classmethod
    def to(cls, host: str, port: int, token: str = "", names: Sequence[str] = ()) -> Access:
        """For an address to listen on.

        Args:
            host: the address.
            port: the port.
            token: the secret, or "".
            names: further names by which the service is reached, each as in the Host header: with its port,
                unless that is 80 or 443.

        Raises:
            UsageError: other computers can reach it, and a token or name is missing; or the token is short.
        """
        local = is_loopback(host)
        if not local and not token:
            raise UsageError(
                f"{host} can be reached from other computers, and no token is set",
                why="whoever reaches the service could read and change the library",
                hint=f"{_RANDOM}, or leave out --host",
            )
        if token and len(token) < 16:
            raise UsageError("the token has fewer than 16 characters", hint=_RANDOM)
        named = () if host in _ANY else (f"[{host}]" if ":" in host and host[0] != "[" else host,)
        known = tuple(dict.fromkeys((*named, *(_LOCAL if local else ()))))
        if not known and not names:
            raise UsageError(
                f"{host} stands for every address, and the service has no name",
                why="requests for a name that it does not know are refused",
                hint=f"--name HOST:{port}, as people will type it",
            )
        listened = known if port == 80 else tuple(f"{one}:{port}" for one in known)  # browsers leave out 80
        return cls((*listened, *names), port, token)

    def knows(self, authority: str) -> bool:
        """True if a Host header, or the authority of an origin, names this service."""
        return authority.casefold() in {one.casefold() for one in self.hosts}

    def admits(self, given: str) -> bool:
        """True if a token is that of the service, or the service has none."""
        # As text, and as the bytes of a header, which arrive as Latin-1.
        sent = [given.encode(code, "ignore") for code in ("utf-8", "latin-1")]
        return not self.token or any(hmac.compare_digest(one, self.token.encode()) for one in sent)


# Admission: as many searches at once as there are cores, few that wait, and a clear refusal for the rest.

T = TypeVar("T")


MODEL_DEADLINE = 600.0  # seconds of a search that asks a language model
_MODEL_SEARCHES = 4  # at once: one asks, the others wait for it


class DeadlineReached(AspectraError, code="deadline", http_status=408, retryable=True):
    """The caller's deadline, or the service's own, was reached before the answer."""


class _Turn:
    """The turn of one piece of work, which may give it back before it ends."""

    def __init__(self, gate: Gate) -> None:
        self.gate, self.loop = gate, asyncio.get_running_loop()
        self.left = asyncio.Event()
        self.asks_model = self.over = False

    def leave(self) -> None:
        """Let other work begin; called in the thread of this work."""
        if self.asks_model:
            return
        if not self.gate.model_turns.acquire(blocking=False):
            error = Overloaded("too many searches wait for the language model", hint="try again in a minute")
            error.retry_after = 60.0
            raise error
        self.asks_model = True
        self.loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        self.gate.turns.release()
        self.left.set()


_TURN: ContextVar[_Turn | None] = ContextVar("turn", default=None)


def leave_turn() -> Callable[[], None]:
    """Say that the work of this thread will ask a language model: other work begins meanwhile.

    Returns:
        What raises ``DeadlineReached`` where nobody waits for the answer any more.

    Raises:
        Overloaded: too many such searches are under way.
    """
    turn = _TURN.get()
    if turn is not None:
        turn.leave()

    def check() -> None:
        if turn is not None and turn.over:
            raise DeadlineReached("nobody waits for this answer any more")

    return check


class Gate:
    """Runs work in threads, a few at once.

    A request that would wait longer than ``patience`` is refused at once, by the mean time of the work before
    it: a refusal costs nothing, an answer that nobody waits for any more costs a core. Work that asks a
    language model gives its turn back first, see :func:`leave_turn`, and has :data:`MODEL_DEADLINE`.

    Args:
        running: pieces of work under way at once; None for the cores of this machine.
        patience: seconds that a request may wait for its turn.
        deadline: seconds after which a request that states none is answered with an error.
    """

    def __init__(self, running: int | None = None, *, patience: float = 2.0, deadline: float = 30.0) -> None:
        self.running = running or os.cpu_count() or 1
        self.patience, self.deadline = patience, deadline
        self.waiting = self.refused = self.done = 0
        self._mean = 0.05  # seconds of one piece of work, a moving average
        self.turns = asyncio.Semaphore(self.running)
        self.model_turns = threading.BoundedSemaphore(_MODEL_SEARCHES)
        self._threads = anyio.CapacityLimiter(self.running + 2 + _MODEL_SEARCHES)

    async def run(
        self,
        work: Callable[[], T],
        *,
        deadline: float | None = None,
        gone: Callable[[], Awaitable[bool]] | None = None,
    ) -> T:
        """Run ``work`` when its turn has come, and return its result.

        Args:
            work: blocking.
            deadline: seconds that the caller waits; None for the gate's own.
            gone: returns True if the caller has left; called when its turn has come.

        Raises:
            Overloaded: too many wait already.
            DeadlineReached: work that has begun ends in the background.
        """
        allowed = deadline or self.deadline
        expected = self.waiting * self._mean / self.running
        if expected > min(self.patience, allowed):
            self.refused += 1
            error = Overloaded("too many requests are waiting", hint="try again in a moment")
            error.retry_after = max(1.0, round(expected))
            raise error
        began = time.monotonic()
        self.waiting += 1
        try:
            async with asyncio.timeout(allowed):
                await self.turns.acquire()
        except TimeoutError:
            raise _late(allowed) from None
        finally:
            self.waiting -= 1
        if gone is not None and await gone():
            self.turns.release()
            raise DeadlineReached("the caller has left")
        turn = _Turn(self)
        task, asks = asyncio.ensure_future(self._work(work, turn)), asyncio.ensure_future(turn.left.wait())
        left = max(0.001, began + allowed - time.monotonic())
        await asyncio.wait({task, asks}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        asks.cancel()
        if turn.left.is_set() and not task.done():
            allowed = deadline or MODEL_DEADLINE
            await asyncio.wait({task}, timeout=max(0.001, began + allowed - time.monotonic()))
        if not task.done():
            turn.over = True
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # heard, at least
            raise _late(allowed)
        return task.result()

    async def _work(self, work: Callable[[], T], turn: _Turn) -> T:
        clock = time.monotonic()
        _TURN.set(turn)  # of this task and its thread alone
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._threads)
        finally:
            self.done += 1
            if turn.asks_model:
                self.model_turns.release()
            else:
                self.turns.release()
                self._mean += 0.05 * (time.monotonic() - clock - self._mean)


def _late(allowed: float) -> DeadlineReached:
    return DeadlineReached(
        f"there was no answer within {allowed:g} s", hint="ask for fewer papers, or allow more time"
    )
