"""What a step is given: files of lines of JSON, and lists in the metadata of papers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.runs.rows import Row
from aspectra.papers.paper import Paper
from aspectra.papers.text.cleaning import folded


def rows_of(name: str) -> Iterator[tuple[str, Row]]:
    """Place (for messages) and object of each line; packed by gzip or zstd too.

    Raises:
        BadInput: the file is not there, or a line is not an object.
    """
    path = Path(name).expanduser()
    for number, row in enumerate(Folder(path.parent).rows(path), 1):
        yield f"{path}, line {number},", row


def listed(paper: Paper, field: str) -> frozenset[str]:
    """What a metadata field lists, or names between semicolons; as people type it."""
    given = paper.metadata.get(field)
    words = given if isinstance(given, list) else str(given or "").split(";")
    return frozenset(filter(None, (folded(str(one)).strip() for one in words)))
