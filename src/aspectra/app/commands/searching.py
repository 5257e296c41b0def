"""``search``, ``similar``, ``plan``: questions to the library."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aspectra.app.options import QuestionOptions, ResultOptions, cost_in_words, run_plan
from aspectra.app.recent import Recent, papers_of_last, recall, remember, spelled
from aspectra.app.session import Session, common, read_stdin
from aspectra.app.terminal.panels import AsJson, Names, OutputFile, argument, preference, showing
from aspectra.app.terminal.screen import count, safe
from aspectra.base.errors import LibraryNotFound, UsageError
from aspectra.base.values import replace

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.papers.library.store import Store
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import Ranking
    from aspectra.views.encoders.protocol import Encoder

_EMPTY, _WARNED = 3, 4

Direction = Annotated[str, preference("builds-on, built-on-by (the seed) or both.", metavar="WAY")]
AnyYear = Annotated[
    bool,
    preference("With a direction: also papers too young or old for it.", "--any-year", rare=True),
]


@common
def search(
    session: Session,
    question: QuestionOptions,
    result: ResultOptions,
    text: Annotated[Names, argument("The question; - reads standard input.", "TEXT")] = None,
    plan_file: Annotated[Path | None, showing("Run the plan in FILE.", rare=True)] = None,
) -> None:
    """Find papers by a question.

    Constraints in it are detected: must, only and never filter, others re-rank.

    Example:  aspectra search "graph pretraining, but not a survey" --since 3y
    """
    question.settle(session)
    style = result.settle(session)
    if plan_file is not None:
        if text:
            raise UsageError("--plan-file brings its own question", hint="leave the words out")
        question.refuse_beside(plan_file)
    words = _words(text) if plan_file is None else ""
    with session.open_library(partial=result.partial) as library:
        if plan_file is None:
            if words and not question.literal:  # planning reads the words with the encoder, whatever ranks
                _load_default_encoder(library.store, words)
            given = question.given(session)
            made = library.plan(words, **given)
            asked = {"text": words, "seeds": [], "given": given}
        else:
            from aspectra.search.plan import Plan

            library.know_lenses()
            made, asked = Plan.load(plan_file), {}
            made = made if question.limit is None else made.with_limit(question.limit)
        _answer(session, library, made, result, style, asked)


def _load_default_encoder(library: Store, text: str) -> None:
    """Begin to load the encoder of the current index in another thread, and try it on the query's text."""
    from aspectra.views.encoders.early import load_early

    with suppress(Exception):  # what is wrong with the index is reported by the search itself
        folder = library.generations.current()
        specs = library.generations.manifest(folder)["settings"]["encoders"] if folder is not None else ()
        if specs:
            load_early(specs[0], partial(load_and_try, text=text))


def load_and_try(spec: str, text: str) -> Encoder | None:
    """An encoder, ready by having encoded a text; None where it needs a permission."""
    from aspectra.views.encoders.protocol import load_named, needs_of  # numpy: for the thread to import

    if needs_of(spec):
        return None
    encoder = load_named(spec)
    encoder.encode([text], kind="query")
    return encoder


@common
def similar(
    session: Session,
    question: QuestionOptions,
    result: ResultOptions,
    seeds: Annotated[list[str], argument("Ids, DOIs, exact titles; or: last 3.", "SEED")],
    direction: Direction = "",
    any_year: AnyYear = False,
    text: Annotated[str, preference("Further words.", metavar="TEXT")] = "",
) -> None:
    """Find papers like other papers.

    The seeds and their other versions are not shown.

    Example:  aspectra similar arXiv:2004.07180 --same method --different result
    """
    question.settle(session)
    style = result.settle(session)
    words = _words([text]) if text else ""
    seeds = papers_of_last(seeds, library=session.library_path) or seeds
    with session.open_library(partial=result.partial) as library:
        given = question.given(session, direction=direction, any_year=any_year)
        made = library.plan(words, seeds=seeds, **given)
        asked = {"text": words, "seeds": library.resolve(*seeds), "given": given}
        _answer(session, library, made, result, style, asked)


@common
def plan(
    session: Session,
    question: QuestionOptions,
    text: Annotated[Names, argument("The question; `last` for the last search.", "TEXT")] = None,
    seed: Annotated[Names, preference("A seed paper.", metavar="SEED")] = None,
    direction: Direction = "",
    any_year: AnyYear = False,
    as_json: AsJson = False,
    as_toml: Annotated[bool, showing("As TOML, to edit and run again.", "--toml")] = False,
    output: OutputFile = None,
) -> None:
    """Print what a search would run.

    Example:  aspectra plan "graph pretraining" --toml -o plan.toml

    Then edit it, and:  aspectra search --plan-file plan.toml
    """
    if as_json and as_toml:
        raise UsageError("--json and --toml exclude each other")
    costs = ""
    if text == ["last"] and not seed:
        with suppress(LibraryNotFound), session.open_library() as library:
            library.know_lenses()
        made = recall().plan
    else:
        question.settle(session)
        with session.open_library() as library:
            made = library.plan(
                _words(text),
                seeds=seed or (),
                **question.given(session, direction=direction, any_year=any_year),
            )
            costs = _costs(library, made)
    style = "json" if as_json else "toml" if as_toml else ""
    session.screen.data(_plan_text(made, style) + ("" if style else costs), output)


def _words(parts: list[str] | None) -> str:
    if parts == ["-"]:
        text = read_stdin()
        if not text.strip():
            raise UsageError("standard input is empty", hint='aspectra search "what you look for"')
        return text
    return " ".join(parts or ())


def _plan_text(made: Plan, style: str) -> str:
    """A plan as JSON or TOML, or in words where ``style`` is neither."""
    if style == "json":
        return made.to_json() + "\n"
    # TOML and JSON escape control characters themselves; the readable form does not.
    if style == "toml":
        return made.to_toml()
    from aspectra.search.planning.aspects import AspectRequests

    requests = AspectRequests.of(made)  # those that are applied, or not, are in the description
    searched = [f"  searched for {', '.join(requests.searched)}"] if requests.rows else []
    return safe("\n".join([made.describe(), *searched])) + "\n"


def _costs(library: Library, made: Plan) -> str:
    """Estimate the model calls of the stages before the search, one line per stage; nothing is called."""
    from aspectra.search.stages.moves import estimate_steps
    from aspectra.search.stages.protocol import Context

    if not made.stages:
        return ""
    lines = [
        f"  {name}: at most {count(cost.calls, 'question')}, some {cost.prompt_tokens:,} tokens, and "
        f"{cost.completion_tokens:,} of answers; none for what the journal holds\n"
        for name, cost in estimate_steps(Context(library.searcher.engine, made))
    ]
    return safe("".join(lines))


def _answer(
    session: Session,
    library: Library,
    made: Plan,
    result: ResultOptions,
    style: str,
    asked: Mapping[str, Any],
) -> None:
    """Run a plan and write what came of it; ``asked`` is what it was made of."""
    from aspectra.app.output.papers import MOST_PAGES, check_page, page_of
    from aspectra.app.output.rankings import write_ranking
    from aspectra.search.planning.aspects import NOT_APPLIED
    from aspectra.search.query import MOST_PAPERS

    check_page(result.sort or "score", 1 if result.page is None else result.page)
    if result.plan:
        costs = "" if style in ("json", "toml") else _costs(library, made)
        session.screen.data(_plan_text(made, style) + costs, result.output)
        return
    if result.why_not is not None:
        reasons = library.searcher.why_not(made, library.store.resolve(result.why_not))
        session.screen.data(safe(reasons.describe()) + "\n", result.output)
        return
    library.lanes = session.settings.llm.lanes
    run = made.with_limit(min(made.limit * MOST_PAGES, MOST_PAPERS)) if result.paged else made
    ranking = run_plan(session, library, run, explain=result.explain)
    found, page = ranking, None
    if result.paged:
        page, hits = page_of(library, ranking.hits, result.sort or "score", result.page or 1, made.limit)
        ranking = replace(ranking, plan=made, hits=tuple(hits))
    scores, shown = tuple(hit.score for hit in found), tuple(hit.rank for hit in ranking)
    remember(Recent(session.library_path, made, tuple(found.ids), scores, shown, spelled(asked)))
    write_ranking(session.screen, library, ranking, style, result.output, explain=result.explain, page=page)
    _show_steps(session, ranking)
    if style != "json":
        listed = style == "table" and not session.screen.quiet  # beside the hits
        for warning in ranking.warnings:
            if not (listed and warning.startswith(NOT_APPLIED)):
                session.screen.warn(session.spell_out(warning))
    failed = next((step.failed for step in ranking.steps if step.failed is not None), None)
    if failed is not None:  # the order before it was shown, and what was paid for is in the journal
        raise typer.Exit(failed.exit_code)
    if not len(ranking) and result.fail_empty:
        raise typer.Exit(_EMPTY)
    if ranking.warnings and result.strict:
        raise typer.Exit(_WARNED)


def _show_steps(session: Session, ranking: Ranking) -> None:
    """Print notes and costs of the stages beside the results, one line each."""
    for step in ranking.steps:
        for note in step.notes:
            session.screen.note(safe(f"{step.name}: {note}", one_line=True))
        if step.tally.questions:
            session.screen.note(f"{step.name}: {cost_in_words(step.tally.cost)}, {step.seconds:.1f} s")
