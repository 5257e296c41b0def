"""What became of the words of a query, for people: applied, not applied, searched for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from aspectra.search.conditions.condition import Condition
from aspectra.search.plan import Plan
from aspectra.search.planning.aspects import aspects_asked
from aspectra.search.query import Unread

__all__ = ["NOT_APPLIED", "Requests"]

# How a warning of what was not applied begins.
NOT_APPLIED = "not applied:"


@dataclass(frozen=True, slots=True)
class Requests:
    """Three lists.

    Attributes:
        applied: (condition or aspect, the words that it was read from, or "" where it was given as such).
        not_applied: words, or conditions that were given as such, that are not applied, with the reason.
        searched: texts and ids of seed papers that are searched for.
    """

    applied: tuple[tuple[str, str], ...] = ()
    not_applied: tuple[Unread, ...] = ()
    searched: tuple[str, ...] = ()

    @classmethod
    def of(cls, plan: Plan, without_data: Iterable[tuple[Condition, str]] = ()) -> Requests:
        """Those of a plan.

        Args:
            plan: before or after it was run.
            without_data: conditions of which nothing is known of any paper, with the reason; known once it
                was run.
        """
        unknown = dict(without_data)
        applied = [(c.label, c.words) for c in plan.conditions if c not in unknown]
        for word, sign in (("same", 1), ("different", -1)):
            applied += [(f"{word} {name}", "") for name in aspects_asked(plan.search.probes, sign)]
        missed = (Unread(condition.words or condition.label, why) for condition, why in unknown.items())
        searched = dict.fromkeys([*plan.search.texts, *plan.search.seeds])
        return cls(tuple(applied), (*plan.unread, *missed), tuple(searched))

    @property
    def rows(self) -> list[tuple[str, str]]:
        """For people: (name of a list, what it holds); none where the words of the query held no request."""
        if not self.not_applied and not any(words for _, words in self.applied):
            return []
        applied = (f"{what} “{words}”" if words else what for what, words in self.applied)
        missed = (f"“{u.words}”{f' ({u.why})' if u.why else ''}" for u in self.not_applied)
        lists = (("applied", applied), ("not applied", missed), ("searched for", self.searched))
        return [(name, " · ".join(found)) for name, items in lists if (found := list(items))]

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "applied": [{"request": what, "words": words} for what, words in self.applied],
            "not_applied": [{"words": unread.words, "why": unread.why} for unread in self.not_applied],
            "searched": list(self.searched),
        }
