"""What every command has in common: its flags, its settings, its library, its two streams."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aspectra.app.settings import default_library, load_config
from aspectra.base.config import Config
from aspectra.base.errors import AspectraError, LibraryNotFound

if TYPE_CHECKING:
    from aspectra.app.output.screen import Screen
    from aspectra.papers.library.store import Store
    from aspectra.search.searcher import Searcher

__all__ = ["Degraded", "Session", "common", "read_stdin"]

_COMMANDS = re.compile(
    r"\baspectra (?:lens (?:add|estimate|list|remove|run|show|status)|add|doctor|index|search|show|status)\b"
    r"(?! --library)"
)


class Degraded(Exception):
    """The command finished, and its result calls for an exit code other than 0.

    Args:
        exit_code: that code; everything worth saying has been said.
    """

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


@dataclass
class Session:
    """The flags that every command takes, and what follows from them."""

    library_flag: Path | None = None
    config_file: Path | None = None
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    no_color: bool = False
    no_progress: bool = False
    offline: bool = False
    flags: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def config(self) -> Config:
        """The settings; read when a command first asks."""
        flags = {**self.flags, "library": str(self.library_flag) if self.library_flag else None}
        flags["offline"] = True if self.offline else None
        flags["progress"] = False if self.no_progress else None
        flags["color"] = False if self.no_color else None
        config = load_config(flags, self.config_file)
        if config["offline"]:
            os.environ["ASPECTRA_OFFLINE"] = "1"
        return config

    @cached_property
    def screen(self) -> Screen:
        """Where data and messages go."""
        from aspectra.app.output.screen import Screen

        return Screen(color=self.config["color"], quiet=self.quiet, verbose=self.verbose)

    @property
    def library_path(self) -> Path:
        """The library's folder: flag, environment, project, user, or the default one."""
        named = self.config["library"]
        return Path(named).expanduser() if named else default_library()

    def library_words(self) -> str:
        """What a printed command must say to reach this library again: "" or `` --library DIR``."""
        if self.config.origin("library") != "flag":
            return ""
        from shlex import quote

        return f" --library {quote(str(self.library_flag))}"

    def spell_out(self, text: str) -> str:
        """``text`` with its commands reaching this library: they are meant to be copied."""
        words = self.library_words().replace("\\", r"\\")
        return _COMMANDS.sub(rf"\g<0>{words}", text) if words else text

    def open_library(self) -> Store:
        """The library, for reading.

        Raises:
            LibraryNotFound: there is none; the message names the command that makes it.
        """
        from aspectra.papers.library.store import Store

        path = self.library_path
        if not (path / "library.db").exists():
            how = f"aspectra init{self.library_words()}"
            raise LibraryNotFound(
                f"there is no library at {path}",
                why=f"its place comes from: {self.config.origin('library')}",
                hint=f"{how}, or {how} --demo for one with papers in it",
            )
        return Store(path)

    def open_searcher(self) -> Searcher:
        """A searcher over the library."""
        library = self.open_library()  # where there is none, nothing heavy is imported to say so
        from aspectra.search.searcher import Searcher

        return Searcher(library)


_COMMON: dict[str, Any] = {
    "library_flag": Annotated[
        Path | None,
        typer.Option("--library", metavar="DIR", help="The library to use.", show_default=False),
    ],
    "config_file": Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Read FILE, not aspectra.toml.", show_default=False),
    ],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Only results and errors.")],
    "verbose": Annotated[bool, typer.Option("--verbose", "-v", help="Say more about what is done.")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
    "no_color": Annotated[bool, typer.Option("--no-color", help="No colours (also: NO_COLOR=1).")],
    "no_progress": Annotated[bool, typer.Option("--no-progress", help="No progress shown.")],
    "offline": Annotated[bool, typer.Option("--offline", help="Refuse every connection.")],
}


def _merge(context: typer.Context, values: dict[str, Any]) -> Session:
    """The session of a command, joined with what was said before the command's name."""
    above = context.parent.obj if context.parent is not None else None
    if isinstance(above, Session):
        values = {name: value or getattr(above, name) for name, value in values.items()}
    return Session(**values)


def common(function: Callable[..., None]) -> Callable[..., None]:
    """Decorator for commands: takes the common flags away and hands over a :class:`Session` instead.

    The decorated function's first parameter is the session; its others are its own flags.
    """
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if name in {"library_flag", "config_file"} else False,
            annotation=kind,
        )
        for name, kind in _COMMON.items()
    ]
    mine = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    parameters = [context, *mine, *shared]

    @functools.wraps(function)
    def run(**values: Any) -> None:
        context = values.pop("context")
        session = _merge(context, {name: values.pop(name) for name in _COMMON})
        context.obj = session
        try:
            function(session, **values)
        except AspectraError as error:
            error.hint = session.spell_out(error.hint)
            raise

    # Typer reads the signature; functools.wraps would show it the undecorated one.
    run.__dict__.pop("__wrapped__", None)
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def read_stdin() -> str:
    """All of standard input as text, whatever its encoding."""
    return sys.stdin.buffer.read().decode("utf-8", "replace")
