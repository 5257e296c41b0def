"""What a person says beside the question, made into a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aspectra.app.session import Session

if TYPE_CHECKING:
    from aspectra.search.plan import Plan
    from aspectra.search.query import Query
    from aspectra.search.searcher import Searcher

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a person may say beside the question; fields as the options of that name."""

    since: str | None
    until: str | None
    venue: list[str] | None
    author: list[str] | None
    lang: list[str] | None
    all_versions: bool
    same: list[str] | None
    different: list[str] | None
    conditions: list[str] | None
    instruction: str = ""
    literal: bool = False
    direction: str | None = None
    lenses: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()

    def query(self, session: Session, text: str, seeds: tuple[str, ...]) -> Query:
        """The whole question."""
        from aspectra.app.options.reading import year_of
        from aspectra.search.conditions.condition import Condition, limits
        from aspectra.search.query import Query

        required = limits(
            since=None if self.since is None else year_of(self.since, "--since"),
            until=None if self.until is None else year_of(self.until, "--until"),
            venues=self.venue or (),
            authors=self.author or (),
            languages=self.lang or (),
        )
        return Query(
            text,
            seeds,
            same=_aspects(self.same),
            different=_aspects(self.different),
            conditions=(*required, *(Condition.parse(one) for one in self.conditions or ())),
            instruction=self.instruction,
            direction=self.direction or "",
            lenses=self.lenses,
            limit=session.config["search.limit"],
            evidence=session.config["search.evidence"],
            versions="all" if self.all_versions else "best",
            literal=self.literal,
        )

    def plan(self, session: Session, searcher: Searcher, query: Query) -> Plan:
        """The plan for it."""
        return searcher.plan(query, session.config["search.planner"], stages=self.stages)


def _aspects(given: list[str] | None) -> tuple[str, ...]:
    """Aspects of one or several flags, separated by commas too."""
    return tuple(part.strip() for one in given or () for part in one.split(",") if part.strip())
