"""Choose the source of a file by its content, and read the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from aspectra.base.errors import BadInput, UsageError
from aspectra.papers.ids import distinct_ids
from aspectra.papers.paper import Paper
from aspectra.papers.sources.children import archive_of
from aspectra.papers.sources.files import LIMITS, InputFile, kind_of_file, not_a_file
from aspectra.papers.sources.json.records import first_keys
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import one_line

_LEAST = 0.3
_SIGN = 4  # bytes by which a ZIP archive is told
_SQLITE = b"SQLite format 3"
_EXPORT = "export its records as RIS, BibTeX or CSV; if it is one of these formats: --as NAME"
_ZOTERO = "a Zotero library is read with: aspectra zotero sync --database FILE"
_LABEL = re.compile(
    r"[ \t]{0,4}(doi|pmid|title|authors?|author\(s\)|source|abstract|issn|isbn|accession number|year|journal"
    r"|document type|publication (?:year|type|date|title)|database|keywords|author keywords)\s?:\s",
    re.I,
)
_TAG = re.compile(r"[A-Z][A-Z0-9]{1,3}(?= {0,4}-? )|\{[A-Z][A-Za-z ]{1,30}\}(?=: )")
_LEAST_TAGS = 4


class UnknownFormat(BadInput):
    """No source recognises the file, and nothing shows records in it; in a folder, it is passed over."""


def detect(path: Path | InputFile) -> str:
    """Name of the source with the highest confidence that it can read ``path``.

    Content decides, names only help. Of equal sources the one that is first by name is taken, so
    that the answer never depends on the order of imports.

    Raises:
        BadInput: the file does not exist, or is empty.
        UnknownFormat: no source recognises it.
    """
    if isinstance(path, Path):
        with InputFile(path) as file:
            return detect(file)
    file = path
    _check(file.path)
    if not file.head.strip():
        raise BadInput(f"{file.path} is empty", hint="check that the export or download finished")
    # The first file of an archive, which may lie in it unpacked, is not what the archive is.
    archive = archive_of(file.head)
    head = file.head[:_SIGN] if archive else file.head
    confidence, unusable = dict[str, float](), list[str]()
    for name in SOURCES.names():
        try:
            confidence[name] = SOURCES.get(name).sniff(file.path, head)
        except UsageError as error:  # of another package, which is not to stop every file
            unusable.append(error.what)
    best = max(confidence, key=confidence.__getitem__)
    if archive and confidence[best] < _LEAST:
        raise BadInput(
            f"{file.path} is not read",
            why=f"it is an archive ({archive}), or a part of one",
            hint="unpack it and add the folder; if it is no archive, fetch it again",
        )
    if confidence[best] < _LEAST or (confidence[best] == _LEAST and _several_records(file.head)):
        # Losing records of an unknown format is an error; a picture in a folder is not a loss.
        raise (BadInput if _several_records(file.head) or _tagged(file.head) else UnknownFormat)(
            f"the format of {file.path} is not recognised",
            why="; ".join([_nature(file.head), f"formats that are read: {', '.join(confidence)}", *unusable]),
            hint=_ZOTERO if file.head.startswith(_SQLITE) else _EXPORT,
        )
    return best


def _several_records(head: bytes) -> bool:
    """True if a text has the labels of several records (``DOI:``, ``Source:``), as databases print them.

    Two such labels occur at least twice, the first time near the beginning; a paper has them once, or in its
    references.
    """
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip()]
    seen: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if found := _LABEL.match(line):
            seen.setdefault(found[1].casefold(), []).append(number)
    early = len(lines) / 3 + 30
    return sum(len(at) > 1 and at[0] < early for at in seen.values()) > 1


def _tagged(head: bytes) -> bool:
    """True if most lines of a text begin with a tag (``AU  - ``, ``A1 ``), as in exports."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip()]
    tags = [found[0] for line in lines if (found := _TAG.match(line))]
    return len(set(tags)) >= _LEAST_TAGS and 2 * len(tags) > len(lines)


def _nature(head: bytes) -> str:
    """Describe the content of a file in a few words, for messages."""
    from aspectra.papers.sources.xml.elements import root_name  # loads lxml

    if root := root_name(head)[0]:
        return f"it is XML whose root is <{root}>"
    if keys := first_keys(head, depth=1):
        return f"it is JSON with {', '.join(sorted(keys)[:8])}"[:200]
    if head.startswith(_SQLITE):
        return "it is an SQLite database"
    if b"\x00" in head:
        return "it is no text"
    text = head.decode("utf-8", "replace")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"it begins with “{one_line(first)[:60]}”"


def read_papers(
    path: Path | InputFile, as_: str | None = None, options: ReadOptions | None = None
) -> Iterator[Paper | Remark]:
    """Papers and remarks out of a file, in its order; every paper has an id of its own.

    Args:
        path: to read from; an :class:`InputFile` is left open.
        as_: name of the source; found by content when None.
        options: limits; the defaults when None.

    Raises:
        BadInput: nothing in it can be read, or the format is not recognised.
        UsageError: ``as_`` is not the name of a source.
    """
    options = options or ReadOptions()
    file = InputFile(path, options.bounds) if isinstance(path, Path) else path
    _check(file.path)
    source = SOURCES.get(as_ if as_ is not None else detect(file))
    return _items(source.read(file, options), file, file is not path)


def _check(path: Path) -> None:
    """Refuse a path that does not exist, and files that no reader should open."""
    if not path.exists():
        raise BadInput(f"there is no file or folder {path}", hint="check the path")
    if kind := kind_of_file(path.stat().st_mode):
        raise not_a_file(path, kind)


def _items(found: Iterator[Paper | Remark], file: InputFile, opened: bool) -> Iterator[Paper | Remark]:
    """The items, remarks counted instead of listed where there are very many; closes what was ``opened``."""
    remarks = skipped = 0
    try:
        for item in distinct_ids(found):
            if isinstance(item, Paper):
                skipped = 0
                yield item
                continue
            remarks += 1
            skipped += item.skipped
            if remarks <= LIMITS.remarks:
                yield item
            if skipped >= LIMITS.skipped:
                raise BadInput(
                    f"the rest of {file.path} is not read",
                    why=f"{skipped:,} records in a row cannot be read, the last: {item.place}: {item.reason}",
                    hint="check that the file is whole, or name its format with --as NAME",
                )
        if remarks > LIMITS.remarks:
            yield Remark("file", f"{remarks - LIMITS.remarks:,} more remarks are not listed")
    finally:
        if opened:
            file.close()
