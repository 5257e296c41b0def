"""The page on HTTP, followed with curl as it is written, against a service of the demo library."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loopback_server import serving_process

PAGE = Path(__file__).parents[2] / "docs" / "http.md"
_HOW = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _steps() -> list[tuple[str, str]]:
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    return [m for block in blocks for m in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl: apt install curl")
def test_the_page_holds(tmp_path):
    demo = tmp_path / "demo"
    python = Path(sys.executable)
    subprocess.run(
        [python, "-m", "aspectra", "init", "--demo", "--library", demo], check=True, capture_output=True
    )
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    steps, checker = _steps(), doctest.OutputChecker()
    assert len(steps) >= 6
    with serving_process(demo, tmp_path) as address:
        for command, expected in steps:
            done = subprocess.run(
                command.replace("http://127.0.0.1:8765", address),
                shell=True,
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                check=False,
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}"
            assert checker.check_output(expected, done.stdout, _HOW), f"{command}\nprinted:\n{done.stdout}"
    assert (tmp_path / "picks.ris").read_text("utf-8").startswith("TY  - ")
