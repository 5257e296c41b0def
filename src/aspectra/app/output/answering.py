"""Running a plan for a command, and writing what came of it in the format that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aspectra.app.options.stages import Asked, asking, say_steps
from aspectra.app.output.screen import count, safe
from aspectra.app.session import Degraded, Session
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import Ranking
    from aspectra.search.searcher import Searcher

__all__ = ["Way", "answer", "chosen_format", "plan_text", "run_file", "write_ranking"]


@dataclass(frozen=True, slots=True)
class Way:
    """How the answer is written."""

    format: str
    explain: bool
    plan_only: bool
    output: Path | None
    fail_empty: bool
    strict: bool
    why_not: str | None = None


def chosen_format(session: Session, as_json: bool, as_lines: bool, name: str | None) -> str:
    """The format that flags or the configuration name.

    Raises:
        UsageError: two are named.
    """
    chosen = [n for n, wanted in (("json", as_json), ("jsonl", as_lines), (name or "", bool(name))) if wanted]
    if len(set(chosen)) > 1:
        raise UsageError(f"two formats at once: {' and '.join(chosen)}")
    if chosen:
        session.flags["search.format"] = chosen[0]
    return str(session.config["search.format"])


def plan_text(made: Plan, style: str) -> str:
    """A plan as JSON or TOML, or in words where ``style`` is neither."""
    if style == "json":
        return made.to_json() + "\n"
    # TOML and JSON escape control characters themselves; the readable form does not.
    return made.to_toml() if style == "toml" else safe(made.describe()) + "\n"


def run_file(session: Session, path: Path, limit: int | None, way: Way, asked: Asked) -> None:
    """Run a plan from a file."""
    from aspectra.search.plan import Plan

    with session.open_searcher() as searcher:  # it knows the lenses that conditions may name
        made = Plan.load(path)
        if limit is not None:
            made = made.with_limit(limit)
        answer(session, searcher, made, way, asked)


def answer(session: Session, searcher: Searcher, made: Plan, way: Way, asked: Asked) -> None:
    """Run a plan and write what came of it."""
    if way.plan_only:
        session.screen.data(plan_text(made, way.format), way.output)
        return
    if way.why_not is not None:
        from aspectra.search.evidence.why_not import why_not

        reasons = why_not(searcher, made, searcher.library.resolve(way.why_not))
        session.screen.data(safe(reasons.describe()) + "\n", way.output)
        return
    with asking(session, searcher, made, asked):
        ranking = searcher.run(made, explain=way.explain)
    from aspectra.app.recent import remember

    remember(session.library_path, made)
    write_ranking(session, searcher, ranking, way.format, way.output, explain=way.explain)
    say_steps(session, ranking)
    if way.format != "json":
        for warning in ranking.warnings:
            session.screen.warn(session.spell_out(warning))
    stopped = next((step.stopped for step in ranking.steps if step.stopped is not None), None)
    if stopped is not None:  # the order before it was shown, and what was paid for is in the journal
        raise Degraded(stopped.exit_code)
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
    from aspectra.app.output import rankings as results

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
    from aspectra.app.options.reading import in_words
    from aspectra.app.output.rankings import show_ranking

    total = len(searcher.index)
    searched = f"{total:,}"
    from aspectra.search.conditions.grading import conditions_mask

    mask = conditions_mask(searcher.index, ranking.plan.conditions)
    if mask is not None:
        searched = f"{int(mask.sum()):,} left by the filters (of {total:,})"
    footer = f"plan {ranking.plan.hash[:6]} (aspectra plan last)"
    show_ranking(session.screen, ranking, in_words(ranking.plan), searched, footer, explain=explain)
