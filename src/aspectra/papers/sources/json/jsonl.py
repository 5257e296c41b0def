"""JSON Lines and JSON arrays: our own format, BEIR corpora, and the dumps people pass around.

Read are our own :meth:`Paper.to_dict`; BEIR (``_id``, ``title``, ``text``); S2ORC-like metadata, LitSearch
and other dumps under the usual field names; CSFCube, whose abstract is a list of sentences with labels.
Whatever field is not understood stays in ``metadata``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.papers.ids import distinct_ids
from aspectra.papers.paper import Paper
from aspectra.papers.sources.files import read_lines, read_text
from aspectra.papers.sources.json.generic import OWN_KEYS, papers_in_record
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark

__all__ = ["JsonLines", "head_keys", "json_records", "read_json"]

# A string cut off by the end of the head is passed over once, not once per quote inside it.
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"|\\?\Z)(\s*:)?|[{}\[\]]', re.S)
_NEXT_OBJECT = re.compile(r"\}\s*,\s*(?=\{)")
_WRAPPERS = ("papers", "records", "documents", "items", "results", "data", "works")
_SHOWN = frozenset(("title", "Title", "paper_title", "abstract", "Abstract", "text", "summary"))
_BEIR_KEYS = frozenset(("_id", "title", "text", "metadata"))

# NaN and Infinity are no JSON, but programs write them: they become null.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def head_keys(head: bytes) -> frozenset[str]:
    """Field names of the first record in the beginning of a JSON or JSON Lines file, even when cut short.

    Empty when the head is no JSON object and no array of objects.
    """
    text = head.decode("utf-8-sig", "replace").lstrip()
    if not text.startswith(("{", "[")):
        return frozenset()
    level = 1 if text[0] == "{" else 2
    depth = 0
    keys: set[str] = set()
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark in "{[":
            if depth + 1 == level and mark == "[":
                return frozenset()  # an array of arrays
            depth += 1
        elif mark in "}]":
            depth -= 1
            if depth < level:
                break
        elif depth == level and token.group(2):
            keys.add(token.group(1))
    return frozenset(keys)


class JsonLines:
    """JSON Lines, JSON arrays and single JSON records."""

    name = "jsonl"

    def sniff(self, path: Path, head: bytes) -> float:
        """0.95 for BEIR and our own layout, 0.6 for other records with a title or text, else nearly 0."""
        keys = head_keys(head)
        if not keys:
            return 0.0
        if {"_id", "text"} <= keys and _BEIR_KEYS.issuperset(keys):
            return 0.95
        if "id" in keys and OWN_KEYS.issuperset(keys) and keys & _SHOWN:
            return 0.9
        if keys & _SHOWN or "sentences" in keys:
            return 0.6
        return 0.3 if keys & set(_WRAPPERS) else 0.05

    def read(self, path: Path, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers in file order; a line or element that is no record is a remark.

        Raises:
            BadInput: the file is empty, or holds no JSON record at all.
        """
        yield from distinct_ids(
            read_json(
                path,
                lambda record, place: papers_in_record(record, place, options),
                "record",
                ("JSON record", "no line or element is a JSON object"),
            )
        )


def read_json(
    path: Path,
    convert: Callable[[Mapping[str, Any], str], Iterable[Paper | Remark]],
    noun: str,
    lacking: tuple[str, str],
) -> Iterator[Paper | Remark]:
    """Papers and remarks of a file of JSON records, whatever one record means.

    Args:
        path: the file.
        convert: (record, place) -> what is made of it; ValueError refuses the record.
        noun: what a record is called in remarks.
        lacking: (what, why) of the error for a file without any record.

    Raises:
        BadInput: the file is empty, or holds no record.
    """
    found = 0
    empty = True
    for place, record, note in json_records(path):
        empty = False
        if note:
            yield note
        if record is None:
            continue
        try:
            items = list(convert(record, place))
        except (ValueError, RecursionError) as error:
            yield Remark(place, f"{noun} cannot be kept: {error}")
            continue
        found += 1
        yield from items
    if empty:
        raise BadInput(f"{path} is empty", hint="check that the export finished")
    if not found:
        hint = "if it is another format, name it with --as NAME"
        raise BadInput(f"{path} holds no {lacking[0]}", why=lacking[1], hint=hint)


_Item = tuple[str, Mapping[str, Any] | None, Remark | None]


def json_records(path: Path) -> Iterator[_Item]:
    """(place, record or None, remark or None) of every line or element that is not blank."""
    lines = read_lines(path)
    held: list[tuple[int, str, Remark | None]] = []
    for item in lines:
        if item[1].strip() or item[2]:
            held.append(item)
            break
    if not held:
        return
    first = held[0][1].lstrip("\ufeff \t")
    if not _is_object(first) and first[:1] in ("[", "{"):
        document = _document(path)
        if document is not None:
            yield from document
            return
        lines = read_lines(path)
        held = []
    if len(held) == 1 and _is_object(first):
        second = next((item for item in lines if item[1].strip() or item[2]), None)
        if second is None:  # a whole document on one line
            yield from _wrapped(_DECODER.decode(first.strip()), [note for _, _, note in held if note])
            return
        held.append(second)
    for number, line, note in _chain(held, lines):
        text = line.strip().lstrip("\ufeff")
        if not text:
            if note:
                yield f"line {number}", None, note
            continue
        place = f"line {number}"
        if note:
            yield place, None, note
        yield _decoded(text, place)


def _chain(
    held: list[tuple[int, str, Remark | None]], lines: Iterator[tuple[int, str, Remark | None]]
) -> Iterator[tuple[int, str, Remark | None]]:
    yield from held
    yield from lines


def _is_object(text: str) -> bool:
    try:
        return isinstance(_DECODER.decode(text), dict)
    except (ValueError, RecursionError):
        return False


def _decoded(text: str, place: str) -> _Item:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        return place, None, Remark(place, f"not valid JSON: {error}")
    if not isinstance(value, dict):
        return place, None, Remark(place, "not a JSON object")
    return place, value, None


def _document(path: Path) -> Iterator[_Item] | None:
    """Records of a file that is one JSON value; None when it is lines after all."""
    try:
        text, notes = read_text(path)
    except BadInput:
        return None
    text = text.strip()
    if text.startswith("["):
        return _elements(text, notes)
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return _wrapped(value, notes)


def _wrapped(value: dict[str, Any], notes: list[Remark]) -> Iterator[_Item]:
    """A single record, ``{"papers": [...]}``, or ``{id: record}``."""
    for note in notes:
        yield note.place, None, note
    message = value.get("message")
    if isinstance(message, dict) and isinstance(message.get("items"), list):
        value = message  # an answer of the Crossref interface
    for name in _WRAPPERS:
        inner = value.get(name)
        if isinstance(inner, list) and any(isinstance(item, dict) for item in inner):
            for number, item in enumerate(inner, 1):
                place = f"record {number}"
                if isinstance(item, dict):
                    yield place, item, None
                else:
                    yield place, None, Remark(place, "not a JSON object")
            return
    values = list(value.items())
    if values and all(isinstance(v, dict) and (v.keys() & _SHOWN) for _, v in values):
        for key, record in values:
            known = any(name in record for name in ("id", "_id", "paper_id", "corpusid"))
            yield f"record {key[:80]}", record if known else {"_id": key, **record}, None
        return
    yield "record 1", value, None


def _elements(text: str, notes: list[Remark]) -> Iterator[_Item]:
    """Elements of an array one by one, so that a broken one costs only itself."""
    for note in notes:
        yield note.place, None, note
    at = 1
    number = 0
    end = len(text)
    while True:
        while at < end and text[at] in " \t\n\r,":
            at += 1
        if at >= end or text[at] == "]":
            return
        number += 1
        place = f"record {number}"
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            yield place, None, Remark(place, f"not valid JSON: {error}")
            following = _NEXT_OBJECT.search(text, at + 1)
            if not following:
                return
            at = following.end()
            continue
        if isinstance(value, dict):
            yield place, value, None
        else:
            yield place, None, Remark(place, "not a JSON object")


SOURCES.register("jsonl")(JsonLines())
