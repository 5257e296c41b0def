"""Records of any file with one record per line or element, read strictly and one at a time.

All of the lab reads rows here: corpora and questions of benchmarks, judgements, exports of other engines,
labels, titles. A source of papers reads what it can and remarks on the rest; the lab must
not, because a missing line changes a number. A damaged file or line is an error that names file and line.
"""

from __future__ import annotations

import codecs
import csv
import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput, needs_extra
from aspectra.papers.sources.files import InputFile, read_lines
from aspectra.papers.text.cleaning import clean

Row = Mapping[str, Any]

_BLOCK = 1 << 20
_BLANK = " \t\r\n,"


def text_of(value: object) -> str:
    """An id or text field as clean text; whole numbers stored as floats lose their ``.0``.

    >>> text_of(12.0), text_of(" a "), text_of(None)
    ('12', 'a', '')
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return clean(value)


def first_of(row: Row, names: tuple[str, ...]) -> str:
    """The first of the named fields that holds something, as clean text; "" where none does."""
    return next((text for name in names if (text := text_of(row.get(name)))), "")


def bad_line(path: Path, number: int, why: str) -> BadInput:
    """The error of a line that cannot be used."""
    return BadInput(f"{path}, line {number}: cannot be used", why=why, hint="fetch or export the file again")


def read_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """(line or element number, record), streaming, from a file that is compressed or not.

    The format is told by content: a JSON array, JSON Lines, or a table with a header; Parquet by its name.
    A table is separated by tabs where its header holds one (quotes are text there), else by commas or
    semicolons (fields may be quoted); names of its columns are lower-cased.

    Raises:
        BadInput: the file is empty or damaged, or a line is not a record; line and reason are named.
        MissingExtra: it is Parquet and pyarrow is not installed.
    """
    name = path.name.lower().removesuffix(".zst").removesuffix(".gz")
    if name.endswith(".parquet"):
        yield from enumerate(_parquet_rows(path), 1)
        return
    with InputFile(path) as file:
        head = file.head.lstrip()
    if head.startswith(b"["):
        yield from enumerate(array_items(path), 1)
    elif head.startswith(b"{") or name.endswith((".json", ".jsonl")):
        yield from _json_lines(path)
    else:
        yield from _table(path)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank."""
    empty = True
    for number, line, note in read_lines(path):
        if note is not None:
            raise bad_line(path, number, note.reason)
        if line.strip():
            empty = False
            yield number, line.removeprefix("\ufeff")
    if empty:
        raise BadInput(f"{path} is empty", hint="check that the download or export finished")


def _json_lines(path: Path) -> Iterator[tuple[int, Row]]:
    for number, line in _lines(path):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise bad_line(path, number, f"not valid JSON: {error}") from error
        if not isinstance(value, dict):
            raise bad_line(path, number, "not a JSON object")
        yield number, value


def _table(path: Path) -> Iterator[tuple[int, Row]]:
    lines = _lines(path)
    _, first = next(lines)
    if "\t" in first:
        header = first.split("\t")
        cells_of: Iterator[tuple[int, list[str]]] = ((number, line.split("\t")) for number, line in lines)
    else:
        mark = ";" if first.count(";") > first.count(",") else ","
        header = next(csv.reader([first], delimiter=mark))
        cells_of = _quoted(path, lines, mark)
    names = [name.strip().lower() for name in header]
    for number, cells in cells_of:
        if len(cells) != len(names):
            raise bad_line(path, number, f"{len(cells)} columns instead of {len(names)}")
        yield number, dict(zip(names, cells, strict=True))


def _quoted(path: Path, lines: Iterator[tuple[int, str]], mark: str) -> Iterator[tuple[int, list[str]]]:
    """Cells of a table whose fields may be quoted, and then hold line breaks."""
    number = 0

    def fed() -> Iterator[str]:
        nonlocal number
        for number, line in lines:  # noqa: B007 - read by the loop below
            yield line + "\n"

    try:
        for cells in csv.reader(fed(), delimiter=mark):
            yield number, cells
    except csv.Error as error:
        raise bad_line(path, number, str(error)) from error


def array_items(path: Path) -> Iterator[Mapping[str, Any]]:
    """Objects of a file that is one JSON array, holding one of them at a time.

    Raises:
        BadInput: the file is damaged, is not an array, ends inside it, or an element is not an object.
    """
    decoder = json.JSONDecoder()
    number = 0
    text, at, opened = "", 0, False
    blocks = _blocks(path)
    more = True
    while True:
        while at < len(text) and text[at] in _BLANK:
            at += 1
        if at >= len(text) and more:
            text, at, more = _grow(text, at, blocks)
            continue
        if not opened:
            if text[at : at + 1] != "[":
                raise BadInput(f"{path} is not a JSON array", hint="check that it is the right file")
            opened, at = True, at + 1
            continue
        if text[at : at + 1] == "]":
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            if more:
                text, at, more = _grow(text, at, blocks)
                continue
            place = f"{path}, element {number + 1}"
            raise BadInput(f"{place}: not valid JSON", why=str(error), hint="fetch the file again") from error
        number += 1
        if not isinstance(value, dict):
            raise BadInput(f"{path}, element {number}: not a JSON object")
        yield value


def _grow(text: str, at: int, blocks: Iterator[str]) -> tuple[str, int, bool]:
    """The rest of ``text`` and as much again, 0 as the place to go on, and whether there may be more."""
    parts, size = [text[at:]], 0
    while size <= len(parts[0]):
        block = next(blocks, None)
        if block is None:
            return "".join(parts), 0, False
        parts.append(block)
        size += len(block)
    return "".join(parts), 0, True


def _blocks(path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    with InputFile(path) as file, file.damage():
        stream = file.stream()
        try:
            while raw := stream.read(_BLOCK):
                yield decoder.decode(raw)
            yield decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise BadInput(f"{path} is not UTF-8", why=str(error), hint="fetch it again") from error


def _parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Rows of a Parquet file, a batch at a time.

    Raises:
        MissingExtra: pyarrow is not installed.
        BadInput: the file cannot be read.
    """
    with needs_extra(f"{path.name} is Parquet, which needs pyarrow", "hub"):
        parquet = importlib.import_module("pyarrow.parquet")
    try:
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=512):
            yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} is damaged", why=str(error), hint="fetch it again") from error
