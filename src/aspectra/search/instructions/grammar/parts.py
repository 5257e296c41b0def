"""The parts of a text, as values: wishes, subjects, and what is neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from aspectra.search.instructions.grammar.pieces import Piece

__all__ = ["Clauses", "Kind", "Part"]

Kind = Literal["wish", "subject", "bare", "chatter", "unread", "nothing"]


@dataclass(frozen=True, slots=True)
class Part:
    """Neighbouring pieces with one part to play.

    Attributes:
        kind: ``wish``; ``subject`` after words that lead to one, or ``bare``; ``chatter`` about oneself;
            ``unread``: a wish whose words no rule knows; ``nothing``: politeness.
        first, last: range of pieces.
        before: kind of the delimiter in front of its segment, or "" inside one.
        sentence: number of its sentence.
    """

    kind: Kind
    first: int
    last: int
    before: str
    sentence: int


@dataclass(frozen=True, slots=True)
class Clauses:
    """A divided text: pieces (some read again in the light of their neighbours) and parts in order."""

    pieces: tuple[Piece, ...]
    parts: tuple[Part, ...]
