"""Choose the source of a file by its content, and read the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aspectra.base.errors import BadInput
from aspectra.papers.ids import distinct_ids
from aspectra.papers.paper import Paper
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark

__all__ = ["UnknownFormat", "detect", "read_papers"]

_LEAST = 0.3


class UnknownFormat(BadInput):
    """No source recognises the file; in a folder, such a file is skipped."""


def detect(path: Path | InputFile) -> str:
    """Name of the source with the highest confidence that it can read ``path``.

    Content decides, names only help. Of equal sources the one that is first by name is taken, so
    that the answer never depends on the order of imports.

    Raises:
        BadInput: there is no such file, or it is empty.
        UnknownFormat: no source recognises it.
    """
    if isinstance(path, Path):
        with InputFile(path) as file:
            return detect(file)
    file = path
    if not file.path.exists():
        raise BadInput(f"there is no file or folder {file.path}", hint="check the path")
    if file.path.is_file() and not file.head.strip():
        raise BadInput(f"{file.path} is empty", hint="check that the export or download finished")
    confidence = {name: SOURCES.get(name).sniff(file.path, file.head) for name in SOURCES.names()}
    best = max(confidence, key=confidence.__getitem__)
    if confidence[best] < _LEAST:
        raise UnknownFormat(
            f"the format of {file.path} is not recognised",
            why="known formats: " + ", ".join(confidence),
            hint="if you know which it is, name it with --as NAME",
        )
    return best


def read_papers(
    path: Path | InputFile, as_: str | None = None, options: ReadOptions | None = None
) -> Iterator[Paper | Remark]:
    """Papers and remarks out of a file or folder, in its order; every paper has an id of its own.

    Args:
        path: what to read; an :class:`InputFile` is left open.
        as_: name of the source; found by content when None.
        options: limits; the defaults when None.

    Raises:
        BadInput: nothing in it can be read, or the format is not recognised.
        UsageError: ``as_`` is no source.
    """
    file = InputFile(path) if isinstance(path, Path) else path
    if not file.path.exists():
        raise BadInput(f"there is no file or folder {file.path}", hint="check the path")
    source = SOURCES.get(as_ if as_ is not None else detect(file))
    return _items(source.read(file, options or ReadOptions()), None if file is path else file)


def _items(found: Iterator[Paper | Remark], opened: InputFile | None) -> Iterator[Paper | Remark]:
    try:
        yield from distinct_ids(found)
    finally:
        if opened is not None:
            opened.close()
