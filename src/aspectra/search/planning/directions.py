"""Directions between papers: what a paper builds on, what builds on it.

To words these are different questions. What a paper builds on is talked about in it, so candidates' own words
are looked for in the seed (a *reverse* probe); what builds on it talks about it, so the seed's words are
looked for in the candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

from aspectra.base.checking import unknown_name
from aspectra.base.errors import UsageError
from aspectra.views.view import Matching, Pooling

__all__ = ["DIRECTIONS", "Directed", "check_direction"]

DIRECTIONS = ("builds-on", "built-on-by", "both")


@dataclass(frozen=True)
class Directed:
    """One probe of a directional plan before it knows its seed; fields as in a probe.

    ``{chunks}`` and ``{encoder}`` in a view's name stand for the library's own.
    """

    view: str
    weight: float = 1.0
    reverse: bool = False
    pooling: Pooling = "max"
    matching: Matching = ""
    asking: str = ""


def check_direction(direction: str, seeds: tuple[str, ...]) -> None:
    """Refuse a direction that means nothing.

    Raises:
        UsageError: it is unknown, or there is no seed paper it could start from.
    """
    if direction and direction not in DIRECTIONS:
        raise unknown_name(f"unknown direction {direction!r}", direction, DIRECTIONS)
    if direction and not seeds:
        raise UsageError(
            f"a direction ({direction}) needs a seed paper",
            why="words alone neither build on papers nor are built on",
            hint=f"aspectra similar ID --direction {direction}",
        )
