"""Options in panels: how they are declared, and how ``--help`` and ``--help-all`` list them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption
from typer.models import OptionInfo

ARGUMENTS, COMMON = "Arguments", "Common"  # panels of what names none

# Families of members -> module of the registry, which is called like the family, in capitals.
FAMILIES = {
    "sources": "aspectra.papers.sources.protocol",
    "writers": "aspectra.papers.export.protocol",
    "encoders": "aspectra.views.encoders.protocol",
    "lenses": "aspectra.views.lenses.protocol",
    "planners": "aspectra.search.planning.planners.protocol",
    "attributes": "aspectra.search.conditions.attributes.protocol",
    "stages": "aspectra.search.stages.protocol",
    "judges": "aspectra.search.rerank.judges.protocol",
    "sorters": "aspectra.search.rerank.sorters.protocol",
    "measures": "aspectra.lab.measures.protocol",
    "benchmarks": "aspectra.lab.benchmarks.protocol",
}
_MEMBERS = re.compile(r"\{(; )?(\w+)\}")
_FULL = "aspectra.help_all"  # key in the context of a command whose full help is shown

Command = TypeVar("Command", bound=Callable[..., Any])

# What other tools call an option -> what to use here.
_ELSEWHERE = {
    "--top": "--limit",
    "--lang": "--language",
    "--max-results": "--limit",
    "--from": "--since",
    "--to": "--until",
    "--year": "--since 2020 --until 2020",
    "--not": "--condition 'exclude keyword=WORDS', or say it in the question",
    "--model": "--set llm.model=NAME, or for good: aspectra config set llm.model NAME",
    "--base-url": "--set llm.base_url=URL, or for good: aspectra config set llm.base_url URL",
    "--budget": "--set llm.budget=500calls",
}


def option(about: str, *names: str, panel: str = "", rare: bool = False, **more: Any) -> Any:
    """An option of a command; what it does not state follows from its parameter, see :func:`declared`.

    Args:
        about: its line in the help, see :func:`with_members`.
        names: as in ``--as``, ``-n``; without a long one, that of the parameter is one of them.
        panel: the heading it is listed under.
        rare: list it in ``--help-all`` alone.
        more: whatever :func:`typer.Option` takes.
    """
    return typer.Option(
        *names, help=about, rich_help_panel=panel or None, hidden=rare, show_default=False, **more
    )


filtering, preference, searching, showing = (
    partial(option, panel=panel) for panel in ("Filters", "Preferences", "How to search", "Output")
)
_METAVARS = {int: "N", Path: "FILE", str: "NAME"}


def declared(parameter: Parameter) -> Parameter:
    """A parameter whose option is named like it, and shows its kind of value.

    A flag has an opposite, such as ``--no-late``, where it is not off by default.
    """
    kind, *stated = get_args(parameter.annotation)
    if not (stated and isinstance(stated[0], OptionInfo)):
        return parameter
    made, own = copy(stated[0]), f"--{parameter.name.replace('_', '-')}"
    names = [name for name in (made.default, *(made.param_decls or ())) if isinstance(name, str)]
    if not any(name.startswith("--") for name in names) and (names or parameter.default is False):
        made.default, made.param_decls = own, tuple(names)
    inner = next((one for one in _METAVARS if one in _parts(kind)), None)
    if made.metavar is None and inner is not None:
        made.metavar = _METAVARS[inner]
    return parameter.replace(annotation=Annotated[kind, made])


def _parts(kind: Any) -> set[Any]:
    """The classes that a type is made of, as list and str of ``list[str] | None``."""
    return {kind, *(part for one in get_args(kind) for part in _parts(one))}


def argument(about: str, metavar: str) -> Any:
    """An argument with its help."""
    return typer.Argument(metavar=metavar, help=about, show_default=False)


Names = list[str] | None
AsJson = Annotated[bool, showing("One JSON document (aspectra schema).", "--json")]
OutputFile = Annotated[Path | None, showing("Write to FILE.", "--output", "-o")]


def with_members(text: str, *, full: bool = True) -> str:
    """A line of help with the names of a family's members, which are loaded only when help is shown.

    Args:
        text: ``{planners}`` becomes their names; ``{; planners}`` becomes "; planners: ", then their names,
            and that in the full help only.
        full: whether it is for ``--help-all``.

    >>> with_members("table, {writers}."), with_members("As rewrite{; stages}.", full=False)
    ('table, bibtex, csl-json, csv, jsonl, ris.', 'As rewrite.')
    """

    def names(found: re.Match[str]) -> str:
        extra, family = found.groups()
        if extra and not full:
            return ""
        registry = getattr(import_module(FAMILIES[family]), family.upper())
        return (f"; {family}: " if extra else "") + ", ".join(registry)

    return _MEMBERS.sub(names, text)


_TYPERS = object()  # a value that typer converts


class _Converted:
    """Values of a parameter: plain ones here, others by typer, whose library for that takes 60 ms to import.

    Args:
        typers: makes what typer converts with; what else is used of that is its own.
    """

    def __init__(self, typers: Callable[[], Any]) -> None:
        self._typers = typers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._typers(), name)

    def coerce(self, value: Any, *rest: Any, **named: Any) -> Any:
        """The value as its annotation has it."""
        try:
            converted = _plainly(value, named["param"])
        except (AttributeError, KeyError):  # a version of typer that describes parameters otherwise
            converted = _TYPERS
        return self._typers().coerce(value, *rest, **named) if converted is _TYPERS else converted


def _plainly(value: Any, param: Any) -> Any:
    """A value that needs no conversion but into a list or a path; ``_TYPERS`` for any other."""
    kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    several = param.multiple or param.nargs == -1
    if value is None:
        return () if several else None
    if info.parser is None:
        if several and kind == list[str] and set(map(type, value)) == {str}:
            return list(value)
        if not several and isinstance(value, str) and kind is str:
            return value
        if not several and isinstance(value, str) and kind is Path and _acceptable(value, info):
            return Path(value)
    return _TYPERS


def _acceptable(path: str, info: Any) -> bool:
    """True if typer would accept a path as it is."""
    checked = info.exists or info.resolve_path or info.allow_dash or info.path_type or info.writable
    free = not checked and info.file_okay and info.dir_okay
    return free and (os.access(path, os.R_OK) or not os.path.exists(path))


def convert_plainly(parameters: Iterable[Any]) -> None:
    """Let parameters of a command or group convert plain values themselves, where typer lets them."""
    for parameter in parameters:
        typers = getattr(parameter, "get_runtime_param", None)
        if typers is not None and not isinstance(typers, partial):
            parameter.__dict__["get_runtime_param"] = partial(_Converted, typers)


class PanelCommand(TyperCommand):
    """A command that lists its options under the headings of their panels, as plain text."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        convert_plainly(self.params)
        for parameter in self.params:
            if isinstance(parameter, TyperArgument):  # its name says enough; typer adds "<list[Path]>"
                parameter.display_type_rich = lambda ctx: None  # type: ignore[method-assign]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section for each panel, in the order in which they are declared."""
        panels: dict[str, list[tuple[str, str]]] = {ARGUMENTS: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = COMMON if isinstance(parameter, TyperOption) else ARGUMENTS
                panel = getattr(parameter, "rich_help_panel", None) or usual
                name, text = record
                row = (name, with_members(text, full=ctx.meta.get(_FULL, False)))
                panels.setdefault(panel, []).append(row)
        width = max(len(name) for rows in panels.values() for name, _ in rows)
        for title, rows in panels.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl([(name.ljust(width), text) for name, text in rows])

    def get_help_option(self, ctx: Any) -> Any:
        """The option ``--help``; its line names ``--help-all`` too."""
        found = super().get_help_option(ctx)
        if found is not None:
            found.help = "Show this message; --help-all shows every option."
            convert_plainly([found])
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As usual; an unknown option that other tools have is answered with the one to use here."""
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            name = getattr(error, "option_name", "")
            if name in _ELSEWHERE:
                error.possibilities = [_ELSEWHERE[name]]  # type: ignore[attr-defined]
            raise


class CommandGroup(typer.Typer):
    """A group of commands, such as ``aspectra lens``; each lists its options in panels."""

    def __init__(self, about: str, **more: Any) -> None:
        super().__init__(
            help=about,
            no_args_is_help=True,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            pretty_exceptions_show_locals=False,
            context_settings={"help_option_names": ["-h", "--help"]},
            **more,
        )

    def command(self, name: str | None = None, **more: Any) -> Callable[[Command], Command]:
        """As in :class:`typer.Typer`."""
        return super().command(name, **{"cls": PanelCommand, **more})


def show_all_help(context: typer.Context, wanted: bool) -> None:
    """Print the help with every option, and leave."""
    if wanted:
        context.meta[_FULL] = True
        for parameter in context.command.params:
            if isinstance(parameter, TyperOption):
                parameter.hidden = False
        typer.echo(context.get_help())
        raise typer.Exit
