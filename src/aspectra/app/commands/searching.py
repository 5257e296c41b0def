"""``search``, ``similar``, ``plan``: questions to the library."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from aspectra.app.options.limits import Limits
from aspectra.app.options.model import (
    BaseUrl,
    BudgetLimit,
    JournalFile,
    KeyVariable,
    Lanes,
    ModelName,
)
from aspectra.app.options.question import (
    AllVersions,
    Author,
    Different,
    Direction,
    EvidenceCount,
    Explain,
    FailEmpty,
    Format,
    Instruction,
    Json,
    JsonLines,
    Lang,
    LensNames,
    Limit,
    Literal,
    Output,
    PlanFile,
    Planner,
    PlanOnly,
    Same,
    Since,
    Strict,
    Until,
    Venue,
    WhyNot,
    Wish,
)
from aspectra.app.options.stages import (
    AgentFlag,
    Asked,
    Depth,
    Expand,
    FullText,
    Kind,
    RerankMethod,
    RewriteFlag,
    StageText,
    stages_of,
)
from aspectra.app.output.answering import Way, answer, chosen_format, plan_text, run_file
from aspectra.app.session import Session, common, read_stdin
from aspectra.base.errors import LibraryNotFound, UsageError

if TYPE_CHECKING:
    pass

__all__ = ["plan", "search", "similar"]


def _flags(session: Session, limit: int | None, planner: str | None, evidence: int | None) -> None:
    """Hand the flags that are settings too to the configuration, before it is first read."""
    session.flags.update(
        {"search.limit": limit, "search.planner": planner or None, "search.evidence": evidence}
    )


def _words(parts: list[str] | None) -> str:
    if parts == ["-"]:
        text = read_stdin()
        if not text.strip():
            raise UsageError("standard input is empty", hint='aspectra search "what you look for"')
        return text
    return " ".join(parts or ())


@common
def search(
    session: Session,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What you look for; - reads standard input.", show_default=False),
    ] = None,
    limit: Limit = None,
    planner: Planner = None,
    since: Since = None,
    until: Until = None,
    venue: Venue = None,
    author: Author = None,
    lang: Lang = None,
    same: Same = None,
    different: Different = None,
    condition: Wish = None,
    lens: LensNames = None,
    instruction: Instruction = "",
    literal: Literal = False,
    why_not: WhyNot = None,
    rerank: RerankMethod = None,
    depth: Depth = None,
    judge_full_text: FullText = False,
    rewrite: RewriteFlag = False,
    agent: AgentFlag = False,
    expand: Expand = None,
    kind: Kind = None,
    stage: StageText = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    key_variable: KeyVariable = None,
    budget: BudgetLimit = None,
    lanes: Lanes = 8,
    journal: JournalFile = None,
    evidence: EvidenceCount = None,
    all_versions: AllVersions = False,
    explain: Explain = False,
    plan: PlanOnly = False,
    plan_file: PlanFile = None,
    as_json: Json = False,
    as_lines: JsonLines = False,
    format: Format = None,  # noqa: A002
    output: Output = None,
    fail_empty: FailEmpty = False,
    strict: Strict = False,
) -> None:
    """Find papers by a question.

    Each comes with the sentence that speaks for it. Wishes in the question about the papers themselves are
    read and obeyed, and said: those with must, only or never drop papers, all others move them.

    Example:  aspectra search "graph pretraining for molecules, but not a survey" --since 3y
    """
    _flags(session, limit, planner, evidence)
    way = Way(
        chosen_format(session, as_json, as_lines, format), explain, plan, output, fail_empty, strict, why_not
    )
    stages = stages_of(
        rewrite=rewrite,
        agent=agent,
        expand=expand,
        rerank=rerank,
        depth=depth,
        full=judge_full_text,
        kind=kind,
        stages=stage,
    )
    asked = Asked(model, base_url, key_variable, budget, lanes, journal)
    wishes = (same, different, condition, instruction, literal, None, tuple(lens or ()), stages)
    limits = Limits(since, until, venue, author, lang, all_versions, *wishes)
    if plan_file is not None:
        if text:
            raise UsageError("--plan-file brings its own question", hint="leave the words out")
        held = {
            "--planner": planner,
            "--since": since,
            "--until": until,
            "--venue": venue,
            "--author": author,
            "--lang": lang,
            "--same": same,
            "--different": different,
            "--condition": condition,
            "--lens": lens,
            "--instruction": instruction,
            "--literal": literal,
            "--evidence": evidence is not None,
            "--all-versions": all_versions,
            "--rerank and the like": stages,
        }
        if ignored := [flag for flag, value in held.items() if value]:
            raise UsageError(
                f"{', '.join(ignored)} cannot be given with --plan-file",
                why="the plan says it itself; only --limit may differ",
                hint=f"write it in {plan_file}",
            )
        run_file(session, plan_file, limit, way, asked)
        return
    words = _words(text)
    with session.open_searcher() as searcher:  # it knows the lenses that conditions may name
        query = limits.query(session, words, ())
        answer(session, searcher, limits.plan(session, searcher, query), way, asked)


@common
def similar(
    session: Session,
    seeds: Annotated[
        list[str],
        typer.Argument(metavar="SEED", help="Ids, DOIs, arXiv ids, exact titles.", show_default=False),
    ],
    text: Annotated[
        str, typer.Option("--text", metavar="TEXT", help="Further words.", show_default=False)
    ] = "",
    limit: Limit = None,
    planner: Planner = None,
    since: Since = None,
    until: Until = None,
    venue: Venue = None,
    author: Author = None,
    lang: Lang = None,
    same: Same = None,
    different: Different = None,
    direction: Direction = None,
    condition: Wish = None,
    lens: LensNames = None,
    instruction: Instruction = "",
    literal: Literal = False,
    why_not: WhyNot = None,
    rerank: RerankMethod = None,
    depth: Depth = None,
    judge_full_text: FullText = False,
    rewrite: RewriteFlag = False,
    agent: AgentFlag = False,
    expand: Expand = None,
    kind: Kind = None,
    stage: StageText = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    key_variable: KeyVariable = None,
    budget: BudgetLimit = None,
    lanes: Lanes = 8,
    journal: JournalFile = None,
    evidence: EvidenceCount = None,
    all_versions: AllVersions = False,
    explain: Explain = False,
    plan: PlanOnly = False,
    as_json: Json = False,
    as_lines: JsonLines = False,
    format: Format = None,  # noqa: A002
    output: Output = None,
    fail_empty: FailEmpty = False,
    strict: Strict = False,
) -> None:
    """Find papers like other papers.

    Those themselves and their other versions are not shown.

    Example:  aspectra similar arXiv:2004.07180 --same method --different result

    What it builds on:  aspectra similar arXiv:2004.07180 --direction builds-on
    """
    _flags(session, limit, planner, evidence)
    way = Way(
        chosen_format(session, as_json, as_lines, format), explain, plan, output, fail_empty, strict, why_not
    )
    stages = stages_of(
        rewrite=rewrite,
        agent=agent,
        expand=expand,
        rerank=rerank,
        depth=depth,
        full=judge_full_text,
        kind=kind,
        stages=stage,
    )
    asked = Asked(model, base_url, key_variable, budget, lanes, journal)
    wishes = (same, different, condition, instruction, literal, direction, tuple(lens or ()), stages)
    limits = Limits(since, until, venue, author, lang, all_versions, *wishes)
    with session.open_searcher() as searcher:
        resolved = tuple(dict.fromkeys(searcher.library.resolve(seed) for seed in seeds))
        query = limits.query(session, _words([text]) if text else "", resolved)
        answer(session, searcher, limits.plan(session, searcher, query), way, asked)


@common
def plan(
    session: Session,
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT", help="What you look for; `last` for the last search.", show_default=False
        ),
    ] = None,
    seed: Annotated[
        list[str] | None, typer.Option("--seed", metavar="SEED", help="A seed paper.", show_default=False)
    ] = None,
    limit: Limit = None,
    planner: Planner = None,
    since: Since = None,
    until: Until = None,
    venue: Venue = None,
    author: Author = None,
    lang: Lang = None,
    same: Same = None,
    different: Different = None,
    direction: Direction = None,
    condition: Wish = None,
    lens: LensNames = None,
    instruction: Instruction = "",
    literal: Literal = False,
    rerank: RerankMethod = None,
    depth: Depth = None,
    judge_full_text: FullText = False,
    rewrite: RewriteFlag = False,
    agent: AgentFlag = False,
    expand: Expand = None,
    kind: Kind = None,
    stage: StageText = None,
    evidence: EvidenceCount = None,
    all_versions: AllVersions = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    as_toml: Annotated[bool, typer.Option("--toml", help="As TOML, to edit and run again.")] = False,
    output: Output = None,
) -> None:
    """Print what a search would run.

    Example:  aspectra plan "graph pretraining" --toml -o plan.toml

    Then edit it, and:  aspectra search --plan-file plan.toml
    """
    if as_json and as_toml:
        raise UsageError("--json and --toml exclude each other")
    if text == ["last"] and not seed:
        from aspectra.app.recent import recall

        _know_lenses(session)
        made = recall().plan
    else:
        _flags(session, limit, planner, evidence)
        stages = stages_of(
            rewrite=rewrite,
            agent=agent,
            expand=expand,
            rerank=rerank,
            depth=depth,
            full=judge_full_text,
            kind=kind,
            stages=stage,
        )
        wishes = (same, different, condition, instruction, literal, direction, tuple(lens or ()), stages)
        limits = Limits(since, until, venue, author, lang, all_versions, *wishes)
        with session.open_searcher() as searcher:
            resolved = tuple(dict.fromkeys(searcher.library.resolve(one) for one in seed or ()))
            query = limits.query(session, _words(text), resolved)
            made = limits.plan(session, searcher, query)
    session.screen.data(plan_text(made, "json" if as_json else "toml" if as_toml else ""), output)


def _know_lenses(session: Session) -> None:
    """Plans may hold conditions on lenses of the library; one that is not there has none."""
    from aspectra.search.conditions.attributes.prompted import know_lenses

    with contextlib.suppress(LibraryNotFound), session.open_library() as library:
        know_lenses(library)
