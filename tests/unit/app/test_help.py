"""Help texts: panels, one screen for ``search``, everything with ``--help-all``."""

from __future__ import annotations

import re

import pytest

from aspectra.app.cli import root
from aspectra.app.options import QuestionOptions, ResultOptions

COMMANDS = "init add index search similar show export plan status remove doctor measure schema".split()
# Words that style.md replaces by ordinary ones.
_HOUSE_WORDS = re.compile(r"\b(wish(es)?|chips?|obey(s|ed)?|in vain|seen through|desk|shelf|clothes)\b", re.I)


def _commands(tree=None, path=()):
    tree = tree or root()
    inner = getattr(tree, "commands", None)
    if inner is None:
        yield path
        return
    for name, command in inner.items():
        yield from _commands(command, (*path, name))


@pytest.mark.parametrize("command", ["search", "similar", "plan"])
def test_the_help_of_a_question_fits_on_one_screen(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(command, "--help")
    lines = out.splitlines()
    assert code == 0
    assert len(lines) <= (40 if command == "search" else 42)
    assert max(map(len, lines)) <= 80
    for panel in ("Preferences:", "Filters:", "How to search:", "Output:", "Common:"):
        assert panel in lines


def test_all_options_are_in_the_long_help(run):
    out = run("search", "--help-all")[1]
    for group in (QuestionOptions, ResultOptions):
        for name in group.__dataclass_fields__:
            assert f"--{name.replace('_', '-')} " in out, name
    assert "--plan-file" in out
    assert "--set KEY=VALUE" in out
    assert "--plan-file" not in run("search", "--help")[1]


@pytest.mark.parametrize("path", list(_commands()), ids=" ".join)
def test_every_help_is_in_plain_words(run, path):
    code, out, _ = run(*path, "--help-all")
    assert code == 0
    assert "Example:  aspectra" in out
    assert not _HOUSE_WORDS.search(out)
    assert "--out " not in out  # one word for one thing: --output


def test_three_commands_share_one_declaration():
    options = {}
    for name in ("search", "similar", "plan"):
        command = root().commands[name]
        options[name] = {
            o: p.help for p in command.params for o in getattr(p, "opts", ()) if o.startswith("-")
        }
    shared = {f"--{name.replace('_', '-')}" for name in QuestionOptions.__dataclass_fields__}
    for option in shared:
        assert options["search"][option] == options["similar"][option] == options["plan"][option]


def test_documentation_of_settings_is_generated(run):
    out = run("config", "list")[1]
    assert "search.limit" in out
    assert "papers shown (a whole number, 0 or more; default 10; ASPECTRA_SEARCH_LIMIT)" in out
