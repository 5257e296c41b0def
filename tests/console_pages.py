"""Pages of the documentation whose consoles are followed: each command, and what it prints."""

from __future__ import annotations

import doctest
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

_HOW = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps_of(page: Path) -> list[tuple[str, str]]:
    """(command, what it prints) in the order of the page."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.S)
    return [m for block in blocks for m in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]


def follow(command: str, expected: str, place: Path, environment: Mapping[str, str]) -> None:
    """Run a command in a folder; it must end well and print what is expected."""
    done = subprocess.run(
        command,
        shell=True,
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    # What "..." stands for may be nothing or many lines.
    assert doctest.OutputChecker().check_output(expected, done.stdout, _HOW), (
        f"{command}\nprinted:\n{done.stdout}\nexpected:\n{expected}"
    )
