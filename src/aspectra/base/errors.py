"""Errors that say what happened, why, and which command comes next.

Every error a user can meet is an :class:`AspectraError`. The command line prints its three parts and
leaves with its exit code; a program reads ``code`` and ``retryable``.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AspectraError",
    "BadInput",
    "LibraryBusy",
    "LibraryCorrupt",
    "LibraryNotFound",
    "MissingExtra",
    "NoSuchPaper",
    "NotTrusted",
    "UsageError",
    "ViewMismatch",
]


_LONGEST = 4000  # characters of one part of a message; what is named in it may be of any length


class AspectraError(Exception):
    """Base of all errors meant for people.

    Args:
        what: what went wrong, one sentence without a trailing full stop.
        why: the reason, or "" when ``what`` already says it.
        hint: the next command or step, or "".

    >>> print(AspectraError("no library here", hint="aspectra init").hint)
    aspectra init
    """

    code: ClassVar[str] = "runtime"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, what: str, *, why: str = "", hint: str = "") -> None:
        super().__init__(_cut(what))
        self.what = _cut(what)
        self.why = _cut(why)
        self.hint = _cut(hint)

    def __str__(self) -> str:
        parts = [self.what]
        if self.why:
            parts.append(f"why: {self.why}")
        if self.hint:
            parts.append(f"next: {self.hint}")
        return "\n".join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 4 :]}"


class UsageError(AspectraError):
    """A command, query, plan or configuration that cannot mean anything."""

    code = "usage"
    exit_code = 2


class BadInput(AspectraError):
    """A file none of whose content can be read (single bad records are remarks, not errors)."""

    code = "bad-input"


class NoSuchPaper(AspectraError):
    """A seed or id that the library does not hold."""

    code = "no-such-paper"


class NotTrusted(UsageError):
    """A library, plan or project names a host, a model or code that the user has not permitted."""

    code = "not-trusted"


class LibraryNotFound(AspectraError):
    """There is no library at the given path."""

    code = "no-library"
    exit_code = 2


class LibraryBusy(AspectraError):
    """Another process holds the library's single writer lock."""

    code = "library-busy"
    retryable = True


class LibraryCorrupt(AspectraError):
    """The database or an index generation is damaged, or was written by a newer version."""

    code = "library-corrupt"
    exit_code = 6


class ViewMismatch(AspectraError):
    """A view is missing, or was built with another encoder than the given one."""

    code = "view-mismatch"
    exit_code = 6


class MissingExtra(AspectraError):
    """An optional dependency is not installed."""

    code = "missing-extra"
    exit_code = 2
