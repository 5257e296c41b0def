"""Values of BibTeX fields: braces and quotes taken off, abbreviations put in, within limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.papers.sources.limits import LIMITS

_MONTHS = "January February March April May June July August September October November December".split()
_EXPANSION = 10  # times its size that a file may expand to, beyond the first 32 Mi characters


class Abbreviations(dict[str, str]):
    """Abbreviations: the months, then ``@string`` in order, which may build on earlier ones.

    A few lines can stand for terabytes: ``@string{b = a # a}`` doubles.

    Args:
        path: the file, for messages.
    """

    def __init__(self, path: Path) -> None:
        super().__init__({month[:3].lower(): month for month in _MONTHS})
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
