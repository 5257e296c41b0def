"""Queries: text, seeds and conditions of a search, as one value that every surface fills in."""

from __future__ import annotations

from typing import Literal, get_args

from aspectra.base.checking import unknown_name
from aspectra.base.errors import UsageError
from aspectra.base.values import Value, force_setattr
from aspectra.search.conditions.condition import Condition, as_names, distinct

__all__ = ["DIRECTIONS", "Query", "Versions"]

Versions = Literal["best", "all"]
DIRECTIONS = ("builds-on", "built-on-by", "both")

_LONGEST_TEXT = 100_000
_MOST_SEEDS = 100


class Query(Value, frozen=True):
    """A question, before it is planned.

    Attributes:
        text: free words, or "".
        seeds: ids of seed papers (resolved).
        same, different: aspects in which papers should be like the seeds (or the text), or unlike them; see
            :class:`~aspectra.search.planning.aspects.Aspect`.
        conditions: what the papers themselves should be like, each once; limits on year, venue, author and
            language are conditions too, see :func:`~aspectra.search.conditions.condition.limits`.
        instruction: what the papers should be like, in free words, or "".
        direction: what the papers are to the seeds: ``builds-on`` (the seeds build on them), ``built-on-by``
            (they build on the seeds), ``both``, or "" for plain likeness.
        lenses: lenses to search through, for planners that use them; () leaves the choice to the planner.
        limit: papers wanted, 0 or more.
        evidence: sentences quoted per paper, 0 for none.
        versions: ``best`` shows one version of a work and names the others; ``all`` ranks each by itself.
        literal: search the text as it is; otherwise constraints in it are read and applied, as those of the
            instruction always are.

    Raises:
        UsageError: there is neither text nor seed, or a field has an impossible value.

    >>> Query("owls", limit=3).limit
    3
    """

    text: str = ""
    seeds: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    instruction: str = ""
    direction: str = ""
    lenses: tuple[str, ...] = ()
    limit: int = 10
    evidence: int = 1
    versions: Versions = "best"
    literal: bool = False

    def __post_init__(self) -> None:
        for name in ("seeds", "same", "different", "lenses"):
            force_setattr(self, name, as_names(getattr(self, name)))
        force_setattr(self, "conditions", distinct(self.conditions))
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
        _check_direction(self.direction, self.seeds)
        if self.versions not in get_args(Versions):
            raise UsageError(f"versions is {self.versions!r}", why="it must be best or all")


def _check_direction(direction: str, seeds: tuple[str, ...]) -> None:
    if direction and direction not in DIRECTIONS:
        raise unknown_name(f"unknown direction {direction!r}", direction, DIRECTIONS)
    if direction and not seeds:
        raise UsageError(
            f"a direction ({direction}) needs a seed paper",
            why="words alone neither build on papers nor are built on",
            hint=f"aspectra similar ID --direction {direction}",
        )
