"""BibTeX and BibLaTeX files.

Broken entries are remarks and the rest is read; a repeated key is kept under ``key~2``. The entry type and
all raw fields stay in ``metadata["bibtex"]``, so that writing the paper again loses nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
from aspectra.papers.paper import Paper
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.entry import entry_paper
from aspectra.papers.text.cleaning import clean, storable

__all__ = ["BibTeX", "plain_value"]

# bibtexparser logs every broken block; they are all remarks here already.
logging.getLogger("bibtexparser").addHandler(logging.NullHandler())

_START = re.compile(r"^[ \t]*@([A-Za-z]+)\s*[{(]\s*([^\s,{}()=]*+)(?!\s*=)", re.M)
_FOLLOWING = re.compile(r"\s*,?\s*([A-Za-z][\w-]*)\s*=\s*")
_NOT_ENTRIES = ("comment", "preamble", "string")
_MONTHS = "January February March April May June July August September October November December".split()
_NOT_INHERITED = frozenset(
    {"crossref", "xdata", "xref", "ids", "entryset", "label", "options", "related", "shorttitle", "sortkey"}
    | {"doi", "url", "urldate", "eprint", "eprinttype", "archiveprefix", "abstract", "keywords", "file"}
    | {"note"}
)
_IN_A_BOOK = frozenset(("inproceedings", "conference", "incollection", "inbook", "inreference", "suppbook"))
_DEPTH = 5


@dataclass(slots=True)
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
            first = text.lstrip()[:1]
            return 0.95 if named or first in ("@", "%") else 0.3
        return 0.3 if named and text.strip() else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers in file order.

        Raises:
            BadInput: the file is empty or holds no entry.
        """
        text, notes = file.text()
        yield from notes
        try:
            blocks = parse_string(storable(text), parse_stack=[]).blocks
        except (ValueError, LookupError, RecursionError, AttributeError, TypeError) as error:
            raise BadInput(f"{file.path} cannot be read as BibTeX", why=str(error)) from error
        strings = _strings(blocks)
        items = list(_entries(blocks, strings))
        if not items:
            raise BadInput(
                f"{file.path} holds no BibTeX entry",
                why="no @type{key, ...} was found",
                hint="if it is another format, name it with --as NAME",
            )
        by_key: dict[str, _Parsed] = {}
        for item in items:
            if isinstance(item, _Parsed) and item.key:
                by_key.setdefault(item.key.casefold(), item)
        for item in items:
            if isinstance(item, Remark):
                yield item
            elif item.kind != "xdata":
                yield from item.remarks
                inherited, problem = _inherited(item, by_key)
                if problem:
                    yield Remark(item.place, problem, skipped=False)
                extra = {"repeated": item.repeated} if item.repeated else {}
                yield from entry_paper(
                    item.key, item.kind, item.fields, item.place, options, inherited=inherited, extra=extra
                )


def _strings(blocks: list[Block]) -> dict[str, str]:
    """Abbreviations in force: the months, then ``@string`` in order, which may build on earlier ones."""
    strings = {month[:3].lower(): month for month in _MONTHS}
    for block in blocks:
        inner = block.ignore_error_block if isinstance(block, DuplicateBlockKeyBlock) else block
        if isinstance(inner, String):
            strings[inner.key.casefold()] = plain_value(inner.value, strings)[0]
    return strings


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
            end = at
            while end < len(raw) and raw[end] != "#":
                end += 1
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


def _entries(blocks: list[Block], strings: Mapping[str, str]) -> Iterator[_Parsed | Remark]:
    for block in blocks:
        match block:
            case DuplicateBlockKeyBlock() | DuplicateFieldKeyBlock():
                inner = block.ignore_error_block
                if isinstance(inner, Entry):
                    yield _parsed(inner, strings)
            case ParsingFailedBlock():
                yield _failed(block)
            case Entry():
                yield _parsed(block, strings)
            case _:
                pass  # comments and preambles say nothing about papers


def _failed(block: ParsingFailedBlock) -> Remark:
    start = _START.search(block.raw or "")
    key = clean(start.group(2)) if start else ""
    line = (block.start_line or 0) + 1
    reason = clean(getattr(block.error, "abort_reason", "") or block.error or "cannot be read")
    return Remark(
        f"entry {key}" if key else f"line {line}", f"broken entry (line {line}): {reason.rstrip('. ')}"
    )


def _parsed(entry: Entry, strings: Mapping[str, str]) -> _Parsed:
    item = _Parsed(clean(entry.key), clean(entry.entry_type).casefold(), (entry.start_line or 0) + 1)
    for raw in entry.fields:
        name = clean(raw.key).casefold()
        value, rest = plain_value(str(raw.value), strings)
        _keep(item, name, value)
        # A missing comma leaves the next fields inside this value.
        while rest and (following := _FOLLOWING.match(rest)):
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
    value = value.strip()
    if not name:
        return
    if item.fields.get(name):
        if item.fields[name] != value:
            item.repeated.append([name, value])
            reason = f"field {name} given twice: the first counts, the other is kept in the metadata"
            item.remarks.append(Remark(item.place, reason, skipped=False))
        return
    item.fields[name] = value


def _inherited(item: _Parsed, by_key: Mapping[str, _Parsed], depth: int = 0) -> tuple[dict[str, str], str]:
    """Fields an entry takes from its parents, and what is wrong with them."""
    out: dict[str, str] = {}
    problem = ""
    named = [("xdata", key.strip()) for key in item.fields.get("xdata", "").split(",")]
    named.append(("crossref", item.fields.get("crossref", "").strip()))
    for link, key in named:
        if not key:
            continue
        parent = by_key.get(key.casefold())
        if parent is None or parent is item or depth >= _DEPTH:
            problem = f"{link} {key} is not in the file" if parent is None else f"{link} {key} is a circle"
            continue
        above, _ = _inherited(parent, by_key, depth + 1)
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
