"""The one reader of JSON: records in lines, an array or an envelope (``{"items": [...]}``), or one alone."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import each
from aspectra.papers.sources.files import LIMITS, InputFile
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.text.cleaning import storable

# Possessive, so that a string cut off by the end of the head is skipped once, not once per escape.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]:]', re.S)
_NEXT_OBJECT = re.compile(r"\}\s*,\s*(?=\{\s*(\"[^\"]*\"))")
_FIRST_KEY = re.compile(r"\{\s*(\"[^\"]*\")")
_PIECE = 65_536  # characters
_OVERLAP = 4096  # characters in which the beginning of an element is found again
_LOOK_AHEAD = 1000  # objects behind a broken element among which the next element is looked for
WRAPPERS = tuple("papers records documents items results data works result recommendedPapers".split())
_ENVELOPE = re.compile(rf'"(?:{"|".join(WRAPPERS)})"\s*:\s*\[(?=\s*\{{)')
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
        """Papers in file order; a line or element that is not a record gives a remark.

        Raises:
            BadInput: the file is empty, or has no JSON object.
        """
        return each(_json_records(file), self.convert, options)


def as_dict(value: object) -> Mapping[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """``value`` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def at(record: object, path: str) -> Any:
    """What a record nests under a dotted path, else None."""
    for name in path.split("."):
        record = as_dict(record).get(name)
    return record


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


def _json_records(file: InputFile) -> Iterator[_Item]:
    """(place, JSON object or remark) in file order, streaming where the file has one record a line.

    A broken line or element costs only itself.

    Raises:
        BadInput: the file is empty, or has no JSON object.
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
    if file.head.lstrip()[:1] == b"[":
        yield from _document(file)
        return
    filled = _filled(file)
    ahead = [item for item in (next(filled, None), next(filled, None)) if item]
    first, *others = (_decoded(text, "") for _, text, _ in ahead) if ahead else (None,)
    if isinstance(first, dict):
        lines = bool(others)
    else:  # a broken line among lines, or the beginning of a value of several
        begins = ahead[0][1] or file.head.decode("utf-8", "replace").lstrip() if ahead else ""
        lines = begins[:1] != "{" or any(isinstance(other, dict) for other in others)
    yield from _lines(chain(ahead, filled)) if lines else _document(file)


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
        _check_size(text)
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        return Remark(place, f"not valid JSON: {error}")
    return value if isinstance(value, dict) else Remark(place, "not a JSON object")


def _check_size(text: str, at: int = 0) -> None:
    """Refuse a record that would fill the memory.

    Raises:
        ValueError: it is too long, or holds too many values.
    """
    length = len(text) - at
    if length > LIMITS.line_bytes:
        raise ValueError(f"a record of more than {LIMITS.line_bytes >> 20} MiB")
    if length > LIMITS.values and sum(text.count(sign, at) for sign in "[{,") > LIMITS.values:
        raise ValueError(f"a record of more than {LIMITS.values:,} values")


class _Window:
    """The part of a file's text that is being decoded: little more than one record.

    Attributes:
        text: the part.
        at: where in it the next record begins.
        ended: whether the file ends where the part does.
        notes: remarks about the file that were not given yet.
    """

    def __init__(self, file: InputFile) -> None:
        self.text = ""
        self.at = 0
        self.ended = False
        self.notes: list[Remark] = []
        self._pieces = file.pieces()
        self._returned: list[str] = []  # pieces put back, the next one last

    def more(self) -> bool:
        """Leave out what is before ``at`` and double the rest; False where the file or the limit ends it."""
        held = len(self.text) - self.at
        parts: list[str] = []
        missing = max(held, 1)
        while missing > 0 and held <= LIMITS.line_bytes and not self.ended:
            piece = self._returned.pop() if self._returned else next(self._pieces, None)
            if piece is None:
                self.ended = True
            elif isinstance(piece, Remark):
                self.notes.append(piece)
            else:
                parts.append(piece)
                missing -= len(piece)
        if parts:
            self.text, self.at = "".join([self.text[self.at :], *parts]), 0
        return bool(parts)

    def restart(self) -> None:
        """Put back all but a little, so that the size of the next record is seen while it is put together."""
        rest = self.text[self.at :]
        self._returned += [rest[start : start + _PIECE] for start in range(0, len(rest), _PIECE)][::-1]
        self.text, self.at, self.ended = "", 0, False
        self.more()

    def skip(self, signs: str) -> str:
        """Pass over such characters; returns the one behind them, "" at the end of the file."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in signs:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def decode(self) -> Any:
        """Decode the value at ``at`` and move ``at`` behind it.

        Raises:
            ValueError: it is not JSON, or larger than the limit of a record.
            RecursionError: it is nested too deeply.
        """
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                # A value that the end of the window cuts off fails there.
                cut_off = error.pos >= len(self.text) - 8 or error.msg.startswith("Unterminated string")
                if not (cut_off and self.more()):
                    _check_size(self.text if cut_off else "", self.at if cut_off else 0)
                    raise
            else:
                if end < len(self.text) or not self.more():
                    self.at = end
                    return value
            _check_size(self.text, self.at)

    def resume(self, at: int, begins: Collection[str]) -> bool:
        """Go on behind a broken element; False if no other element follows.

        Args:
            at: where the element was found broken.
            begins: first keys of the elements, which distinguish the next one from nested objects.
        """
        self.at = at
        while True:
            following = _NEXT_OBJECT.finditer(self.text, self.at)
            ends = [(match[1] not in begins, match.end()) for match in islice(following, _LOOK_AHEAD)]
            if ends:
                self.at = min(ends)[1]
                if len(self.text) > LIMITS.values:
                    self.restart()
                return True
            self.at = max(self.at, len(self.text) - _OVERLAP)
            if not self.more():
                return False


def _document(file: InputFile) -> Iterator[_Item]:
    """Records of a file that is one JSON value, or lines of which the first is damaged."""
    window = _Window(file)
    if window.skip(" \t\n\r\ufeff") == "[":
        window.at += 1
    else:
        with contextlib.suppress(BadInput):  # cut off: its first lines may be whole
            while window.more():
                pass
        text = window.text[window.at :]
        value = _decoded(text, "record 1") if window.ended else None
        envelope = _ENVELOPE.search(text, 0, 4096)
        if not isinstance(value, dict) and envelope is None:
            yield from _lines(_filled(file))
            return
        if isinstance(value, dict):
            yield from ((note.place, note) for note in window.notes)
            yield from _opened(value)
            return
        window.at += envelope.end() if envelope else 0
        window.restart()
    yield from _elements(window)


def _opened(value: Mapping[str, Any], place: str = "") -> Iterator[_Item]:
    """The records in ``{"papers": [...]}`` or, in a file of one value, ``{id: record}``; else the value."""
    within = f"{place}, " if place else ""
    message = as_dict(value.get("message") or value.get("resultList"))
    if isinstance(message.get("items") or message.get("result"), list):
        value = message  # an answer of Crossref, or of Europe PMC
    elif "attributes" in as_dict(value.get("data")):
        value = value["data"]  # one record of DataCite
    elif value.get("message-type") == "work" and message:
        value = message  # one of its works
    for name in WRAPPERS:
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


def _elements(window: _Window) -> Iterator[_Item]:
    """Elements of the array whose first one begins behind ``window.at``, each decoded for itself."""
    begins: set[str] = set()  # first keys of the elements
    number = 0
    while window.skip(" \t\n\r,") not in ("", "]"):
        yield from ((note.place, note) for note in window.notes)
        window.notes.clear()
        number += 1
        place = f"record {number}"
        if len(begins) < _LOOK_AHEAD and (found := _FIRST_KEY.match(window.text, window.at)):
            begins.add(found[1])
        try:
            value = window.decode()
        except (ValueError, RecursionError) as error:
            yield place, Remark(place, f"not valid JSON: {error}")
            if not window.resume(max(window.at + 1, getattr(error, "pos", 0)), begins):
                return
            continue
        yield place, value if isinstance(value, dict) else Remark(place, "not a JSON object")
