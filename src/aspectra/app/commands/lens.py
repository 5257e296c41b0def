"""``lens``: what is computed once for every paper, by a language model or without one, and then searched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aspectra.app.commands._lens_files import add_lens, remove_lens
from aspectra.app.options.model import (
    BaseUrl,
    BudgetLimit,
    JournalFile,
    KeyVariable,
    Lanes,
    ModelName,
    cost_in_words,
    currency_of,
    model_settings,
)
from aspectra.app.output.lenses import (
    coverage,
    estimate_in_words,
    report_in_words,
    status_facts,
    status_in_words,
)
from aspectra.app.output.screen import columns, count
from aspectra.app.session import Session, common
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.llm.assemble import Model
    from aspectra.papers.library.store import Store
    from aspectra.views.prompted.definition import PromptedLens
    from aspectra.views.prompted.running import LensEstimate

__all__ = ["app"]

app = typer.Typer(
    help="See every paper through a lens once, and search what it saw.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the lens.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document.")]
Again = Annotated[bool, typer.Option("--failed", help="Also papers that were asked about in vain.")]


@app.command()
@common
def add(
    session: Session,
    name: Name,
    prompt: Annotated[
        Path | None,
        typer.Option("--prompt", metavar="FILE", help="A prompt file of your own.", show_default=False),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", metavar="FILE", help="JSON schema of the value.", show_default=False),
    ] = None,
    thinking: Annotated[
        int | None,
        typer.Option(
            "--thinking",
            metavar="N",
            min=0,
            help="Tokens a reasoning model may think with.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Add a lens, or take up a changed prompt or schema.

    Nothing is asked by this. Without --prompt it is one that comes with Aspectra: see lens list.

    Example:  aspectra lens add stance --prompt stance.toml
    """
    add_lens(session, name, prompt, schema, thinking)


@app.command("list")
@common
def list_(session: Session, as_json: AsJson = False) -> None:
    """The lenses of the library, and those that could be added.

    Example:  aspectra lens list
    """
    from aspectra.views.build.run import settings_of
    from aspectra.views.lenses.protocol import LENSES
    from aspectra.views.prompted.definition import definitions
    from aspectra.views.prompted.prompt import BUILTIN_PROMPTS, LensPrompt, builtin_text

    with session.open_library() as library:
        held, local = definitions(library), settings_of(library).lenses
        rows: list[dict[str, Any]] = [
            {"lens": name, "gives": "local", "state": "in use", "about": LENSES.get(name).description}
            for name in local
        ]
        for name, lens in held.items():
            rows.append({"lens": name, **_facts(lens), "state": coverage(library, lens)})
    rows += [
        {"lens": name, "gives": "local", "state": "not added", "about": LENSES.get(name).description}
        for name in LENSES.names()
        if name not in local
    ]
    for name in BUILTIN_PROMPTS:
        if name not in held:
            prompt = LensPrompt.parse(name, builtin_text(name))
            rows.append(
                {"lens": name, "gives": prompt.schema.kind, "state": "not added", "about": prompt.about}
            )
    if as_json:
        session.screen.data(json.dumps(rows, ensure_ascii=False, indent=2) + "\n")
        return
    keys = ("lens", "gives", "state", "about")
    for line in columns([keys, *[[row[key] or "–" for key in keys] for row in rows]]):
        session.screen.line(line)


def _facts(lens: PromptedLens) -> dict[str, str]:
    try:
        return {"gives": lens.prompt.schema.kind, "about": lens.prompt.about}
    except UsageError as error:
        return {"gives": "nothing", "about": f"{error.what}: {error.why}"}


@app.command()
@common
def estimate(
    session: Session,
    name: Name,
    model: ModelName = None,
    base_url: BaseUrl = None,
    key_variable: KeyVariable = None,
    journal: JournalFile = None,
    budget: BudgetLimit = None,
    lanes: Lanes = 8,
    pilot: Annotated[
        int, typer.Option("--pilot", metavar="N", min=0, help="First ask about N papers, and measure.")
    ] = 0,
    failed: Again = False,
    as_json: AsJson = False,
) -> None:
    """Say what a lens will cost: calls, tokens, and money where the price file knows the model.

    Without --model money is not known. With --pilot N papers are really asked about; their values are kept.

    Example:  aspectra lens estimate stance --model NAME --base-url URL --pilot 30
    """
    from dataclasses import replace

    from aspectra.views.prompted.definition import definition
    from aspectra.views.prompted.running import bound_to, estimate_lens, run_lens

    with session.open_library() as library:
        lens = definition(library, name)
        named = bool(model or _configured(session))
        if not named and not pilot:
            _say_estimate(session, library, lens, None, as_json)
            return
        settings = model_settings(
            session,
            model=model,
            base_url=base_url,
            key_variable=key_variable,
            budget=budget,
            lanes=lanes,
            journal=journal,
        )
        with _model(replace(settings, offline=settings.offline or not pilot)) as asked:
            lens = bound_to(lens, asked.name)
            if pilot:
                report = run_lens(library, lens, asked, most=pilot, spread=True, failed=failed)
                done = count(report.values + report.failed, "paper")
                session.screen.note(f"asked about {done}: {cost_in_words(report.cost, currency_of())}")
                if report.stopped is not None:
                    raise report.stopped
            found = estimate_lens(library, lens, asked, failed=failed)
            _say_estimate(session, library, lens, found, as_json, asked)


def _configured(session: Session) -> str:
    return str(session.config["llm.model"])


def _say_estimate(
    session: Session,
    library: Store,
    lens: PromptedLens,
    found: LensEstimate | None,
    as_json: bool,
    model: Model | None = None,
) -> None:
    from dataclasses import asdict

    from aspectra.views.prompted.running import estimate_lens

    whole = found or estimate_lens(library, lens)
    if as_json:
        session.screen.data(json.dumps({"lens": lens.name, **asdict(whole)}, indent=2) + "\n")
        return
    for line in estimate_in_words(lens, whole, model is not None):
        session.screen.line(line)
    if whole.papers:
        session.screen.next(f"aspectra lens run {lens.name} --model NAME{session.library_words()}")


def _model(settings: Any) -> Model:
    from aspectra.llm.assemble import build_model

    return build_model(settings)


@app.command()
@common
def run(
    session: Session,
    name: Name,
    model: ModelName = None,
    base_url: BaseUrl = None,
    key_variable: KeyVariable = None,
    budget: BudgetLimit = None,
    lanes: Lanes = 8,
    journal: JournalFile = None,
    most: Annotated[
        int | None,
        typer.Option("--most", metavar="N", min=1, help="Papers at most, then stop.", show_default=False),
    ] = None,
    failed: Again = False,
    switch: Annotated[
        bool, typer.Option("--switch-model", help="Let this model compute the lens from now on.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a language model about every paper that the lens has not seen.

    Interrupted or stopped by a budget, the same command goes on from there; nothing answered is paid for
    twice.

    Example:  aspectra lens run stance --model NAME --base-url URL --budget 500calls
    """
    from aspectra.app.output.progress import ProgressShown
    from aspectra.views.prompted.definition import definition
    from aspectra.views.prompted.running import bound_to, run_lens
    from aspectra.views.prompted.store import tally

    settings = model_settings(
        session,
        model=model,
        base_url=base_url,
        key_variable=key_variable,
        budget=budget,
        lanes=lanes,
        journal=journal,
    )
    with session.open_library() as library:
        lens = definition(library, name)
        lens.prompt  # noqa: B018 (what is wrong with it is said before a model is looked for)
        with _model(settings) as asked:
            lens = bound_to(lens, asked.name, switch=switch)
            with ProgressShown(session.config["progress"] and not session.quiet) as shown:
                report = run_lens(
                    library,
                    lens,
                    asked,
                    failed=failed,
                    most=most,
                    batch=max(64, 32 * lanes),
                    progress=shown,
                )
        whole = tally(library, lens)
    if as_json:
        session.screen.data(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) + "\n")
    else:
        for line in report_in_words(lens, report, whole):
            session.screen.line(line)
    if report.stopped is not None:
        raise report.stopped
    if report.values:
        session.screen.next(f"aspectra index{session.library_words()}")


@app.command()
@common
def status(
    session: Session,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Of one lens; else of all.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how far each prompted lens is, what it cost, and what went wrong.

    Example:  aspectra lens status stance
    """
    from aspectra.views.prompted.definition import definition, definitions

    with session.open_library() as library:
        chosen = [definition(library, name)] if name else list(definitions(library).values())
        found = [status_facts(library, lens) for lens in chosen]
    if as_json:
        session.screen.data(json.dumps(found, ensure_ascii=False, indent=2) + "\n")
        return
    if not found:
        session.screen.line("The library has no prompted lens.")
        session.screen.next(f"aspectra lens list{session.library_words()}")
    for facts in found:
        for line in status_in_words(facts):
            session.screen.line(session.spell_out(line))


@app.command()
@common
def show(
    session: Session,
    name: Name,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="Papers at most.")] = 20,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="One JSON object a paper.")] = False,
) -> None:
    """What a lens saw, paper by paper.

    Example:  aspectra lens show stance --limit 5
    """
    from itertools import islice

    from aspectra.views.prompted.definition import definition
    from aspectra.views.prompted.store import readings

    with session.open_library() as library:
        lens = definition(library, name)
        seen = ((paper_id, one) for paper_id, one in readings(library, lens) if one is not None)
        found = list(islice(seen, limit))
    for paper_id, reading in found:
        if as_lines:
            row = {"id": paper_id, "value": reading.value, "failure": reading.failure}
            row["simulated"] = reading.simulated
            session.screen.data(json.dumps(row, ensure_ascii=False) + "\n")
            continue
        said = (
            f"(no value: {reading.failure})" if reading.value is None else str(reading.value) or "(nothing)"
        )
        session.screen.line(f"{paper_id}  {said}{' *simulated*' if reading.simulated else ''}", indent=2)
    if not found:
        session.screen.note(f"The lens {lens.name} has seen nothing yet.")


@app.command()
@common
def remove(
    session: Session,
    name: Name,
    values: Annotated[
        bool, typer.Option("--values", help="Its values too; answers stay in the journal.")
    ] = False,
) -> None:
    """Take a lens out of the library.

    Its values stay, for when it is added again, unless --values is given.

    Example:  aspectra lens remove stance
    """
    remove_lens(session, name, values)
