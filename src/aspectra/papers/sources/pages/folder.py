"""A folder: every file in it, in the order of names, each through its own source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aspectra.base.errors import AspectraError, BadInput
from aspectra.base.values import replace
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.files import InputFile, walk
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean


class FolderSource:
    """All files of a folder and the folders in it."""

    name = "folder"
    description = (
        "all of these in a folder, sorted; hidden files and links that leave the folder are left out"
    )
    endings = ()

    def sniff(self, path: Path, head: bytes) -> float:
        """1 for a folder, else 0."""
        return 1.0 if path.is_dir() else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers of every file, in the order of names; a file that cannot be read is a remark.

        Raises:
            BadInput: not a folder, cannot be listed, or holds no files.
        """
        folder = file.path
        if not folder.is_dir():
            hint = "name a folder, or leave the format to be detected"
            raise BadInput(f"{folder} is not a folder", hint=hint)
        empty = True
        for found in walk(folder):
            empty = False
            if found.path == folder:
                raise BadInput(f"cannot list {folder}", why=found.problem)
            place = clean(found.path.relative_to(folder).as_posix())
            if found.problem:
                yield Remark(place, found.problem)
            else:
                yield from _one_file(found.path, place, options)
        if empty:
            raise BadInput(f"{folder} holds no files", hint="check the path")


def _one_file(path: Path, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    try:
        for item in read_papers(path, options=options):
            yield replace(item, place=f"{place}: {item.place}") if isinstance(item, Remark) else item
    except AspectraError as error:
        why = f" ({error.why})" if error.why else ""
        hint = f"; {error.hint}" if error.hint else ""
        yield Remark(place, f"{error.what}{why}{hint}")
    except (OSError, RecursionError) as error:
        yield Remark(place, f"cannot be read: {error}")


SOURCES.register("folder")(FolderSource())
