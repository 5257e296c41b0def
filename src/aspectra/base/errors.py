"""Errors that say what happened, why, and which command comes next; and checks that raise them.

Every error a user can meet is an :class:`AspectraError`. The command line prints its three parts and
leaves with its exit code; HTTP, MCP and the page answer with :meth:`AspectraError.to_dict` and the status.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from typing import Any, ClassVar

_LONGEST = 4000  # characters of one part of a message; what is named in it may be of any length


class AspectraError(Exception):
    """Base of all errors meant for people.

    Args:
        what: what went wrong, one sentence without a trailing full stop.
        why: the reason, or "" when ``what`` already says it.
        hint: the next command or step, or "".

    Its class states ``code``, the name that programs know it by; the ``exit_code`` of the command line; the
    ``http_status``; whether the same request may succeed later (``retryable``), and after how many seconds
    (``retry_after``; None where nothing tells).

    >>> print(AspectraError("no library here", hint="aspectra init").hint)
    aspectra init
    """

    code: ClassVar[str] = "runtime"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False
    retry_after: float | None = None

    def __init_subclass__(cls, **stated: str | float) -> None:
        """Take over what a class states of its errors, as in ``class Gone(AspectraError, code="gone")``."""
        for name, value in stated.items():
            setattr(cls, name, value)

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

    def to_dict(self) -> dict[str, Any]:
        """JSON form: ``code``, ``what``, ``why``, ``hint``, ``retryable``, ``retry_after`` in seconds."""
        return {
            "code": self.code,
            "what": self.what,
            "why": self.why,
            "hint": self.hint,
            "retryable": self.retryable,
            "retry_after": self.retry_after,
        }


def catalogue() -> dict[str, type[AspectraError]]:
    """Code -> class of every error that was imported, by code; classes that share a code by the first."""
    found: dict[str, type[AspectraError]] = {}
    waiting: list[type[AspectraError]] = [AspectraError]
    while waiting:
        one = waiting.pop(0)
        found.setdefault(one.code, one)
        waiting += one.__subclasses__()
    return dict(sorted(found.items()))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 4 :]}"


class UsageError(AspectraError, code="usage", http_status=422, exit_code=2):
    """A command, query, plan or configuration that cannot mean anything."""


class BadInput(AspectraError, code="bad-input", http_status=422):
    """A file none of whose content can be read (single bad records are remarks, not errors)."""


class NoSuchPaper(AspectraError, code="no-such-paper", http_status=404):
    """A seed or id that the library does not hold."""


class SeveralPapers(UsageError, code="several-papers"):
    """A name that several different papers have.

    Args:
        name: as it was given.
        ids: of the papers.
    """

    def __init__(self, name: str, ids: Sequence[str]) -> None:
        super().__init__(
            f"{name!r} names {len(ids)} papers",
            why="their ids: " + ", ".join(ids),
            hint="give one of these ids",
        )


class NotTrusted(UsageError, code="not-trusted", http_status=403):
    """A library, plan or project names a host, a model or code that the user has not permitted."""


class LibraryNotFound(AspectraError, code="no-library", http_status=503, exit_code=2):
    """There is no library at the given path."""


class LibraryBusy(AspectraError, code="library-busy", http_status=409, retryable=True):
    """Another process holds the library's single writer lock."""


class LibraryCorrupt(AspectraError, code="library-corrupt", http_status=500, exit_code=6):
    """The database or an index generation is damaged, or was written by a newer version."""


class ViewMismatch(AspectraError, code="view-mismatch", http_status=409, exit_code=6):
    """A view is missing, or was built with another encoder than the given one."""


class MissingExtra(AspectraError, code="missing-extra", http_status=501, exit_code=2):
    """An optional dependency is not installed."""


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Context for imports of an optional part: if a package is missing, the error says how to get it.

    Args:
        what: is missing, as ``the page is not installed``.
        extra: of the package, as ``serve``.

    Raises:
        MissingExtra: a package that is not ours is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "aspectra":
            raise
        raise MissingExtra(what, why=str(error), hint=f'pip install "aspectra[{extra}]"') from error


class NoSuchThing(AspectraError, code="not-found", http_status=404):
    """A page, job, cursor or other name that this service does not have."""


class Gone(AspectraError, code="gone", http_status=410):
    """A handle of an earlier state: the index was built anew since, or the service was started again."""


class TooLarge(AspectraError, code="too-large", http_status=413):
    """A request beyond a limit of the service."""


class NotAllowed(AspectraError, code="not-allowed", http_status=403):
    """A request from another site, for another host, or without the token."""


class Overloaded(AspectraError, code="overloaded", http_status=429, retryable=True, retry_after=1.0):
    """More requests than this machine can answer in time."""


_LONGEST_NAME = 200  # characters; what is longer was not meant for a name


def check_number(what: str, value: object, low: float, high: float, *, hint: str = "") -> None:
    """Check that a value is a number from ``low`` to ``high``, and a whole number if ``low`` is one.

    Args:
        what: for the message, as in ``the limit``.
        value: anything.
        low: the least, included.
        high: the most, included.
        hint: the next step; "" names the bounds.

    Raises:
        UsageError: it is not; NaN and the infinities are refused too.
    """
    whole = isinstance(low, int)
    kinds = int if whole else int | float
    if not isinstance(value, kinds) or isinstance(value, bool) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise UsageError(
            f"{what} is {value!r}"[:_LONGEST_NAME],
            why=f"it must be {kind} from {low:,} to {high:,}",
            hint=hint or f"give {kind} within these bounds",
        )


def check_length(what: str, held: Sized, most: int, *, hint: str) -> None:
    """Refuse what holds too much, so that the work it makes is bounded.

    Args:
        what: for the message, as in ``seeds of a query``.
        held: a text or a collection.
        most: characters or elements, at most.
        hint: the next step.

    Raises:
        UsageError: it holds more.
    """
    if len(held) > most:
        unit = "characters" if isinstance(held, str) else "of them"
        raise UsageError(f"too many {what}: {len(held):,}", why=f"at most {most:,} {unit}", hint=hint)


def did_you_mean(given: str, known: Iterable[str], synonyms: Mapping[str, str] | None = None) -> str:
    """A question that names the nearest known names, or "" where none is close.

    Args:
        given: the name that is not known; its case is not compared.
        known: the names there are.
        synonyms: other word -> known name, for words that no spelling connects.

    >>> did_you_mean("metod", ["background", "method", "result"])
    'did you mean method?'
    >>> did_you_mean("review", ["survey", "dataset"], {"review": "survey"})
    'did you mean survey?'
    """
    names = list(known)
    plain = given.strip().casefold()
    if (
        len(plain) > _LONGEST_NAME
    ):  # spellings are compared in time that grows with the square of their length
        return ""
    meant = (synonyms or {}).get(plain)
    folded = {name.casefold(): name for name in names}
    near = [meant] if meant else [folded[name] for name in difflib.get_close_matches(plain, folded, n=3)]
    return f"did you mean {' or '.join(near)}?" if near else ""


def unknown_name(
    what: str, given: str, known: Iterable[str], synonyms: Mapping[str, str] | None = None
) -> UsageError:
    """The error for a name that is not known: lists the names there are and suggests the nearest.

    Args:
        what: the whole message, as ``there is no planner called 'hybird'``.
        given: as in :func:`did_you_mean`.
        known: as there.
        synonyms: as there.
    """
    names = list(known)
    return UsageError(what, why="known: " + ", ".join(names), hint=did_you_mean(given, names, synonyms))


def check_choice(value: str, known: Iterable[str], what: str) -> str:
    """``value`` itself.

    Args:
        value: what was given.
        known: what it may be.
        what: for the message, as in ``direction``.

    Raises:
        UsageError: it is not one of ``known``; the message suggests the nearest.
    """
    names = list(known)
    if value not in names:
        raise unknown_name(f"there is no {what} {value!r}", value, names)
    return value


def refuse_unknown(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse names that mean nothing, so that a misspelt field is never silently ignored.

    Args:
        given: names found.
        known: names there are.
        what: for the message, as in ``field in a plan``.

    Raises:
        UsageError: a name is unknown.
    """
    names = sorted(set(known))
    if unknown := sorted(set(given) - set(names)):
        raise unknown_name(f"unknown {what}: {', '.join(unknown)}", unknown[0], names)
