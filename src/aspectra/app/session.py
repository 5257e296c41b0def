"""The common parts of all commands: flags, settings, library and the two output streams."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from aspectra.app.settings import Settings, default_library, load_config
from aspectra.app.terminal.panels import COMMON, Names, declared, option, show_all_help
from aspectra.base.config import Config
from aspectra.base.errors import AspectraError, LibraryNotFound, UsageError
from aspectra.base.values import replace

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.app.terminal.screen import ProgressShown, Screen
    from aspectra.search.planning.model_reader import ModelReader

_COMMANDS = re.compile(
    r"\baspectra (?:lens (?:add|estimate|list|remove|run|show|status)|"
    r"add|backup|decide|doctor|edit|index|list|open|redo|restore|search|show|status|tag|undo)\b"
    r"(?! --library)"
)


@dataclass(frozen=True)
class CommonOptions:
    """The options that every command takes."""

    library: Annotated[Path | None, option("The library to use.", metavar="DIR", panel=COMMON)] = None
    offline: Annotated[bool, option("Refuse every connection.", rare=True)] = False
    quiet: Annotated[bool, option("Only results and errors.", "-q", rare=True)] = False
    verbose: Annotated[bool, option("Report more details.", "-v", rare=True)] = False
    set_: Annotated[
        Names, option("A setting for this command: llm.model=NAME.", "--set", metavar="KEY=VALUE", rare=True)
    ] = None
    config: Annotated[Path | None, option("Settings in FILE, not aspectra.toml.", rare=True)] = None
    no_color: Annotated[bool, option("No colours (also: NO_COLOR=1).", rare=True)] = False
    no_progress: Annotated[bool, option("No progress shown.", rare=True)] = False
    debug: Annotated[bool, option("Show the traceback of an error.", rare=True)] = False
    help_all: Annotated[
        bool, option("Show every option.", rare=True, is_eager=True, callback=show_all_help)
    ] = False

    def under(self, above: CommonOptions) -> CommonOptions:
        """These, and where one is not given, what was given before the command's name."""
        values = {f.name: getattr(self, f.name) or getattr(above, f.name) for f in fields(self)}
        return replace(self, **values)


@dataclass
class Session:
    """One command: its common options, and what follows from them.

    Attributes:
        options: the common ones.
        overrides: settings that options of the command say.
        second: reads questions beside the rules, in the libraries that it opens.
    """

    options: CommonOptions = CommonOptions()
    overrides: dict[str, Any] = field(default_factory=dict)
    second: ModelReader | None = None

    @cached_property
    def config(self) -> Config[Settings]:
        """The settings with their origins; they are read when a command first needs one."""
        given = self.options
        flags = dict(_setting(text) for text in given.set_ or ())
        flags |= {name: value for name, value in self.overrides.items() if value is not None}
        for name, wanted, value in (
            ("library", given.library, str(given.library)),
            ("offline", given.offline, True),
            ("progress", given.no_progress, False),
            ("color", given.no_color, False),
        ):
            if wanted:
                flags[name] = value
        config = load_config(flags, given.config)
        if config.settings.offline:
            os.environ["ASPECTRA_OFFLINE"] = "1"
        return config

    @property
    def settings(self) -> Settings:
        """The values of the settings."""
        return self.config.settings

    def override(self, **values: Any) -> None:
        """Options of a command that are settings too, as ``search__limit=5``; None where not given."""
        self.overrides.update({name.replace("__", "."): value for name, value in values.items()})
        self.__dict__.pop("config", None)

    @cached_property
    def screen(self) -> Screen:
        """The output of data and messages."""
        from aspectra.app.terminal.screen import Screen

        return Screen(color=self.settings.color, quiet=self.options.quiet, verbose=self.options.verbose)

    def progress(self) -> ProgressShown:
        """A context manager and callback that shows progress, where that is wanted."""
        from aspectra.app.terminal.screen import ProgressShown

        return ProgressShown(self.settings.progress and not self.options.quiet)

    @property
    def library_path(self) -> Path:
        """The library's folder: flag, environment, project, user, or the default one."""
        named = self.settings.library
        return Path(named).expanduser() if named else default_library()

    def library_words(self) -> str:
        """The option with which a printed command reaches this library: "" or `` --library DIR``."""
        if self.config.origin("library") != "flag":
            return ""
        from shlex import quote

        return f" --library {quote(self.settings.library)}"

    def spell_out(self, text: str) -> str:
        """``text`` with its commands reaching this library: they are meant to be copied."""
        words = self.library_words().replace("\\", r"\\")
        return _COMMANDS.sub(rf"\g<0>{words}", text) if words else text

    def open_library(self, *, partial: bool = False) -> Library:
        """The library.

        Args:
            partial: see :func:`~aspectra.app.library.open_library`.

        Raises:
            LibraryNotFound: there is none; the message names the command that makes it.
        """
        path = self.library_path
        if not (path / "library.db").exists():  # nothing heavy is imported to report that
            how = f"aspectra init{self.library_words()}"
            raise LibraryNotFound(
                f"there is no library at {path}",
                why=f"its place comes from: {self.config.origin('library')}",
                hint=f"{how}, or {how} --demo for one with papers in it",
            )
        return self.open_folder(path, partial=partial)

    def open_folder(self, path: Path, *, partial: bool = False) -> Library:
        """The library in a folder, with the user's own lists.

        Raises:
            LibraryNotFound: there is none.
        """
        from aspectra.app.library import open_library
        from aspectra.search.conditions.lists import UserLists

        opened, settings = open_library(path, partial=partial), self.settings
        opened.lists = UserLists(settings.venue_groups, settings.venue_ranks, settings.paper_lists)
        opened.second = self.second
        return opened

    def confirm(self, question: str, what: str, shown: Iterable[str] = ()) -> None:
        """Go on only where the user says yes.

        Args:
            question: on the terminal.
            what: that needs it, as ``writing to Zotero``.
            shown: lines before the question.

        Raises:
            UsageError: nobody can be asked.
            typer.Abort: the user says no.
        """
        if not _somebody_there():
            raise UsageError(f"{what} needs a yes", why="nobody can be asked here", hint="add --yes")
        for line in shown:
            self.screen.note(line)
        if not _confirm(question):
            raise typer.Abort


def _somebody_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _let_permissions_be_asked(session: Session) -> None:
    """Let what needs a permission put its question, where somebody can answer it.

    Without a terminal, or with ``--quiet``, such a thing is refused, with the command that permits it.
    """
    from aspectra.base.trust import ASK

    ASK.set(_confirm if _somebody_there() and not session.options.quiet else None)


def _confirm(question: str) -> bool:
    """The user's answer; no without one."""
    from aspectra.app.terminal.screen import safe

    return typer.confirm(safe(question, one_line=True), default=False, err=True)


def _setting(text: str) -> tuple[str, Any]:
    """Name and value of ``--set KEY=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set {text} is not KEY=VALUE", hint="--set llm.model=NAME; keys: aspectra config")
    return name.strip(), value


def _parameters(function: Callable[..., None]) -> Iterator[inspect.Parameter]:
    """A command's own parameters; a dataclass of options counts as its fields."""
    for own in list(inspect.signature(function, eval_str=True).parameters.values())[1:]:
        yield from _fields(own.annotation) if is_dataclass(own.annotation) else [own]


def _fields(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for one in fields(group):
        yield inspect.Parameter(
            one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name]
        )


def common(function: Callable[..., None]) -> Callable[..., None]:
    """Decorator for commands: adds the common options and passes a :class:`Session`.

    The decorated function's first parameter is the session. Its others are its own arguments and options; a
    parameter whose type is a dataclass of options takes all of them.
    """
    groups = {
        own.name: own.annotation
        for own in inspect.signature(function, eval_str=True).parameters.values()
        if is_dataclass(own.annotation) and own.annotation is not Session
    }
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in _parameters(function)]
    parameters = [context, *map(declared, [*own, *_fields(CommonOptions)])]

    @functools.wraps(function)
    def run(**values: Any) -> None:
        context = values.pop("context")
        options = _take(CommonOptions, values)
        above = context.parent.obj if context.parent is not None else None
        session = Session(options.under(above.options) if isinstance(above, Session) else options)
        context.obj = session
        _let_permissions_be_asked(session)
        try:
            function(session, **{name: _take(kind, values) for name, kind in groups.items()}, **values)
        except AspectraError as error:
            error.hint = session.spell_out(error.hint)
            raise

    # Typer reads the signature; functools.wraps would show it the undecorated one.
    run.__dict__.pop("__wrapped__", None)
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _take(kind: Any, values: dict[str, Any]) -> Any:
    """A group of options, made from the values of its fields, which are taken out of ``values``."""
    return kind(**{one.name: values.pop(one.name) for one in fields(kind)})


def read_stdin() -> str:
    """All of standard input as text, whatever its encoding."""
    return sys.stdin.buffer.read().decode("utf-8", "replace")
