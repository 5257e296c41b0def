"""Whether tests try all of what they try a part of: ``make test-long``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["LONG", "some"]

T = TypeVar("T")
LONG = bool(os.environ.get("ASPECTRA_LONG"))


def some(cases: Sequence[T], *of: object) -> Sequence[T]:
    """All cases with ``make test-long``, else one: another for another test, which ``of`` names."""
    if LONG:
        return cases
    at = sum("".join(map(str, of)).encode()) % len(cases)
    return cases[at : at + 1]
