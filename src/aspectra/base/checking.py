"""Checks for names and choices that people write, with a suggestion where a known one is close."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sized

from aspectra.base.errors import UsageError

_LONGEST_NAME = 200  # characters; what is longer was not meant for a name


def check_number(what: str, value: object, low: float, high: float, *, hint: str = "") -> None:
    """Refuse what is no number from ``low`` to ``high``: a whole number where ``low`` is one.

    Args:
        what: for the message, as in ``the limit``.
        value: anything.
        low: the least, included.
        high: the most, included.
        hint: the next step; "" names the bounds.

    Raises:
        UsageError: it is none, NaN and the infinities included.
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
        UsageError: it is none of ``known``; the message suggests the nearest.
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
