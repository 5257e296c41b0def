"""BibTeX and BibLaTeX files.

Broken entries are remarks and the rest is read; a repeated key is kept under ``key~2``. The entry type and
all raw fields stay in ``metadata["bibtex"]``, so that writing the paper again loses nothing.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bibtexparser.entrypoint import parse_string
from bibtexparser.model import (
    Block,
    DuplicateBlockKeyBlock,
    DuplicateFieldKeyBlock,
    Entry,
    ParsingFailedBlock,
    String,
)

from aspectra.base.errors import BadInput
from aspectra.papers.bibliography import MONTHS, SHORT_MONTHS
from aspectra.papers.paper import Paper
from aspectra.papers.sources.files import LIMITS, InputFile
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import NAMES, entry_paper
from aspectra.papers.text.cleaning import clean, storable

# Values of BibTeX fields: braces and quotes taken off, abbreviations put in, within limits.

_EXPANSION = 10  # times its size that a file may expand to, beyond the first 32 Mi characters


class Abbreviations(dict[str, str]):
    """Abbreviations: the months, then ``@string`` in order, which may build on earlier ones.

    A few lines can stand for terabytes: ``@string{b = a # a}`` doubles.

    Args:
        path: the file, for messages.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(zip(SHORT_MONTHS, MONTHS, strict=True))
        self._path = path
        self._room = LIMITS.expanded_chars

    def read(self, characters: int) -> None:
        """Count characters of the file: the entries may expand in proportion."""
        self._room += _EXPANSION * characters

    def get(self, key: str, default: Any = None) -> Any:
        """The meaning of an abbreviation, which counts as an expansion."""
        value = super().get(key, default)
        self.grow(len(value or ""))
        return value

    def grow(self, characters: int) -> None:
        """Count characters that are in an entry and not in the file.

        Raises:
            BadInput: they are too many.
        """
        self._room -= characters
        if self._room < 0:
            raise BadInput(
                f"{self._path} expands to too much",
                why=f"its @string abbreviations and crossref parents stand for {_EXPANSION} times its size",
                hint="write them out in the entries that need them, or split the file",
            )


def plain_value(raw: str, strings: Mapping[str, str]) -> tuple[str, str]:
    """A raw value without its braces or quotes, abbreviations and ``#`` resolved, and what was left over.

    >>> plain_value('{A {B}} # " c" # jan', {"jan": "January"})
    ('A {B} cJanuary', '')
    >>> plain_value("{a} author = {b}", {})
    ('a', 'author = {b}')
    """
    raw = raw.strip()
    if raw.startswith("{") and "{" not in raw[1:] and raw.find("}") == len(raw) - 1:
        return raw[1:-1], ""
    out: list[str] = []
    at = 0
    while at < len(raw):
        if raw[at] in '{"':
            end = _closing(raw, at)
            out.append(raw[at + 1 : end])
            at = end + 1
        else:
            sign = raw.find("#", at)
            end = len(raw) if sign < 0 else sign
            word = raw[at:end].strip()
            out.append(strings.get(word.casefold(), word))
            at = end
        while at < len(raw) and raw[at].isspace():
            at += 1
        if at < len(raw) and raw[at] != "#":
            return "".join(out), raw[at:]
        at += 1
        while at < len(raw) and raw[at].isspace():
            at += 1
    return "".join(out), ""


def _closing(raw: str, at: int) -> int:
    """Index of the delimiter that closes the one at ``at``; the end of the text when there is none."""
    quoted = raw[at] == '"'
    depth = 0
    for index in range(at + 1, len(raw)):
        sign = raw[index]
        if sign not in '{}"' or raw[index - 1] == "\\":
            continue
        if sign == "{":
            depth += 1
        elif sign == "}":
            if depth == 0 and not quoted:
                return index
            depth = max(depth - 1, 0)
        elif quoted and depth == 0:
            return index
    return len(raw)


# bibtexparser logs every broken block; they are all remarks here already.
logging.getLogger("bibtexparser").addHandler(logging.NullHandler())

_START = re.compile(r"^[ \t]*@([A-Za-z]+)\s*[{(]\s*([^\s,{}()=]*+)(?!\s*=)", re.M)
_LINE = re.compile(r"[ \t]{0,8}(?:@[A-Za-z]{3,20}\s?[{(]|[A-Za-z][\w+:-]{0,40}\s{0,20}=|[})])")
_FOLLOWING = re.compile(r"\s*+,?\s*+([A-Za-z][\w-]*+)\s*+=\s*+")
_BLOCK = re.compile(r"[ \t]*@\w*[ \t]*[{(]")
_PARENTS = re.compile(r"(?:crossref|xdata)\s*=\s*[{\"]([^{}\"]*)")
_MOST_PARENTS = 100
_MOST_MISSED = 100  # fields of an entry that are read in spite of a missing comma
_UNPARSED = (ValueError, LookupError, RecursionError, AttributeError, TypeError)
_CHUNK = 1 << 18  # characters that are parsed together
_NOT_ENTRIES = ("comment", "preamble", "string")
_NOT_INHERITED = frozenset(
    {"crossref", "xdata", "xref", "ids", "entryset", "label", "options", "related", "shorttitle", "sortkey"}
    | {"doi", "url", "urldate", "eprint", "eprinttype", "archiveprefix", "abstract", "keywords", "file"}
    | {"note"}
)
_IN_A_BOOK = frozenset(("inproceedings", "conference", "incollection", "inbook", "inreference", "suppbook"))
_DEPTH = 5


@dataclass(slots=True, eq=False)
class _Parsed:
    key: str
    kind: str
    line: int
    fields: dict[str, str] = field(default_factory=dict)
    repeated: list[list[str]] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"entry {self.key}" if self.key else f"line {self.line}"


class BibTeX:
    """BibTeX and BibLaTeX bibliographies."""

    name = "bibtex"
    description = (
        "BibTeX and BibLaTeX; LaTeX becomes Unicode, raw fields are kept; repeated keys become `key~2`"
    )
    endings = (".bib", ".bibtex", ".biblatex")

    def sniff(self, path: Path, head: bytes) -> float:
        """0.95 when the head opens an entry, a little for the name alone."""
        text = head.decode("utf-8", "replace")
        entries = [m for m in _START.finditer(text) if m.group(1).casefold() not in _NOT_ENTRIES]
        named = path.suffix.casefold() in self.endings
        if entries:
            if named or text.lstrip()[:1] in ("@", "%"):
                return 0.95
            # A page that quotes an entry is not a bibliography; many entries after a preface are.
            lines = [line for line in text.split("\n") if line.strip()]
            return 0.8 if 2 * sum(map(bool, map(_LINE.match, lines))) > len(lines) else 0.25
        return 0.3 if named and text.strip() else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers in file order.

        Raises:
            BadInput: the file is empty or holds no entry.
        """
        strings, parents = _first_pass(file)
        empty = True
        for item in _items(_blocks(file), strings):
            if isinstance(item, Remark):
                empty = empty and not item.skipped
                yield item
                continue
            empty = False
            if item.kind == "xdata":
                continue
            yield from item.remarks
            inherited, problem = _inherited(item, parents)
            if problem:
                yield Remark(item.place, problem, skipped=False)
            strings.grow(sum(map(len, inherited.values())))
            extra = {"repeated": item.repeated} if item.repeated else {}
            yield from entry_paper(
                item.key, item.kind, item.fields, item.place, options, inherited=inherited, extra=extra
            )
        if empty:
            raise BadInput(
                f"{file.path} holds no BibTeX entry",
                why="no @type{key, ...} was found",
                hint="if it is another format, name it with --as NAME",
            )


def _blocks(file: InputFile) -> Iterator[tuple[int, str] | Remark]:
    """(number of its first line, text) of pieces that each begin where the parser begins a block anyway."""
    first, size, lines = 1, 0, list[str]()
    for line in file.text_lines():
        if isinstance(line, Remark):
            yield line
            continue
        number, text = line
        if size > _CHUNK and _BLOCK.match(text):
            yield first, "\n".join(lines)
            first, size, lines = number, 0, []
        if not lines:
            first = number
        lines.append(storable(text))
        size += len(text) + 1
        if size > LIMITS.entry_chars:
            place = f"line {first}"
            yield Remark(place, f"entries of more than {LIMITS.entry_chars >> 20} Mi characters: left out")
            size, lines = 0, []
    yield first, "\n".join(lines)


def _items(blocks: Iterable[tuple[int, str] | Remark], strings: Abbreviations) -> Iterator[_Parsed | Remark]:
    """The entries of the blocks."""
    for block in blocks:
        if isinstance(block, Remark):
            yield block
            continue
        first, text = block
        strings.read(len(text))
        try:
            found = _parse(text)
        except _UNPARSED as error:
            why = clean(error) if isinstance(error, ValueError) else "they are no BibTeX"
            yield Remark(f"line {first}", f"the entries from here cannot be read: {why}")
        else:
            yield from _entries(found, strings, first)


def _parse(text: str) -> list[Block]:
    if len(text) > _CHUNK and sum(map(text.count, "=@")) > 2 * LIMITS.fields:
        raise ValueError(f"an entry has more than {LIMITS.fields:,} fields")
    blocks: list[Block] = parse_string(text, parse_stack=[]).blocks
    return blocks


def _first_pass(file: InputFile) -> tuple[Abbreviations, dict[str, _Parsed]]:
    """All abbreviations, and the entries that others inherit from by their keys in lower case."""
    strings = Abbreviations(file.path)
    wanted: set[str] = set()
    for block in _blocks(file):
        if isinstance(block, Remark):
            continue
        lowered = block[1].casefold()
        if "@string" in lowered:
            with contextlib.suppress(*_UNPARSED):
                _define(_parse(block[1]), strings)
        if "crossref" in lowered or "xdata" in lowered:
            for found in _PARENTS.finditer(lowered):
                wanted.update(key.strip() for key in found[1].split(","))
    parents: dict[str, _Parsed] = {}
    if wanted:
        for item in _items(_blocks(file), strings):
            if isinstance(item, _Parsed) and (key := item.key.casefold()) in wanted and key not in parents:
                parents[key] = item
                strings.grow(sum(map(len, item.fields.values())))
    return strings, parents


def _define(blocks: list[Block], strings: Abbreviations) -> None:
    for block in blocks:
        inner = block.ignore_error_block if isinstance(block, DuplicateBlockKeyBlock) else block
        if isinstance(inner, String):
            strings[inner.key.casefold()] = plain_value(inner.value, strings)[0]


def _entries(blocks: list[Block], strings: Mapping[str, str], first: int) -> Iterator[_Parsed | Remark]:
    """Entries and remarks of blocks whose text begins at line ``first``."""
    for block in blocks:
        match block:
            case DuplicateBlockKeyBlock() | DuplicateFieldKeyBlock():
                inner = block.ignore_error_block
                if isinstance(inner, Entry):
                    yield _parsed(inner, strings, first)
            case ParsingFailedBlock():
                yield _failed(block, first)
            case Entry():
                yield _parsed(block, strings, first)
            case _:
                pass  # comments and preambles say nothing about papers


def _failed(block: ParsingFailedBlock, first: int) -> Remark:
    start = _START.search(block.raw or "")
    key = clean(start.group(2)) if start else ""
    line = (block.start_line or 0) + first
    reason = clean(getattr(block.error, "abort_reason", "") or block.error or "cannot be read")
    return Remark(
        f"entry {key}" if key else f"line {line}", f"broken entry (line {line}): {reason.rstrip('. ')}"
    )


def _parsed(entry: Entry, strings: Mapping[str, str], first: int) -> _Parsed:
    item = _Parsed(clean(entry.key), clean(entry.entry_type).casefold(), (entry.start_line or 0) + first)
    for raw in entry.fields:
        name = clean(raw.key).casefold()
        value, rest = plain_value(str(raw.value), strings)
        _keep(item, name, value)
        # A missing comma leaves the next fields inside this value.
        missed_here = 0
        while rest and missed_here < _MOST_MISSED and (following := _FOLLOWING.match(rest)):
            missed_here += 1
            missed = following.group(1)
            reason = f"comma missing before {missed}: read all the same"
            item.remarks.append(Remark(item.place, reason, skipped=False))
            value, rest = plain_value(rest[following.end() :], strings)
            _keep(item, missed.casefold(), value)
        if rest:
            reason = f"field {name}: {len(rest)} characters after its end left out"
            item.remarks.append(Remark(item.place, reason, skipped=False))
    return item


def _keep(item: _Parsed, name: str, value: str) -> None:
    value, held = value.strip(), item.fields.get(name)
    if name and not held:
        item.fields[name] = value
    elif name and held != value:
        item.repeated.append([name, value])
        reason = f"field {name} given twice: the first counts, the other is kept in the metadata"
        item.remarks.append(Remark(item.place, reason, skipped=False))


def _inherited(
    item: _Parsed, by_key: Mapping[str, _Parsed], seen: tuple[_Parsed, ...] = (), met: set[str] | None = None
) -> tuple[dict[str, str], str]:
    """Fields an entry takes from its parents, and what is wrong with them.

    Args:
        item: the entry.
        by_key: the entries that may be parents.
        seen: the entries between the first one and this one.
        met: keys of all parents so far; each counts once.
    """
    out: dict[str, str] = {}
    problem = ""
    met = set() if met is None else met
    named = [("xdata", key.strip()) for key in item.fields.get("xdata", "").split(",")]
    named.append(("crossref", item.fields.get("crossref", "").strip()))
    for link, key in named:
        parent = by_key.get(key.casefold())
        if not key or (key.casefold() in met and parent not in (*seen, item)):
            continue
        if parent is None or parent in (*seen, item) or len(seen) >= _DEPTH:
            problem = f"{link} {key} is not in the file" if parent is None else f"{link} {key} is a circle"
            continue
        if len(met) >= _MOST_PARENTS:
            return out, f"more than {_MOST_PARENTS} parents: the others left out"
        met.add(key.casefold())
        above, _ = _inherited(parent, by_key, (*seen, item), met)
        fields = {**above, **parent.fields}
        if link == "crossref":
            fields = _as_child(item.kind, fields)
        for name, value in fields.items():
            if name not in ("xdata", "crossref", "ids"):
                out.setdefault(name, value)
    return out, problem


def _as_child(kind: str, parent: Mapping[str, str]) -> dict[str, str]:
    """The parent's fields under the names they have in the child: its title is the child's book."""
    out = {name: value for name, value in parent.items() if name not in _NOT_INHERITED}
    if kind not in NAMES.types:  # of the types that packages add, BibLaTeX inherits all fields as they are
        return out
    title = out.pop("title", "")
    out.pop("subtitle", None)
    if kind != "inbook":
        out.pop("author", None)
    if kind in _IN_A_BOOK:
        if title:
            out["booktitle"] = title
    elif kind == "article" and title:
        out["journaltitle"] = title
    return out


SOURCES.register("bibtex")(BibTeX())
