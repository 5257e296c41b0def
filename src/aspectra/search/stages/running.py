"""Running a plan's stages, and dressing what comes of them as a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from aspectra.search.plan import Plan
from aspectra.search.ranking import Ranking
from aspectra.search.spelling import read_member
from aspectra.search.stages.protocol import STAGES, Context, Draft, Stage, Step

if TYPE_CHECKING:
    from aspectra.search.searcher import Searcher

__all__ = ["Staged", "run_stages", "staged_ranking"]


@dataclass(frozen=True)
class Staged:
    """What came of a plan's stages.

    Attributes:
        plan: the last wording, without stages.
        ids: papers, best first.
        steps: what each stage did.
        moves: id -> (stage, place before, place after) for each stage that changed its place; places count
            from 1, and None before means that the stage brought it.
    """

    plan: Plan
    ids: tuple[str, ...]
    steps: tuple[Step, ...]
    moves: Mapping[str, tuple[tuple[str, int | None, int], ...]]


async def run_stages(context: Context, limit: int) -> Staged:
    """Run the stages of the context's plan, one after the other.

    Args:
        context: see there.
        limit: papers wanted in the end.

    Raises:
        UsageError: a stage is unknown, or needs a model and there is none. Nothing that a model does raises.
    """
    stages: list[Stage] = [read_member(STAGES.get, text, "stage") for text in context.plan.stages]
    for stage in stages:
        if stage.needs_model:
            context.require(stage.name)
    wanted = [limit]
    for stage in reversed(stages):
        wanted.insert(0, stage.reach(wanted[0]))
    draft = Draft(replace(context.plan, stages=()))
    steps, moves = [], dict[str, tuple[tuple[str, int | None, int], ...]]()
    for number, stage in enumerate(stages):
        if draft.ids is None and stage.reach(0) > 0:
            draft = replace(draft, ids=context.search(draft.plan, wanted[number]))
        clock = perf_counter()
        after, step = await stage.run(draft, wanted[number + 1], context)
        step = replace(step, cost=step.priced(getattr(context.model, "price", None)))
        steps.append(replace(step, seconds=perf_counter() - clock))
        if draft.ids is not None and after.ids is not None:
            before = {paper: place for place, paper in enumerate(draft.ids, start=1)}
            for place, paper in enumerate(after.ids, start=1):
                if before.get(paper) != place:
                    moves[paper] = (*moves.get(paper, ()), (stage.name, before.get(paper), place))
        draft = after
    ids = context.found(draft, limit)[:limit]
    return Staged(draft.plan, ids, tuple(steps), {i: moves[i] for i in ids if i in moves})


def staged_ranking(searcher: Searcher, plan: Plan, *, explain: bool = False) -> Ranking:
    """The ranking of a plan with stages: their order, dressed as the search itself would dress it.

    Quotes and scores of probes are those of the question as it was asked, whatever the stages made of it.
    """
    clock = perf_counter()
    index = searcher.index
    staged = searcher.staged(plan.with_limit(searcher.depth(plan)))
    ids = [i for i in staged.ids if i in index.positions]
    positions = np.array([index.positions[i] for i in ids], dtype=np.int64)
    chosen, twins = searcher.one_version_each(plan, positions)
    ids = [ids[place] for place in chosen]
    asked = replace(plan, stages=(), within=tuple(ids), limit=len(ids), versions="all")
    dressed = {hit.id: hit for hit in searcher.run(asked, explain=explain)} if ids else {}
    shown = [dressed[i] for i in ids if i in dressed]
    hits = tuple(
        replace(
            hit,
            rank=place,
            score=float(len(shown) - place + 1),
            versions=tuple(twins.get(hit.id, ())),
            moves=staged.moves.get(hit.id, ()),
        )
        for place, hit in enumerate(shown, start=1)
    )
    warnings = [warning for step in staged.steps for warning in step.warnings()] + searcher.warnings(plan)
    seconds = perf_counter() - clock
    return Ranking(plan, hits, tuple(warnings), seconds, index.folder.name, staged.steps)
