"""Recipes: the query-free part of a plan, as a value with a hash, written in TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from dataclasses import replace as changed
from pathlib import Path
from typing import Any, Literal, get_args

from aspectra.base.checking import refuse_unknown
from aspectra.base.errors import UsageError
from aspectra.base.hashing import digest
from aspectra.base.values import replace
from aspectra.search.plan import Fusion, Plan
from aspectra.search.planning.directions import DIRECTIONS
from aspectra.search.planning.planners.protocol import DEFAULT_PLANNER, PLANNERS, ViewNames, bind, plan_with
from aspectra.search.query import Query
from aspectra.search.spelling import split_line
from aspectra.search.stages.protocol import asked_with, read_stages
from aspectra.views.view import Probe

__all__ = ["ProbeRecipe", "Recipe"]

Instruction = Literal["ignore", "concat", "encoder", "read"]


@dataclass(frozen=True, slots=True)
class ProbeRecipe:
    """A probe without its question.

    Attributes:
        view: name of the view; ``{encoder}`` stands for the library's default encoder.
        weight, pooling, metric: as in :class:`Probe`.
    """

    view: str
    weight: float = 1.0
    pooling: str = "max"
    metric: str = "cosine"


@dataclass(frozen=True)
class Recipe:
    """How to search, whatever is asked.

    Attributes:
        name: what tables call it.
        planner: who plans, when no probes are given.
        probes: probes that every query asks with its text and seeds, instead of a planner.
        fusion: of these probes.
        instruction: what becomes of a query's instruction: ``ignore`` it, ``concat`` it to the text (the
            plain baseline of every retriever), hand it to the ``encoder`` (those trained for it), or ``read``
            it into conditions and aspects (the default recipe).
        first: another recipe whose best ``top`` papers are all that is ranked, or None.
        top: how many.
        stages: spellings of what happens after the search, see :mod:`aspectra.search.stages.protocol`.
        direction: what the papers are to a seed, as in :class:`Query`; only asked of queries with seeds.
    """

    name: str
    planner: str = "hybrid"
    probes: tuple[ProbeRecipe, ...] = ()
    fusion: Fusion = Fusion()
    instruction: Instruction = "concat"
    first: Recipe | None = None
    top: int = 200
    stages: tuple[str, ...] = ()
    direction: str = ""

    def __post_init__(self) -> None:
        if self.direction and self.direction not in DIRECTIONS:
            raise UsageError(f"unknown direction {self.direction!r}", why="known: " + ", ".join(DIRECTIONS))
        if self.instruction not in get_args(Instruction):
            raise UsageError(
                f"unknown use of instructions {self.instruction!r}",
                why="known: " + ", ".join(get_args(Instruction)),
            )
        if not self.probes and self.planner not in PLANNERS:
            PLANNERS.get(self.planner)  # raises with suggestions
        if self.top < 1:
            raise UsageError("a recipe's top must be 1 or more")
        object.__setattr__(self, "stages", read_stages(self.stages))

    @property
    def hash(self) -> str:
        """Changes with anything but the name."""
        return digest({k: v for k, v in self.to_dict().items() if k != "name"})[:12]

    def to_dict(self) -> dict[str, Any]:
        """JSON and TOML form."""
        out: dict[str, Any] = {"name": self.name, "instruction": self.instruction}
        if self.probes:
            out["fusion"] = {f.name: getattr(self.fusion, f.name) for f in fields(Fusion)}
            out["probes"] = [{f.name: getattr(p, f.name) for f in fields(ProbeRecipe)} for p in self.probes]
        else:
            out["planner"] = self.planner
        if self.stages:
            out["stages"] = list(self.stages)
        if self.direction:
            out["direction"] = self.direction
        if self.first is not None:
            out["top"] = self.top
            out["first"] = self.first.to_dict()
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Recipe:
        """Inverse of :meth:`to_dict`.

        Raises:
            UsageError: a field is unknown or of the wrong kind.
        """
        refuse_unknown(data, (f.name for f in fields(cls)), "field in a recipe")
        try:
            values = dict(data)
            values["probes"] = tuple(ProbeRecipe(**p) for p in data.get("probes", ()))
            values["stages"] = tuple(data.get("stages", ()))
            values["fusion"] = Fusion(**data.get("fusion", {}))
            if "first" in values:
                values["first"] = cls.from_dict(dict(values["first"]))
            return cls(**values)
        except TypeError as error:
            raise UsageError("the recipe cannot be read", why=str(error)) from error

    @classmethod
    def parse(cls, spec: str) -> Recipe:
        """From the command line: a TOML file, or planner names as in ``bm25`` or ``bm25>200>hybrid``.

        A direction follows its planner: ``directional:builds-on``; stages follow the last one behind bars.

        >>> Recipe.parse("bm25>100>dense").first.planner
        'bm25'
        >>> Recipe.parse("bm25|citations(seeds=10)|rerank(method=pairwise)").stages
        ('citations(seeds=10)', 'rerank(method=pairwise)')
        """
        if spec.endswith(".toml"):
            try:
                return cls.from_dict(tomllib.loads(Path(spec).read_text("utf-8")))
            except (OSError, ValueError) as error:
                raise UsageError(f"the recipe {spec} cannot be read", why=str(error)) from error
        names, *stages = split_line(spec, "|")
        parts = names.split(">")
        made = _named(cls, parts[0])
        rest = parts[1:]
        if len(rest) % 2:
            raise UsageError(f"{spec!r} is no recipe", why="write first>number>second, as in bm25>200>hybrid")
        for number, name in zip(rest[::2], rest[1::2], strict=True):
            if not number.isdigit():
                raise UsageError(f"{number!r} in {spec!r} is not a number of papers")
            made = changed(_named(cls, name), name=spec, first=made, top=int(number))
        return changed(made, name=spec, stages=tuple(stages)) if stages else made

    def to_toml(self) -> str:
        """As TOML."""
        import tomlkit  # slow to import, and only needed to write

        return tomlkit.dumps(self.to_dict())

    def plan(self, query: Query, views: ViewNames) -> Plan:
        """Bound to a query. The first stage is not part of it: see :meth:`order`."""
        asked = replace(query, direction=self.direction) if self.direction and query.seeds else query
        if self.instruction != "read":
            joined = (
                f"{query.text} {query.instruction}".strip() if self.instruction == "concat" else query.text
            )
            asked = replace(asked, text=joined, instruction="")
        plan = plan_with(self._probing if self.probes else self.planner, asked, views)
        if query.instruction and self.instruction == "encoder":
            plan = changed(plan, probes=tuple(changed(p, instruction=query.instruction) for p in plan.probes))
        return asked_with(plan, query, self.stages)

    def _probing(self, query: Query, views: ViewNames) -> Plan:
        """A plan of the recipe's own probes, each asked with the query's text and seeds."""
        probes = [
            Probe(
                p.view.replace("{encoder}", views.encoder),
                text=query.text,
                seeds=query.seeds,
                weight=p.weight,
                pooling=p.pooling,  # type: ignore[arg-type]  # checked by Probe
                metric=p.metric,  # type: ignore[arg-type]
            )
            for p in self.probes
        ]
        return bind(self.name, query, probes, self.fusion)

    def order(
        self, query: Query, views: ViewNames, run: Callable[[Plan], list[str]], within: tuple[str, ...] = ()
    ) -> Plan:
        """The last stage's plan, after its first stages have been run.

        Args:
            query: what is asked.
            views: the views there are.
            run: ids of a plan's papers, best first; called for each first stage.
            within: a pool that every stage is held to, or ().
        """
        if self.first is not None:
            before = self.first.order(query.with_limit(self.top), views, run, within)
            within = tuple(run(before)) or ("",)
        return changed(self.plan(query, views), within=within)


def _named(kind: type[Recipe], spec: str) -> Recipe:
    """The recipe of ``planner`` or ``planner:direction``."""
    planner, _, direction = spec.partition(":")
    return kind(spec, planner=planner, instruction=_usual(planner), direction=direction)


def _usual(planner: str) -> Instruction:
    """What becomes of instructions unless a recipe says otherwise: the default planner obeys them."""
    return "read" if planner == DEFAULT_PLANNER else "concat"
