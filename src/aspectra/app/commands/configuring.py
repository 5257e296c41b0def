"""``config``, ``schema``, ``licences``: settings, permissions, and facts about this version."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

from aspectra.app.session import Session, common
from aspectra.app.settings import SPENDING, Settings, user_file
from aspectra.app.terminal.panels import AsJson, CommandGroup, OutputFile, argument, option
from aspectra.app.terminal.screen import columns, safe, write_file
from aspectra.base.config import PROJECT_FILE, find_key, keys_of, parse_value, read_file
from aspectra.base.errors import UsageError, needs_extra
from aspectra.base.trust import Permission, allow, allowed, from_environment, refused, withdraw
from aspectra.base.values import replace

app = CommandGroup("Show and change settings.")


@app.command("list")
@common
def list_(session: Session, as_json: AsJson = False) -> None:
    """Every setting: what it is, what values it takes, its default and its environment variable.

    Example:  aspectra config list
    """
    keys = list(keys_of(Settings))
    if as_json:
        rows = {
            k.name: {"about": k.help, "values": k.in_words, "default": k.default, "variable": k.variable}
            for k in keys
        }
        session.screen.document("config-list", {"settings": rows})
        return
    for key in keys:
        default = json.dumps(key.default)
        session.screen.line(key.name, style="bold")
        session.screen.line(f"{key.help} ({key.in_words}; default {default}; {key.variable})", indent=2)


@app.command()
@common
def show(
    session: Session,
    origin: Annotated[bool, option("Name the layer that set each value.")] = False,
    as_json: AsJson = False,
) -> None:
    """Every setting with its value.

    Example:  aspectra config show --origin
    """
    config = session.config
    if as_json:
        whole = {
            key.name: {"value": value, "origin": config.origin(key.name)} for key, value in config.items()
        }
        session.screen.document("config", {"settings": whole})
        return
    rows = []
    for key, value in config.items():
        shown = value or str(session.library_path) if key.name == "library" else value
        text = safe(json.dumps(shown, ensure_ascii=False))
        rows.append((key.name, "=", text, f"# {config.origin(key.name) if origin else key.help}"))
    session.screen.lines(columns(rows, gap=" "))


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
    key: Annotated[str, argument("As search.limit.", "KEY")],
    value: Annotated[str, argument("The new value.", "VALUE")],
    project: Annotated[bool, option("In ./aspectra.toml, not in your own file.")] = False,
) -> None:
    """Set a value in your own file.

    With --project in ./aspectra.toml. Comments in the file stay.

    Example:  aspectra config set search.limit 20
    """
    import tomlkit

    known = {one.name: one for one in keys_of(Settings)}
    new = parse_value(find_key(known, key), value, "the command line")
    if value != value.encode(errors="ignore").decode():
        raise UsageError(f"{value!r} is not UTF-8", why="a file of settings holds nothing else")
    if known[key].path:
        new = known[key].placed(new, Path.cwd())
    file = session.options.config or (Path(PROJECT_FILE) if project else user_file())
    before = read_file(file, known)  # a file that is wrong already is not made worse
    table = tomlkit.parse(file.read_text(encoding="utf-8-sig")) if file.is_file() else tomlkit.document()
    inner: Any = table
    *above, last = key.split(".")
    for part in above:
        inner = inner.setdefault(part, tomlkit.table())
    inner[last] = new
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {file.parent}", why=error.strerror or str(error)) from error
    write_file(file, tomlkit.dumps(table))
    session.screen.note(f"{key} = {json.dumps(new, ensure_ascii=False)} in {file}")
    if project and key == "llm.base_url" and new:
        _permit(session, Permission.host(new))
    if project and key in SPENDING and not before.keys() & {*SPENDING}:  # else some may be somebody else's
        _permit(session, Permission.folder(".", "settings"))


@app.command()
@common
def trust(
    session: Session,
    what: Annotated[
        str | None, argument("https://HOST, code:NAME, or model:, library: or settings:FOLDER.", "WHAT")
    ] = None,
    key: Annotated[str, option("Also send the key in VARIABLE to the host.", metavar="VARIABLE")] = "",
    as_json: AsJson = False,
) -> None:
    """Permit a host, a model, its code, a library or settings, whoever names it; alone, list all.

    Libraries, plans, studies and a project's aspectra.toml may name these: they are used only
    if they are permitted here, or if you name them on the command line.

    Example:  aspectra config trust https://models.example.org --key MODELS_API_KEY
    """
    if what is not None:
        _permit(session, _given(what, key))
        return
    if key:
        raise UsageError("--key needs a host", hint=f"aspectra config trust https://HOST --key {key}")
    here = [str(one) for one in from_environment()]
    lists = {"allowed": [*map(str, allowed())], "refused": [*map(str, refused())], "environment": here}
    if as_json:
        session.screen.document("config-trust", lists)
        return
    if not any(lists.values()):
        session.screen.note("Nothing is permitted yet.")
    for name, rows in lists.items():
        for row in rows:
            session.screen.line(row if name == "allowed" else f"{row}  # {_WHERE[name]}")


_WHERE = {"refused": "refused: you were asked", "environment": "named in your environment"}


@app.command()
@common
def distrust(session: Session, what: Annotated[str, argument("As listed.", "WHAT")]) -> None:
    """Withdraw a permission, or forget that one was refused.

    Example:  aspectra config distrust https://models.example.org
    """
    if not withdraw(str(_given(what, ""))):
        raise UsageError(f"{what} is neither permitted nor refused", hint="aspectra config trust")
    session.screen.note(f"forgotten: {what}")


def _given(what: str, key: str) -> Permission:
    """The permission that a command names; of a folder the whole path, of a host also without its scheme."""
    spelling = what if ":" in what else f"https://{what}"
    given = Permission.parse(f"{spelling} with {key}" if key else spelling)
    if given.kind != "host" and (key or os.path.isdir(os.path.expanduser(given.name))):
        if key:
            raise UsageError("a key is for a host", hint="leave --key out")
        return replace(given, name=Permission.folder(given.name).name)
    return given


def _permit(session: Session, given: Permission) -> None:
    allow(given)
    session.screen.note(f"permitted from now on: {given.deed.replace('would', 'may')}")


# ``schema`` and ``licences``: what this version writes, and what it is made of.


@common
def schema(
    session: Session,
    name: Annotated[str | None, argument("As search, hit, paper, status.", "[NAME]")] = None,
    output: OutputFile = None,
) -> None:
    """Print the JSON schema of a command's --json, or list the schemas there are.

    `openapi` is the description of HTTP, as `aspectra serve` gives it at /openapi.json.

    Example:  aspectra schema search
    """
    from aspectra.app.output.schemas import DOCUMENTS, json_schema

    if name is None:
        session.screen.lines((*DOCUMENTS, "openapi"))
        return
    if name == "openapi":
        with needs_extra("HTTP is not installed", "serve"):
            from aspectra.app.surfaces.http.routes import document
        text = json.dumps(document(), indent=1, ensure_ascii=False)
    else:
        text = json.dumps(json_schema(name), indent=2)
    session.screen.data(text + "\n", output)


@common
def licences(session: Session, as_json: AsJson = False) -> None:
    """List the packages that this installation needs, with their licences.

    Example:  aspectra licences
    """
    from aspectra.app.upkeep.checkup import dependencies

    found = dependencies()
    if as_json:
        session.screen.document("licences", {"packages": [one.to_dict() for one in found]})
        return
    rows = [(one.name, one.version, one.licence or "not stated", ", ".join(one.needed_by)) for one in found]
    session.screen.lines(columns([("package", "version", "licence", "needed by"), *rows]))
