"""Fixtures of the command line's tests."""

from __future__ import annotations

import os

import pytest

from aspectra.app.main import main


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user without configuration, in an empty folder."""
    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in [n for n in os.environ if n.startswith("ASPECTRA_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return tmp_path


@pytest.fixture
def run(capsys):
    """The command line in this process: (exit code, stdout, stderr); never a traceback."""

    def call(*arguments):
        code = main([str(a) for a in arguments])
        out = capsys.readouterr()
        assert "Traceback" not in out.err
        return code, out.out, out.err

    return call
