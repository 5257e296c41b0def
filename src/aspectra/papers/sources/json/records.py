"""The one reader of JSON: records in lines, an array or an envelope (``{"items": [...]}``), or one alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import each
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.text.cleaning import storable

__all__ = ["ENVELOPES", "SHOWN", "JsonFormat", "as_dict", "as_list", "first_keys", "json_records", "rest"]

# Possessive, so that a string cut off by the end of the head is skipped once, not once per escape.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]:]', re.S)
_NEXT_OBJECT = re.compile(r"\}\s*,\s*(?=\{\s*(\"[^\"]*\"))")
_FIRST_KEY = re.compile(r"\{\s*(\"[^\"]*\")")
_LOOK_AHEAD = 1000  # objects behind a broken element among which the next element is looked for
ENVELOPES = ("papers", "records", "documents", "items", "results", "data", "works")
_ENVELOPE = re.compile(rf'"(?:{"|".join(ENVELOPES)})"\s*:\s*\[(?=\s*\{{)')
SHOWN = frozenset(("title", "Title", "paper_title", "abstract", "Abstract", "text", "summary"))
_IDS = frozenset(("id", "_id", "paper_id", "corpusid"))
_OWN = SHOWN | _IDS
_GIVE_UP = 1000  # lines without one JSON object before the whole file is called unreadable

# NaN and Infinity are no JSON, but programs write them: they become null.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)

_Item = tuple[str, Mapping[str, Any] | Remark]


@dataclass(frozen=True)
class JsonFormat:
    """A source of JSON records; each format fills in these fields.

    Attributes:
        name: see :class:`~aspectra.papers.sources.protocol.Source`, as for ``description`` and ``endings``.
        confidence: (dotted keys of the first record, two levels deep; the head) -> 0 to 1.
        convert: (record, place, options) -> papers and remarks; ValueError refuses the record.
    """

    name: str
    description: str
    confidence: Callable[[frozenset[str], bytes], float]
    convert: Callable[[Mapping[str, Any], str, ReadOptions], Iterator[Paper | Remark]]
    endings: tuple[str, ...] = (".json", ".jsonl")

    def sniff(self, path: Path, head: bytes) -> float:
        """``confidence`` of the file; 0 where it does not begin like JSON."""
        keys = first_keys(head)
        return self.confidence(keys, head) if keys else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers in file order; a line or element that is no record is a remark.

        Raises:
            BadInput: the file is empty, or holds no JSON object.
        """
        return each(json_records(file), self.convert, options)


def as_dict(value: object) -> Mapping[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """``value`` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def rest(record: Mapping[str, Any], used: Iterable[str]) -> dict[str, Any]:
    """The fields of ``record`` that no attribute of a paper holds, for its metadata; empty ones go.

    Raises:
        ValueError: a value is nested deeper than any real record.
    """
    skip = set(used)
    kept: dict[str, Any] = storable({key: value for key, value in record.items() if key not in skip})
    return {key: value for key, value in kept.items() if value not in (None, "", [], {})}


@lru_cache(maxsize=4)  # every JSON source sniffs at the same head
def first_keys(head: bytes, depth: int = 2) -> frozenset[str]:
    """Dotted keys of the first JSON object in ``head``, which may stop anywhere inside it.

    Arrays add nothing to a path. Bytes that do not begin like JSON, and arrays of arrays, give the empty set.

    >>> sorted(first_keys(b'{"a": 1, "b": {"c": [{"d": 2}], "e": tru'))
    ['a', 'b', 'b.c', 'b.e']
    """
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head[:1] not in (b"{", b"["):
        return frozenset()
    found: set[str] = set()
    stack: list[str] = []  # the key that each open object or array is the value of, "" for none
    pending, key, root = b"", "", 0
    for match in _TOKEN.finditer(head):
        token = match.group()
        if token == b":":
            key = pending[1:-1].decode("utf-8", "replace")
            # Every key on a path opens an object and perhaps an array: a longer stack is too deep anyway.
            path = [name for name in stack if name] if len(stack) <= 2 * depth + 1 else None
            if path is not None and len(path) < depth:
                found.add(".".join([*path, key]))
        elif token in (b"{", b"["):
            stack.append(key)
            key = ""
            if token == b"{" and not root:
                root = len(stack)
            elif not root and len(stack) > 1:
                break
        elif token in (b"}", b"]"):
            if len(stack) <= max(root, 1):
                break
            stack.pop()
            key = ""
        else:
            pending = token
    return frozenset(found)


def json_records(file: InputFile) -> Iterator[_Item]:
    """(place, JSON object or remark) in file order, streaming where the file has one record a line.

    A broken line or element costs only itself.

    Raises:
        BadInput: the file is empty, or holds no JSON object.
    """
    found = tried = 0
    reason = "no line or element is a JSON object"
    for place, record in _items(file):
        tried += 1
        found += not isinstance(record, Remark)
        if isinstance(record, Remark) and record.skipped and not found:
            reason = record.reason
            if tried >= _GIVE_UP:
                break
        yield place, record
    if not found:
        raise BadInput(
            f"{file.path} holds no JSON record" if tried else f"{file.path} is empty",
            why=reason if tried else "",
            hint="if it is another format, name it with --as NAME"
            if tried
            else "check that the export or download finished",
        )


def _items(file: InputFile) -> Iterator[_Item]:
    filled = _filled(file)
    ahead = [item for item in (next(filled, None), next(filled, None)) if item]
    first, *others = (_decoded(text, "") for _, text, _ in ahead) if ahead else (None,)
    if isinstance(first, dict):
        lines = bool(others)
    else:  # a broken line among lines, or the beginning of a value of several
        lines = ahead[:1] == [] or not _opens_value(ahead[0][1], others)
    yield from _lines(chain(ahead, filled)) if lines else _document(file)


def _opens_value(first: str, others: list[Mapping[str, Any] | Remark]) -> bool:
    return first[:1] == "[" or (first[:1] == "{" and not any(isinstance(other, dict) for other in others))


def _filled(file: InputFile) -> Iterator[tuple[int, str, Remark | None]]:
    lines = ((number, line.strip().lstrip("\ufeff"), note) for number, line, note in file.lines())
    return (item for item in lines if item[1] or item[2])


def _lines(lines: Iterable[tuple[int, str, Remark | None]]) -> Iterator[_Item]:
    for number, text, note in lines:
        place = f"line {number}"
        if note:
            yield place, note
        value = _decoded(text, place) if text else None
        if isinstance(value, dict) and not value.keys() & _OWN:
            yield from _opened(value, place)
        elif value is not None:
            yield place, value


def _decoded(text: str, place: str) -> Mapping[str, Any] | Remark:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        return Remark(place, f"not valid JSON: {error}")
    return value if isinstance(value, dict) else Remark(place, "not a JSON object")


def _document(file: InputFile) -> Iterator[_Item]:
    """Records of a file that is one JSON value, or lines of which the first is damaged."""
    try:
        text, notes = file.text()
    except BadInput:  # cut off: its first lines may be whole
        yield from _lines(_filled(file))
        return
    text = text.strip()
    value = None if text.startswith("[") else _decoded(text, "record 1")
    envelope = _ENVELOPE.search(text, 0, 4096)
    if isinstance(value, Remark) and envelope is None:
        yield from _lines(_filled(file))
        return
    for note in notes:
        yield note.place, note
    if isinstance(value, dict):
        yield from _opened(value)
    else:
        yield from _elements(text, envelope.end() if envelope and value else 1)


def _opened(value: Mapping[str, Any], place: str = "") -> Iterator[_Item]:
    """The records in ``{"papers": [...]}`` or, in a file of one value, ``{id: record}``; else the value."""
    within = f"{place}, " if place else ""
    message = as_dict(value.get("message"))
    if isinstance(message.get("items"), list):
        value = message  # an answer of the Crossref interface
    for name in ENVELOPES:
        inner = as_list(value.get(name))
        if any(isinstance(item, dict) for item in inner):
            for number, item in enumerate(inner, 1):
                here = f"{within}record {number}"
                yield here, item if isinstance(item, dict) else Remark(here, "not a JSON object")
            return
    keyed = not place and value and "metadata" not in value
    if keyed and all(isinstance(v, dict) and (v.keys() & SHOWN) for v in value.values()):
        for key, record in value.items():
            yield f"record {key[:80]}", record if record.keys() & _IDS else {"_id": key, **record}
        return
    yield place or "record 1", value


def _elements(text: str, at: int) -> Iterator[_Item]:
    """Elements of the array whose first one begins behind ``at``, each decoded for itself."""
    begins: set[str] = set()  # first keys of the elements, by which the one after a broken one is told
    number = 0
    while True:
        while at < len(text) and text[at] in " \t\n\r,":
            at += 1
        if at >= len(text) or text[at] == "]":
            return
        number += 1
        place = f"record {number}"
        if found := _FIRST_KEY.match(text, at):
            begins.add(found[1])
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            yield place, Remark(place, f"not valid JSON: {error}")
            following = _NEXT_OBJECT.finditer(text, max(at + 1, getattr(error, "pos", 0)))
            ends = [(match[1] not in begins, match.end()) for match in islice(following, _LOOK_AHEAD)]
            if not ends:
                return
            at = min(ends)[1]
            continue
        yield place, value if isinstance(value, dict) else Remark(place, "not a JSON object")
