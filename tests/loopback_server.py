"""``aspectra serve`` as a process of its own, on a free port of the loopback address."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def serving_process(library: Path, home: Path, *options: str, **environment: str) -> Iterator[str]:
    """The address, without a slash at its end, of a server over a library; ended with the context."""
    places = {
        name: str(home / name.casefold()) for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    }
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "aspectra", "serve", "--library", str(library)),
            *("--port", "0", "--no-open", *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **places, **environment},
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        found = re.match(r"(http://[^ /]+)/ ", line)
        if found is None:
            process.kill()
            raise AssertionError(f"the server did not start: {line} {process.communicate()[1]}")
        yield found[1]
    finally:
        process.terminate()
        try:
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
