"""Pages that MkDocs generates at each build: commands, members of every family, Python, files above docs/.

Named in ``mkdocs.yml`` as a hook, and as an extension that makes Markdown of docstrings. Nothing of it is
written into the source tree.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import click
import griffe
from mkdocs.structure.files import File, Files

PUBLIC = ("aspectra", "aspectra.app.surfaces.notebook", "aspectra.lab", "aspectra.testing")
_ROLE = re.compile(r":[a-z]+:`(~?)([^`]+)`")
# From a prompt to the next empty line.
_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
# Files of the project that are pages too: page -> file.
ABOVE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "speed.md": "benchmarks/RESULTS.md",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    pages = {
        "reference/commands.md": "\n".join(commands()),
        "reference/members.md": "\n".join(members()),
        "reference/python.md": "\n".join(python()),
        "reference/settings.md": "\n".join(settings()),
        "reference/json.md": "\n".join(json_documents()),
    }
    root = Path(config["docs_dir"]).parent
    for page, file in ABOVE.items():
        pages[page] = _linked((root / file).read_text("utf-8"))
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def _markdown(text: str) -> str:
    text = _ROLE.sub(lambda role: f"`{role[2].rpartition('.')[2] if role[1] else role[2]}`", text)
    return _EXAMPLE.sub(r"```pycon\n\g<0>\n```", text)


class Examples(griffe.Extension):
    """Makes Markdown of docstrings: examples (``>>> ...``) between fences, roles as code."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = _markdown(obj.docstring.value)


def _linked(text: str) -> str:
    """A page of the project with its links as seen from docs/."""
    for page, file in ABOVE.items():
        text = text.replace(f"]({file}", f"]({page}")
    return text.replace("](docs/results)", "](results/index.md)").replace("](docs/", "](")


def commands() -> Iterator[str]:
    """One section a command: its help and a table of its options."""
    from aspectra.app.cli import root
    from aspectra.app.session import CommonOptions

    common = {field.name for field in fields(CommonOptions)} | {"help_all"}
    yield "# Commands\n"
    yield "Generated from the program itself. Every command also takes the options of the last section.\n"
    for words, command in _walk(root(), ("aspectra",)):
        yield f"## `{' '.join(words)}`\n"
        yield inspect.cleandoc((command.help or "").replace("\b", "")) + "\n"
        yield from _table(p for p in command.params if p.name not in common)
    yield "## Options of every command\n"
    yield from _table(p for p in command.params if p.name in common)


def _table(parameters: Iterable[click.Parameter]) -> Iterator[str]:
    rows = [row for parameter in parameters if (row := _row(parameter))]
    if rows:
        yield "| option | what it does | default |\n|---|---|---|"
        yield "\n".join(rows) + "\n"


def _walk(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    inner = getattr(command, "commands", None)  # typer brings a click of its own, so no isinstance
    if inner:
        for name, sub in sorted(inner.items()):
            yield from _walk(sub, (*words, name))
    elif not command.hidden:
        yield words, command


def _row(parameter: click.Parameter) -> str:
    from aspectra.app.terminal.panels import with_members

    names = " ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    text = _cell(with_members(getattr(parameter, "help", "") or ""))
    shown = "" if parameter.default in (None, False, ()) else _cell(f"`{parameter.default}`")
    return f"| {names} | {text} | {shown} |"


def members() -> Iterator[str]:
    """One table a family: name and first line of the documentation."""
    from aspectra.app.terminal.panels import FAMILIES

    yield "# Members of every family\n"
    yield "Each is one file; [how to add one](../contributing.md). Generated from the registries.\n"
    for family, module in FAMILIES.items():
        registry = getattr(import_module(module), family.upper())
        yield f"## {family.capitalize()}\n\n| name | what it is |\n|---|---|"
        for member in registry:
            yield f"| `{member}` | {_cell(_about(registry.get(member)))} |"
        yield ""
    yield from _steps()


def _steps() -> Iterator[str]:
    """The steps of construction, with the options that recipes and ``--option`` name."""
    from aspectra.lab.construction.protocol import STEPS

    yield "## Steps of construction\n\nSee [building a benchmark](../building.md).\n"
    for name in STEPS:
        step = STEPS.get(name)
        known = step.options()
        yield f"### `{name}`\n\n{_cell(_markdown(step.about))}\n"
        yield "| option | default | what it is |\n|---|---|---|"
        listed = (inspect.getdoc(step.options) or "").partition("Attributes:")[2]
        for names, text in re.findall(r"^ {4}(\w[\w, ]*): (.+(?:\n {5,}.+)*)", listed, re.MULTILINE):
            defaults = ", ".join(f"`{getattr(known, one)!r}`" for one in names.split(", "))
            yield f"| `{names}` | {defaults} | {_cell(_markdown(text))} |"
        yield ""


def _about(member: Any) -> str:
    """What a member declares of itself, else the first line of its documentation or of its module's."""
    for field in ("description", "summary", "about", "help"):
        declared = getattr(member, field, "")
        if isinstance(declared, str) and declared:
            return _markdown(declared.partition("\n")[0])
    own = member if inspect.isclass(member) or inspect.isfunction(member) else type(member)
    texts = (inspect.getdoc(own), inspect.getdoc(inspect.getmodule(own)))
    known = (text.partition("\n")[0] for text in texts if text and not text.startswith("See "))
    return _markdown(next(known, ""))


def settings() -> Iterator[str]:
    """One table: every setting as its class declares it."""
    from aspectra.app.settings import Settings
    from aspectra.base.config import keys_of

    yield "# Settings\n"
    yield "Set in `aspectra.toml`, in your own file (`aspectra config path`), in the environment, or for\n"
    yield "one command with `--set KEY=VALUE`.\n"
    yield "| setting | what it is | values | default | variable |\n|---|---|---|---|---|"
    for key in keys_of(Settings):
        cells = (
            f"`{key.name}`",
            _cell(key.help),
            _cell(key.in_words),
            f"`{key.default!r}`",
            f"`{key.variable}`",
        )
        yield f"| {' | '.join(cells)} |"


def json_documents() -> Iterator[str]:
    """The JSON schema of each document that ``--json`` writes."""
    from aspectra.app.output.schemas import DOCUMENTS, json_schema

    yield "# JSON documents\n"
    yield "Each document names its schema and version in `schema`. `aspectra schema NAME` prints these.\n"
    for name in DOCUMENTS:
        yield f"## `{name}`\n\n```json\n{json.dumps(json_schema(name), indent=2)}\n```\n"


def _cell(text: str) -> str:
    """One line, with the bars escaped that are not in code."""
    return re.sub(r"(`+).+?\1|\|", lambda found: found[0] if found[1] else r"\|", " ".join(text.split()))


def python() -> Iterator[str]:
    """The public names, documented from their docstrings."""
    yield "# Python\n"
    for name in PUBLIC:
        module = import_module(name)
        yield f"## `{name}`\n\n{_markdown(inspect.getdoc(module) or '')}\n"
        for public in module.__all__:
            if public.startswith("__"):
                continue
            value = getattr(module, public)
            if inspect.ismethod(value):
                yield f"### `{public}`\n"
                yield f"::: {value.__module__}.{value.__qualname__}\n    options:\n      heading_level: 4\n"
            elif inspect.isclass(value) or inspect.isfunction(value) or get_args(value):
                yield f"::: {name}.{public}\n    options:\n      heading_level: 3\n"
            else:
                yield f"### `{public}`\n\n{_markdown(inspect.getdoc(value) or '')}\n"
