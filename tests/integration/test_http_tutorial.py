"""The page on HTTP, followed with curl as it is written, against a service of the demo library."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from console_pages import follow, steps_of
from loopback_server import serving_process
from warm_python import warm_python

PAGE = Path(__file__).parents[2] / "docs" / "http.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl: apt install curl")
def test_the_page_holds(tmp_path, demo_folder):
    demo = tmp_path / "demo"
    shutil.copytree(demo_folder, demo)
    python = Path(warm_python())
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    steps = steps_of(PAGE)
    assert len(steps) >= 6
    with serving_process(demo, tmp_path) as address:
        for command, expected in steps:
            follow(command.replace("http://127.0.0.1:8765", address), expected, tmp_path, environment)
    assert (tmp_path / "picks.ris").read_text("utf-8").startswith("TY  - ")
