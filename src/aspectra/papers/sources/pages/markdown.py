"""Markdown and plain text: one paper to a file.

Markdown (``.md``, Nougat's ``.mmd``): front matter in YAML (``title``, ``authors``, ``year``, ``doi``
...), headings to sections, a heading *Abstract*, a heading *References*. Other text: the structure is found
as in a PDF; where there is none, a first line that looks like a title is the title, and the rest is the
abstract when it is short, else one section.

Text that looks tagged (``TI - ...``) or like a table is some other format, never Markdown. A page with a
fenced BibTeX block and neither front matter nor an abstract describes other papers: its entries are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.papers.names import person, split_names
from aspectra.papers.paper import Paper, Section
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.children import InnerFile
from aspectra.papers.sources.files import LIMITS, InputFile
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, one_line, storable, strip_invisible
from aspectra.papers.text.references import ABSTRACT_NAMES, REFERENCES_NAMES, entries_of, read_reference
from aspectra.papers.text.structure import Outline, bare_heading, outline

_MARKDOWN = (".md", ".markdown", ".mmd")
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
_DEEPEST = 1000  # brackets in a front matter
_HEADING = re.compile(r"(#{1,6})[ \t]++(\S.{0,399})")
_RULE = re.compile(r"(=+|-+)[ \t]*")
_FENCE = re.compile(r"[ \t]{0,3}(```+|~~~+)")
_ABSTRACT = re.compile(ABSTRACT_NAMES, re.I)
_REFERENCES = re.compile(REFERENCES_NAMES, re.I)
_FRONT = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S | re.M)
_KEY = re.compile(r"^([A-Za-z_][\w .-]{0,60}?)[ \t]*:[ \t]+(\S.*)$", re.M)
_COLON = re.compile(r"^([ ]{0,20}(?:- )?[\w-]{1,40}:[ ]{1,4})([^\s\"'\[{>|&*!%@`#][^\n]{0,2000})$", re.M)
_NO_PAPERS = frozenset(
    "readme license licence changelog contributing code_of_conduct authors install notice todo".split()
)
_ENTRIES = (
    r"^[ ]{0,3}(?:```+|~~~+)[ ]{0,3}(?:\{?\.?(?:bibtex|biblatex|bib|latex|tex)\}?)?[ \t]*+\n"
    r"(\s*+@[A-Za-z]{3,20}\s?[{(]"
)
_BIBTEX_FENCE = re.compile(_ENTRIES + ")", re.M | re.I)
_BIBTEX = re.compile(_ENTRIES + r".*?)^[ ]{0,3}(?:```|~~~)", re.M | re.I | re.S)
_ABSTRACT_LINE = re.compile(r"^(?:#{1,6}[ \t]{1,4})?\**abstract\**[.:]?[ \t]*+$", re.I | re.M)
_NOTE = re.compile(r"\^(?:\[[^\[\]]{0,200}\]|[^\s^]{1,20}\^)")
_TRIED = 300  # lines by which a format is told
_TAG = re.compile(
    r"([A-Z][A-Z0-9]{1,3}[ ]{0,2}- |[A-Z][A-Z0-9] (?=\S)|[A-Z][A-Z0-9]{1,3}[ ]{0,2}-$|%[A-Z0-9@!] "
    r"|\{[A-Z][A-Za-z ]{1,30}\}: )"
)
_RECORD_NUMBER = re.compile(r"<\d{1,7}>|Record \d{1,7} of \d{1,7}", re.I)
_PARTS_OF_NAMES = {"given-names": "given", "surname": "family"}
_USED = {"title", "subtitle", "authors", "author", "year", "date", "doi", "arxiv", "url", "venue", "journal"}
_USED |= {"abstract", "lang", "language", "id"}


class Markdown:
    """Markdown and plain text."""

    name = "markdown"
    description = "Markdown and plain text, one paper a file; headings become sections, front matter is YAML"
    endings = (*_MARKDOWN, ".txt", ".text")

    def sniff(self, path: Path, head: bytes) -> float:
        """0.3 for text under a name such as ``.md`` or ``.txt``, 0.1 under an unknown one, else 0.

        0 for what looks tagged or like a table, and for a README without front matter, abstract or BibTeX.
        """
        if not head.strip() or b"\x00" in head or not _decodes(head):
            return 0.0
        suffix = path.suffix.casefold()
        text = head.decode("utf-8", "replace")
        if other_format(text) or (path.stem.casefold() in _NO_PAPERS and not _marked(text)):
            return 0.0
        if suffix in self.endings:
            return 0.3
        if suffix in _OTHERS or head.lstrip()[:1] in (b"{", b"[", b"<", b"@"):
            return 0.0
        return 0.3 if head.startswith((b"# ", b"---\n")) else 0.1

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """The one paper of the file, after remarks; of a page that cites papers in BibTeX, those.

        Raises:
            BadInput: the file is empty, is damaged or is not text.
        """
        path = file.path
        text, remarks = file.text(LIMITS.text_bytes)
        if "\x00" in text[:4096]:
            raise BadInput(f"{path} is not text", why="it holds zero bytes", hint="name the format with --as")
        text, hidden = strip_invisible(clean(text))
        if hidden:
            remarks.append(Remark("file", f"{hidden} invisible characters removed", skipped=False))
        fields, text, problem = front_matter(text)
        if problem:
            remarks.append(Remark("file", f"front matter: {problem}", skipped=False))
        title = one_line(fields.get("title"))
        blocks = _BIBTEX.findall(text)
        if blocks and not fields and not _ABSTRACT_LINE.search(text):
            yield from remarks
            yield from _cited(path, "\n".join(blocks), options)
            return
        structured = path.suffix.casefold() in _MARKDOWN
        found = _markdown(text, title) if structured else _plain(text, title)
        yield from remarks
        yield from _assemble(path, options, fields, found)


def _marked(text: str) -> bool:
    """True if a text has front matter, an abstract or BibTeX: the signs of a paper or of entries."""
    return bool(_FRONT.match(text) or _ABSTRACT_LINE.search(text) or _BIBTEX_FENCE.search(text))


def other_format(text: str) -> bool:
    r"""True if a text looks like tagged records, as databases export them, or like a table.

    Tagged: a third of the lines at the margin begin with tags of two to four capitals, and three tags differ;
    or the first line is a number in pointed brackets. Table: nearly all lines have the same number of tabs.

    >>> other_format("TI- Owls\nAU- Owl, A\nPY- 2001\n"), other_format("Owls hunt.\nA night.\n")
    (True, False)
    """
    lines = [line for line in text.split("\n")[:_TRIED] if line.strip()]
    if not lines or _RECORD_NUMBER.fullmatch(lines[0].strip()):
        return bool(lines)
    margin = [line for line in lines if not line[0].isspace()]
    tags = [found[1] for line in margin if (found := _TAG.match(line))]
    if len(set(tags)) >= 3 and len(tags) * 3 >= len(margin):
        return True
    tabs = [line.count("\t") for line in lines]
    return len(lines) >= 2 and tabs[0] >= 1 and sum(n == tabs[0] for n in tabs) >= 0.9 * len(tabs)


def _cited(path: Path, entries: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    """The papers of the BibTeX entries on a page; the page itself is not a paper."""
    reason = "cites papers in BibTeX: its entries are read, its own text is not"
    yield Remark("file", reason, skipped=False)
    yield from SOURCES.get("bibtex").read(InnerFile.of_text(path, entries), options)


def _people(value: Any) -> list[str]:
    """Names of the authors of a front matter: texts, mappings with a name or its parts, or names as keys."""
    if isinstance(value, dict):
        one = {_PARTS_OF_NAMES.get(key, key): part for key, part in value.items()}
        if isinstance(one.get("name"), dict | list):
            return _people(one["name"])
        if name := person(one):
            return [_NOTE.sub("", name).strip()]
        return [
            key
            for key, held in value.items()
            if " " in key and (held in ("", None) or isinstance(held, dict))
        ]
    if isinstance(value, list):
        return [name for one in value for name in (_people(one) if isinstance(one, dict) else [person(one)])]
    return split_names(value) if isinstance(value, str) else []


def _decodes(head: bytes) -> bool:
    try:
        # The head may end inside a character.
        head[: len(head) - 4 if len(head) > 1024 else len(head)].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 8 or _mostly_printable(head)
    return True


def _mostly_printable(head: bytes) -> bool:
    """True if bytes that are not UTF-8 may be Windows-1252 text."""
    control = sum(byte < 9 or 13 < byte < 32 or byte == 127 for byte in head)
    return control == 0 and sum(byte > 127 for byte in head) < 0.2 * len(head)


def _assemble(
    path: Path, options: ReadOptions, fields: dict[str, Any], found: Outline
) -> Iterator[Paper | Remark]:
    metadata = {key: value for key, value in fields.items() if key not in _USED}
    metadata |= {"file": clean(path.name), "front_matter": found.front}
    metadata["date"] = fields["date"] if isinstance(fields.get("date"), str) else ""
    yield from assemble(
        "file",
        options,
        own_id=fields["id"] if isinstance(fields.get("id"), str) else "",
        title=found.title,
        abstract=fields["abstract"] if isinstance(fields.get("abstract"), str) else found.abstract,
        authors=_people(fields.get("authors") or fields.get("author")),
        year=(fields.get("year"), fields.get("date")),
        venue=fields.get("venue") or fields.get("journal"),
        identifiers=[("doi", fields.get("doi")), ("arxiv", fields.get("arxiv"))],
        url=fields.get("url"),
        language=fields.get("lang") or fields.get("language"),
        sections=found.sections,
        references=found.references,
        metadata=storable(metadata),
    )


def front_matter(text: str) -> tuple[dict[str, Any], str, str]:
    r"""Split a text into (fields of its YAML front matter, the text after it, a problem with it or "").

    Values are texts, lists and mappings: nothing is executed or built, and nothing is guessed (``no`` is not
    a boolean). If it is not valid YAML (``title: A: B``), its simple lines are read.

    >>> front_matter("---\ntitle: A walk\nauthors: [Ada Example, Bo Sample]\n---\nText")
    ({'title': 'A walk', 'authors': ['Ada Example', 'Bo Sample']}, 'Text', '')
    """
    found = _FRONT.match(text)
    if not found or found[1].count("\n") > 400:
        return {}, text, ""
    import yaml  # only where there is something to read

    problem = ""
    try:
        # PyYAML takes seconds for long texts, and the square of the depth for nested ones.
        if len(found[1]) > LIMITS.front_chars or found[1].count("[") + found[1].count("{") > _DEEPEST:
            raise ValueError("it is longer or deeper than any front matter")
        try:
            loaded = _loaded(found[1])
        except yaml.YAMLError:
            loaded = _loaded(_COLON.sub(_quoted, found[1]))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = f"not read as YAML ({one_line(error)[:200]}), only its simple lines are"
        loaded = {key: value.strip("\"' ") for key, value in _KEY.findall(found[1])}
    if not isinstance(loaded, dict):
        return {}, text, ""
    fields = {one_line(key).casefold(): value for key, value in loaded.items()}
    return fields, text[found.end() :].strip("\n"), problem


def _loaded(text: str) -> Any:
    """The value of a YAML document: texts, lists and mappings only.

    Raises:
        yaml.YAMLError: it is not YAML.
        ValueError: it has aliases; aliases of aliases grow exponentially.
    """
    import yaml

    if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, yaml.BaseLoader)):
        raise ValueError("aliases are not followed")
    return yaml.BaseLoader(text).get_single_data()


def _quoted(found: re.Match[str]) -> str:
    """A line of a front matter whose value holds a colon, with the value in quotes."""
    return found[1] + json.dumps(found[2].rstrip(), ensure_ascii=False)


def _blocks(text: str) -> list[tuple[int, str, list[str]]]:
    """(level, heading, lines) in order; level 0 for the text before the first heading."""
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
            name = found[2].rstrip(" \t").rstrip("#").rstrip(" \t") or found[2]
            blocks.append((len(found[1]), name.strip("* "), []))
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
