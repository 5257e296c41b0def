"""The command line: which commands there are."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from aspectra.app.commands import (
    about,
    adding,
    bench,
    configuring,
    doctor,
    indexing,
    keeping,
    lens,
    managing,
    measuring,
    searching,
)
from aspectra.app.commands.daily import export, saved, works
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import CommandGroup

__all__ = ["app", "root"]

app = CommandGroup(
    "Literature search that shows its evidence: ranked papers, each with the sentences that match.",
    name="aspectra",
    epilog='First steps:  aspectra init --demo  then  aspectra search "reranking with language models"',
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


for _command in (
    managing.init,
    adding.add,
    indexing.index,
    searching.search,
    searching.similar,
    export.show,
    export.export,
    searching.plan,
    saved.save,
    saved.saved,
    saved.news,
    works.duplicates,
    works.merge,
    works.split,
    managing.status,
    managing.remove,
    keeping.backup,
    keeping.restore,
    measuring.measure,
    doctor.doctor,
    about.schema,
    about.licences,
):
    app.command()(_command)
app.add_typer(bench.app, name="bench")
app.add_typer(lens.app, name="lens")
app.add_typer(configuring.app, name="config")


def root() -> Any:
    """The parsed command tree, with arguments named as people name them."""
    from typer.main import get_command

    tree = get_command(app)
    _plain_arguments(tree)
    return tree


def _plain_arguments(command: Any) -> None:
    # Typer writes Python types ("<list[Path]>") beside arguments; the names say enough.
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
    for inner in getattr(command, "commands", {}).values():
        _plain_arguments(inner)
