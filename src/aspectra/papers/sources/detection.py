"""Which source reads a file, and reading it: the way in for everything outside this package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.files import read_head
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark

__all__ = ["UnknownFormat", "detect", "read_papers"]

_LEAST = 0.3


class UnknownFormat(BadInput):
    """A file that no source recognises; in a folder of other things that is nothing to worry about."""


def detect(path: Path) -> str:
    """Name of the source that is surest it can read ``path``.

    Content decides, names only help. Of equally sure sources the one that is first by name is taken, so
    that the answer never depends on the order of imports.

    Raises:
        BadInput: there is no such file, or it is empty.
        UnknownFormat: no source recognises it.
    """
    if not path.exists():
        raise BadInput(f"there is no file or folder {path}", hint="check the path")
    head = read_head(path)
    if path.is_file() and not head.strip():
        raise BadInput(f"{path} is empty", hint="check that the export or download finished")
    best, sure = "", 0.0
    for name in SOURCES.names():
        confidence = SOURCES.get(name).sniff(path, head)
        if confidence > sure:
            best, sure = name, confidence
    if sure < _LEAST:
        raise UnknownFormat(
            f"the format of {path} is not recognised",
            why="known formats: " + ", ".join(SOURCES.names()),
            hint="if you know which it is, name it with --as NAME",
        )
    return best


def read_papers(
    path: Path, as_: str | None = None, options: ReadOptions | None = None
) -> Iterator[Paper | Remark]:
    """Papers and remarks out of a file or folder, in its order.

    Args:
        path: what to read.
        as_: name of the source; found by content when None.
        options: limits; the defaults when None.

    Raises:
        BadInput: nothing in it can be read, or the format is not recognised.
        UsageError: ``as_`` is no source.
    """
    if as_ is not None and not path.exists():
        raise BadInput(f"there is no file or folder {path}", hint="check the path")
    source = SOURCES.get(as_ if as_ is not None else detect(path))
    return source.read(path, options or ReadOptions())
