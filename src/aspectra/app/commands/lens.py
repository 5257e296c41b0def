"""``lens`` and ``aspect``: what a library adds to its papers, and searches.

A lens is computed once for every paper, with a language model or without; an aspect is a definition.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from aspectra.app.options import cost_in_words, currency_of, language_model, model_settings
from aspectra.app.output.lenses import (
    estimate_in_words,
    lens_rows,
    report_in_words,
    status_facts,
    status_in_words,
)
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, CommandGroup, Names, argument, option, showing
from aspectra.app.terminal.screen import columns, count
from aspectra.base.errors import UsageError
from aspectra.base.values import replace

if TYPE_CHECKING:
    from aspectra.papers.library.store import Store

app = CommandGroup("Compute something once for every paper, and search it.")
Name = Annotated[str, argument("Of the lens.", "NAME")]

Failed = Annotated[bool, option("Also papers whose earlier request failed.", "--failed")]


@app.command()
@common
def add(
    session: Session,
    name: Name,
    prompt: Annotated[Path | None, option("A prompt file of your own.")] = None,
    schema: Annotated[Path | None, option("JSON schema of the value.")] = None,
    thinking: Annotated[int | None, option("Tokens a reasoning model may think with.", min=0)] = None,
) -> None:
    """Add a lens, or update it from a changed prompt or schema.

    No model is used yet. Without --prompt the lens is one that comes with Aspectra: see lens list.

    Example:  aspectra lens add stance --prompt stance.toml
    """
    from aspectra.llm.prompts.conversation import read_prompt
    from aspectra.views.lenses.protocol import optional_lenses
    from aspectra.views.prompted.definition import (
        PromptedLens,
        builtin_text,
        check_name,
        define,
        definitions,
        usable,
    )

    with session.open_library() as opened:
        library = opened.store
        if name in optional_lenses() and prompt is None:
            _add_local(session, library, name)
            return
        plain = check_name(name)
        text = read_prompt(prompt) if prompt is not None else builtin_text(plain)
        path = "" if prompt is None else str(prompt.resolve())
        held = definitions(library).get(plain)
        if thinking is None:
            thinking = 0 if held is None else held.thinking
        own = None if schema is None else _json(schema)
        lens = PromptedLens(plain, text, own, path, thinking=thinking)
        lens.prompt  # noqa: B018 (parsed here, so that what is wrong is said before anything is kept)
        known = usable(library)
        if held is not None:
            lens = lens.with_model(held.model)
        with library.writing("lens") as writer:
            define(library, writer, lens)
        kind = lens.prompt.schema.kind
        if held is not None and held.name not in known:  # what was there could not be used: nothing is lost
            held = None
        if held is None:
            session.screen.line(f"Added the lens {plain}: a {kind} for each paper ({lens.prompt.stamp}).")
        elif held.text == lens.text and held.schema == lens.schema:
            session.screen.line(f"The lens {plain} is unchanged ({lens.prompt.stamp}).")
        elif not held.model or held.fingerprint == lens.fingerprint:
            session.screen.line(f"Changed the lens {plain}; its values stay ({lens.prompt.stamp}).")
        else:
            from aspectra.views.prompted.definition import tally

            old = tally(library, held).values
            session.screen.line(
                f"Changed the lens {plain} ({lens.prompt.stamp}): its {count(old, 'value')} "
                "under the old prompt or schema will not be mixed in."
            )
        session.screen.next(f"aspectra lens estimate {plain}{session.library_words()}")


def _add_local(session: Session, library: Store, name: str) -> None:
    from aspectra.views.build.work import SETTINGS_KEY, settings_of

    settings = settings_of(library)
    if name in settings.lenses:
        session.screen.line(f"The lens {name} is there already; it needs no model.")
    else:
        with library.writing("lens") as writer:
            writer.set_meta(SETTINGS_KEY, replace(settings, lenses=(*settings.lenses, name)).dumps())
        session.screen.line(f"Added the lens {name}: it needs no model, and is applied by aspectra index.")
    session.screen.next(f"aspectra index{session.library_words()}")


@app.command("list")
@common
def list_(session: Session, as_json: AsJson = False) -> None:
    """The lenses of the library, and those that could be added.

    Example:  aspectra lens list
    """
    with session.open_library() as library:
        rows = lens_rows(library.store)
    if as_json:
        session.screen.document("lens-list", {"lenses": rows})
        return
    keys = ("lens", "gives", "state", "about")
    session.screen.lines(columns([keys, *[[row[key] or "–" for key in keys] for row in rows]]))


@app.command()
@common
def estimate(
    session: Session,
    name: Name,
    pilot: Annotated[int, option("First run N papers through the model, and measure.", min=0)] = 0,
    failed: Failed = False,
    as_json: AsJson = False,
) -> None:
    """Estimate what a lens will cost: calls, tokens, and money where the price file lists the model.

    Without a model (llm.model) money is unknown. With --pilot the model is used for N papers; their values
    are stored.

    Example:  aspectra lens estimate stance --pilot 30
    """
    from aspectra.views.prompted.definition import definition
    from aspectra.views.prompted.running import bound_to, estimate_lens, run_lens

    with session.open_library() as library:
        store = library.store
        lens = definition(store, name)
        named = bool(session.settings.llm.model or pilot)
        with language_model(session, connect=bool(pilot)) if named else nullcontext() as model:
            if model is not None:
                lens = bound_to(lens, model.name)
            if model is not None and pilot:
                report = run_lens(store, lens, model, most=pilot, spread=True, failed=failed)
                done = count(report.values + report.failed, "paper")
                session.screen.note(f"pilot of {done}: {cost_in_words(report.cost, currency_of())}")
                if report.stopped is not None:
                    raise report.stopped
            found = estimate_lens(store, lens, model, failed=failed)
    if as_json:
        session.screen.document("lens-estimate", {"lens": lens.name, **asdict(found)})
        return
    session.screen.lines(estimate_in_words(lens, found, priced=named))
    if found.papers:
        session.screen.next(f"aspectra lens run {lens.name}{session.library_words()}")


@app.command()
@common
def run(
    session: Session,
    name: Name,
    most: Annotated[int | None, option("Papers at most, then stop.", min=1)] = None,
    failed: Failed = False,
    switch: Annotated[bool, option("Let this model compute the lens from now on.", "--switch-model")] = False,
    as_json: AsJson = False,
) -> None:
    """Compute a lens with the language model, for every paper that has no value yet.

    The model is the one of the settings llm.*. If the run is interrupted, or stopped by llm.budget, run the
    same command again: recorded answers are reused.

    Example:  aspectra lens run stance --set llm.budget=500calls
    """
    from aspectra.views.prompted.definition import definition, tally
    from aspectra.views.prompted.running import bound_to, run_lens

    with session.open_library() as library:
        model_settings(session)
        store = library.store
        lens = definition(store, name)
        lens.prompt  # noqa: B018 (errors in it are reported before a model is opened)
        with language_model(session) as model, session.progress() as shown:
            lens = bound_to(lens, model.name, switch=switch)
            batch = max(64, 32 * session.settings.llm.lanes)
            report = run_lens(store, lens, model, failed=failed, most=most, batch=batch, progress=shown)
        whole = tally(store, lens)
    if as_json:
        session.screen.document("lens-run", report.to_dict())
    else:
        session.screen.lines(report_in_words(lens, report, whole))
    if report.stopped is not None:
        raise report.stopped
    if report.values:
        session.screen.next(f"aspectra index{session.library_words()}")


@app.command()
@common
def status(
    session: Session,
    name: Annotated[str | None, argument("Of one lens; else of all.", "[NAME]")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how far each prompted lens is, what it cost, and what failed.

    Example:  aspectra lens status stance
    """
    from aspectra.views.prompted.definition import definition, definitions

    with session.open_library() as library:
        store = library.store
        chosen = [definition(store, name)] if name else list(definitions(store).values())
        found = [status_facts(store, lens) for lens in chosen]
    if as_json:
        session.screen.document("lens-status", {"lenses": found})
        return
    if not found:
        session.screen.line("The library has no prompted lens.")
        session.screen.next(f"aspectra lens list{session.library_words()}")
    for facts in found:
        session.screen.lines(map(session.spell_out, status_in_words(facts)))


@app.command()
@common
def show(
    session: Session,
    name: Name,
    limit: Annotated[int, option("Papers at most [20].", "-n", min=0)] = 20,
    as_lines: Annotated[bool, showing("One JSON object a paper.", "--jsonl")] = False,
) -> None:
    """Show the values of a lens, paper by paper.

    Example:  aspectra lens show stance --limit 5
    """
    from itertools import islice

    from aspectra.views.prompted.definition import definition, readings

    with session.open_library() as library:
        lens = definition(library.store, name)
        known = ((paper.id, one) for paper, one in readings(library.store, lens) if one is not None)
        found = list(islice(known, limit))
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
        session.screen.note(f"The lens {lens.name} has no values yet.")


@app.command()
@common
def remove(
    session: Session,
    name: Name,
    values: Annotated[bool, option("Its values too; recorded answers stay.")] = False,
) -> None:
    """Remove a lens from the library.

    Its values stay, for when it is added again, unless --values is given.

    Example:  aspectra lens remove stance
    """
    from aspectra.views.build.work import SETTINGS_KEY, settings_of
    from aspectra.views.lenses.protocol import optional_lenses
    from aspectra.views.prompted.definition import definition, forget, forget_lens, undefine

    with session.open_library() as opened:
        library = opened.store
        settings = settings_of(library)
        if name in optional_lenses() and name in settings.lenses:
            kept = tuple(one for one in settings.lenses if one != name)
            with library.writing("lens") as writer:
                writer.set_meta(SETTINGS_KEY, replace(settings, lenses=kept).dumps())
            if values:
                forget(library, f"lens:{name}")
            session.screen.line(f"Removed the lens {name}.")
        else:
            lens = definition(library, name)
            with library.writing("lens") as writer:
                undefine(library, writer, lens.name)
            if values:
                forget_lens(library, lens.name)
            session.screen.line(f"Removed the lens {lens.name}{' and its values' if values else ''}.")
    session.screen.next(f"aspectra index{session.library_words()}")


def _json(path: Path) -> Any:
    from aspectra.llm.prompts.conversation import read_prompt

    try:
        return json.loads(read_prompt(path, "the schema file"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the schema file {path} is not valid JSON", why=str(error)) from error


# Aspects of papers that a library defines beside background, method and result.

aspects = CommandGroup("Define an aspect of your own, and compare papers in it.")
AspectName = Annotated[str, argument("One to four words.", "NAME")]


@aspects.command("add")
@common
def add_aspect(
    session: Session,
    name: AspectName,
    definition: Annotated[str, option("What it is about, in a sentence.", "--as", metavar="TEXT")],
    example: Annotated[
        Names, option("A sentence about it, as papers write it; several.", metavar="TEXT")
    ] = None,
) -> None:
    """Define an aspect, or change one; nothing is indexed anew.

    Papers are then compared by their sentences that are nearest to the definition and the examples.

    Example:  aspectra aspect add population --as "who was studied" --example "Forty adults took part."
    """
    from aspectra.search.planning.aspects import define_aspect

    with session.open_library() as library, library.store.writing("aspect") as writer:
        kept = define_aspect(library.store, writer, name, definition, example or ())
    session.screen.line(f"The aspect {kept} is defined.")
    session.screen.next(f'aspectra similar PAPER --same "{kept}"{session.library_words()}')


@aspects.command("list")
@common
def list_aspects(session: Session, as_json: AsJson = False) -> None:
    """The aspects that papers can be compared in.

    Example:  aspectra aspect list
    """
    from aspectra.search.planning.aspects import ASPECT_ROLES, own_aspects

    with session.open_library() as library:
        own = own_aspects(library.store)
    rows = [{"aspect": name, "definition": "built in", "examples": []} for name in ASPECT_ROLES]
    for name, focus in own.items():
        definition, *examples = focus.splitlines()
        rows.append({"aspect": name, "definition": definition, "examples": examples})
    if as_json:
        session.screen.document("aspect-list", {"aspects": rows})
        return
    table = [[str(row["aspect"]), str(row["definition"]), str(len(row["examples"]))] for row in rows]
    session.screen.lines(columns([["aspect", "definition", "examples"], *table]))


@aspects.command("remove")
@common
def remove_aspect(session: Session, name: AspectName) -> None:
    """Remove an aspect that was defined; papers stay as they are.

    Example:  aspectra aspect remove population
    """
    from aspectra.search.planning import aspects as planned

    with session.open_library() as library, library.store.writing("aspect") as writer:
        planned.remove_aspect(library.store, writer, name)
    session.screen.line(f"The aspect {name} is removed.")
