"""How a command starts: only what it names is imported, and its values are those that typer gives."""

from __future__ import annotations

import os
import subprocess
import sys
from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.main import get_command

from aspectra.app.cli import COMMANDS, root
from aspectra.app.terminal.panels import CommandGroup, convert_plainly


def test_a_command_is_built_when_it_is_named():
    tree = root(whole=False)
    assert tree.commands == {}
    with tree.make_context("aspectra", ["status"]) as context:
        name, command, rest = tree.resolve_command(context, ["status", "--json"])
    assert (name, command.name, rest, list(tree.commands)) == ("status", "status", ["--json"], ["status"])


def test_a_group_has_its_commands():
    tree = root(whole=False)
    assert sorted(tree.get_command(None, "config").commands) == sorted(root().commands["config"].commands)


def test_the_whole_tree_has_every_command_under_its_name():
    tree = root()
    assert list(tree.commands) == tree.list_commands(None)
    assert all(name == command.name for name, command in tree.commands.items())


def test_the_help_has_the_first_sentence_of_each_command_and_imports_none():
    tree = root()
    first = {name: cleandoc(one.help or "").split("\n\n")[0] for name, one in tree.commands.items()}
    assert {name: " ".join(text.split()) for name, text in first.items()} == {
        name: line for name, (_, line) in COMMANDS.items()
    }
    code = "import sys; from aspectra.app.main import main; main(['--help']); print(sorted(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert all(f"  {name} " in told for name in tree.commands)
    assert "aspectra.app.cli" in told
    assert "aspectra.app.commands." not in told


def test_a_wrong_name_is_compared_with_all():
    tree = root(whole=False)
    with tree.make_context("aspectra", ["serch"]) as context, pytest.raises(typer.TyperException) as raised:
        tree.resolve_command(context, ["serch"])
    assert "search" in str(getattr(raised.value, "possibilities", "")) + str(raised.value)


def values_of(arguments: list[str], *, plainly: bool) -> dict[str, object]:
    """What a command gets, with our conversion and with typer's alone."""
    found: dict[str, object] = {}
    app = typer.Typer(add_completion=False)

    @app.command()
    def command(
        words: Annotated[list[str] | None, typer.Argument()] = None,
        name: str = "x",
        place: Path | None = None,
        there: Annotated[Path | None, typer.Option(exists=True)] = None,
        number: int | None = None,
        many: Annotated[list[str] | None, typer.Option()] = None,
        paths: Annotated[list[Path] | None, typer.Option()] = None,
        flag: bool = False,
    ) -> None:
        found.update(locals() | {"found": None})

    made = get_command(app)
    if plainly:
        convert_plainly(made.params)
    with made.make_context("command", [*arguments]) as context:
        made.invoke(context)
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["two", "words", "--name", "", "--place", "some/where", "--flag"],
        ["--many", "a", "--many", "b", "--number", "7", "--paths", "p", "--paths", "q"],
        ["--there", os.sep, "--place", os.sep, "-"],
        ["--", "--name"],
    ],
)
def test_values_are_those_of_typer(arguments):
    assert values_of(arguments, plainly=True) == values_of(arguments, plainly=False)


@pytest.mark.parametrize("arguments", [["--number", "seven"], ["--there", "no such file"]])
def test_what_is_refused_is_refused(arguments):
    messages = []
    for plainly in (True, False):
        with pytest.raises(typer.TyperException) as raised:
            values_of(arguments, plainly=plainly)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


class Typers:
    """What typer converts with."""

    other = "typer's"

    def coerce(self, value: object, *rest: object, **named: object) -> tuple[object, ...]:
        return ("typer's", value, *rest, *named.values())


class Parameter:
    """A parameter of a version of typer that describes it in another way."""

    def get_runtime_param(self) -> Typers:
        return Typers()


def test_typer_converts_what_it_describes_otherwise():
    one = Parameter()
    convert_plainly([one])
    convert_plainly([one])  # once is enough
    assert one.get_runtime_param().coerce("x", param=one) == ("typer's", "x", one)
    assert one.get_runtime_param().coerce("x", 1) == ("typer's", "x", 1)
    assert one.get_runtime_param().other == "typer's"


def test_parameters_without_a_conversion_of_their_own_stay_as_they_are():
    one = object()  # it has no attributes to set
    convert_plainly([one])


def test_commands_of_the_program_convert_plainly():
    group = CommandGroup("some commands", add_completion=False)
    got: list[object] = []

    @group.command()
    def one(place: Path, text: list[str]) -> None:
        got.extend([place, text])

    made = get_command(group)
    with made.make_context("one", ["a/b", "c", "d"]) as context:
        made.invoke(context)
    assert got == [Path("a/b"), ["c", "d"]]
    assert all(parameter._runtime_param is None for parameter in made.params)  # typer's was not made
