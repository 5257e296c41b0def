"""The protocol of a planner: a query and the views there are become a plan.

To add a planner, write one module in ``search/planners`` with a function decorated by
``@PLANNERS.register(name)`` and name it in :data:`PLANNERS`; third parties use the entry point group
``aspectra.planner``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.base.registry import Registry
from aspectra.search.instructions.understanding import understand
from aspectra.search.plan import Fusion, Plan
from aspectra.search.query import Query
from aspectra.views.kinds.protocol import ViewFacts
from aspectra.views.settings import ChunkSize
from aspectra.views.view import Probe

__all__ = ["DEFAULT_PLANNER", "PLANNERS", "Planner", "ViewNames", "bind", "plan_with", "probe"]

DEFAULT_PLANNER = "guided"


@dataclass(frozen=True, slots=True)
class ViewNames:
    """The views a planner may ask.

    Attributes:
        names: all of them.
        encoder: name of the default encoder, or "" when the library has lexical views only.
        lenses: names of the lenses that every paper was seen through.
        readings: name -> cues of the prompted lenses that have views of their own.
    """

    names: tuple[str, ...]
    encoder: str
    lenses: tuple[str, ...] = ()
    readings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def require(self, name: str) -> str:
        """``name`` itself.

        Raises:
            ViewMismatch: there is no such view.
        """
        if name not in self.names:
            raise ViewMismatch(
                f"the plan needs the view {name!r}",
                why="there are " + ", ".join(self.names),
                hint="aspectra index",
            )
        return name

    def words(self, base: str) -> str:
        """The view of words of ``base``."""
        return self.require(ViewFacts.words_of(base).name)

    def dense(self, base: str) -> str:
        """The dense view ``base`` of the default encoder."""
        if not self.encoder:
            raise ViewMismatch(
                "the plan needs a dense view, and the library has none",
                hint="aspectra index --encoder minilm",
            )
        return self.require(f"{base}@{self.encoder}")

    def chunks(self) -> str:
        """The base name of the smallest chunk size there is, or ""."""
        sizes = {facts.base: facts.chunks for facts in map(ViewFacts.of, self.names) if facts.chunks}
        return min(sizes, key=lambda base: ChunkSize.parse(sizes[base]).count, default="")


class Planner(Protocol):
    """A query and the views there are become a plan."""

    def __call__(self, query: Query, views: ViewNames) -> Plan: ...


PLANNERS: Registry[Planner] = Registry("planner", __package__)


def probe(query: Query, view: str, weight: float = 1.0) -> Probe:
    """The query's text and seeds, asked of one view."""
    return Probe(view, text=query.text, seeds=query.seeds, weight=weight)


def bind(name: str, query: Query, probes: Sequence[Probe], fusion: Fusion | None = None) -> Plan:
    """A plan that takes everything but its probes from the query; seeds are never shown."""
    return Plan(
        planner=name,
        probes=tuple(probes),
        fusion=fusion or Fusion(),
        conditions=query.conditions,
        exclude=query.seeds,
        limit=query.limit,
        evidence=query.evidence,
        versions=query.versions,
    )


def plan_with(planner: str | Planner, query: Query, views: ViewNames) -> Plan:
    """The plan of a planner for a query; every plan is made here.

    The instruction is read into conditions and aspects, and so is the text unless it is literal.

    Args:
        planner: itself, or its name.
        query: as somebody asked.
        views: the views there are.

    Raises:
        UsageError: the query has a direction, and the planner does not use one.
    """
    make = PLANNERS.get(planner) if isinstance(planner, str) else planner
    understood = understand(query)
    plan = replace(make(understood.query, views), unread=understood.unread)
    if query.direction and plan.direction != query.direction:
        raise UsageError(
            f"the planner {plan.planner} does not ask for a direction ({query.direction})",
            why="its ranking would be the same without",
            hint="leave the planner out, or: --planner directional",
        )
    return plan
