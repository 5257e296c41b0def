"""XML of unknown origin: parsed record by record, without entities, network or DTD, and as plain text."""

from __future__ import annotations

import html.entities
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree

from aspectra.base.errors import BadInput
from aspectra.papers.identifiers import scheme_of
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import each
from aspectra.papers.sources.files import LIMITS, InputFile
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.text.cleaning import one_line

Element = etree._Element

_BLOCK = 65_536  # bytes parsed at once
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
        element: name of the element that is a record, or several names.
        confidence: (name of the root element, its attributes, the head) -> 0 to 1.
        convert: (element, place, options) -> papers and remarks; ValueError refuses the record.
    """

    name: str
    description: str
    element: str | tuple[str, ...]
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
        found = records(file, self.element)
        placed = ((f"record {number}", element) for number, element in enumerate(found, 1))
        yield from each(placed, self.convert, options, titles=True)


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


class _Nothing(etree.Resolver):
    """Gives an empty text for whatever a document names, so that nothing is opened.

    With ``collect_ids=False`` libxml2 loads external DTDs in spite of ``load_dtd=False``.
    """

    def resolve(self, system_url: Any, public_id: Any, context: Any = None) -> Any:
        """The empty text."""
        empty: Any = self.resolve_string
        return empty(" ", context)


def records(file: InputFile, names: str | tuple[str, ...]) -> Iterator[Element]:
    """The outermost elements of these names, in file order, with namespaces taken off all names.

    An element is emptied when the next one is taken: however large the file, one record is in memory.

    Raises:
        BadInput: no well-formed XML, no such element, a document type that declares entities, or a record
            that is too large. The elements before the fault are given first.
    """
    names = (names,) if isinstance(names, str) else names
    recoded = file.recoded()
    parser = etree.XMLPullParser(
        ("start", "end"),
        tag=tuple(f"{{*}}{name}" for name in names),
        encoding=None if recoded is None else "utf-8",  # whatever the declaration states
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        collect_ids=False,  # real files repeat an xml:id, which is an error where ids are collected
        remove_comments=True,
        remove_pis=True,
    )
    parser.resolvers.add(_Nothing())
    path, stream = file.path, file.stream()
    count = depth = size = marks = 0
    before, root, problem = b"", None, None
    while problem is None and root is None:
        with file.damage():
            block = stream.read(_BLOCK) if recoded is None else next(recoded, b"")
        # Without zero bytes, so that a declaration in UTF-16 or UTF-32 is found too.
        plain = before + block.replace(b"\x00", b"")
        if b"<!ENTITY" in plain:
            raise _entities(path)
        before = plain[-8:]
        size, marks = size + len(block), marks + block.count(b"<") + block.count(b"=")
        if size > LIMITS.line_bytes or marks > LIMITS.values:
            raise BadInput(
                f"{path}: record {count + 1} is larger than any paper",
                why=f"more than {LIMITS.line_bytes >> 20} MiB or {LIMITS.values:,} tags and attributes",
                hint="split the file into one per record",
            )
        try:
            if block:
                parser.feed(block)
            else:
                root = parser.close()
        except (etree.XMLSyntaxError, ValueError, LookupError) as error:
            problem = str(error)[:300]
        for event, found in parser.read_events():
            element: Any = found
            if _declares_entities(element):
                raise _entities(path)
            depth += 1 if event == "start" else -1
            if event == "end" and depth == 0:
                count, size, marks = count + 1, 0, 0
                yield without_namespaces(element)
                _forget(element)
    if problem is not None:
        rest = f"; {count:,} records before that are read" if count else ""
        why = problem + rest
        raise BadInput(f"{path} is not well-formed XML", why=why, hint="fetch or export the file again")
    if not count:
        raise BadInput(
            f"{path} holds no <{'> or <'.join(names)}>",
            why=f"its root element is <{getattr(root, 'tag', '')}>",
            hint="name the format with --as NAME",
        )


def _declares_entities(element: Element) -> bool:
    declared: Any = element.getroottree().docinfo.internalDTD
    return declared is not None and next(iter(declared.entities()), None) is not None


def without_namespaces(record: Element) -> Element:
    """The element, whose names and those inside it have lost their namespaces."""
    for element in record.iter(etree.Element):
        if isinstance(element.tag, str) and "}" in element.tag:
            element.tag = element.tag.rpartition("}")[2]
    return record


def _forget(element: Element) -> None:
    """Free an element and what is before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and (previous := element.getprevious()) is not None:
        parent.remove(previous)


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


def ids_of(element: Element | None, path: str, kind: str) -> Iterator[tuple[str, str]]:
    """(scheme, text) of the elements on a path whose attribute ``kind`` names a scheme of identifiers."""
    for one in found(element, path):
        if scheme := scheme_of(attribute(one, kind)):
            yield scheme, text_of(one)


def leaves(element: Element, skip: Collection[str] = (), *, whole: Collection[str] = ()) -> list[list[str]]:
    """[name, text] of every element inside that holds text and no other elements, in file order.

    Args:
        element: where to look.
        skip: names of elements that are left out with all that is inside.
        whole: names of elements that only mark up their parent's text.
    """
    out: list[list[str]] = []
    stack = [element]
    while stack:
        node = stack.pop()
        inner = [child for child in node if isinstance(child.tag, str)]
        if node.tag in skip:
            continue
        if all(child.tag in whole for child in inner) and node is not element:
            if text := text_of(node):
                out.append([str(node.tag), text])
        else:
            stack.extend(reversed(inner))
    return out


def text_of(element: Element | None, *paths: str, skip: Collection[str] = ()) -> str:
    """All text inside an element on one line, without the elements named in ``skip``.

    With paths, the text of the first element on the first of them where that has any.

    Entities that only an external DTD would define are taken from HTML's names (``&nbsp;``), else dropped.
    """
    if element is None:
        return ""
    if paths:
        return next((text for path in paths if (text := text_of(first(element, path), skip=skip))), "")
    parts: list[str] = []
    # A stack instead of recursion: documents nest without limit.
    stack: list[tuple[Element | None, str]] = [(element, "")]
    while stack:
        node, tail = stack.pop()
        if node is None:
            parts.append(tail)
            continue
        if node is not element and node.tail:
            stack.append((None, node.tail))
        if node.tag is etree.Entity:
            parts.append(html.entities.html5.get(f"{getattr(node, 'name', '')};", ""))
            continue
        if not isinstance(node.tag, str) or node.tag in skip:
            parts.append(" ")
            continue
        parts.append(node.text or "")
        stack.extend((child, "") for child in reversed(node))
    return one_line("".join(parts))
