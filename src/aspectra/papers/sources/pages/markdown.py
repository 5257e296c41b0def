"""Markdown and plain text: one paper to a file.

Markdown (``.md``, Nougat's ``.mmd``): front matter in simple YAML (``title``, ``authors``, ``year``, ``doi``
...), headings to sections, a heading *Abstract*, a heading *References*. Other text: the structure is looked
for as in a PDF; where there is none, a first line that looks like a title is the title, and the rest is the
abstract when it is short, else one section.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper, Section
from aspectra.papers.sources.fields import (
    assemble,
    given_first,
    identifiers_of,
    json_value,
    language_of,
    one_line,
    split_names,
    year_in,
)
from aspectra.papers.sources.files import clean, read_text
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.references import entries_of, read_reference
from aspectra.papers.text.structure import Outline, bare_heading, outline, strip_invisible

__all__ = ["Markdown", "front_matter"]

_MARKDOWN = (".md", ".markdown", ".mmd")
_TEXT = (".txt", ".text", "")
_OTHERS = frozenset(
    f".{name}"
    for name in (
        *("bib", "c", "cc", "cfg", "cpp", "css", "csv", "go", "h", "htm", "html", "ini", "ipynb", "java"),
        *("js", "json", "jsonl", "log", "lock", "nbib", "py", "r", "ris", "rs", "sh", "sql", "svg", "tex"),
        *("toml", "ts", "tsv", "xml", "yaml", "yml"),
    )
)
_SHORT = 5000  # characters: a longer text without structure is full text, not an abstract
_LONGEST_PREAMBLE = 3000
_HEADING = re.compile(r"(#{1,6})[ \t]+(.{1,300}?)[ \t]*#*[ \t]*")
_RULE = re.compile(r"(=+|-+)[ \t]*")
_FENCE = re.compile(r"[ \t]{0,3}(```+|~~~+)")
_ABSTRACT = re.compile(r"abstract|summary", re.I)
_REFERENCES = re.compile(
    r"references(?: and notes| cited)?|bibliography|literature cited|works cited|reference list", re.I
)
_KEY = re.compile(r"([A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*))?")
_USED = {"title", "subtitle", "authors", "author", "year", "date", "doi", "arxiv", "url", "venue", "journal"}
_USED |= {"abstract", "lang", "language", "id"}


class Markdown:
    """Markdown and plain text."""

    name = "markdown"

    def sniff(self, path: Path, head: bytes) -> float:
        """0.3 for text under a name such as ``.md`` or ``.txt``, 0.1 under an unknown one, else 0."""
        if not head.strip() or b"\x00" in head or not _decodes(head):
            return 0.0
        suffix = path.suffix.casefold()
        if suffix in _MARKDOWN or suffix in _TEXT[:-1]:
            return 0.3
        if suffix in _OTHERS or head.lstrip()[:1] in (b"{", b"[", b"<", b"@"):
            return 0.0
        return 0.3 if head.startswith((b"# ", b"---\n")) else 0.1

    def read(self, path: Path, options: ReadOptions) -> Iterator[Paper | Remark]:
        """The one paper of the file, after remarks.

        Raises:
            BadInput: the file is empty, is damaged or is not text.
        """
        text, remarks = read_text(path)
        if "\x00" in text[:4096]:
            raise BadInput(f"{path} is not text", why="it holds zero bytes", hint="name the format with --as")
        text, hidden = strip_invisible(clean(text))
        if hidden:
            remarks.append(Remark("file", f"{hidden} invisible characters removed", skipped=False))
        fields, text = front_matter(text)
        title = one_line(fields.get("title"))
        structured = path.suffix.casefold() in _MARKDOWN
        found = _markdown(text, title) if structured else _plain(text, title)
        yield from remarks
        yield from _assemble(path, options, fields, found)


def _decodes(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    try:
        # The head may end inside a character.
        head[: len(head) - 4 if len(head) > 1024 else len(head)].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 8 or _mostly_printable(head)
    return True


def _mostly_printable(head: bytes) -> bool:
    """Whether bytes that are no UTF-8 may still be Windows-1252 text."""
    control = sum(byte < 9 or 13 < byte < 32 or byte == 127 for byte in head)
    return control == 0 and sum(byte > 127 for byte in head) < 0.2 * len(head)


def _assemble(
    path: Path, options: ReadOptions, fields: dict[str, Any], found: Outline
) -> Iterator[Paper | Remark]:
    people = fields.get("authors") or fields.get("author")
    metadata = {key: value for key, value in fields.items() if key not in _USED and value}
    metadata["file"] = clean(path.name)
    if found.front:
        metadata["front_matter"] = found.front
    if isinstance(fields.get("date"), str):
        metadata["date"] = fields["date"]
    identifiers = identifiers_of([("doi", fields.get("doi")), ("arxiv", fields.get("arxiv"))])
    yield from assemble(
        "file",
        options,
        own_id=fields.get("id", "") if isinstance(fields.get("id", ""), str) else "",
        title=found.title,
        abstract=clean(fields["abstract"]) if isinstance(fields.get("abstract"), str) else found.abstract,
        authors=_people(people),
        year=year_in(fields.get("year")) or year_in(fields.get("date")),
        venue=one_line(fields.get("venue") or fields.get("journal")),
        identifiers=identifiers,
        url=one_line(fields.get("url")),
        language=language_of(fields.get("lang") or fields.get("language")),
        sections=found.sections,
        references=found.references,
        metadata=json_value(metadata),
    )


def _people(value: object) -> list[str]:
    if not isinstance(value, list):
        return split_names(value)
    names = []
    for entry in value:
        # "- name: Ada Example" is how scholarly front matter lists people with affiliations.
        named = re.match(r"name[ \t]*:[ \t]*(.+)", entry) if isinstance(entry, str) else None
        names.append(given_first(named.group(1).strip("\"' ") if named else entry))
    return [name for name in names if name]


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    r"""Fields of a YAML front matter, and the text behind it.

    Only what papers need is understood: ``key: value``, quoted values, lists in brackets or with dashes,
    and block texts (``|`` and ``>``). Nothing is executed or built.

    >>> front_matter("---\ntitle: A walk\nauthors: [Ada Example, Bo Sample]\n---\nText")
    ({'title': 'A walk', 'authors': ['Ada Example', 'Bo Sample']}, 'Text')
    """
    lines = text.split("\n")
    if not lines or lines[0].rstrip() != "---":
        return {}, text
    end = next((i for i, line in enumerate(lines[1:400], 1) if line.rstrip() in ("---", "...")), 0)
    if not end:
        return {}, text
    fields: dict[str, Any] = {}
    key, block = "", False
    for line in lines[1:end]:
        stripped = line.strip()
        if not stripped or (stripped.startswith("#") and not block):
            continue
        found = _KEY.fullmatch(line)
        if found:
            key, value = found.group(1).strip().casefold(), (found.group(2) or "").strip()
            block = value in ("|", ">", "|-", ">-")
            fields[key] = "" if block or not value else _value(value)
        elif key and stripped.startswith("- ") and not block:
            items = fields[key] if isinstance(fields[key], list) else []
            fields[key] = [*items, _value(stripped[2:].strip())]
        elif key and line[:1] in " \t" and isinstance(fields[key], str):
            fields[key] = f"{fields[key]} {stripped}".strip()
    return fields, "\n".join(lines[end + 1 :]).strip("\n")


def _value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        parts = re.findall(r"\"[^\"]*\"|'[^']*'|[^,]+", text[1:-1])
        return [part.strip().strip("\"'") for part in parts if part.strip()]
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return re.sub(r"[ \t]#.*$", "", text)


def _blocks(text: str) -> list[tuple[int, str, list[str]]]:
    """(level, heading, lines) in order; level 0 for what stands before the first heading."""
    blocks: list[tuple[int, str, list[str]]] = [(0, "", [])]
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)[0] * 3
        elif mark and mark.group(1).startswith(fence):
            fence = ""
        found = _HEADING.fullmatch(line) if not fence else None
        rule = _RULE.fullmatch(line) if not fence and len(line) >= 3 else None
        lines = blocks[-1][2]
        if found:
            blocks.append((len(found.group(1)), found.group(2).strip("* "), []))
        elif rule and lines and lines[-1].strip() and (len(lines) < 2 or not lines[-2].strip()):
            # A line underlined with = or - is a heading as well.
            blocks.append((1 if line[0] == "=" else 2, lines.pop().strip(), []))
        else:
            lines.append(line)
    return blocks


def _markdown(text: str, title: str) -> Outline:
    blocks = _blocks(text)
    if len(blocks) == 1:
        return _plain(text, title)
    preamble = clean("\n".join(blocks[0][2]))
    rest = blocks[1:]
    top = rest[0]
    if not title and not _ABSTRACT.fullmatch(bare_heading(top[1])) and not preamble:
        title, preamble = one_line(top[1]), clean("\n".join(top[2]))
        rest = rest[1:]
    abstract, sections, references = "", list[Section](), list[str]()
    for _, heading, lines in rest:
        name, body = bare_heading(one_line(heading)), clean("\n".join(lines))
        if _ABSTRACT.fullmatch(name) and not abstract and not sections:
            abstract = body
        elif _REFERENCES.fullmatch(name):
            references += entries_of(body)
        elif name or body:
            sections.append(Section(name, body))
    front = ""
    if abstract:
        front = preamble
    elif preamble and len(preamble) <= _LONGEST_PREAMBLE:
        abstract = preamble
    elif preamble:
        sections.insert(0, Section("", preamble))
    return Outline(title, front, abstract, tuple(sections), tuple(map(read_reference, references)))


def _plain(text: str, title: str) -> Outline:
    found = outline(text, title=title)
    if found.abstract or any(section.heading for section in found.sections):
        return found
    body = "\n\n".join(section.text for section in found.sections)
    if len(body) <= _SHORT:
        return Outline(found.title, "", body, (), found.references)
    return found


SOURCES.register("markdown")(Markdown())
