"""An event loop whose time passes only when everything waits, and in which nothing runs beside it.

Sleeps, timeouts and delayed calls of code under test end at exact moments, and a run is the same each time.
Work for other threads is done at once, in this one. Where nothing is left that could ever go on, the loop
raises :class:`Stuck` rather than wait for ever.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar

import httpx

from aspectra.llm.client.openai_compatible import OpenAICompatible
from llm_server import Server

T = TypeVar("T")
START = 1000.0  # seconds on the clock when a loop begins
MOST_MOVES = 100_000  # of the clock, in one loop


class Stuck(RuntimeError):
    """Every task waits for something that no task, timer or connection will bring."""


class _Selector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Looks at connections without waiting, and moves the loop's clock instead."""

    loop: VirtualLoop
    moves = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if not found and timeout is None:
            raise Stuck("everything waits, and nothing will come")
        if not found and timeout:
            self.loop.now += timeout
            self.moves += 1
            if self.moves > MOST_MOVES:
                raise Stuck("something looks again and again, and nothing will come")
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module.

    Attributes:
        now: seconds on its clock.
        suspended: how often its tasks gave control back so far.
        at_suspension: called after the n-th time with n, or None.
    """

    def __init__(self) -> None:
        selector = _Selector()
        super().__init__(selector)
        selector.loop = self
        self.now = START
        self.suspended = 0
        self.at_suspension: Callable[[int], None] | None = None
        self.set_task_factory(lambda loop, coro, **more: asyncio.Task(_Counted(coro), loop=loop, **more))

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = self.create_future()
        try:
            found = func(*args)
        except BaseException as error:
            self.call_soon(_settle, future, error, None)
        else:
            self.call_soon(_settle, future, None, found)
        return future


def _settle(future: asyncio.Future[Any], error: BaseException | None, found: Any) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(found)
    else:
        future.set_exception(error)


class _Counted(Coroutine[Any, Any, Any]):
    """A coroutine whose suspensions its loop counts."""

    def __init__(self, inner: Coroutine[Any, Any, Any]) -> None:
        self._inner = inner

    def __await__(self) -> Any:
        raise NotImplementedError("a task drives it")

    def send(self, value: Any) -> Any:
        return self._noted(self._inner.send(value))

    def throw(self, *error: Any) -> Any:
        return self._noted(self._inner.throw(*error))

    def close(self) -> None:
        self._inner.close()

    def _noted(self, given: Any) -> Any:
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            loop.suspended += 1
            if loop.at_suspension is not None:
                loop.at_suspension(loop.suspended)
        return given


def run(main: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives in a loop of its own; fails where it leaves a task behind."""

    async def whole() -> T:
        found = await main
        await asyncio.sleep(0.01)  # what was cancelled last may end
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert left == [], f"tasks left behind: {left}"
        return found

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(whole())


async def cancelled_at(main: Coroutine[Any, Any, Any], number: int) -> int:
    """Cancel a coroutine when the tasks of the loop have given control back so many times.

    Args:
        main: run as a task of its own; its errors are dropped.
        number: 1 for the first time; 0 never cancels.

    Returns:
        How often control was given back until it had ended.
    """
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    first = loop.suspended
    task = loop.create_task(main)

    def look(count: int) -> None:
        if count - first == number:
            loop.call_soon(task.cancel)

    loop.at_suspension = look
    await asyncio.wait([task])
    loop.at_suspension = None
    if not task.cancelled():
        task.exception()
    return loop.suspended - first


class Connected(httpx.AsyncBaseTransport):
    """Connections to a scripted server in the same loop, without sockets.

    Attributes:
        seen: (seconds since the loop began, status) of each answer; status 0 where the line was cut.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self.seen: list[tuple[float, int]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        written = bytearray()
        headers = {name.lower(): value for name, value in request.headers.items()}
        writer: Any = SimpleNamespace(write=written.extend)
        await self._server.chat(await request.aread(), headers, writer)
        head, _, body = bytes(written).partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines)
        whole = bool(head) and len(body) == int(fields["Content-Length"])
        status = int(first.split(" ")[1]) if whole else 0
        self.seen.append((asyncio.get_running_loop().time() - START, status))
        if not whole:
            raise httpx.RemoteProtocolError("the line was cut")
        return httpx.Response(status, headers=fields, stream=httpx.ByteStream(body))

    def serve(self, client: OpenAICompatible) -> OpenAICompatible:
        """The client, connected here."""
        client._connection = lambda: httpx.AsyncClient(transport=self, timeout=None)  # type: ignore[method-assign]
        return client
