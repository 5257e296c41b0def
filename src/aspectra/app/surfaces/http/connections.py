"""Connections of the server: a bounded number at once, each of which must soon send a whole request.

Whoever only opens connections would otherwise keep everybody else out, before any token is asked for.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

BACKLOG = 32  # taken from the system at once: that many beyond `most`, for a moment


def _most() -> int:
    """A share of the files that this process may open: the library needs some, too."""
    try:
        import resource
    except ImportError:  # Windows
        return 500
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 500 if files < 0 else min(500, files // 4)


class LimitedConnection(H11Protocol):
    """A connection of uvicorn's server.

    Attributes:
        most: open at once; one more closes the one that has been without a request for longest.
        seconds: until the headers of a request must be whole; longer than an idle connection is kept.
        least: bytes of a body that must come within `seconds`. At most half of the connections wait for
            bodies; one more closes the one that has brought too little for longest.
    """

    most: ClassVar[int] = _most()
    seconds: ClassVar[float] = 20.0
    least: ClassVar[int] = 20_000
    _silent: ClassVar[dict[LimitedConnection, asyncio.TimerHandle]] = {}  # without a request, oldest first
    _bodies: ClassVar[dict[LimitedConnection, asyncio.TimerHandle]] = {}  # without a whole body
    _brought = 0  # bytes of its body since it was last given time

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(self._silent)
        if len(self.connections) > self.most:
            next(iter(self._silent)).end()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            return
        self._brought += len(data)
        if not self.cycle.more_body:
            self._heard()
        elif self not in self._bodies or self._brought >= self.least:
            self._wait(self._bodies)
            if len(self._bodies) > self.most // 2:
                next(iter(self._bodies)).end()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._wait(self._silent)

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard()
        super().connection_lost(exc)

    def end(self) -> None:
        """Close it without a word."""
        self._heard()
        self.connections.discard(self)
        self.transport.abort()

    def _wait(self, waiting: dict[LimitedConnection, asyncio.TimerHandle]) -> None:
        self._heard()
        self._brought = 0
        waiting[self] = self.loop.call_later(self.seconds, self._late, waiting)

    def _late(self, waiting: dict[LimitedConnection, asyncio.TimerHandle]) -> None:
        # An answer is still on its way over a slow line, or what has come of the body was not taken yet.
        if self.transport.get_write_buffer_size() or self.flow.read_paused:
            self._wait(waiting)
        else:
            self.end()

    def _heard(self) -> None:
        for waiting in (self._silent, self._bodies):
            if timer := waiting.pop(self, None):
                timer.cancel()
