"""What a Zotero library holds that is new, and what is remembered of it between two times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Protocol

from aspectra.papers.text.cleaning import one_line

CHILDREN = ("note", "attachment", "annotation")
"""Types of items that are no papers."""


@dataclass
class Remembered:
    """What is kept of one Zotero library between two syncs; it is stored as JSON.

    Attributes:
        origin: where it was read from: ``database`` and the file's place, or ``api`` and the server's id.
            What was read from another origin has other versions, so everything is compared anew.
        version: the library's version as the origin counts; 0 where it has none.
        signature: of the database's files, as they were; "" of an API.
        stamps: key of every item -> what changes whenever the item does.
        parents: key of a note, attachment or annotation -> key of its parent.
        papers: key of a regular item -> id of its paper here; kept with the papers, not in the JSON.
        collections: key -> path, as ``Reviews / Neural``.
        pdfs: key of an attached PDF -> where it is (see :func:`pdf_path`), when it was added, and under
            ``read`` what its file was when it was read.
    """

    origin: str = ""
    version: int = 0
    signature: str = ""
    stamps: dict[str, str] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    papers: dict[str, str] = field(default_factory=dict)
    collections: dict[str, str] = field(default_factory=dict)
    pdfs: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass
class Changes:
    """What is different from what was remembered.

    Attributes:
        none: nothing is; all else is empty then.
        items: key -> item in the JSON of Zotero's API (its ``data``), for every item of any type that is new
            or another. Those in the trash are not among them.
        stamps: as in :class:`Remembered`, of all items that there are.
        version, signature, origin: as there.
        collections: as there, of all collections.
    """

    none: bool = False
    items: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    stamps: dict[str, str] = field(default_factory=dict)
    version: int = 0
    signature: str = ""
    origin: str = ""
    collections: dict[str, str] = field(default_factory=dict)


class ZoteroSource(Protocol):
    """Reads one library of Zotero, its own or a group's.

    Attributes:
        library: ``users/0`` for a person's own, ``groups/N`` for a group's.
        place: where it is read from, for people.
    """

    library: str
    place: str

    def changes(self, known: Remembered, progress: Callable[[str, int, int], None]) -> Changes:
        """What is different from what is known.

        Raises:
            AspectraError: it cannot be read.
        """
        ...


def collection_paths(rows: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Key -> names from the top down, out of (key, name, key of the parent or "").

    >>> collection_paths([("A", "Reviews", ""), ("B", "Neural", "A")])
    {'A': 'Reviews', 'B': 'Reviews / Neural'}
    """
    known = {key: (one_line(name), parent) for key, name, parent in rows}
    paths: dict[str, str] = {}
    for key in known:
        names: list[str] = []
        at, seen = key, set[str]()
        while at in known and at not in seen:  # a damaged database may have a circle
            seen.add(at)
            names.append(known[at][0])
            at = known[at][1]
        paths[key] = " / ".join(reversed(names))
    return paths


def pdf_path(item: Mapping[str, Any], data: Path | None, base: Path | None) -> Path | None:
    """Where the PDF of an attachment is on this computer; None where it is no PDF, or its place is not known.

    Args:
        item: the attachment in the API's JSON.
        data: Zotero's data folder, which has ``storage`` in it.
        base: the folder that linked files are relative to, where the user set one.
    """
    if item.get("contentType") != "application/pdf":
        return None
    if item.get("linkMode") in ("imported_file", "imported_url"):
        name, key = str(item.get("filename") or ""), str(item.get("key") or "")
        plain = name not in ("", ".", "..") and not {"/", "\\", "\0"} & set(name)
        return data / "storage" / key / name if data and plain and key.isalnum() else None
    path = str(item.get("path") or "")
    if item.get("linkMode") != "linked_file" or "\0" in path or path.startswith(("\\\\", "//")):
        return None  # a path of a network would open a connection
    if path.startswith("attachments:"):
        inner = path.removeprefix("attachments:")
        parts = (*PurePosixPath(inner).parts, *PureWindowsPath(inner).parts)
        outside = ".." in parts or PurePosixPath(inner).is_absolute() or PureWindowsPath(inner).drive
        return None if base is None or outside else base / inner
    return Path(path) if Path(path).is_absolute() else None
