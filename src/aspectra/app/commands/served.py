"""``serve`` and ``mcp``: the page, HTTP, and tools for programs with a language model."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from aspectra.app.session import Session, common
from aspectra.app.settings import data_folder
from aspectra.app.terminal.panels import Names, option
from aspectra.base.errors import AspectraError, MissingExtra, UsageError, needs_extra
from aspectra.base.trust import is_loopback
from aspectra.base.version import OURSELVES

if TYPE_CHECKING:
    from aspectra.app.surfaces.mcp.arguments import Libraries
    from aspectra.app.surfaces.mcp.server import McpApplication
    from aspectra.app.surfaces.service.access import Access, Gate
    from aspectra.app.surfaces.service.answering import Service


@common
def mcp(
    session: Session,
    print_config: Annotated[bool, option("Print what clients need to start it, as JSON.")] = False,
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
    from aspectra.app.surfaces.mcp.arguments import Libraries

    folders = _folders(session)
    same = (
        {n: held for n, folder in folders.items() if folder.resolve() == held.library.store.folder.resolve()}
        if held is not None
        else {}
    )
    return Libraries(folders, session.open_folder, same)


def _folders(session: Session) -> dict[str, Path]:
    from aspectra.app.surfaces.mcp.arguments import listed_libraries

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


_TOKEN = "ASPECTRA_TOKEN"  # noqa: S105 - the variable's name


@common
def serve(
    session: Session,
    host: Annotated[str, option("Listen here; others need ASPECTRA_TOKEN.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int | None, option("Port [8765]; 0 for any.", "-p", min=0, max=65535)] = None,
    name: Annotated[Names, option("A further name, as behind a proxy: papers.org.", metavar="HOST")] = None,
    browser: Annotated[
        bool, option("Open the page in the browser, on this computer.", "--open/--no-open")
    ] = True,
    with_model: Annotated[bool, option("Let requests use the language model of the settings.")] = False,
) -> None:
    """Serve the page, HTTP (/v1) and MCP (/mcp).

    Only this computer can reach it, unless --host names another address; that needs a secret in the
    environment variable ASPECTRA_TOKEN.

    Example:  aspectra serve
    """
    with needs_extra("the page is not installed", "serve"):
        import uvicorn

        from aspectra.app.surfaces.http.application import BACKLOG, LimitedConnection, application
    from aspectra.app.options import language_model, model_settings, read_beside_rules
    from aspectra.app.surfaces.service.access import Access, Gate
    from aspectra.app.surfaces.service.answering import Service
    from aspectra.app.surfaces.service.jobs import Jobs

    if with_model:
        read_beside_rules(session)
        model_settings(session)  # a model that is not named is an error before anything is served
    wanted = session.settings.serve.port if port is None else port
    Access.to(host, wanted or 1, os.environ.get(_TOKEN, ""), name or ())  # refused before a port is taken
    with _listen(host, wanted) as taken, session.open_library() as library:
        real = int(taken.getsockname()[1])
        access = Access.to(host, real, os.environ.get(_TOKEN, ""), name or ())
        service = Service(library, (lambda: language_model(session)) if with_model else None)
        named = session.settings.serve
        jobs = Jobs(
            session.library_path,
            Path(named.uploads).expanduser() if named.uploads else data_folder("uploads"),
            _flags(session),
            Path(named.benchmarks).expanduser() if named.benchmarks else None,
        )
        gate, libraries = Gate(), served_libraries(session, service)
        mcp = _mcp(libraries, gate, access)
        app = application(service, gate, jobs, access, mcp)
        _warm(service)
        address = f"http://{access.hosts[0]}/"
        who = "this computer only" if is_loopback(host) else "whoever has the token"
        index = library.store.generations.current()
        held = f"{len(library):,} papers, {'generation ' + index.name if index else 'no index yet'}"
        session.screen.line(
            f"{address} ({who}; {held}). HTTP at /v1{', MCP at /mcp' if mcp else ''}. Ctrl-C ends it."
        )
        sys.stdout.flush()
        if browser and is_loopback(host) and sys.stdout.isatty():
            threading.Timer(0.5, webbrowser.open, [address]).start()
        config = uvicorn.Config(
            app,
            http=LimitedConnection,
            backlog=BACKLOG,
            log_config=None,
            access_log=False,
            lifespan="on",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=15,
            h11_max_incomplete_event_size=65_536,
            timeout_graceful_shutdown=5,
        )
        with contextlib.closing(libraries):
            uvicorn.Server(config).run(sockets=[taken])


def _mcp(libraries: Libraries, gate: Gate, access: Access) -> McpApplication | None:
    """The application at ``/mcp``; None if its extra is not installed."""
    try:
        with needs_extra("the parts for MCP are not installed", "mcp"):
            from aspectra.app.surfaces.mcp.server import mcp_application
    except MissingExtra:
        return None
    return mcp_application(libraries, gate, access.hosts)


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket.

    Raises:
        UsageError: the address is not this computer's.
        AspectraError: the port is taken.
    """
    try:
        (family, _, _, _, where), *_ = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise UsageError(f"{host} is no address of this computer", why=str(error)) from error
    taken = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere this would let two processes listen
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(where)
        taken.listen(128)
    except OSError as error:
        taken.close()
        raise AspectraError(
            f"cannot listen on {host}:{port}",
            why=error.strerror or str(error),
            hint="aspectra serve --port 0 takes a free port",
        ) from error
    return taken


def _flags(session: Session) -> list[str]:
    """The flags that give a job the settings of this command."""
    given = session.options
    out = [part for one in given.set_ or () for part in ("--set", one)]
    out += ["--config", str(given.config)] if given.config else []
    return out + (["--offline"] if given.offline else [])


def _warm(service: Service) -> None:
    """Load index and encoder in the background: the first question should not wait for them."""
    from aspectra.app.surfaces.service.question import Question

    def load() -> None:
        with contextlib.suppress(AspectraError):  # no index yet, say; whoever searches is told
            service.answer(Question(text="the first question"))

    threading.Thread(target=load, daemon=True).start()
