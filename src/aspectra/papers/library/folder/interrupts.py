"""What is raised inside a function that SQLite calls, as Ctrl-C is; SQLite tells only that something was."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from types import CodeType, FrameType
from typing import Any, TypeVar

from aspectra.base.errors import LibraryCorrupt

T = TypeVar("T")
_NOTED = threading.local()
_CALLED: set[CodeType] = set()  # what SQLite calls
_OF_CONTENT = (LibraryCorrupt, TypeError, ValueError, ArithmeticError)  # the values are not what was written


def noted_error() -> BaseException | None:
    """The error that was noted on this thread since it last entered :func:`noting`, once."""
    error: BaseException | None = getattr(_NOTED, "error", None)
    _NOTED.error = None
    return error


def remembering(function: Callable[..., T]) -> Callable[..., T]:
    """A function for SQLite that notes an error that is not one of the values it is given."""

    @wraps(function)
    def called(*values: Any) -> T:
        try:
            return function(*values)
        except _OF_CONTENT:
            raise
        except BaseException as error:
            _NOTED.error = error
            raise

    _CALLED.add(called.__code__)  # type: ignore[attr-defined]
    return called


@contextlib.contextmanager
def noting() -> Iterator[None]:
    """Note what the handler of Ctrl-C raises before the first line of a function that SQLite calls.

    Elsewhere it arrives by itself; kept for longer, it would keep what it passed from being closed.
    """
    before = signal.getsignal(signal.SIGINT)
    if not _on_main_thread() or not callable(before) or hasattr(before, "notes"):
        yield
        return

    def handler(number: int, frame: FrameType | None) -> None:
        try:
            before(number, frame)
        except BaseException as error:
            if frame is not None and frame.f_code in _CALLED:
                _NOTED.error = error
            raise

    handler.notes = True  # type: ignore[attr-defined]
    _NOTED.error = None
    try:
        signal.signal(signal.SIGINT, handler)
        yield
    finally:
        if _on_main_thread() and signal.getsignal(signal.SIGINT) is handler:  # rows may change threads
            signal.signal(signal.SIGINT, before)


def _on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
