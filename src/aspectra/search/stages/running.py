"""Running the steps of a plan, one after the other."""

from __future__ import annotations

from collections.abc import MutableMapping
from time import perf_counter

from msgspec import Struct, field

from aspectra.base.values import replace
from aspectra.base.values import replace as changed
from aspectra.llm.budget import Cost, estimate
from aspectra.search.plan import Search, Step
from aspectra.search.stages.moves import Top
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
    moves: dict[str, tuple[Move, ...]] = field(default_factory=dict)


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
    cuts = [n for n, step in enumerate(steps) if isinstance(step, Top)] if prefixes is not None else []
    keys = {
        n: (f"{context.salt}/{changed(plan, steps=plan.steps[: n + 1], limit=0).hash}", wanted[n])
        for n in cuts
    }
    done: StageProgress | None = None
    start = 0
    for number in reversed(cuts):
        if prefixes and (done := prefixes.get(keys[number])) is not None:
            start = number + 1
            break
    last = max(n for n, step in enumerate(steps) if isinstance(step, Search))
    for number, step in enumerate(steps[start:], start):
        if isinstance(step, Search):
            within = None if done is None else _searched(context, done.state, wanted[number - 1]).ids
            state = SearchState(step, within, graded=number == last)
            done = StageProgress(state) if done is None else replace(done, state=state)
        elif done is not None:
            done = _after(step, done, wanted[number - 1], wanted[number], context)
            if number in keys and prefixes is not None:
                prefixes[keys[number]] = done
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
