"""``search``, ``similar``, ``plan``: questions to the library."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aspectra.app.commands.asking_options import (
    AllVersions,
    Author,
    Different,
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
from aspectra.app.commands.limits import Limits
from aspectra.app.output import count, safe
from aspectra.app.session import Degraded, Session, common, read_stdin
from aspectra.base.errors import LibraryNotFound, UsageError

if TYPE_CHECKING:
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import Ranking
    from aspectra.search.searcher import Searcher

__all__ = ["plan", "search", "similar"]


@dataclass(frozen=True, slots=True)
class _Way:
    """How the answer is written."""

    format: str
    explain: bool
    plan_only: bool
    output: Path | None
    fail_empty: bool
    strict: bool
    why_not: str | None = None


def _format(session: Session, as_json: bool, as_lines: bool, name: str | None) -> str:
    chosen = [n for n, wanted in (("json", as_json), ("jsonl", as_lines), (name or "", bool(name))) if wanted]
    if len(set(chosen)) > 1:
        raise UsageError(f"two formats at once: {' and '.join(chosen)}")
    if chosen:
        session.flags["search.format"] = chosen[0]
    return str(session.config["search.format"])


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
    way = _Way(
        _format(session, as_json, as_lines, format), explain, plan, output, fail_empty, strict, why_not
    )
    limits = Limits(
        since,
        until,
        venue,
        author,
        lang,
        all_versions,
        same,
        different,
        condition,
        instruction,
        literal,
        tuple(lens or ()),
    )
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
        }
        if ignored := [flag for flag, value in held.items() if value]:
            raise UsageError(
                f"{', '.join(ignored)} cannot be given with --plan-file",
                why="the plan says it itself; only --limit may differ",
                hint=f"write it in {plan_file}",
            )
        _run_file(session, plan_file, limit, way)
        return
    words = _words(text)
    with session.open_searcher() as searcher:  # it knows the lenses that conditions may name
        query = limits.query(session, words, ())
        _answer(session, searcher, limits.plan(session, searcher, query), way)


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
    condition: Wish = None,
    lens: LensNames = None,
    instruction: Instruction = "",
    why_not: WhyNot = None,
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
    """
    _flags(session, limit, planner, evidence)
    way = _Way(
        _format(session, as_json, as_lines, format), explain, plan, output, fail_empty, strict, why_not
    )
    limits = Limits(
        since,
        until,
        venue,
        author,
        lang,
        all_versions,
        same,
        different,
        condition,
        instruction,
        lenses=tuple(lens or ()),
    )
    with session.open_searcher() as searcher:
        resolved = tuple(dict.fromkeys(searcher.library.resolve(seed) for seed in seeds))
        query = limits.query(session, _words([text]) if text else "", resolved)
        _answer(session, searcher, limits.plan(session, searcher, query), way)


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
    condition: Wish = None,
    lens: LensNames = None,
    instruction: Instruction = "",
    literal: Literal = False,
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
        limits = Limits(
            since,
            until,
            venue,
            author,
            lang,
            all_versions,
            same,
            different,
            condition,
            instruction,
            literal,
            tuple(lens or ()),
        )
        with session.open_searcher() as searcher:
            resolved = tuple(dict.fromkeys(searcher.library.resolve(one) for one in seed or ()))
            query = limits.query(session, _words(text), resolved)
            made = limits.plan(session, searcher, query)
    session.screen.data(_plan_text(made, "json" if as_json else "toml" if as_toml else ""), output)


def _know_lenses(session: Session) -> None:
    """Plans may hold conditions on lenses of the library; one that is not there has none."""
    from aspectra.search.attributes.prompted import know_lenses

    with contextlib.suppress(LibraryNotFound), session.open_library() as library:
        know_lenses(library)


def _plan_text(made: Plan, style: str) -> str:
    if style == "json":
        return made.to_json() + "\n"
    # TOML and JSON escape control characters themselves; the readable form does not.
    return made.to_toml() if style == "toml" else safe(made.describe()) + "\n"


def _run_file(session: Session, path: Path, limit: int | None, way: _Way) -> None:
    from aspectra.search.plan import Plan

    with session.open_searcher() as searcher:
        made = Plan.load(path)
        if limit is not None:
            made = made.with_limit(limit)
        _answer(session, searcher, made, way)


def _answer(session: Session, searcher: Searcher, made: Plan, way: _Way) -> None:
    """Run a plan and write what came of it."""
    if way.plan_only:
        session.screen.data(_plan_text(made, way.format), way.output)
        return
    if way.why_not is not None:
        from aspectra.search.whynot import why_not

        reasons = why_not(searcher, made, searcher.library.resolve(way.why_not))
        session.screen.data(safe(reasons.describe()) + "\n", way.output)
        return
    ranking = searcher.run(made, explain=way.explain)
    from aspectra.app.recent import remember

    remember(session.library_path, made)
    write_ranking(session, searcher, ranking, way.format, way.output, explain=way.explain)
    if way.format != "json":
        for warning in ranking.warnings:
            session.screen.warn(session.spell_out(warning))
    if not len(ranking) and way.fail_empty:
        raise Degraded(3)
    if ranking.warnings and way.strict:
        raise Degraded(4)


def write_ranking(
    session: Session,
    searcher: Searcher,
    ranking: Ranking,
    format_: str,
    output: Path | None,
    *,
    explain: bool = False,
) -> None:
    """A ranking in any format, to standard output or a file."""
    from aspectra.app import results

    if format_ == "table":
        if output is not None:
            raise UsageError(
                "a table is for the screen", hint=f"--format bibtex -o {output}, or: aspectra ... > {output}"
            )
        _table(session, searcher, ranking, explain)
        return
    if format_ == "json":
        text = results.document(ranking, explain=explain)
    elif format_ == "jsonl":
        text = results.hit_lines(ranking, explain=explain)
    elif format_ == "trec":
        text = ranking.to_trec()
    else:
        text = ranking.export(format_)
    session.screen.data(text, output)
    if output is not None:
        session.screen.note(f"Wrote {count(len(ranking), 'record')} to {output} ({format_}).")


def _table(session: Session, searcher: Searcher, ranking: Ranking, explain: bool) -> None:
    from aspectra.app.asking import in_words
    from aspectra.app.results import show_ranking

    total = len(searcher.index)
    searched = f"{total:,}"
    if ranking.plan.filters:
        from aspectra.search.limits import allowed_mask

        mask = allowed_mask(searcher.index, ranking.plan.filters, (), set())
        within = total if mask is None else int(mask.sum())
        searched = f"{within:,} within the limits (of {total:,})"
    footer = f"plan {ranking.plan.hash[:6]} (aspectra plan last)"
    show_ranking(session.screen, ranking, in_words(ranking.plan), searched, footer, explain=explain)
