"""The files of a folder in the order of their names, and why others are skipped."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aspectra.papers.sources.files import kind_of_file

_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Found:
    """A path to read, or why it is skipped.

    Attributes:
        path: the file, or the folder that cannot be entered.
        problem: why it is not read, or "".
        named: given by a person, not found in a folder.
    """

    path: Path
    problem: str = ""
    named: bool = False


def walk(folder: Path) -> Iterator[Found]:
    """Every file in a folder and in the folders within it.

    Hidden files are left out. Nothing outside the folder is read: a symbolic link that leads out of it is
    refused, and linked folders are not entered, so that no loop can form. An Aspectra library is no folder of
    papers. If ``folder`` cannot be listed, the only item is ``folder`` itself.
    """
    yield from _walk(folder, folder.resolve(), 0)


def _walk(folder: Path, root: Path, depth: int) -> Iterator[Found]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        yield Found(folder, f"cannot be listed: {error.strerror or error}")
        return
    for path in (folder / name for name in names if not name.startswith(".")):
        kind = _kind(path, root)
        if kind != "folder":
            yield Found(path, "" if kind == "file" else kind)
        elif (path / "library.db").is_file():
            yield Found(path, "an Aspectra library, not a folder of papers")
        elif depth >= _MAX_DEPTH:
            yield Found(path, "too many folders inside one another")
        else:
            yield from _walk(path, root, depth + 1)


def _kind(path: Path, root: Path) -> str:
    """``file``, ``folder``, or why ``path``, found below ``root``, is skipped."""
    try:
        if path.is_symlink():
            target = path.resolve(strict=True)
            if not target.is_relative_to(root):
                return "a symbolic link that leads out of the folder: refused"
            if target.is_dir():
                return "a symbolic link to a folder: not entered"
        mode = path.stat().st_mode
    except (OSError, RuntimeError, ValueError) as error:
        return f"cannot be opened: {error}"
    if stat.S_ISDIR(mode):
        return "folder"
    # Reading a pipe or a device may never end.
    return "file" if stat.S_ISREG(mode) else f"{kind_of_file(mode) or 'something else'}, not a file"
