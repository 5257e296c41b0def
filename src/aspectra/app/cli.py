"""The command line: which commands there are. Each is imported when it is called."""

from __future__ import annotations

from importlib import import_module
from textwrap import shorten
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import CommandGroup, convert_plainly

# Command, in the order of the help -> module in commands that has it, as a function or a group of the same
# name (or the one after the colon), else as the group ``app``; and its line in the help, which its docstring
# begins with too: here it can be read without an import. Its class is in CLASSES of the module, if any.
COMMANDS = {
    "init": ("managing", "Make a library."),
    "add": ("adding", "Add papers from files and folders."),
    "index": ("managing", "Make what was added searchable."),
    "search": ("searching", "Find papers by a question."),
    "similar": ("searching", "Find papers like other papers."),
    "show": ("daily.export", "Show a paper."),
    "export": ("daily.export", "Write papers for other programs."),
    "plan": ("searching", "Print what a search would run."),
    "list": ("daily.looking:list_papers", "List papers of the library."),
    "open": ("daily.looking:open_paper", "Open the page of a paper, or its PDF."),
    "tag": ("daily.marking", "Tag papers."),
    "note": ("daily.marking", "Write a note on a paper."),
    "decide": ("daily.marking", "Include or exclude papers."),
    "edit": ("daily.marking", "Correct the record of a paper."),
    "undo": ("daily.marking", "Undo the last step."),
    "redo": ("daily.marking", "Do again what was undone last."),
    "save": ("daily.looking", "Save the last search, to ask it again."),
    "saved": ("daily.looking", "List saved searches."),
    "news": ("daily.looking", "Show what is new in saved searches."),
    "duplicates": ("daily.marking", "List records of the same work."),
    "merge": ("daily.marking", "Make records one work."),
    "split": ("daily.marking", "Keep records apart."),
    "status": ("managing", "Say what the library holds."),
    "remove": ("managing", "Remove papers from the library."),
    "backup": ("managing", "Copy the library to one file."),
    "restore": ("managing", "Make a library of a backup."),
    "measure": ("measuring", "Score a run against judgements, whichever engine made it."),
    "setup": ("managing", "Bring the weights of the default encoder."),
    "doctor": ("managing", "Check installation and library."),
    "schema": ("configuring", "Print the JSON schema of a command's --json, or list the schemas there are."),
    "licences": ("configuring", "List the packages that this installation needs, with their licences."),
    "serve": ("served", "Serve the page, HTTP (/v1) and MCP (/mcp)."),
    "mcp": ("served", "Serve the libraries as tools to a program with a language model (MCP)."),
    "cluster": ("cluster", "Search the shards of a collection in processes of their own."),
    "bench": ("bench", "Run experiments on benchmarks, score and compare them."),
    "lens": ("lens", "Compute something once for every paper, and search it."),
    "aspect": ("lens:aspects", "Define an aspect of your own, and compare papers in it."),
    "zotero": (
        "daily.zotero",
        "Read a Zotero library, follow its changes, and send picks, tags and notes back.",
    ),
    "config": ("configuring", "Show and change settings."),
}


class _Commands(TyperGroup):
    """The commands, each imported and built when it is first named: all of them take 200 ms."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, or None."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _built(cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the lines of the commands."""
        room = formatter.width - 6 - max(map(len, COMMANDS))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, shorten(line, room, placeholder="...")) for name, (_, line) in COMMANDS.items()]
            )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments name; an unknown name is compared with all commands."""
        if args[0] not in COMMANDS:
            self.build_all()
        return super().resolve_command(ctx, args)

    def get_help_option(self, ctx: Any) -> Any:
        """The option ``--help``."""
        found = super().get_help_option(ctx)
        convert_plainly([found] if found is not None else [])
        return found

    def build_all(self) -> None:
        """Build every command."""
        self.commands = {name: self.get_command(None, name) for name in COMMANDS}


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
    """A command or a group of commands."""
    from typer.main import get_command, get_group

    place, _, function = COMMANDS[name][0].partition(":")
    module = import_module(f"aspectra.app.commands.{place}")
    found: Any = getattr(module, function or name, None) or getattr(module, "app", None)
    if not isinstance(found, CommandGroup):
        alone = CommandGroup("", add_completion=False)
        special = getattr(module, "CLASSES", {}).get(name)
        alone.command(name, **({"cls": special} if special else {}))(found)
        return get_command(alone)
    made = get_group(found)
    made.name = name
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
