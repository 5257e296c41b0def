"""A library is read and written inside its own folder: links that lead out of it are refused.

A library may be somebody else's. A symbolic link in it could have any file read as an index, a pipe would be
waited for without end, and a link in the place of ``writer.lock`` or ``generations`` would have files written
elsewhere. The folder itself may be reached through a link: its user chose that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from aspectra.base.errors import LibraryCorrupt

_FILES = (
    "library.db",
    "library.db-wal",
    "library.db-shm",
    "library.db-journal",
    "writer.lock",
    "index.lock",
)


def refuse_links(folder: Path) -> None:
    """Refuse a library in which one of our files is a link, a pipe or a device.

    Args:
        folder: of the library; other things in it are not looked at.

    Raises:
        LibraryCorrupt: there is one.
    """
    for path in (*(folder / name for name in _FILES), *_below(folder / "generations")):
        try:
            mode = path.lstat().st_mode
        except OSError:  # it is not there, or a writer has just removed it
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "no plain file"
            raise LibraryCorrupt(
                f"{path} is {kind}",
                why="a library is read and written inside its own folder only",
                hint="put the file itself there; the folder of a library may be a link as a whole",
            )


def _below(folder: Path) -> Iterator[Path]:
    """A folder and all in it; links are not followed."""
    yield folder
    if not folder.is_symlink():
        for place, folders, files in os.walk(folder):
            yield from (Path(place, name) for name in (*folders, *files))
