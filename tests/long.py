"""Whether tests try all of what they try a part of: ``make test-long``."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")
LONG = bool(os.environ.get("ASPECTRA_LONG"))
TURNS = 5  # runs of make test, each of another commit, in which all slow tests are run about once
# Functions whose tests take seconds, and run no line of the package that no other test runs.
SLOW = frozenset(
    line.split()[1]
    for line in Path(__file__).with_name("data").joinpath("slow.txt").read_text("utf-8").splitlines()
)


def _turn() -> str:
    """By the commit, so that a run can be repeated and CI comes to all; ASPECTRA_TURN=2, or all, sets it."""
    if chosen := "all" if LONG else os.environ.get("ASPECTRA_TURN"):
        return chosen
    command = ["git", "rev-parse", "HEAD"]
    try:
        commit = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # no git, or not a clone
        return "all"
    return str(crc32(commit) % TURNS + 1)


TURN = _turn()


def waits(test: str) -> bool:
    """Whether the test of this id is a slow one, to be run another time."""
    return TURN != "all" and test.partition("[")[0] in SLOW and crc32(test.encode()) % TURNS + 1 != int(TURN)


def some(cases: Sequence[T], *of: object) -> Sequence[T]:
    """All cases with ``make test-long``, else one: another for another test, which ``of`` names."""
    if LONG:
        return cases
    at = sum("".join(map(str, of)).encode()) % len(cases)
    return cases[at : at + 1]
