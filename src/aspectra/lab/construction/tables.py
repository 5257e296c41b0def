"""Files that a step is given: lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.runs.rows import Row

__all__ = ["rows_of"]


def rows_of(name: str) -> Iterator[tuple[str, Row]]:
    """Place (for messages) and object of each line; packed by gzip or zstd too.

    Raises:
        BadInput: the file is not there, or a line is not an object.
    """
    path = Path(name).expanduser()
    for number, row in enumerate(Folder(path.parent).rows(path), 1):
        yield f"{path}, line {number},", row
