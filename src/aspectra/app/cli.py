"""The command line: which commands there are. Each is imported when it is called, all of them for help."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import CommandGroup, convert_plainly

# Command, in the order of the help -> module in commands that has it, as a function of the same name (or the
# one after the colon) or, for a group of commands, as ``app``. Its class is in CLASSES of the module, if any.
_COMMANDS = {
    "init": "managing",
    "add": "adding",
    "index": "indexing",
    "search": "searching",
    "similar": "searching",
    "show": "daily.export",
    "export": "daily.export",
    "plan": "searching",
    "list": "daily.looking:list_papers",
    "open": "daily.looking:open_paper",
    "tag": "daily.marking",
    "note": "daily.marking",
    "decide": "daily.marking",
    "edit": "daily.editing",
    "undo": "daily.marking",
    "redo": "daily.marking",
    "save": "daily.saved",
    "saved": "daily.saved",
    "news": "daily.saved",
    "duplicates": "daily.works",
    "merge": "daily.works",
    "split": "daily.works",
    "status": "managing",
    "remove": "managing",
    "backup": "upkeep.keeping",
    "restore": "upkeep.keeping",
    "measure": "measuring",
    "setup": "upkeep.doctor",
    "doctor": "upkeep.doctor",
    "schema": "about",
    "licences": "about",
    "serve": "served.page",
    "mcp": "served.agents",
    "bench": "bench",
    "lens": "lens",
    "aspect": "aspect",
    "zotero": "daily.zotero",
    "config": "configuring",
}


class _Commands(TyperGroup):
    """The commands, each imported and built when it is first named: all of them take 60 ms more."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names, in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, or None."""
        if cmd_name in _COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _built(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments name; a name that is none is compared with all of them."""
        if args[0] not in _COMMANDS:
            self.build_all()
        return super().resolve_command(ctx, args)

    def get_help_option(self, ctx: Any) -> Any:
        """The option ``--help``."""
        found = super().get_help_option(ctx)
        convert_plainly([found] if found is not None else [])
        return found

    def build_all(self) -> None:
        """Build every command."""
        self.commands = {name: self.get_command(None, name) for name in _COMMANDS}


app = CommandGroup(
    "Literature search that shows its evidence: ranked papers, each with the sentences that match.",
    name="aspectra",
    epilog='First steps:  aspectra init --demo  then  aspectra search "reranking with language models"',
    cls=_Commands,
)


def _version(wanted: bool) -> None:
    if wanted:
        from aspectra.base.version import __version__

        typer.echo(f"aspectra {__version__}")
        raise typer.Exit


@app.callback()
@common
def everywhere(
    session: Session,
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Literature search that shows its evidence: ranked papers, each with the sentences that match."""


def _built(name: str) -> Any:
    """A command or a group of commands, with arguments named as people name them."""
    from typer.main import get_command, get_group

    place, _, function = _COMMANDS[name].partition(":")
    module = import_module(f"aspectra.app.commands.{place}")
    if hasattr(module, function or name):
        alone = CommandGroup("", add_completion=False)
        special = getattr(module, "CLASSES", {}).get(name)
        alone.command(name, **({"cls": special} if special else {}))(getattr(module, function or name))
        made = get_command(alone)
    else:
        made = get_group(module.app)
        made.name = name
    _plain_arguments(made)
    return made


def root(*, whole: bool = True) -> Any:
    """The command tree.

    Args:
        whole: build every command now, not each when it is first named.
    """
    from typer.main import get_command

    tree: Any = get_command(app)
    convert_plainly(tree.params)
    if whole:
        tree.build_all()
    return tree


def _plain_arguments(command: Any) -> None:
    # Typer writes Python types ("<list[Path]>") beside arguments; the names say enough.
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
    for inner in getattr(command, "commands", {}).values():
        _plain_arguments(inner)
