"""One event loop for all model calls, so that code which is not asynchronous can wait for code that is."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, from any thread, also from inside a running loop such as a notebook's.

    All calls share one loop in a thread of its own, so connections stay open from one query to the next.
    Context variables are those of the caller. An interrupt (Ctrl-C) cancels the coroutine.

    Raises:
        RuntimeError: called from within the shared loop itself, which would wait for itself.
    """
    loop = _shared()
    try:
        inside = asyncio.get_running_loop() is loop
    except RuntimeError:
        inside = False
    if inside:
        coroutine.close()
        raise RuntimeError("run() was called by a coroutine that run() itself runs; await it there")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _shared() -> asyncio.AbstractEventLoop:
    global _loop  # noqa: PLW0603 (one per process is the point)
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="aspectra-models", daemon=True).start()
        return _loop


def _forget() -> None:
    """A forked process has the loop without the thread that runs it, and whatever state the lock was in."""
    global _loop, _lock
    _loop, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)


class PerLoop(Generic[T]):
    """A value for each event loop: connections and semaphores belong to the loop that made them."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(self) -> T:
        """The running loop's value, made when it is first asked for."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._values:
                self._values[loop] = self._make()
            return self._values[loop]

    def values(self) -> list[T]:
        """The values of all loops that are still there."""
        with self._lock:
            return list(self._values.values())
