"""``lens add`` and ``lens remove``: which lenses a library has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import option
from aspectra.app.terminal.screen import count
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.papers.library.store import Store

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the lens.", show_default=False)]


@common
def add(
    session: Session,
    name: Name,
    prompt: Annotated[Path | None, option(metavar="FILE", about="A prompt file of your own.")] = None,
    schema: Annotated[Path | None, option(metavar="FILE", about="JSON schema of the value.")] = None,
    thinking: Annotated[
        int | None, option(metavar="N", min=0, about="Tokens a reasoning model may think with.")
    ] = None,
) -> None:
    """Add a lens, or update it from a changed prompt or schema.

    No model is used yet. Without --prompt the lens is one that comes with Aspectra: see lens list.

    Example:  aspectra lens add stance --prompt stance.toml
    """
    from aspectra.llm.prompts.template import read_prompt
    from aspectra.views.lenses.protocol import optional_lenses
    from aspectra.views.prompted.definition import PromptedLens, check_name, define, definitions, usable
    from aspectra.views.prompted.prompt import builtin_text

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
            from aspectra.views.prompted.store import tally

            old = tally(library, held).values
            session.screen.line(
                f"Changed the lens {plain} ({lens.prompt.stamp}): its {count(old, 'value')} "
                "under the old prompt or schema will not be mixed in."
            )
        session.screen.next(f"aspectra lens estimate {plain}{session.library_words()}")


def _add_local(session: Session, library: Store, name: str) -> None:
    from dataclasses import replace

    from aspectra.views.build.run import SETTINGS_KEY, settings_of

    settings = settings_of(library)
    if name in settings.lenses:
        session.screen.line(f"The lens {name} is there already; it needs no model.")
    else:
        with library.writing("lens") as writer:
            writer.set_meta(SETTINGS_KEY, replace(settings, lenses=(*settings.lenses, name)).dumps())
        session.screen.line(f"Added the lens {name}: it needs no model, and is applied by aspectra index.")
    session.screen.next(f"aspectra index{session.library_words()}")


@common
def remove(
    session: Session,
    name: Name,
    values: Annotated[bool, option("--values", about="Its values too; recorded answers stay.")] = False,
) -> None:
    """Remove a lens from the library.

    Its values stay, for when it is added again, unless --values is given.

    Example:  aspectra lens remove stance
    """
    from dataclasses import replace

    from aspectra.views.build.run import SETTINGS_KEY, settings_of
    from aspectra.views.lenses.protocol import optional_lenses
    from aspectra.views.prompted.definition import definition, undefine
    from aspectra.views.prompted.store import forget

    with session.open_library() as opened:
        library = opened.store
        settings = settings_of(library)
        if name in optional_lenses() and name in settings.lenses:
            kept = tuple(one for one in settings.lenses if one != name)
            with library.writing("lens") as writer:
                writer.set_meta(SETTINGS_KEY, replace(settings, lenses=kept).dumps())
                if values:
                    writer.derived.drop(f"lens:{name}")
            session.screen.line(f"Removed the lens {name}.")
        else:
            lens = definition(library, name)
            with library.writing("lens") as writer:
                undefine(library, writer, lens.name)
                if values:
                    forget(writer, lens.name)
            session.screen.line(f"Removed the lens {lens.name}{' and its values' if values else ''}.")
    session.screen.next(f"aspectra index{session.library_words()}")


def _json(path: Path) -> Any:
    from aspectra.llm.prompts.template import read_prompt

    try:
        return json.loads(read_prompt(path, "the schema file"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the schema file {path} is not valid JSON", why=str(error)) from error
