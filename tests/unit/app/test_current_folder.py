"""No code of the current folder runs: it may be somebody else's."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import aspectra
from aspectra.app.main import main
from aspectra.app.surfaces.service.jobs import Jobs
from aspectra.app.upkeep import checkup as repair
from aspectra.app.upkeep import weights
from aspectra.base.errors import AspectraError

NAMES = ("aspectra", "numpy", "pip", "msgspec", "json", "sitecustomize")


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """The current folder, whose modules say that they were run; a function that tells who was."""
    folder = tmp_path / "download"
    folder.mkdir()
    for name in NAMES:
        code = f"import pathlib; pathlib.Path({str(tmp_path)!r}, 'ran-{name}').touch()\n"
        (folder / f"{name}.py").write_text(code, "utf-8")
    monkeypatch.chdir(folder)
    return lambda: sorted(path.name for path in tmp_path.glob("ran-*"))


@pytest.fixture
def started(monkeypatch):
    """What the program starts; nothing is."""
    seen = []

    def popen(command, **more):
        seen.append((command, more.get("cwd")))
        raise OSError("not now")

    monkeypatch.setattr(subprocess, "Popen", popen)
    return seen


def run(command, folder=None):
    # No index of packages is asked.
    return subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=os.environ | {"PIP_NO_INDEX": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )


def test_a_job_runs_the_program_and_not_the_current_folder(hostile, tmp_path):
    async def job():
        jobs = Jobs(tmp_path / "a.lib", tmp_path / "uploads")
        made = jobs.start("add", ["--version"])
        while not made.ended:
            await asyncio.sleep(0.05)
        return made

    assert asyncio.run(job()).state == "done"
    assert hostile() == []


def test_merging_runs_the_program_and_not_the_current_folder(hostile, started, monkeypatch, tmp_path):
    assert repair.index_later(tmp_path / "a.lib", "--merge") is None
    [(command, folder)] = started
    monkeypatch.undo()
    run([*command[: command.index("--library")], "--version"], folder or tmp_path / "download")
    assert hostile() == []


def test_a_download_runs_pip_and_not_the_current_folder(hostile, started, monkeypatch, tmp_path):
    with pytest.raises(AspectraError, match="cannot be"):
        weights.bring_weights()
    [(command, folder)] = started
    assert not Path(folder).is_relative_to(tmp_path / "download"), "uv takes settings from there"
    monkeypatch.undo()
    run(command, tmp_path / "download")
    assert hostile() == []


def test_the_entry_for_clients_runs_the_program_and_not_the_current_folder(hostile, capsys, tmp_path):
    assert main(["mcp", "--print-config", "--library", str(tmp_path / "a.lib")]) == 0
    entry = json.loads(capsys.readouterr().out)["mcpServers"]["aspectra"]
    run([entry["command"], *entry["args"]], tmp_path / "download")
    assert hostile() == []


def test_modules_of_the_users_own_path_are_still_found(tmp_path):
    (tmp_path / "plugin_of_mine.py").write_text("print('found')", "utf-8")
    code = [sys.executable, "-P", "-c", "import plugin_of_mine"]
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    assert subprocess.run(code, env=env, capture_output=True, text=True, check=True).stdout == "found\n"


def test_no_module_is_started_from_the_current_folder():
    for file in Path(aspectra.__file__).parent.rglob("*.py"):
        for before in re.findall(r'([^\n(\[]*)"-m", "\w+"', file.read_text("utf-8")):
            assert before.rstrip().endswith('"-P",'), f"{file}: the current folder would come first"
