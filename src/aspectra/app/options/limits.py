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
    literal: bool = True
    direction: str | None = None
    lenses: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()

    def query(self, session: Session, text: str, seeds: tuple[str, ...]) -> Query:
        """The whole question."""
        from aspectra.app.options.reading import year_of
        from aspectra.search.conditions.condition import Condition
        from aspectra.search.query import Filters, Query

        filters = Filters(
            since=None if self.since is None else year_of(self.since, "--since"),
            until=None if self.until is None else year_of(self.until, "--until"),
            venues=tuple(self.venue or ()),
            authors=tuple(self.author or ()),
            languages=tuple(self.lang or ()),
        )
        return Query(
            text,
            seeds,
            filters,
            session.config["search.limit"],
            session.config["search.evidence"],
            "all" if self.all_versions else "best",
            self.instruction,
            _aspects(self.same),
            _aspects(self.different),
            tuple(Condition.parse(chip) for chip in self.conditions or ()),
            self.direction or "",
            self.lenses,
        )

    def plan(self, session: Session, searcher: Searcher, query: Query) -> Plan:
        """The plan for it, with wishes in the text read unless it is to be taken literally."""
        planner = session.config["search.planner"]
        return searcher.plan(query, planner, read_text=not self.literal, stages=self.stages)


def _aspects(given: list[str] | None) -> tuple[str, ...]:
    """Aspects of one or several flags, separated by commas too."""
    return tuple(part.strip() for one in given or () for part in one.split(",") if part.strip())
