"""Layers of configuration, and the commands that show and set them."""

import json

import pytest

from aspectra.app.main import main
from aspectra.app.settings import Settings
from aspectra.base.config import Config, find_project_file, keys_of, read_file
from aspectra.base.errors import UsageError

pytestmark = pytest.mark.usefixtures("home")

KEYS = {key.name: key for key in keys_of(Settings)}


def test_layers_and_origins(tmp_path):
    user, project = tmp_path / "user.toml", tmp_path / "project.toml"
    user.write_text('library = "mine"\n[search]\nlimit = 5\nevidence = 5\nrecipe = "bm25"\n')
    project.write_text("[search]\nlimit = 6\nevidence = 6\n")
    environ = {"ASPECTRA_SEARCH_LIMIT": "7"}
    config = Config(Settings, flags={"search.format": "json"}, environ=environ, project=project, user=user)
    settings, origin = config.settings, config.origin
    assert (settings.search.limit, origin("search.limit")) == (7, "environment ASPECTRA_SEARCH_LIMIT")
    assert (settings.search.evidence, origin("search.evidence")) == (6, str(project))
    assert (settings.search.recipe, origin("search.recipe")) == ("bm25", str(user))
    assert (settings.search.format, origin("search.format")) == ("json", "flag")
    assert (settings.offline, origin("offline")) == (False, "default")
    assert settings.library == str(tmp_path / "mine")


def test_lists_of_venues_and_papers(tmp_path, capsys):
    file = tmp_path / "aspectra.toml"
    file.write_text('[venue_groups]\nml = ["NeurIPS", "ICML"]\n"c.v" = ["CVPR"]\n[paper_lists]\nhave = []\n')
    config = Config(Settings, flags={}, environ={}, project=file, user=None)
    assert config.settings.venue_groups == {"ml": ("NeurIPS", "ICML"), "c.v": ("CVPR",)}
    assert config.settings.paper_lists == {"have": ()}
    assert config.settings.venue_ranks == {}
    environ = {"ASPECTRA_VENUE_RANKS": '{ top = ["ACL"] }'}
    config = Config(Settings, flags={}, environ=environ, project=None, user=None)
    assert config.settings.venue_ranks == {"top": ("ACL",)}
    assert main(["config", "set", "venue_groups", '{ ml = ["ICML"] }', "--config", str(file)]) == 0
    assert read_file(file, KEYS)["venue_groups"] == {"ml": ("ICML",)}
    for wrong in ('venue_groups = "ml"\n', "[venue_groups]\nml = 3\n", "[venue_groups.ml]\na = ['b']\n"):
        file.write_text(wrong)
        with pytest.raises(UsageError, match="a table of lists"):
            read_file(file, KEYS)


def test_libraries_lie_beside_the_file_that_names_them(tmp_path, monkeypatch):
    file = tmp_path / "deep" / "aspectra.toml"
    file.parent.mkdir()
    file.write_text('[libraries]\nmine = "mine.lib"\nother = "/elsewhere/other.lib"\n')
    assert read_file(file, KEYS)["libraries"] == {
        "mine": str(tmp_path / "deep" / "mine.lib"),
        "other": "/elsewhere/other.lib",
    }
    monkeypatch.chdir(tmp_path)
    assert main(["config", "set", "libraries", '{ here = "a.lib" }', "--config", str(file)]) == 0
    assert read_file(file, KEYS)["libraries"] == {"here": str(tmp_path / "a.lib")}
    file.write_text('[libraries]\nmine = ["a"]\n')
    with pytest.raises(UsageError, match="a table of folders"):
        read_file(file, KEYS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[serch]\nlimit = 1\n", "did you mean search.limit"),
        ("[search]\nlimit = 'ten'\n", "whole number"),
        ("[search]\nlimit = true\n", "whole number"),
        ("[search]\nlimit = -1\n", "0 or more"),
        ("offline = 1\n", "true or false"),
        ("library = [\n", "not valid TOML"),
        ("openai_api_key = 'abc'\n", "secret"),
        ("[openai]\ntoken = 'abc'\n", "secret"),
        ("library = 'sk-0123456789abcdefghij'\n", "secret"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, text, message):
    path = tmp_path / "aspectra.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_file(path, KEYS)
    assert message in str(caught.value)
    assert "abcdefghij" not in str(caught.value)


def test_a_file_of_a_windows_editor_is_read(tmp_path):
    path = tmp_path / "aspectra.toml"
    path.write_bytes(b"\xef\xbb\xbf[search]\r\nlimit = 3\r\n")
    assert read_file(path, KEYS) == {"search.limit": 3}


def test_the_nearest_project_file_wins(tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_project_file(below) is None
    (tmp_path / "aspectra.toml").touch()
    assert find_project_file(below) == tmp_path / "aspectra.toml"
    (tmp_path / "a" / "aspectra.toml").touch()
    assert find_project_file(below) == tmp_path / "a" / "aspectra.toml"


def test_variables_are_named_after_keys():
    assert KEYS["search.limit"].variable == "ASPECTRA_SEARCH_LIMIT"
    assert {key.variable for key in KEYS.values()} >= {"ASPECTRA_LIBRARY", "ASPECTRA_OFFLINE"}


def test_show_path_and_set(capsys, home):
    file = home / "config" / "aspectra" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n[search]\n# few\nlimit = 5\n")
    assert main(["config", "set", "search.limit", "20"]) == 0
    assert main(["config", "set", "add.pdf_seconds", "60"]) == 0
    assert file.read_text() == "# mine\n[search]\n# few\nlimit = 20\n\n[add]\npdf_seconds = 60.0\n"
    capsys.readouterr()
    assert main(["config", "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["settings"]
    assert shown["search.limit"] == {"value": 20, "origin": str(file)}
    assert main(["config", "show", "--origin"]) == 0
    assert str(file) in capsys.readouterr().out
    assert main(["config", "path"]) == 0
    assert str(file) in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [["serch.limit", "3"], ["search.limit", "few"], ["search.limit", "-3"], ["llm.model", "caf\udce9"]],
)
def test_set_refuses(capsys, home, arguments):
    assert main(["config", "set", *arguments]) == 2
    assert not (home / "config").exists()
    assert "Traceback" not in capsys.readouterr().err


def test_set_in_the_project(home):
    assert main(["config", "set", "--project", "library", "papers.lib"]) == 0
    assert f'library = "{home / "work" / "papers.lib"}"' in (home / "work" / "aspectra.toml").read_text()


def test_a_bad_file_stops_every_command(capsys, home):
    (home / "work" / "aspectra.toml").write_text("limits = 3\n")
    assert main(["status"]) == 2
    assert "unknown key 'limits'" in capsys.readouterr().err
    assert main(["status", "--config", "nowhere.toml"]) == 2


def test_permissions_are_listed_given_and_withdrawn(run, monkeypatch, home):
    for name in ("OPENAI_BASE_URL", "ASPECTRA_EMBEDDINGS_URL"):
        monkeypatch.delenv(name, raising=False)
    assert run("config", "trust") == (0, "", "Nothing is permitted yet.\n")
    code, _, err = run("config", "trust", "models.example.org", "--key", "MY_KEY")
    assert (code, err) == (
        0,
        "permitted from now on: texts and the key in MY_KEY may be sent to https://models.example.org\n",
    )
    (home / "work" / "model").mkdir()
    assert run("config", "trust", "model:model")[0] == 0
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    code, out, _ = run("config", "trust")
    assert out.splitlines() == [
        "https://models.example.org with MY_KEY",
        f"model:{home / 'work' / 'model'}",
        "http://localhost:8000 with OPENAI_API_KEY  # named in your environment",
    ]
    assert run("config", "distrust", "https://models.example.org/v1")[0] == 0
    assert run("config", "distrust", "model:model")[0] == 0
    assert json.loads(run("config", "trust", "--json")[1])["allowed"] == []
    code, _, err = run("config", "distrust", "models.example.org")
    assert code == 2
    assert "neither permitted nor refused" in err


def test_a_host_that_is_set_for_a_project_is_permitted(run):
    assert run("config", "set", "--project", "llm.base_url", "http://127.0.0.1:8000/v1")[0] == 0
    assert run("config", "trust")[1].splitlines()[0] == "http://127.0.0.1:8000"
    assert "settings:" not in run("config", "trust")[1]
    assert run("config", "set", "--project", "llm.lanes", "2")[0] == 0
    assert "settings:" in run("config", "trust")[1], "nothing in it was somebody else's"
    assert run("config", "distrust", "settings:.")[0] == 0
    assert run("config", "set", "--project", "llm.model", "m")[0] == 0
    assert "settings:" not in run("config", "trust")[1]


def test_a_file_that_is_nested_without_end_is_refused(tmp_path):
    path = tmp_path / "aspectra.toml"
    path.write_text("library = " + "[" * 100_000)
    with pytest.raises(UsageError, match="not valid TOML"):
        read_file(path, KEYS)
