"""JSON records for the sources that know a layout: one per line, in an array, or one to a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.papers.ids import distinct_ids
from aspectra.papers.paper import Paper
from aspectra.papers.sources.fields import json_value
from aspectra.papers.sources.files import read_lines, read_text
from aspectra.papers.sources.protocol import ReadOptions, Remark

__all__ = ["as_dict", "as_list", "first_keys", "json_records", "read_records", "rest"]

# Possessive, so that a string cut off by the end of the head is passed over once, not once per escape.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]:]', re.S)
_GIVE_UP = 50  # lines without one JSON object before the whole file is called unreadable


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
    kept: dict[str, Any] = json_value({key: value for key, value in record.items() if key not in skip})
    return {key: value for key, value in kept.items() if value not in (None, "", [], {})}


def first_keys(head: bytes, depth: int = 2) -> set[str]:
    """Dotted keys of the first JSON object in ``head``, which may stop anywhere inside it.

    Arrays add nothing to a path. Bytes that do not begin like JSON give the empty set.

    >>> sorted(first_keys(b'{"a": 1, "b": {"c": [{"d": 2}], "e": tru'))
    ['a', 'b', 'b.c', 'b.e']
    """
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head[:1] not in (b"{", b"["):
        return set()
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
        elif token in (b"}", b"]"):
            if len(stack) <= max(root, 1):
                break
            stack.pop()
            key = ""
        else:
            pending = token
    return found


def read_records(
    path: Path,
    options: ReadOptions,
    convert: Callable[[dict[str, Any], str, ReadOptions], Iterator[Paper | Remark]],
) -> Iterator[Paper | Remark]:
    """Papers of a file of JSON records, each through ``convert``; ids are made distinct.

    A record that ``convert`` cannot take becomes a remark.

    Raises:
        BadInput: the file holds no JSON object.
    """

    def items() -> Iterator[Paper | Remark]:
        for place, record in json_records(path):
            if isinstance(record, Remark):
                yield record
                continue
            try:
                made = list(convert(record, place, options))
            except (ValueError, RecursionError) as error:
                yield Remark(place, f"record cannot be kept: {error}")
            else:
                yield from made

    yield from distinct_ids(items())


def json_records(path: Path) -> Iterator[tuple[str, dict[str, Any] | Remark]]:
    """(place, JSON object or remark) in file order, streaming where the file has one record a line.

    Raises:
        BadInput: the file holds no JSON object.
    """
    first = ""
    for _, line, _ in read_lines(path):
        if first := line.strip():
            break
    if not first:
        raise BadInput(f"{path} is empty", hint="check that the download finished")
    if not first.endswith("}"):
        try:
            text, remarks = read_text(path)
            value = _loads(text)
        except (BadInput, ValueError):
            pass  # lines of which the first is damaged
        else:
            for remark in remarks:
                yield "file", remark
            yield from _of_document(path, value)
            return
    yield from _of_lines(path)


def _of_document(path: Path, value: object) -> Iterator[tuple[str, dict[str, Any] | Remark]]:
    if isinstance(value, dict):
        yield "record 1", value
        return
    if not isinstance(value, list) or not any(isinstance(item, dict) for item in value):
        raise BadInput(
            f"{path} holds no JSON record", why="no element is a JSON object", hint="check its format"
        )
    for number, item in enumerate(value, 1):
        place = f"record {number}"
        yield place, item if isinstance(item, dict) else Remark(place, "not a JSON object")


def _of_lines(path: Path) -> Iterator[tuple[str, dict[str, Any] | Remark]]:
    good = bad = 0
    reason = "no line is a JSON object"
    waiting: list[tuple[str, Remark]] = []
    for number, line, note in read_lines(path):
        place = f"line {number}"
        value: object = None
        if note:
            waiting.append((place, note))
        if line.strip():
            try:
                value = _loads(line)
                if not isinstance(value, dict):
                    raise ValueError("not a JSON object")
            except ValueError as error:
                bad += 1
                reason = str(error)
                waiting.append((place, Remark(place, f"not valid JSON: {error}")))
        good += isinstance(value, dict)
        if good:
            yield from waiting
            waiting.clear()
        elif bad >= _GIVE_UP:
            break
        if isinstance(value, dict):
            yield place, value
    if not good:
        raise BadInput(
            f"{path} holds no JSON record",
            why=reason,
            hint="check that the download finished, or name the format with --as NAME",
        )


def _loads(text: str) -> object:
    """The JSON value in ``text``; NaN and Infinity, which are no JSON, become null.

    Raises:
        ValueError: not JSON, or nested too deeply to be read.
    """
    try:
        value: object = json.loads(text.removeprefix("\ufeff"), parse_constant=lambda _: None)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value
