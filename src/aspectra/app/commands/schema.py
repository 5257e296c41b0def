"""``schema``: the JSON schema of what ``--json`` writes."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import OutputFile

__all__ = ["schema"]


@common
def schema(
    session: Session,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="As search, hit, paper, status.", show_default=False),
    ] = None,
    output: OutputFile = None,
) -> None:
    """Print the JSON schema of a command's --json, or list the schemas there are.

    Example:  aspectra schema search
    """
    from aspectra.app.output.schemas import DOCUMENTS, json_schema

    if name is None:
        for known in DOCUMENTS:
            session.screen.line(known)
        return
    session.screen.data(json.dumps(json_schema(name), indent=2) + "\n", output)
