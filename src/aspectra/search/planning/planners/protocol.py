"""The protocol of a planner: a query and the views there are become a search.

To add a planner, write one module in ``search/planners`` with a function decorated by
``@PLANNERS.register(name)`` and name it in :data:`PLANNERS`; third parties use the entry point group
``aspectra.planner``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.base.registry import Registry
from aspectra.search.plan import Search
from aspectra.search.query import Query
from aspectra.views.view import Probe

__all__ = ["DEFAULT_PLANNER", "PLANNERS", "Planner", "ViewNames", "probe", "search_with"]

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
        sizes = {n.partition("@")[0] for n in self.names if n.startswith("chunks-")}
        return min(sizes, key=lambda name: int(name[7:-1]), default="")


class Planner(Protocol):
    """A query and the views there are become a search."""

    def __call__(self, query: Query, views: ViewNames) -> Search: ...


PLANNERS: Registry[Planner] = Registry("planner", __package__)


def probe(query: Query, view: str, weight: float = 1.0) -> Probe:
    """The query's text and seeds, asked of one view."""
    return Probe(view, text=query.text, seeds=query.seeds, weight=weight)


def search_with(name: str, query: Query, views: ViewNames) -> Search:
    """What a planner makes of a query that was read already.

    Raises:
        UsageError: the query has a direction, and the planner does not use one.
    """
    search = PLANNERS.get(name)(query, views)
    if query.direction and search.direction != query.direction:
        raise UsageError(
            f"the planner {name} does not ask for a direction ({query.direction})",
            why="its ranking would be the same without",
            hint="leave the planner out, or: --planner directional",
        )
    return search
