"""Checks that every value read from a file goes through."""

from __future__ import annotations

from collections.abc import Iterable

from aspectra.base.errors import UsageError

__all__ = ["refuse_unknown"]


def refuse_unknown(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse names that mean nothing, so that a misspelt field is never silently ignored.

    Args:
        given: names found.
        known: names there are.
        what: for the message, as in ``field in a plan``.

    Raises:
        UsageError: a name is unknown.
    """
    names = set(known)
    if unknown := sorted(set(given) - names):
        raise UsageError(f"unknown {what}: {', '.join(unknown)}", why="known: " + ", ".join(sorted(names)))
