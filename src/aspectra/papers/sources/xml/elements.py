"""XML of unknown origin: parsed without entities, network or DTD, and as plain text."""

from __future__ import annotations

import html.entities
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import each
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.text.cleaning import one_line

__all__ = ["Element", "XmlFormat", "attribute", "first", "found", "parse", "root_name", "text_of"]

Element = etree._Element

_MAX_BYTES = 128 * 1024 * 1024
_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]{0,40}:)?([A-Za-z_][\w.-]{0,60})([^<>]{0,2000})")
_BEFORE_ROOT = re.compile(
    rb"\s*+(?:<\?.*?\?>\s*+|<!--.*?-->\s*+|<!DOCTYPE[^\[>]*+(?:\[[^\]]*+\]\s*+)?>\s*+)*+", re.S
)
_XML_NS = "{http://www.w3.org/XML/1998/namespace}"


@dataclass(frozen=True)
class XmlFormat:
    """A source of XML; each format fills in these fields.

    Attributes:
        name: see :class:`~aspectra.papers.sources.protocol.Source`, as for ``description`` and ``endings``.
        element: name of the element that is a record.
        confidence: (name of the root element, its attributes, the head) -> 0 to 1.
        convert: (element, place, options) -> papers and remarks; ValueError refuses the record.
    """

    name: str
    description: str
    element: str
    confidence: Callable[[str, str, bytes], float]
    convert: Callable[[Element, str, ReadOptions], Iterator[Paper | Remark]]
    endings: tuple[str, ...] = (".xml",)

    def sniff(self, path: Path, head: bytes) -> float:
        """``confidence`` of the file; 0 where it is not XML."""
        root, attributes = root_name(head)
        return self.confidence(root, attributes, head) if root else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers of all outermost elements of that name, in file order.

        Raises:
            BadInput: no well-formed XML, entity declarations, or no such element.
        """
        root = parse(file)
        whole = root.tag == self.element
        elements = [root] if whole else [e for e in root.iter(self.element) if not _inside(e, self.element)]
        if not elements:
            raise BadInput(
                f"{file.path} holds no <{self.element}>",
                why=f"its root element is <{root.tag}>",
                hint="name the format with --as NAME",
            )
        placed = ((f"record {number}", element) for number, element in enumerate(elements, 1))
        yield from each(placed, self.convert, options)


def _inside(element: Element, name: str) -> bool:
    return any(parent.tag == name for parent in element.iterancestors())


def root_name(head: bytes) -> tuple[str, str]:
    """(local name, attributes) of the first element in ``head``; two empty texts when it is not XML."""
    head = head.replace(b"\x00", b"")
    if not head.lstrip().startswith(b"<"):
        return "", ""
    before = _BEFORE_ROOT.match(head)
    match = _ROOT.match(head, before.end() if before else 0)
    if not match:
        return "", ""
    return match.group(1).decode("latin-1"), match.group(2).decode("latin-1")


def parse(file: InputFile) -> Element:
    """The root element, with namespaces taken off the names.

    Raises:
        BadInput: no well-formed XML, too large, or a document type that declares entities.
    """
    path, raw = file.path, file.content(_MAX_BYTES)
    # Without zero bytes, so that a declaration in UTF-16 or UTF-32 is found too.
    if b"<!ENTITY" in raw.replace(b"\x00", b""):
        raise _entities(path)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        collect_ids=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(raw, parser)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        raise BadInput(
            f"{path} is not well-formed XML", why=str(error)[:300], hint="fetch or export the file again"
        ) from error
    declared: Any = root.getroottree().docinfo.internalDTD
    if declared is not None and next(iter(declared.entities()), None) is not None:
        raise _entities(path)
    for element in root.iter(etree.Element):
        if isinstance(element.tag, str) and "}" in element.tag:
            element.tag = element.tag.rpartition("}")[2]
    return root


def _entities(path: Path) -> BadInput:
    return BadInput(
        f"{path} declares entities of its own",
        why="entity declarations can expand without end or read other files",
        hint="remove the <!DOCTYPE ...[...]> part and try again",
    )


def attribute(element: Element | None, name: str) -> str:
    """An attribute on one line, or ""; ``xml:id`` and ``xml:lang`` by that name."""
    if element is None:
        return ""
    key = _XML_NS + name[4:] if name.startswith("xml:") else name
    return one_line(element.get(key))


def found(element: Element | None, path: str) -> Iterator[Element]:
    """Elements under ``element`` on a simple path such as ``a/b`` or ``.//c[@d='e']``."""
    if element is not None:
        yield from element.iterfind(path)


def first(element: Element | None, path: str) -> Element | None:
    """The first element that :func:`found` gives, or None."""
    return next(found(element, path), None)


def text_of(element: Element | None, skip: Collection[str] = ()) -> str:
    """All text inside an element on one line, without the elements named in ``skip``.

    Entities that only an external DTD would define are taken from HTML's names (``&nbsp;``), else dropped.
    """
    if element is None:
        return ""
    parts: list[str] = []
    # A stack instead of recursion: documents nest without limit.
    stack: list[tuple[Element | None, str]] = [(element, "")]
    top = True
    while stack:
        node, tail = stack.pop()
        if node is None:
            parts.append(tail)
            continue
        if not top and node.tail:
            stack.append((None, node.tail))
        top = False
        if node.tag is etree.Entity:
            parts.append(html.entities.html5.get(f"{getattr(node, 'name', '')};", ""))
            continue
        if not isinstance(node.tag, str) or node.tag in skip:
            parts.append(" ")
            continue
        parts.append(node.text or "")
        stack.extend((child, "") for child in reversed(node))
    return one_line("".join(parts))
