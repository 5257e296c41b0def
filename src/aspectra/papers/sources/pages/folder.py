"""A folder: every file in it, in the order of names, each through its own source.

Hidden files are passed over. Nothing outside the folder is read: a symbolic link that leads out of it is
refused, and linked folders are not entered, so that no loop can form. Ids are made distinct over all files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from aspectra.base.errors import AspectraError, BadInput
from aspectra.papers.ids import distinct_ids
from aspectra.papers.paper import Paper
from aspectra.papers.sources.files import clean
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.walking import path_kind

__all__ = ["Folder"]

_MAX_DEPTH = 32


class Folder:
    """All files of a folder and the folders in it."""

    name = "folder"

    def sniff(self, path: Path, head: bytes) -> float:
        """1 for a folder, else 0."""
        return 1.0 if path.is_dir() else 0.0

    def read(self, path: Path, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers of every file, in the order of names; a file that cannot be read is a remark.

        Raises:
            BadInput: not a folder, cannot be listed, or holds no files.
        """
        if not path.is_dir():
            raise BadInput(
                f"{path} is not a folder", hint="name a folder, or leave the format to be detected"
            )
        try:
            # Listed first only for the top, so that an unreadable or empty folder is an error.
            names = [name for name in os.listdir(path) if not name.startswith(".")]
        except OSError as error:
            raise BadInput(f"cannot list {path}", why=error.strerror or str(error)) from error
        if not names:
            raise BadInput(f"{path} holds no files", hint="check the path")
        yield from distinct_ids(_walk(path, path.resolve(), "", options, 0))


def _walk(
    folder: Path, root: Path, prefix: str, options: ReadOptions, depth: int
) -> Iterator[Paper | Remark]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        yield Remark(prefix or "folder", f"cannot be listed: {error.strerror or error}")
        return
    for name in names:
        if name.startswith("."):
            continue
        path = folder / name
        place = clean(f"{prefix}{name}")
        kind = path_kind(path, root)
        if kind == "folder" and depth < _MAX_DEPTH:
            yield from _walk(path, root, f"{place}/", options, depth + 1)
        elif kind == "file":
            yield from _one_file(path, place, options)
        else:
            yield Remark(place, "too many folders inside one another" if kind == "folder" else kind)


def _one_file(path: Path, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    from aspectra.papers.sources.detection import read_papers  # it imports the sources, of which this is one

    try:
        for item in read_papers(path, options=options):
            yield replace(item, place=f"{place}: {item.place}") if isinstance(item, Remark) else item
    except AspectraError as error:
        why = f" ({error.why})" if error.why else ""
        hint = f"; {error.hint}" if error.hint else ""
        yield Remark(place, f"{error.what}{why}{hint}")
    except (OSError, RecursionError) as error:
        yield Remark(place, f"cannot be read: {error}")


SOURCES.register("folder")(Folder())
