"""``config``: settings and where they come from."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import Annotated

import typer

from aspectra.app.output.screen import columns, safe
from aspectra.app.session import Session, common
from aspectra.app.settings import KEYS, user_file
from aspectra.base.config import PROJECT_FILE, parse_value, read_file
from aspectra.base.errors import UsageError

__all__ = ["app"]

app = typer.Typer(
    help="Show and change settings.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
@common
def show(
    session: Session,
    origin: Annotated[bool, typer.Option("--origin", help="Say which layer set each value.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Every setting with its value.

    Example:  aspectra config show --origin
    """
    items = list(session.config.items())
    if as_json:
        whole = {key.name: {"value": value.value, "origin": value.origin} for key, value in items}
        session.screen.data(json.dumps(whole, ensure_ascii=False, indent=2) + "\n")
        return
    rows = []
    for key, value in items:
        shown = json.dumps(value.value, ensure_ascii=False)
        if key.name == "library" and not value.value:
            shown = json.dumps(str(session.library_path), ensure_ascii=False)
        rows.append((key.name, "=", safe(shown), f"# {value.origin if origin else key.help}"))
    for line in columns(rows, gap=" "):
        session.screen.line(line)


@app.command()
@common
def path(session: Session) -> None:
    """Print the files that are read, the strongest first.

    Example:  aspectra config path
    """
    config = session.config
    for file, what in ((config.project, "project"), (config.user, "user")):
        if file is None:
            session.screen.line(f"{what}: none ({PROJECT_FILE} in this folder or above)")
        else:
            session.screen.line(f"{what}: {file}{'' if file.is_file() else ' (not written yet)'}")


@app.command("set")
@common
def set_(
    session: Session,
    key: Annotated[str, typer.Argument(metavar="KEY", help="As search.limit.", show_default=False)],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The new value.", show_default=False)],
    project: Annotated[
        bool, typer.Option("--project", help="In ./aspectra.toml, not in your own file.")
    ] = False,
) -> None:
    """Set a value in your own file.

    With --project in ./aspectra.toml. Comments in the file are kept.

    Example:  aspectra config set search.limit 20
    """
    import tomlkit

    from aspectra.app.output.screen import write_file

    known = {one.name: one for one in KEYS}
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        raise UsageError(
            f"there is no setting {key!r}",
            why="known: " + ", ".join(known),
            hint=f"did you mean {near[0]}?" if near else "",
        )
    new = parse_value(known[key], value, "the command line")
    if known[key].path and new:
        new = os.path.abspath(os.path.expanduser(new))
    file = session.config_file or (Path(PROJECT_FILE) if project else user_file())
    read_file(file, KEYS)  # a file that is wrong already is not made worse
    table = tomlkit.parse(file.read_text(encoding="utf-8")) if file.is_file() else tomlkit.document()
    inner: dict[str, object] = table
    *above, last = key.split(".")
    for part in above:
        inner = inner.setdefault(part, tomlkit.table())  # type: ignore[assignment]
    inner[last] = new
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {file.parent}", why=error.strerror or str(error)) from error
    write_file(file, tomlkit.dumps(table))
    session.screen.note(f"{key} = {json.dumps(new, ensure_ascii=False)} in {file}")
