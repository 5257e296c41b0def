"""``edit``: a paper's record, corrected."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aspectra.app.commands.daily.marking import papers_named
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import option
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.app.library import Library


@common
def edit(
    session: Session,
    paper: Annotated[
        list[str],
        typer.Argument(metavar="PAPER", help="An id, DOI or title; or: last 3.", show_default=False),
    ],
    title: Annotated[str | None, option(metavar="TEXT", about="The title.")] = None,
    author: Annotated[list[str] | None, option(metavar="NAME", about="An author; repeat for all.")] = None,
    year: Annotated[int | None, option(metavar="YEAR", about="The year.")] = None,
    venue: Annotated[str | None, option(metavar="TEXT", about="The journal, meeting or publisher.")] = None,
    abstract: Annotated[str | None, option(metavar="TEXT", about="The abstract.")] = None,
    identifier: Annotated[
        list[str] | None, option(metavar="SCHEME=VALUE", about="As doi=10.1000/x; doi= removes it.")
    ] = None,
    url: Annotated[str | None, option(metavar="URL", about="Its page.")] = None,
    language: Annotated[str | None, option(metavar="TAG", about="As en.")] = None,
    reset: Annotated[
        list[str] | None, option("--reset", metavar="FIELD", about="Bring the file's own value back.")
    ] = None,
) -> None:
    """Correct the record of a paper.

    What you write lasts when its file is added again. Without options, $EDITOR opens with the record.

    Example:  aspectra edit smith2020 --year 2021 --identifier doi=10.1000/xyz
    """
    with session.open_library() as library:
        (found,) = _one(papers_named(session, library, paper))
        given = {"title": title, "authors": author, "year": year, "venue": venue, "abstract": abstract}
        given |= {"url": url, "language": language}
        fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if identifier:
            fields["identifiers"] = _identifiers(dict(library.store.get(found).identifiers), identifier)
        fields |= dict.fromkeys(reset or ())
        if not fields:
            fields = _in_editor(library, found)
        changed = library.marks.edit(found, **fields)
    if not changed:
        session.screen.line("Nothing changed.")
        return
    session.screen.line(f"Changed {', '.join(changed)} of {found}.")
    session.screen.next(f"aspectra index{session.library_words()}")


def _one(found: list[str]) -> list[str]:
    if len(found) != 1:
        raise UsageError(f"one paper is edited at a time, these are {len(found)}", hint="aspectra edit PAPER")
    return found


def _identifiers(held: dict[str, str], changes: list[str]) -> dict[str, str]:
    from aspectra.papers.identifiers import normalise

    for one in changes:
        scheme, equals, value = one.partition("=")
        scheme = scheme.strip().casefold()
        canonical = normalise(scheme, value) if value.strip() else ""
        if not equals or not scheme or (value.strip() and not canonical):
            raise UsageError(f"{one!r} is no identifier", hint="--identifier doi=10.1000/xyz")
        held.pop(scheme, None)
        if canonical:
            held[scheme] = canonical
    return held


def _in_editor(library: Library, paper: str) -> dict[str, Any]:
    """The fields that the user changed in an editor."""
    import tomllib

    import tomlkit

    from aspectra.papers.library.marks.values import EDITABLE, values_of

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("say what to change", hint="aspectra edit PAPER --title TEXT --year 2020")
    held = values_of(library.store.get(paper), EDITABLE)
    shown = {name: held[name] for name in EDITABLE if held[name] is not None}
    comment = f"# {paper}: change what is wrong, save and close. A removed line changes nothing.\n"
    try:
        written = tomllib.loads(_written(comment + tomlkit.dumps(shown)))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            "what you wrote is no TOML", why=str(error), hint=f"aspectra edit {paper}"
        ) from error
    return {name: value for name, value in written.items() if value != held.get(name)}


def _written(text: str) -> str:
    """What becomes of a text in the user's editor."""
    import shlex
    import subprocess
    import tempfile

    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not named:
        raise UsageError(
            "no editor is named",
            why="neither VISUAL nor EDITOR is set",
            hint="aspectra edit PAPER --title TEXT",
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "paper.toml"
        file.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([*shlex.split(named), str(file)], check=False)  # noqa: S603 - the user's own
        except (OSError, ValueError) as error:
            raise UsageError(f"the editor {named!r} cannot be started", why=str(error)) from error
        if done.returncode:
            raise UsageError(f"the editor {named!r} failed", why="nothing was changed")
        return file.read_text("utf-8-sig", "replace")
