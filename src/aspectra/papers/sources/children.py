"""Files that a library in another language opens, in a process of its own with limits."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, NamedTuple

from aspectra.base.errors import BadInput
from aspectra.papers.sources.files import InputFile

_CHILD = Path(__file__).with_name("_child.py")
_MAX_BYTES = 512 * 1024 * 1024
_PASSED_ON = ("PATH", "SYSTEMROOT", "PYTHONPATH", "PYTHONHOME", "LANG", "LC_ALL", "TMPDIR", "TEMP")


class ChildAnswer(NamedTuple):
    """What a child said before it ended: JSON objects; whether it took too long; its exit status."""

    said: list[dict[str, Any]]
    late: bool
    status: int


def ask_child(file: InputFile, limits: dict[str, Any]) -> ChildAnswer:
    """Have a child read a file.

    Args:
        file: the file.
        limits: ``what`` (``pdf`` or ``sheets``), ``seconds``, ``memory_mb``, ``chars`` and more of it.

    Raises:
        BadInput: the file is too large.
    """
    with contextlib.ExitStack() as stack:
        stdin = _as_file(file, stack)
        # Started as a file and with -P: nothing but the library is imported, and no file beside this one is.
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
            [sys.executable, "-P", str(_CHILD), json.dumps(limits)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        )
        late = False
        try:
            out, _ = process.communicate(timeout=limits["seconds"])
        except subprocess.TimeoutExpired:
            late = True
            process.kill()
            out, _ = process.communicate()
        except BaseException:
            process.kill()
            process.wait()
            raise
    said = []
    for line in out.splitlines():
        try:
            said.append(json.loads(line))
        except ValueError:
            break  # cut off in the middle when the child was stopped
    return ChildAnswer(said, late, process.returncode)


def _as_file(file: InputFile, stack: contextlib.ExitStack) -> IO[bytes]:
    """A real file for the child: as it is, or unpacked when it is compressed."""
    path = file.path
    stream = file.stream()
    if isinstance(getattr(stream, "raw", None), io.FileIO) and path.stat().st_size <= _MAX_BYTES:
        os.lseek(stream.fileno(), 0, os.SEEK_SET)  # the child shares the offset, not our buffer
        return stream
    copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    with file.damage():
        while block := stream.read(1 << 20):
            copy.write(block)
            if copy.tell() > _MAX_BYTES:
                raise BadInput(f"{path} is larger than {_MAX_BYTES >> 20} MiB", hint="split the file")
    copy.seek(0)
    return copy
