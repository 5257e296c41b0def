"""Recipes: the query-free part of a plan, as a value with a hash, on one line or in TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self, get_args

from msgspec import structs

from aspectra.base.errors import UsageError, check_length, unknown_name
from aspectra.base.files import digest
from aspectra.base.registry import read_member, spell, split_line
from aspectra.base.values import Value, force_setattr, replace
from aspectra.search.instructions.understanding import Understood, understand
from aspectra.search.plan import MOST_STEPS, Fusion, Plan, Search
from aspectra.search.planning.aspects import Aspect, named_sentences
from aspectra.search.planning.index_views import for_encoders
from aspectra.search.planning.planners.guided import Likeness
from aspectra.search.planning.planners.protocol import (
    DEFAULT_PLANNER,
    PLANNERS,
    Options,
    ViewNames,
    search_with,
)
from aspectra.search.query import DIRECTIONS, Query
from aspectra.search.stages.protocol import STAGES, read_stages
from aspectra.views.view import Matching, Metric, Pooling, Probe

Instruction = Literal["", "ignore", "concat", "encoder", "read"]
_LAST_ONLY: dict[str, Any] = {"direction": "", "lenses": (), "same_sentences": (), "roles": ()}


class ProbeRecipe(Value, frozen=True):
    """A probe without its question.

    Attributes:
        view: name of the view; ``{encoder}`` stands for the library's default encoder, ``{chunks}`` for its
            smallest chunks.
        weight, pooling, metric, matching, asking, reverse: as in :class:`~aspectra.views.view.Probe`.
        aspect: whether only sentences of the aspects that the query names are compared, those of several
            aspects with an equal share of the weight; all sentences where it names none.
    """

    view: str
    weight: float = 1.0
    pooling: Pooling = "max"
    metric: Metric = "cosine"
    matching: Matching = ""
    asking: str = ""
    reverse: bool = False
    aspect: bool = False

    def __post_init__(self) -> None:
        if self.aspect and not self.matching:
            raise UsageError(
                f"the probe on {self.view} compares sentences of an aspect, and has no matching",
                hint='aspect = true, matching = "transport"',
            )


class SearchRecipe(Value, frozen=True):
    """A search by own probes instead of a planner's; each gets the query's text and seeds."""

    probes: tuple[ProbeRecipe, ...]
    fusion: Fusion = Fusion()


class Recipe(Value, frozen=True):
    """A way to search, without a query.

    Attributes:
        name: what tables call it.
        steps: searches, and what happens to their results, in order. A search is the name of a planner
            (``bm25``, ``directional(direction=builds-on)``) or has probes of its own; it ranks the papers of
            the step before it. Other steps are stages, see :mod:`aspectra.search.stages.protocol`.
        instruction: treatment of a query's instruction: ``ignore`` it, ``concat`` it to the text, which
            for a seed is the paper's (the plain baseline of every retriever), hand it to the ``encoder``
            (those trained for it), or ``read`` it into conditions and aspects. "": the default planner reads
            it, others concatenate it.
    """

    name: str
    steps: tuple[str | SearchRecipe, ...]
    instruction: Instruction = ""

    def __post_init__(self) -> None:
        if self.instruction not in get_args(Instruction):
            known = get_args(Instruction)[1:]
            raise unknown_name(f"unknown use of instructions {self.instruction!r}", self.instruction, known)
        check_length("steps in a recipe", self.steps, MOST_STEPS, hint="leave out some")
        force_setattr(self, "steps", tuple(_checked(step) for step in self.steps))
        if not self.steps or not _is_search(self.steps[0]):
            raise UsageError(
                f"the recipe {self.name!r} does not begin with a search",
                why="planners: " + ", ".join(PLANNERS),
                hint="bm25 | top(200) | hybrid | rerank",
            )

    @property
    def hash(self) -> str:
        """Changes with anything but the name."""
        return digest(replace(self, name="").to_dict())[:12]

    @property
    def searches(self) -> tuple[str | SearchRecipe, ...]:
        """Its steps that are searches."""
        return tuple(step for step in self.steps if _is_search(step))

    @property
    def stages(self) -> tuple[str, ...]:
        """Its steps other than searches."""
        return tuple(step for step in self.steps if isinstance(step, str) and not _is_search(step))

    @classmethod
    def parse(cls, spec: str, instruction: Instruction = "") -> Self:
        """Read one line, steps between bars; or a TOML file.

        Args:
            spec: ``bm25 | top(200) | hybrid | rerank(method=pairwise)``, or a path that ends in ``.toml``.
            instruction: see :class:`Recipe`; a file has its own.

        >>> Recipe.parse("bm25|top(100)|dense").steps
        ('bm25', 'top(100)', 'dense')

        Raises:
            UsageError: a step is unknown, or the first one is not a search.
        """
        if spec.endswith(".toml"):
            return cls.load(Path(spec))
        steps = tuple(part.strip() for part in split_line(spec, "|"))
        made = cls(spec, steps, instruction)
        return replace(made, name=" | ".join(map(str, made.steps)))

    def plan(self, query: Query, views: ViewNames) -> Plan:
        """The recipe bound to a query.

        A direction, lenses and named sentences of the query are for the last search.

        Raises:
            UsageError, ViewMismatch: a search cannot be planned for this query, or on these views.
        """
        last = max(n for n, step in enumerate(self.steps) if _is_search(step))
        steps: list[Search | str] = []
        understood = Understood(query)
        for number, step in enumerate(self.steps):
            if isinstance(step, str) and not _is_search(step):
                steps.append(step)
                continue
            asked = query if number == last else replace(query, **_LAST_ONLY)
            search, understood = self._search(step, asked, views)
            steps.append(search)
        made = [step for step in steps if isinstance(step, Search)]
        if query.any_year and not any(search.direction for search in made):
            raise UsageError(
                "any-year belongs to a direction",
                why="no search of this plan leaves out years",
                hint="aspectra similar ID --direction builds-on --any-year",
            )
        return Plan(
            tuple(steps),
            understood.query.conditions,
            exclude=query.seeds,
            limit=query.limit,
            evidence=query.evidence,
            versions=query.versions,
            unread=understood.unread,
            text=query.text if self.stages else "",
            instruction=query.instruction if self.stages else "",
            same=_told(understood.query.same, views, query.same_sentences) if self.stages else None,
            different=_told(understood.query.different, views) if self.stages else None,
        )

    def _search(self, step: str | SearchRecipe, query: Query, views: ViewNames) -> tuple[Search, Understood]:
        """One search, and the query as it was read for it."""
        name, options = (self.name, Options()) if isinstance(step, SearchRecipe) else _called(step)
        usual: Instruction = "read" if name == DEFAULT_PLANNER else "concat"
        how = self.instruction or usual
        asked = query
        if options.direction and query.seeds:
            asked = replace(asked, direction=options.direction)
        if options.any_year:
            asked = replace(asked, any_year=True)
        if how != "read":
            joined = f"{query.text} {query.instruction}".strip() if how == "concat" else query.text
            asked = replace(asked, text=joined, instruction="")
        readers = (views.wordings, views.hints, views.second) if how == "read" else ()
        understood = understand(asked, views.venues, *readers)
        if isinstance(step, SearchRecipe):
            probes = [one for probe in step.probes for one in _bound(probe, understood.query, views)]
            search = Search(name, tuple(probes), step.fusion)
        else:
            search = search_with(name, understood.query, views, options)
        told, joined = (query.instruction if how == way else "" for way in ("encoder", "concat"))
        search, ignored = for_encoders(search, views, told, joined=bool(joined))
        return search, replace(understood, unread=(*understood.unread, *ignored))


def _told(aspects: tuple[str, ...], views: ViewNames, sentences: tuple[int, ...] = ()) -> tuple[str, ...]:
    """Aspects and sentences that a query names, in the words for stages, each once."""
    named = (named_sentences(sentences).name,) if sentences else ()
    return tuple(dict.fromkeys((*(Aspect.parse(aspect, views.own).told for aspect in aspects), *named)))


def _bound(probe: ProbeRecipe, query: Query, views: ViewNames) -> list[Probe]:
    """The probe for a query; one for each of its aspects where the recipe compares those."""
    names = {"encoder": views.encoder, "chunks": views.chunks()}
    views_of = {name: getattr(probe, name).format(**names) for name in ("view", "asking")}
    fields = structs.asdict(probe) | views_of | {"aspect": ""}
    made = Probe(**fields, text="" if probe.reverse else query.text, seeds=query.seeds)
    asked = len(query.same) + bool(query.same_sentences)
    if not probe.aspect or not asked:
        return [made]
    made = replace(made, weight=probe.weight / asked)
    like = Likeness(query, views, (probe.matching,))
    out = []
    for aspect in (Aspect.parse(one, views.own) for one in query.same):
        own = replace(made, text=aspect.terms, seeds=()) if aspect.terms else made
        out.append(like.narrowed(own, aspect))
    if numbers := query.same_sentences:
        name = named_sentences(numbers).name
        out.append(replace(made, aspect=name, sentences=numbers, text=""))
    return out


def _is_search(step: str | SearchRecipe) -> bool:
    return isinstance(step, SearchRecipe) or step.partition("(")[0] in PLANNERS


def _checked(step: str | SearchRecipe) -> str | SearchRecipe:
    """A step as it prints.

    Raises:
        UsageError: it is unknown, or has an option that it does not take.
    """
    if isinstance(step, SearchRecipe):
        return step
    name = step.partition("(")[0].strip()
    if name not in PLANNERS:
        if name not in STAGES:
            raise unknown_name(f"there is no step called {name!r}", name, [*PLANNERS, *STAGES])
        return read_stages([step])[0]
    name, options = _called(step)
    return f"{name}{spell(options)}"


def _called(step: str) -> tuple[str, Options]:
    """Name and options of a planner.

    Raises:
        UsageError: an option that it does not have, or a value that an option cannot have.
    """
    name = step.partition("(")[0].strip()
    options: Options = read_member(lambda _: PLANNERS.get(name).options, step, "planner")
    if options.direction and options.direction not in DIRECTIONS:
        raise unknown_name(f"unknown direction {options.direction!r}", options.direction, DIRECTIONS)
    return name, options
