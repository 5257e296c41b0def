"""Steps of a plan run one after the other, and stages without a language model.

These cut, shuffle, or continue from the papers found. ``citations`` is LitSearch's one hop (section 3.2),
``chain`` a chain of searches from papers that were found (:mod:`aspectra.search.scoring.chain`). ``feedback``
is below.
"""

from __future__ import annotations

import random
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from itertools import chain
from time import perf_counter
from typing import ClassVar

import msgspec
from msgspec import Struct

from aspectra.base.errors import UsageError
from aspectra.base.registry import spell
from aspectra.base.values import replace
from aspectra.llm.budget import Cost, estimate
from aspectra.search.plan import Search, Step
from aspectra.search.scoring.chain import Chain
from aspectra.search.stages.protocol import STAGES, Context, SearchState, Stage

# (step, place before, place after); places count from 1, and None before means that the step brought it.
Move = tuple[str, int | None, int]


class StageProgress(Struct, frozen=True):
    """Result of a plan's steps so far.

    Attributes:
        state: the papers.
        steps: what each stage did.
        moves: id -> its moves, for papers whose place a stage changed.
    """

    state: SearchState
    steps: tuple[Step, ...] = ()
    moves: dict[str, tuple[Move, ...]] = msgspec.field(default_factory=dict)


# What plans that begin alike have come to where their papers were cut.
Prefixes = MutableMapping[tuple[str, int], StageProgress]


def run_steps(context: Context, limit: int, prefixes: Prefixes | None = None) -> StageProgress:
    """Run the steps of the context's plan.

    Args:
        context: see there.
        limit: papers wanted in the end.
        prefixes: looked up and filled, so that plans of one question that begin alike share that part.

    Raises:
        UsageError: a stage is unknown, or needs a model and none is set. Nothing that a model does raises.
    """
    plan = context.plan
    steps: list[Search | Stage] = [
        step if isinstance(step, Search) else STAGES.read(step) for step in plan.steps
    ]
    for step in steps:
        if not isinstance(step, Search) and step.needs_model:
            context.require(step.name)
    wanted = [limit]  # papers that each step returns
    for step in reversed(steps[1:]):
        wanted.insert(0, len(context.engine) if isinstance(step, Search) else step.papers_read(wanted[0]))
    known: Prefixes = {} if prefixes is None else prefixes
    keys = {
        n: (f"{context.salt}/{replace(plan, steps=plan.steps[: n + 1], limit=0).hash}", wanted[n])
        for n, step in enumerate(steps)
        if isinstance(step, Top) and prefixes is not None
    }
    shared = ((n + 1, held) for n in reversed(keys) if (held := known.get(keys[n])) is not None)
    start, done = next(shared, (0, None))
    last = max(n for n, step in enumerate(steps) if isinstance(step, Search))
    for number, step in enumerate(steps[start:], start):
        if isinstance(step, Search):
            within = None if done is None else _searched(context, done.state, wanted[number - 1]).ids
            state = SearchState(step, within, graded=number == last)
            done = StageProgress(state) if done is None else replace(done, state=state)
        elif done is not None:
            done = _after(step, done, wanted[number - 1], wanted[number], context)
            if number in keys:
                known[keys[number]] = done
    if done is None:  # a plan begins with a search
        raise AssertionError("no search was run")
    return replace(done, state=_searched(context, done.state, limit))


def estimate_steps(context: Context) -> list[tuple[str, Cost]]:
    """(stage, what its questions cost at most) of stages whose questions are known before the search.

    Where the context has a model, answers that its journal holds are left out, and its price is used.
    """
    out = []
    search = context.plan.searches[0]
    holds = getattr(context.model, "holds", lambda _: False)
    for step in context.plan.steps:
        if isinstance(step, Search):
            search = step
            continue
        stage = STAGES.read(step)
        if hasattr(stage, "requests"):
            new = [one for one in stage.requests(search, context) if not holds(one)]
            out.append((stage.name, estimate(new, getattr(context.model, "price", None))))
    return out


def _searched(context: Context, state: SearchState, count: int) -> SearchState:
    """The state with papers, if it had none yet."""
    return state if state.rows is not None else state.found(context.search(state, count))


def _after(stage: Stage, done: StageProgress, read: int, wanted: int, context: Context) -> StageProgress:
    """The progress after a stage that reads ``read`` papers and returns ``wanted``."""
    before = _searched(context, done.state, read) if stage.papers_read(wanted) else done.state
    clock = perf_counter()
    after, step = stage.run(before, wanted, context)
    moves = dict(done.moves)
    if before.ids and not after.scores:
        places = {paper: place for place, paper in enumerate(before.ids, start=1)}
        for place, paper in enumerate(after.ids, start=1):
            if places.get(paper) != place:
                moves[paper] = (*moves.get(paper, ()), (stage.name, places.get(paper), place))
    return StageProgress(after, (*done.steps, replace(step, seconds=perf_counter() - clock)), moves)


@STAGES.register("top")
@dataclass(frozen=True)
class Top:
    """The first papers, as in ``bm25 | top(200) | hybrid``.

    Attributes:
        count: how many.
    """

    name: ClassVar[str] = "top"
    needs_model: ClassVar[bool] = False
    count: int = field(default=100, metadata={"bare": True})

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError(f"top({self.count}) leaves no paper", why="the number must be 1 or more")

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return min(wanted, self.count)

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return state.top(self.count), Step(spell(self))


@STAGES.register("shuffle")
@dataclass(frozen=True)
class Shuffle:
    """All papers of a pool, those too that the search did not rank, in an order drawn from the seed.

    Without a pool: the papers that the search found. OBLIQ-Bench, section 3, puts documents before
    its verifier like this, so that neither the search nor their source helps it.

    Attributes:
        seed: of the order; every repeat of an experiment and every pool has another one.
    """

    name: ClassVar[str] = "shuffle"
    needs_model: ClassVar[bool] = False
    seed: int = 0

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return wanted

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        pool = context.plan.within
        papers = sorted(state.ids if pool is None else context.engine.passing(context.plan, pool))
        random.Random("\n".join([str(self.seed), context.salt, *papers])).shuffle(papers)  # noqa: S311
        return state.ordered(papers), Step(spell(self))


@STAGES.register("chain")
@dataclass(frozen=True)
class ChainStage(Chain):
    """The search before it goes on for further rounds, as in ``prism | chain(depth=3)``."""

    name: ClassVar[str] = "chain"
    needs_model: ClassVar[bool] = False

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return 0

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`.

        Raises:
            UsageError: it does not follow a search, or one that cannot be continued.
        """
        if state.rows is not None:
            raise UsageError(
                "a chain follows a search", why="papers were found and changed before", hint="prism | chain"
            )
        return state.found(context.search(state, wanted, self)), Step(spell(self))


@STAGES.register("citations")
@dataclass(frozen=True)
class Citations:
    """First paper, what it cites, second paper, what it cites ...; each paper once, at its first place.

    Attributes:
        seeds: of how many of the first papers the citations are followed (m, published with 50).
        most: how long the list may get (n, published with 200).
    """

    name: ClassVar[str] = "citations"
    needs_model: ClassVar[bool] = False
    seeds: int = 50
    most: int = 200

    def __post_init__(self) -> None:
        if self.seeds < 1 or self.most < 1:
            raise UsageError("citations needs at least 1 paper to start from and 1 to end with")

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return max(wanted, self.seeds)

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        ids, engine, library = state.ids, context.engine, context.engine.library
        first = ids[: self.seeds]
        # Limits and conditions hold for what is cited as for what was found.
        behind = [engine.passing(context.plan, library.cites(paper)) for paper in first]
        cited = sum(map(len, behind))
        lists = ((paper, *some) for paper, some in zip(first, behind, strict=True))
        order = list(dict.fromkeys(chain.from_iterable(lists)))[: self.most]
        joined = len(set(order).difference(ids))
        note = f"{len(first)} papers cite {cited} of the library; {joined} joined the list"
        if not cited:
            note = "no citations are known of these papers, so none joined: add references, or full texts"
        return state.ordered((*order, *ids)), Step(spell(self), (note,))


@STAGES.register("feedback")
@dataclass(frozen=True)
class Feedback:
    """Each probe is repeated with papers as its seeds, at a lower weight.

    Rocchio adds vectors; here scores in deviations are added, which works for words and vectors alike and can
    be read in the plan.

    Attributes:
        papers: how many of the first papers are taken to be right; with ``decided``, how many of those that
            were included last, and of those that were excluded last.
        weight: of their probes, as a share of the probe's own.
        decided: take the papers that the searcher included; what was excluded pushes away.
        against: weight of the excluded papers' probes, as a share of the probe's own; 0: they do not count.
    """

    name: ClassVar[str] = "feedback"
    needs_model: ClassVar[bool] = False
    papers: int = 3
    weight: float = 0.5
    decided: bool = False
    against: float = 0.0

    def __post_init__(self) -> None:
        if self.papers < 1 or not 0 < self.weight < 10 or not 0 <= self.against < 10:
            raise UsageError("feedback needs at least 1 paper, a weight above 0, and 0 or more against")

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return 0 if self.decided else self.papers

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        if not self.decided:
            first = state.ids[: self.papers]
            if not first:
                return state, Step(spell(self), ("nothing was found, so nothing joined the question",))
            return state.anew(self._joined(state.search, first, self.weight)), self._said(first, ())
        liked, disliked = self._decided(context)
        if not liked and not disliked:
            return state, Step(spell(self), ("no paper was decided on, so nothing joined the question",))
        search = self._joined(state.search, liked, self.weight)
        if self.against and disliked:
            pushed = self._joined(state.search, disliked, -self.against)
            search = replace(search, probes=(*search.probes, *pushed.probes[len(state.search.probes) :]))
        return state.anew(search), self._said(liked, disliked if self.against else ())

    def _decided(self, context: Context) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Ids that were included, and excluded, last; the newest first, and one of each work."""
        index = context.engine.index
        known = index.library.marks.decisions().items()
        made = sorted(((d.at, i, d.decision) for i, d in known if i in index.positions), reverse=True)
        versions = index.library.versions(i for _, i, _ in made)
        done = set[str]()
        chosen: dict[str, list[str]] = {"include": [], "exclude": []}
        for _, paper, decision in made:
            if paper not in done and decision in chosen:
                chosen[decision].append(paper)
                done |= {paper, *versions.get(paper, ())}
        liked, disliked = (tuple(chosen[name][: self.papers]) for name in ("include", "exclude"))
        return liked, disliked

    @staticmethod
    def _joined(search: Search, papers: tuple[str, ...], weight: float) -> Search:
        """The search with echoes of its probes that have the papers as seeds."""
        if not papers:
            return search
        echoes = [
            replace(
                probe, text="", seeds=papers, seeds_as="", weight=probe.weight * weight, aspect="feedback"
            )
            for probe in search.probes
            if probe.weight > 0 and not probe.matching
        ]
        return replace(search, probes=(*search.probes, *echoes))

    def _said(self, liked: tuple[str, ...], disliked: tuple[str, ...]) -> Step:
        said = [f"{', '.join(liked)} joined the question"] if liked else []
        said += [f"{', '.join(disliked)} pushed away"] if disliked else []
        return Step(spell(self), tuple(said))
