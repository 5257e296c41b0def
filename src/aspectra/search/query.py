"""What somebody asks: words, seed papers, hard limits."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral
from typing import Any

from aspectra.base.checking import refuse_unknown
from aspectra.base.errors import UsageError
from aspectra.search.conditions.condition import Condition
from aspectra.search.planning.directions import check_direction

__all__ = ["Filters", "Query"]

_LONGEST_TEXT = 100_000
_MOST_SEEDS = 100


@dataclass(frozen=True, slots=True)
class Filters:
    """Hard limits: a paper that does not meet every one is never ranked.

    A paper without a known year, venue or language does not meet a limit on it.

    Attributes:
        since, until: first and last year, inclusive.
        venues: any of these, compared without case; ``*`` at an end matches anything.
        authors: any of these family names or whole names.
        languages: any of these primary tags, such as ``en``.
    """

    since: int | None = None
    until: int | None = None
    venues: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("venues", "authors", "languages"):
            value = getattr(self, name)
            # One name alone is taken as one name, never as its letters.
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        for name, year in (("since", self.since), ("until", self.until)):
            if year is not None and not isinstance(year, Integral):
                raise UsageError(f"{name} is {year!r}", why="it must be a year, as a whole number")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise UsageError(f"no year is both >= {self.since} and <= {self.until}")

    def __bool__(self) -> bool:
        return self != Filters()

    def to_dict(self) -> dict[str, Any]:
        """JSON form without unset limits."""
        return {
            k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items() if v not in (None, ())
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Filters:
        """Inverse of :meth:`to_dict`."""
        refuse_unknown(data, (f.name for f in fields(cls)), "filter")
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        return cls(**values)


@dataclass(frozen=True)
class Query:
    """A question, before it is planned.

    Attributes:
        text: free words, or "".
        seeds: ids of seed papers (resolved).
        same, different: aspects in which papers should be like the seeds (or the text), or unlike them; see
            :class:`~aspectra.search.planning.aspects.Aspect`.
        conditions: what the papers themselves should be like.
        instruction: the same in free words, or ""; who asks decides whether it is read.
        filters: hard limits.
        limit: papers wanted, 0 or more.
        evidence: sentences quoted per paper, 0 for none.
        direction: what the papers are to the seeds: ``builds-on`` (the seeds build on them), ``built-on-by``
            (they build on the seeds), ``both``, or "" for plain likeness.
        versions: ``best`` shows one version of a work and names the others; ``all`` ranks each by itself.
        lenses: lenses to look through, for planners that do; () leaves the choice to the planner.
    """

    text: str = ""
    seeds: tuple[str, ...] = ()
    filters: Filters = Filters()
    limit: int = 10
    evidence: int = 1
    versions: str = "best"
    instruction: str = ""
    same: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    direction: str = ""
    lenses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.text.strip() and not self.seeds:
            raise UsageError(
                "the query is empty", hint='give words, as in: aspectra search "graph pretraining"'
            )
        if self.limit < 0:
            raise UsageError(f"the limit is {self.limit}", why="it must be 0 or more", hint="--limit 10")
        if self.evidence < 0:
            raise UsageError("evidence must be 0 or more")
        if len(self.text) > _LONGEST_TEXT:
            raise UsageError(f"the query has {len(self.text):,} characters", why=f"at most {_LONGEST_TEXT:,}")
        if len(self.seeds) > _MOST_SEEDS:
            raise UsageError(f"{len(self.seeds)} seeds", why=f"at most {_MOST_SEEDS}")
        check_direction(self.direction, self.seeds)
        if self.versions not in ("best", "all"):
            raise UsageError(f"versions is {self.versions!r}", why="it must be best or all")

    def with_limit(self, limit: int) -> Query:
        """The same question for another number of papers."""
        return replace(self, limit=limit)
