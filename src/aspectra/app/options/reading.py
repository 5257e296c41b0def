"""From flags to a query: dates, limits, and the same said back in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from aspectra.app.output.screen import safe
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.search.plan import Plan

__all__ = ["in_words", "year_of"]

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_AGO = re.compile(r"(\d{1,3})\s*y(?:ears?)?")
_LONGEST = 100
_DIRECTION_WORDS = {
    "": "like {}",
    "builds-on": "what {} builds on",
    "built-on-by": "what builds on {}",
    "both": "what builds on {} or it builds on",
}


def year_of(text: str, flag: str) -> int:
    """The year a limit means: ``2020``, ``2020-05-01`` (papers carry years only) or ``3y`` (ago).

    >>> year_of("2020-05-01", "--since")
    2020
    """
    given = text.strip()
    if found := _DATE.fullmatch(given):
        month, day = int(found.group(2) or 1), int(found.group(3) or 1)
        if 1 <= month <= 12 and 1 <= day <= 31 and int(found.group(1)) > 0:
            return int(found.group(1))
    elif found := _AGO.fullmatch(given):
        return datetime.now(UTC).year - int(found.group(1))
    raise UsageError(
        f"{flag} does not understand {text!r}",
        hint=f"{flag} 2020, {flag} 2020-05-01 or {flag} 3y (years ago)",
    )


def in_words(plan: Plan) -> str:
    """What a plan asks, in one line: the words or seeds, the limits as they were understood, the planner."""
    from aspectra.search.planning.aspects import aspects_asked

    texts = list(dict.fromkeys(" ".join(p.text.split()) for p in plan.probes if p.text.strip()))
    seeds = list(dict.fromkeys(seed for p in plan.probes for seed in p.seeds))
    parts = [f"“{t[:_LONGEST]}{'…' if len(t) > _LONGEST else ''}”" for t in texts]
    if seeds:
        parts.append(_DIRECTION_WORDS.get(plan.direction, "like {}").format(", ".join(seeds)))
    for sign, word in ((1, "same"), (-1, "different")):
        if named := aspects_asked(plan.probes, sign):
            parts.append(f"{word} " + ", ".join(named))
    parts += [f"[{condition.spelling}]" for condition in plan.conditions]
    parts.append(plan.planner)
    parts += plan.stages
    return safe(" · ".join(parts), one_line=True)
