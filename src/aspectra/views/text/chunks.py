"""Chunks of full text: consecutive pieces of sections, as exact spans."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from aspectra.base.errors import UsageError
from aspectra.base.expressions import expression

_CHUNK = expression(r"(\d+)([wt])")


class ChunkSize(Struct, frozen=True):
    """Size of full-text chunks: ``250w`` (words between spaces) or ``3000t`` (words and punctuation)."""

    count: int
    unit: str

    @classmethod
    def parse(cls, text: str) -> ChunkSize:
        """From its spelling.

        >>> ChunkSize.parse("250w")
        ChunkSize(count=250, unit='w')
        """
        found = _CHUNK.fullmatch(text.strip())
        if not found or int(found.group(1)) < 20:
            raise UsageError(
                f"{text!r} is no chunk size", why="write 250w for words or 3000t for tokens, at least 20"
            )
        return cls(int(found.group(1)), found.group(2))

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"


_WORDS = expression(r"\S+")
_TOKENS = expression(r"\w+|[^\w\s]")


def _spans(text: str, size: ChunkSize) -> list[tuple[int, int]]:
    pattern = _WORDS if size.unit == "w" else _TOKENS
    places = [(m.start(), m.end()) for m in pattern.finditer(text)]
    if not places:
        return []
    # Pieces of equal length rather than full ones and a crumb.
    pieces = -(-len(places) // size.count)
    cuts = [round(i * len(places) / pieces) for i in range(pieces + 1)]
    return [(places[a][0], places[b - 1][1]) for a, b in pairwise(cuts) if b > a]


def chunk_spans(sections: Sequence[tuple[str, str]], size: ChunkSize) -> list[tuple[int, int, int]]:
    """(section, start, end) of each chunk, in reading order; chunks do not cross sections.

    Args:
        sections: (heading, text) pairs.
        size: the longest chunk.
    """
    return [
        (number, start, end) for number, (_, text) in enumerate(sections) for start, end in _spans(text, size)
    ]


def windows(text: str, words: int) -> list[str]:
    """A text cut into consecutive windows of at most ``words`` words, of nearly equal length."""
    spans = _spans(text, ChunkSize(max(words, 1), "w"))
    return [text[a:b] for a, b in spans] or [text]
