"""E-books (EPUB), one paper or book a file: chapters in the order of the spine, headings to sections."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from aspectra.base.errors import BadInput
from aspectra.papers.identifiers import normalise, parse_identifier
from aspectra.papers.names import given_first
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.children import ZipMembers, zip_names
from aspectra.papers.sources.files import LIMITS, InputFile
from aspectra.papers.sources.pages.html import Block, blocks_of, outline_of, parsed
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, attribute, found, records, text_of
from aspectra.papers.text.cleaning import clean, one_line, storable

_CONTAINER = "META-INF/container.xml"
_TYPES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_KEPT = frozenset("script style template svg iframe head annotation annotation-xml nav".split())


class Epub:
    """E-books."""

    name = "epub"
    description = (
        "e-books (EPUB), one paper or book a file; chapters in reading order, headings become sections"
    )
    endings = (".epub",)

    def sniff(self, path: Path, head: bytes) -> float:
        """0.95 for a ZIP archive that is laid out as an e-book, else 0."""
        return 0.95 if _CONTAINER in zip_names(path, head) else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """The one paper or book of the file, after remarks.

        Raises:
            BadInput: it is not an e-book, is damaged, or has no text.
        """
        members = ZipMembers(file, options.bounds)
        if _CONTAINER not in members:
            raise BadInput(f"{file.path} is no e-book", hint="save it as EPUB, HTML or PDF, and add that")
        root = next((attribute(r, "full-path") for r in records(members.open(_CONTAINER), "rootfile")), "")
        package = next(records(members.open(root), "package"))
        stated = _stated(package)
        blocks: list[Block] = []
        size = 0
        for name in _spine(package, posixpath.dirname(root)):
            if name not in members:
                yield Remark("file", f"the chapter {clean(name)[:200]} is not in the archive", skipped=False)
                continue
            content = members.open(name).content(LIMITS.line_bytes)
            size += len(content)
            if size > LIMITS.line_bytes:
                raise BadInput(
                    f"{file.path} is larger than any book", hint="split it, or add single chapters"
                )
            if content.strip():
                blocks += blocks_of(parsed(content, file.path / PurePosixPath(name)), skipped=_KEPT)
        title = next(iter(stated.get("title", ())), "")
        result = outline_of(blocks, title)
        described = re.sub(r"<[^<>]{1,200}>", " ", " ".join(stated.get("description", ())))
        metadata = {
            "type": "book",
            "publisher": " ".join(stated.get("publisher", ())),
            "keywords": stated.get("subject", []),
            "date": " ".join(stated.get("date", ())),
            "front_matter": result.front,
            "epub": stated,
            "file": clean(file.path.name),
        }
        yield from assemble(
            "file",
            options,
            title=result.title,
            abstract=result.abstract or one_line(described),
            authors=[given_first(name) for name in stated.get("creator", ())],
            year=tuple(stated.get("date", ())),
            identifiers=list(_identifiers(stated.get("identifier", []))),
            language=next(iter(stated.get("language", ())), ""),
            sections=result.sections,
            references=result.references,
            metadata=storable(metadata),
        )


def _stated(package: Element) -> dict[str, list[str]]:
    """Name in Dublin Core -> its texts."""
    out: dict[str, list[str]] = {}
    for node in found(package, "metadata/*"):
        if isinstance(node.tag, str) and node.tag != "meta" and (text := text_of(node)):
            out.setdefault(node.tag, []).append(text)
    return out


def _spine(package: Element, folder: str) -> Iterator[str]:
    """Names of the chapters in the archive, in reading order, without the table of contents."""
    items = {attribute(item, "id"): item for item in found(package, "manifest/item")}
    for reference in found(package, "spine/itemref"):
        item = items.get(attribute(reference, "idref"))
        if item is None or "nav" in attribute(item, "properties").split():
            continue
        if attribute(item, "media-type") in _TYPES:
            path = unquote(attribute(item, "href").partition("#")[0])
            yield posixpath.normpath(posixpath.join(folder, path))


def _identifiers(values: list[str]) -> Iterator[tuple[str, object]]:
    for value in values:
        plain = value.removeprefix("urn:")
        digits = re.sub(r"[^0-9Xx]", "", plain)
        if pair := parse_identifier(plain):
            yield pair
        elif "isbn" in value.casefold() or (len(digits) == 13 and digits.startswith(("978", "979"))):
            yield "isbn", normalise("isbn", digits)


SOURCES.register("epub")(Epub())
