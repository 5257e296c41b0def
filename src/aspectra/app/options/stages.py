"""The options of ``search``, ``similar`` and ``plan`` that name stages, and the model that stages ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aspectra.app.options.model import cost_in_words, model_settings
from aspectra.app.output.screen import safe
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.app.session import Session
    from aspectra.llm.assemble import Model
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import Ranking
    from aspectra.search.searcher import Searcher

__all__ = [
    "AgentFlag",
    "Asked",
    "Depth",
    "Expand",
    "FullText",
    "Kind",
    "RerankMethod",
    "RewriteFlag",
    "StageText",
    "answering_model",
    "asking",
    "say_steps",
    "stages_of",
]

RerankMethod = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="METHOD",
        help="Judge and sorter, as listwise+tournament.",
        show_default=False,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option("--depth", metavar="N", help="Rerank the first N papers [100].", show_default=False, min=1),
]
FullText = Annotated[bool, typer.Option("--judge-full-text", help="Let judges see full texts too.")]
RewriteFlag = Annotated[bool, typer.Option("--rewrite", help="Let the model word the question anew.")]
AgentFlag = Annotated[bool, typer.Option("--agent", help="Let the model search and read in four hops.")]
Expand = Annotated[
    list[str] | None,
    typer.Option(metavar="HOW", help="citations of what is found, or feedback from it.", show_default=False),
]
Kind = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="What fits: stance, failure, technique, authorship, recollection.",
        show_default=False,
    ),
]
StageText = Annotated[
    list[str] | None,
    typer.Option(
        "--stage", metavar="STAGE", help="Any stage, as 'agent(hops=6)'; again for more.", show_default=False
    ),
]


def stages_of(
    *,
    rewrite: bool = False,
    agent: bool = False,
    expand: Sequence[str] | None = None,
    rerank: str | None = None,
    depth: int | None = None,
    full: bool = False,
    kind: str | None = None,
    stages: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Spellings of stages, in the order in which they help each other: wording, agent, expansion, rerank.

    Args:
        rewrite: word the question anew.
        agent: search in several hops.
        expand: ``citations``, ``feedback``, or either with options.
        rerank: judge and sorter.
        depth: papers to rerank.
        full: whether judges see full texts.
        kind: of search, for wordings and judges alike.
        stages: further ones, at the end.

    Raises:
        UsageError: a stage is unknown, or an option stands without what it belongs to.

    >>> stages_of(agent=True, rerank="pairwise", kind="stance")
    ('agent(kind=stance)', 'rerank(method=pairwise,criterion=stance)')
    """
    from aspectra.search.spelling import spell
    from aspectra.search.stages._rewording import criterion_of, way
    from aspectra.search.stages.agent import Agent
    from aspectra.search.stages.protocol import read_stages
    from aspectra.search.stages.rerank import Reranking
    from aspectra.search.stages.rewrite import Rewrite

    if rerank is None and (depth is not None or full):
        flag = "--depth" if depth is not None else "--judge-full-text"
        raise UsageError(f"{flag} belongs to --rerank", hint=f"--rerank listwise+window {flag} ...")
    if kind is not None:
        way(kind)
        if not (rewrite or agent or rerank):
            raise UsageError("--kind belongs to --rewrite, --agent or --rerank")
    of = kind or "general"
    made = [spell(Rewrite(of))] if rewrite else []
    made += [spell(Agent(of))] if agent else []
    for one in expand or ():
        if one.partition("(")[0].strip() not in ("citations", "feedback"):
            raise UsageError(f"--expand does not know {one!r}", why="known: citations, feedback")
        made.append(one)
    if rerank is not None:
        plain = Reranking.depth
        made.append(spell(Reranking(rerank, plain if depth is None else depth, criterion_of(of), full)))
    return read_stages((*made, *(stages or ())))


@dataclass(frozen=True, slots=True)
class Asked:
    """Which model, as the options say."""

    model: str | None = None
    base_url: str | None = None
    key_variable: str | None = None
    budget: Sequence[str] | None = None
    lanes: int = 8
    journal: Path | None = None


@contextmanager
def asking(session: Session, searcher: Searcher, plan: Plan, asked: Asked) -> Iterator[None]:
    """The searcher with the model that the plan's stages need, where they need one."""
    from aspectra.search.stages.protocol import needs_model

    with answering_model(session, asked, needed=needs_model(plan.stages)) as model:
        searcher.model, searcher.lanes = model, asked.lanes
        try:
            yield
        finally:
            searcher.model = None


@contextmanager
def answering_model(session: Session, asked: Asked, *, needed: bool) -> Iterator[Model | None]:
    """The model that options, environment and configuration name, closed at the end; None if not needed.

    Raises:
        UsageError: one is needed, and none is named.
    """
    if not needed:
        yield None
        return
    from aspectra.llm.assemble import build_model

    settings = model_settings(
        session,
        model=asked.model,
        base_url=asked.base_url,
        key_variable=asked.key_variable,
        budget=asked.budget,
        lanes=asked.lanes,
        journal=asked.journal,
    )
    with build_model(settings) as model:
        if model.remote:
            session.screen.note(f"Texts of papers are sent to {model.remote} ({settings.model}).")
        yield model


def say_steps(session: Session, ranking: Ranking) -> None:
    """What the stages did and cost, a line each, beside the results."""
    for step in ranking.steps:
        for note in step.notes:
            session.screen.note(safe(f"{step.name}: {note}", one_line=True))
        if step.tally.questions:
            cost = cost_in_words(step.tally.cost)
            session.screen.note(f"{step.name}: {cost}, {step.seconds:.1f} s")
