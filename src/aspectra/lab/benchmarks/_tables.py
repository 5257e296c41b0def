"""Rows of files that are not lines: JSON arrays larger than memory, and Parquet where it can be read."""

from __future__ import annotations

import codecs
import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput, MissingExtra
from aspectra.papers.sources.files import DAMAGE, open_bytes

__all__ = ["array_items", "parquet_rows"]

_BLOCK = 1 << 20
_BLANK = " \t\r\n,"


def array_items(path: Path) -> Iterator[Mapping[str, Any]]:
    """Objects of a file that is one JSON array, holding one of them at a time.

    Raises:
        BadInput: the file is damaged, is no array, ends inside it, or an element is no object.
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
                raise BadInput(f"{path} is no JSON array", hint="check that it is the file its name says")
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
    """What is left of ``text`` and as much again, so that a large element is tried few times."""
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
    with open_bytes(path) as stream:
        try:
            while raw := stream.read(_BLOCK):
                yield decoder.decode(raw)
            yield decoder.decode(b"", final=True)
        except (*DAMAGE, UnicodeDecodeError) as error:
            raise BadInput(f"{path} is damaged", why=str(error), hint="fetch it again") from error


def parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Rows of a Parquet file, a batch at a time.

    Raises:
        MissingExtra: pyarrow is not installed.
        BadInput: the file cannot be read.
    """
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtra(
            f"{path.name} is Parquet, which needs pyarrow", hint="pip install aspectra[hub]"
        ) from error
    try:
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=512):
            yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} is damaged", why=str(error), hint="fetch it again") from error
