"""Answers that fit: texts and lists are cut to a number of bytes before they are put together.

Sizes are those of JSON with every character beyond ASCII escaped, the longest form that a transport writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

from aspectra.app.terminal.screen import safe
from aspectra.llm.prompts.plain_text import without_hidden

ANSWER = 24_000
"""Most bytes of an answer, with what the protocol puts around it."""

STRUCTURED = 15_000
"""Most bytes of the structured content of an answer that has a short text beside it."""

TEXT = 7_000
"""Most bytes of that text."""

_MARK = "…"
_DOUBLED = frozenset('"\\\n\t')
_LONGEST_HANDLE = 400
T = TypeVar("T")


def plain(text: object) -> str:
    """Text without control characters, marks of direction and other characters that are not seen."""
    return without_hidden(safe(str(text)))[0]


def line(text: object) -> str:
    """The same on one line, so that nothing in it can begin another."""
    return " ".join(plain(text).split())


def size(value: Any) -> int:
    """Bytes of a value as JSON."""
    return len(json.dumps(value, separators=(",", ":")))


def clip(text: str, most: int) -> str:
    """The text, or its beginning and an ellipsis.

    Args:
        text: from :func:`plain`.
        most: bytes that it may have, without its quotes.
    """
    if 12 * len(text) <= most or size(text) - 2 <= most:
        return text
    return text[: room(text, most - 6)].rstrip() + _MARK if most >= 6 else ""


def room(text: str, most: int, start: int = 0) -> int:
    """Position of the first character, from ``start``, that no longer fits into so many bytes."""
    taken = 0
    for place in range(start, min(len(text), start + max(0, most))):
        taken += _bytes(text[place])
        if taken > most:
            return place
    return min(len(text), start + max(0, most))


def _bytes(character: str) -> int:
    code = ord(character)
    if code < 0x80:
        return 2 if character in _DOUBLED else 6 if code < 0x20 else 1
    return 6 if code < 0x10000 else 12


def fitting(items: Iterable[T], most: int) -> list[T]:
    """The first items that have so many bytes together."""
    kept = []
    for one in items:
        most -= size(one) + 1
        if most < 0:
            break
        kept.append(one)
    return kept


def strings(texts: Iterable[str], most: int, each: int = 600) -> list[str]:
    """Lines that are plain, none longer than ``each`` bytes, and together no longer than ``most``."""
    return fitting((clip(line(text), each) for text in texts), most)


def handle(paper_id: str, identifiers: dict[str, str]) -> str:
    """By what a paper is named: its id; its DOI or arXiv id where the id cannot be shown as it is; or ""."""
    others = [f"{scheme}:{identifiers[scheme]}" for scheme in ("doi", "arxiv") if scheme in identifiers]
    for name in (paper_id, *others):
        if name == line(name) and size(name) <= _LONGEST_HANDLE:
            return name
    return ""
