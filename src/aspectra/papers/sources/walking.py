"""What stands in a folder: files and folders, and what is better left alone."""

from __future__ import annotations

import stat
from pathlib import Path

__all__ = ["path_kind"]


def path_kind(path: Path, root: Path) -> str:
    """``file``, ``folder``, or why it is passed over.

    Args:
        path: what was found in a folder.
        root: the folder that was asked for; links must not lead out of it.
    """
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
    # A pipe or a device could keep the reader waiting for ever.
    return "file" if stat.S_ISREG(mode) else "no regular file: passed over"
