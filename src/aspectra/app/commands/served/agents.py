"""``mcp``: the libraries as tools for programs with a language model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import option
from aspectra.base.errors import needs_extra
from aspectra.base.version import OURSELVES

if TYPE_CHECKING:
    from aspectra.app.surfaces.mcp.choices import Libraries
    from aspectra.app.surfaces.service.answering import Service


@common
def mcp(
    session: Session,
    print_config: Annotated[
        bool, option("--print-config", about="Print what clients need to start it, as JSON.")
    ] = False,
) -> None:
    """Serve the libraries as tools to a program with a language model (MCP).

    The program starts this command and speaks to it over standard input and output. Tools only read. The
    setting `libraries` lists several libraries by name; without it, the library in use is served.

    Example:  aspectra mcp --print-config
    """
    folders = _folders(session)
    if print_config:
        session.screen.data(json.dumps(_clients(session, folders), indent=2, ensure_ascii=False) + "\n")
        return
    with needs_extra("the parts for MCP are not installed", "mcp"):
        from aspectra.app.surfaces.mcp.server import serve_stdio
    libraries = served_libraries(session)
    if len(folders) == 1:
        libraries.get(*folders)  # where it is missing or damaged, nothing is served
    session.screen.note(f"MCP on standard input and output: {', '.join(folders)}. Closing the input ends it.")
    try:
        serve_stdio(libraries)
    finally:
        libraries.close()


def served_libraries(session: Session, held: Service | None = None) -> Libraries:
    """The libraries that are served, opened when they are first used.

    Args:
        session: with the settings that list them.
        held: a service of one of them that is there already.

    Raises:
        UsageError: the setting that lists them cannot be used.
        NotTrusted: a project's file names one that the user does not permit.
    """
    from aspectra.app.surfaces.mcp.choices import Libraries

    folders = _folders(session)
    same = (
        {n: held for n, folder in folders.items() if folder.resolve() == held.library.store.folder.resolve()}
        if held is not None
        else {}
    )
    return Libraries(folders, session.open_folder, same)


def _folders(session: Session) -> dict[str, Path]:
    from aspectra.app.surfaces.mcp.choices import listed_libraries

    return listed_libraries(session.config, session.library_path)


def _clients(session: Session, folders: dict[str, Path]) -> dict[str, Any]:
    """The entries that clients read, the same whatever folder they start the command in."""
    given = [*OURSELVES, "mcp"]
    if session.options.config is not None:
        given += ["--config", str(session.options.config.resolve())]
    elif session.settings.libraries and session.config.claimed("libraries"):
        # As it is now: what the project's file names later is not in it.
        table = ", ".join(f"{json.dumps(n)} = {json.dumps(str(f))}" for n, f in folders.items())
        given += ["--set", f"libraries={{ {table} }}"]
    if not session.settings.libraries:
        given += ["--library", str(next(iter(folders.values())))]
    if session.settings.offline:
        given.append("--offline")
    entry = {"command": sys.executable, "args": given}
    return {"mcpServers": {"aspectra": entry}, "servers": {"aspectra": {"type": "stdio", **entry}}}
