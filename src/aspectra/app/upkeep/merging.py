"""Indexing and merging beside other work, in a process of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from aspectra.base.version import OURSELVES

_NICE = 10


def index_later(library: Path, *words: str) -> subprocess.Popen[bytes] | None:
    """Start ``aspectra index`` on a library and go on; returns the process, None where none can be started.

    It takes the processor when nobody else does, ends by itself, and writes nothing to the terminal.

    Args:
        library: its folder.
        words: options of the command, as ``--merge``.
    """
    command = [sys.executable, *OURSELVES, "--library", os.path.abspath(library), "index", *words]
    flags = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
    try:
        return subprocess.Popen(  # noqa: S603 - this program itself
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=flags,
        )
    except OSError:
        return None


def yield_to_others() -> None:
    """Lower this process's priority, where the system has such a call."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICE)
