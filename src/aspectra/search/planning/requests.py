"""What became of the words of a query, for people: applied, not applied, searched for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from aspectra.search.conditions.condition import Condition
from aspectra.search.conditions.grading import alternatives
from aspectra.search.plan import Plan
from aspectra.search.planning.aspects import aspects_asked
from aspectra.search.query import Unread

# How a warning of what was not applied begins.
NOT_APPLIED = "not applied:"


@dataclass(frozen=True, slots=True)
class Requests:
    """Three lists.

    Attributes:
        applied: conditions that are applied.
        aspects: that are compared: ``same method``.
        not_applied: words, or conditions that were given as such, that are not applied, with the reason.
        searched: texts and ids of seed papers that are searched for.
    """

    applied: tuple[Condition, ...] = ()
    aspects: tuple[str, ...] = ()
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
        applied = tuple(c for c in plan.conditions if c not in unknown)
        aspects = tuple(
            f"{word} {name}"
            for word, sign in (("same", 1), ("different", -1))
            for name in aspects_asked(plan.search.probes, sign)
        )
        missed = (Unread(condition.words or condition.label, why) for condition, why in unknown.items())
        searched = dict.fromkeys([*plan.search.texts, *plan.search.seeds])
        return cls(applied, aspects, (*plan.unread, *missed), tuple(searched))

    @property
    def rows(self) -> list[tuple[str, str]]:
        """For people: (name of a list beside its first item, an item); [] where no words held a request."""
        if not self.not_applied and not any(condition.words for condition in self.applied):
            return []
        applied = [*map(_in_words, alternatives(self.applied)), *self.aspects]
        missed = [
            f"“{u.words}”{f' ({u.why})' if u.why else ''}{f'; -c {quote(u.instead)}' if u.instead else ''}"
            for u in self.not_applied
        ]
        lists = (("applied", applied), ("not applied", missed), ("searched for", self.searched))
        return [
            (name if number == 0 else "", item)
            for name, items in lists
            for number, item in enumerate(dict.fromkeys(items))
        ]

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        applied = [
            {"request": c.label, "words": c.words, **({"by": c.by} if c.by else {})} for c in self.applied
        ]
        return {
            "applied": applied + [{"request": name, "words": ""} for name in self.aspects],
            "not_applied": [{"words": unread.words, "why": unread.why} for unread in self.not_applied],
            "searched": list(self.searched),
        }


def said_by(condition: Condition) -> str:
    """The words that a condition was read from, and who read it where that was not the rules."""
    return f"“{condition.words}”{f', read by {condition.by}' if condition.by else ''}"


def _in_words(group: Sequence[Condition]) -> str:
    """Alternatives as one request, with the words of the query."""
    words = dict.fromkeys(said_by(condition) for condition in group if condition.words)
    return " ".join((" or ".join(condition.label for condition in group), ", ".join(words))).rstrip()
