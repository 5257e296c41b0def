"""``aspectra mcp``: which libraries are served, to whom, and what is loaded for it."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import aspectra
from aspectra.app.main import main
from aspectra.app.settings import load_config
from aspectra.app.surfaces.mcp.arguments import Libraries, listed_libraries
from aspectra.base.errors import NoSuchThing, NotTrusted, UsageError
from aspectra.base.trust import Permission, allow

pytestmark = pytest.mark.usefixtures("home")


def _listed(path, text, monkeypatch, name="aspectra.toml", **flags):
    path.mkdir(exist_ok=True)
    (path / name).write_text(text)
    monkeypatch.chdir(path)
    config = load_config(flags, path / name if name != "aspectra.toml" else None)
    return {n: str(f) for n, f in listed_libraries(config, path / "one.lib").items()}


def test_the_one_library_in_use_is_named_by_its_folder(tmp_path, monkeypatch):
    here = tmp_path / "project"
    assert _listed(here, "", monkeypatch) == {"one.lib": str(here / "one.lib")}


def test_a_projects_libraries_elsewhere_need_permission(tmp_path, monkeypatch):
    here, other = tmp_path / "project", tmp_path / "private.lib"
    text = '[libraries]\nown = "own.lib"\nother = "../private.lib"\n'
    with pytest.raises(NotTrusted, match=r"private\.lib would be given to other programs"):
        _listed(here, text, monkeypatch)
    named = _listed(here, text, monkeypatch, name="mine.toml")  # the user named this file
    assert named == {"own": str(here / "own.lib"), "other": str(other)}
    (here / "mine.toml").unlink()
    allow(Permission.folder(str(other), "library"))
    assert [*_listed(here, text, monkeypatch)] == ["own", "other"]


def test_a_link_does_not_lead_out_of_a_project(tmp_path, monkeypatch):
    here = tmp_path / "project"
    here.mkdir()
    (here / "own.lib").symlink_to(tmp_path / "private.lib")
    with pytest.raises(NotTrusted):
        _listed(here, '[libraries]\nown = "own.lib"\n', monkeypatch)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"" = "a"', "name cannot be used"),
        ('"a\\u0007" = "a"', "name cannot be used"),
        (f'{"x" * 65} = "a"', "name cannot be used"),
        ('a = "x.lib"\nb = "./x.lib"', "the same library"),
        ("\n".join(f'n{n} = "l{n}"' for n in range(51)), "51 libraries"),
    ],
)
def test_names_that_cannot_be_used(tmp_path, monkeypatch, text, message):
    with pytest.raises(UsageError, match=message):
        _listed(tmp_path / "project", f"[libraries]\n{text}\n", monkeypatch)


def test_libraries_are_opened_once_and_when_they_are_used(tmp_path):
    aspectra.create(tmp_path / "a.lib").close()
    opened = []

    def opening(folder):
        opened.append(folder.name)
        return aspectra.open(folder)

    libraries = Libraries({"a": tmp_path / "a.lib", "b": tmp_path / "b.lib"}, opening)
    assert opened == []
    assert libraries.get("a") is libraries.get("a")
    assert opened == ["a.lib"]
    with pytest.raises(NoSuchThing) as caught:
        libraries.get("c")
    assert caught.value.hint == "library: a, b"
    libraries.close()


def test_print_config(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret-secret")
    assert main(["mcp", "--print-config", "--library", str(tmp_path / "a.lib")]) == 0
    out = capsys.readouterr().out
    entry = json.loads(out)["mcpServers"]["aspectra"]
    assert entry["args"] == ["-P", "-m", "aspectra", "mcp", "--library", str(tmp_path / "a.lib")]
    assert json.loads(out)["servers"]["aspectra"] == {"type": "stdio", **entry}
    assert "secret" not in out


def test_a_projects_libraries_are_printed_as_they_are_now(tmp_path, capsys, monkeypatch):
    _listed(tmp_path / "project", '[libraries]\nown = "own.lib"\n', monkeypatch)
    assert main(["mcp", "--print-config"]) == 0
    given = json.loads(capsys.readouterr().out)["mcpServers"]["aspectra"]["args"]
    assert main([*given[3:], "--print-config"]) == 0  # it reads what it printed
    assert given[4:] == ["--set", f'libraries={{ "own" = "{tmp_path / "project" / "own.lib"}" }}']


def _fresh(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_nothing_else_loads_mcp():
    code = (
        "import sys, aspectra; from aspectra.app.main import main; main(['--help']); "
        "import aspectra.app.commands.served; "
        "print([m for m in sys.modules if m.split('.')[0] in ('mcp', 'mcp_types', 'pydantic')])"
    )
    assert _fresh(code).stdout.splitlines()[-1] == "[]"


def test_the_extra_is_named_where_it_is_missing(tmp_path):
    code = (
        "import sys; sys.modules['mcp'] = None; sys.modules['mcp_types'] = None\n"
        f"from aspectra.app.main import main; sys.exit(main(['mcp', '--library', {str(tmp_path)!r}]))"
    )
    done = _fresh(code)
    assert done.returncode == 2
    assert 'pip install "aspectra[mcp]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_library_is_an_error_before_anything_is_served(tmp_path, capsys):
    pytest.importorskip("mcp", reason="needs: pip install 'aspectra[mcp]'")
    assert main(["mcp", "--library", str(tmp_path / "no.lib")]) == 2
    assert "there is no library" in capsys.readouterr().err


def test_what_the_server_says_of_itself_is_short():
    from aspectra.app.surfaces.mcp.tools import INSTRUCTIONS, TOOLS

    assert len(re.findall(r"\w+|[^\w\s]", INSTRUCTIONS)) <= 300
    assert "untrusted" in INSTRUCTIONS
    assert len(TOOLS) <= 6


def test_schemas_name_what_the_arguments_take():
    import msgspec

    from aspectra.app.surfaces.mcp.tools import TOOLS

    for tool in TOOLS.values():
        fields = {one.name: one.required for one in msgspec.structs.fields(tool.arguments)}
        assert set(tool.schema["properties"]) == set(fields)
        assert set(tool.notes) <= set(fields)
        assert set(tool.schema.get("required", [])) == {name for name, needed in fields.items() if needed}
        assert set(tool.needs) <= set(tool.gives)
