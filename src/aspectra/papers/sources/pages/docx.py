"""Word documents (DOCX), one paper a file: headings by style, paragraphs in order, tables row by row.

Deleted text of tracked changes is left out; footnotes and endnotes are sections at the end. Authors come from
paragraphs of the style *Author*, or from the document's properties where the text begins with the same names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from aspectra.base.errors import BadInput
from aspectra.papers.identifiers import identifiers_in
from aspectra.papers.names import split_names
from aspectra.papers.paper import Paper, Section, normalise_title
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.children import ZipMembers, zip_names
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.pages.html import Block, outline_of
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, first, found, records, text_of
from aspectra.papers.text.cleaning import clean, one_line, storable

_DOCUMENT = "word/document.xml"
_SKIPPED = frozenset(
    "del moveFrom instrText delText Fallback pPr rPr sdtPr tblPr trPr tcPr commentRangeStart".split()
)
_BREAKS = {"tab": " ", "br": " ", "cr": " ", "noBreakHyphen": "-", "ptab": " "}
_HEADING = re.compile(r"heading ?([1-9])", re.I)
_NOTES = (("word/footnotes.xml", "footnote", "Footnotes"), ("word/endnotes.xml", "endnote", "Endnotes"))
_DEEPEST = 20  # styles that are based on one another
_FRONT = 3000  # characters at the beginning in which authors are printed


class Docx:
    """Word documents."""

    name = "docx"
    description = (
        "Word documents (DOCX), one paper a file; headings by style, tables row by row, notes at the end"
    )
    endings = (".docx", ".docm")

    def sniff(self, path: Path, head: bytes) -> float:
        """0.95 for a ZIP archive with a Word document in it, else 0."""
        return 0.95 if _DOCUMENT in zip_names(path, head) else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """The one paper of the document.

        Raises:
            BadInput: it is not a Word document, is damaged, or has no text.
        """
        members = ZipMembers(file, options.bounds)
        if _DOCUMENT not in members:
            raise BadInput(f"{file.path} is no Word document", hint="save it as DOCX or PDF, and add that")
        levels, roles = _styles(members)
        blocks: list[Block] = []
        named: dict[str, list[str]] = {}
        for style, text in _paragraphs(next(records(members.open(_DOCUMENT), "body"))):
            if role := roles.get(style):
                named.setdefault(role, []).append(text)
            else:
                blocks.append(Block(levels.get(style, 0), text))
        facts = _properties(members)
        begin = normalise_title(" ".join([*named.get("author", ()), *(b.text for b in blocks[:30])])[:_FRONT])
        title = " ".join(named.get("title", ()))
        if not title and (stated := facts.get("title", "")) and normalise_title(stated) in begin:
            title = stated
        result = outline_of(blocks, title, "\n\n".join(named.get("abstract", ())))
        authors = [name for text in named.get("author", ()) for name in split_names(text)]
        if not authors:
            people = split_names(facts.get("creator", ""))
            authors = [name for name in people if name and normalise_title(name) in begin]
        date = " ".join(named.get("date", ()))
        metadata = {
            "file": clean(file.path.name),
            "front_matter": result.front,
            "docx": facts,
            "keywords": facts.get("keywords", ""),
            "subtitle": " ".join(named.get("subtitle", ())),
            "date": date,
        }
        yield from assemble(
            "file",
            options,
            title=result.title,
            abstract=result.abstract,
            authors=authors,
            year=date,
            identifiers=identifiers_in(result.front[:_FRONT]),
            language=facts.get("language", ""),
            sections=[*result.sections, *_notes(members)],
            references=result.references,
            metadata=storable(metadata),
        )


def _value(node: Element | None, name: str = "val") -> str:
    """An attribute by its name without namespace: the transitional and the strict format have their own."""
    held = node.attrib.items() if node is not None else ()
    return next((one_line(value) for key, value in held if str(key).rpartition("}")[2] == name), "")


def _styles(members: ZipMembers) -> tuple[dict[str, int], dict[str, str]]:
    """(style -> level of the heading, style -> title, author, abstract ...), styles by their ids."""
    levels: dict[str, int] = {}
    roles: dict[str, str] = {}
    parents: dict[str, str] = {}
    if "word/styles.xml" in members:
        for style in records(members.open("word/styles.xml"), "style"):
            key = _value(style, "styleId")
            name = _value(first(style, "name")).casefold()
            parents[key] = _value(first(style, "basedOn"))
            outline = _value(first(style, "pPr/outlineLvl"))
            if match := _HEADING.fullmatch(name):
                levels[key] = int(match[1])
            elif outline.isdecimal() and int(outline) < 9:
                levels[key] = int(outline) + 1
            elif name in ("title", "subtitle", "author", "authors", "abstract", "date"):
                roles[key] = name.removesuffix("s")
    for key in parents:
        at = key
        for _ in range(_DEEPEST):
            if at in levels or at in roles or not at:
                break
            at = parents.get(at, "")
        if at in levels and key not in roles:
            levels.setdefault(key, levels[at])
    return levels, roles


def _paragraphs(body: Element) -> Iterator[tuple[str, str]]:
    """(style, text) of every paragraph in order; the cells of a row of a table are one paragraph."""
    stack: list[Element] = list(reversed(body))
    while stack:
        node = stack.pop()
        tag = node.tag if isinstance(node.tag, str) else ""
        if tag == "p":
            style = _value(first(node, "pPr/pStyle"))
            level = _value(first(node, "pPr/outlineLvl"))
            text, boxes = _text(node)
            if not style and level.isdecimal() and int(level) < 9:
                style = f"Heading{int(level) + 1}"
            if text:
                yield style, text
            stack += reversed(boxes)
        elif tag == "tr":
            cells = (" ".join(_text(part)[0] for part in cell.iter("p")) for cell in found(node, "tc"))
            if text := " | ".join(filter(None, map(one_line, cells))):
                yield "", text
        elif tag not in _SKIPPED:
            stack += reversed(node)


def _text(paragraph: Element) -> tuple[str, list[Element]]:
    """(text of a paragraph on one line, the text boxes in it)."""
    parts: list[str] = []
    boxes: list[Element] = []
    stack: list[Element] = list(reversed(paragraph))
    while stack:
        node = stack.pop()
        tag = node.tag if isinstance(node.tag, str) else ""
        if tag == "txbxContent":
            boxes.append(node)
        elif tag == "t":
            parts.append(node.text or "")
        elif tag in _BREAKS:
            parts.append(_BREAKS[tag])
        elif tag not in _SKIPPED:
            stack += reversed(node)
    return one_line("".join(parts)), boxes


def _properties(members: ZipMembers) -> dict[str, str]:
    """Title, creator, keywords ... as the document states them."""
    if "docProps/core.xml" not in members:
        return {}
    properties = next(records(members.open("docProps/core.xml"), "coreProperties"))
    stated = {str(node.tag): text_of(node) for node in properties if isinstance(node.tag, str)}
    return {name: text for name, text in stated.items() if text}


def _notes(members: ZipMembers) -> Iterator[Section]:
    for part, name, heading in _NOTES:
        if part not in members:
            continue
        texts = [
            text
            for note in records(members.open(part), name)
            if not _value(note, "type")  # separators between text and notes
            and (text := " ".join(text for _, text in _paragraphs(note)))
        ]
        if texts:
            yield Section(heading, "\n\n".join(texts))


SOURCES.register("docx")(Docx())
