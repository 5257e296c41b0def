"""``schema`` and ``licences``: what this version writes, and what it is made of."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, OutputFile
from aspectra.app.terminal.screen import columns
from aspectra.base.errors import needs_extra


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

    `openapi` is the description of HTTP, as `aspectra serve` gives it at /openapi.json.

    Example:  aspectra schema search
    """
    from aspectra.app.output.schemas import DOCUMENTS, json_schema

    if name is None:
        for known in (*DOCUMENTS, "openapi"):
            session.screen.line(known)
        return
    if name == "openapi":
        session.screen.data(_openapi(), output)
        return
    session.screen.data(json.dumps(json_schema(name), indent=2) + "\n", output)


def _openapi() -> str:
    with needs_extra("HTTP is not installed", "serve"):
        from aspectra.app.surfaces.http.routes import document
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


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
    for line in columns([("package", "version", "licence", "needed by"), *rows]):
        session.screen.line(line)
