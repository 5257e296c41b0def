"""Pieces read again in the light of their neighbours, and the segments of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from aspectra.search.instructions.grammar.lexicon import word_sets
from aspectra.search.instructions.grammar.pieces import Piece
from aspectra.search.instructions.grammar.tokens import DELIMITERS

__all__ = ["RELATIVE", "segments", "settle"]

RELATIVE = frozenset("that which who whose where die".split())
_WORDS = word_sets("settling")
_WRITES = _WORDS["writes"]
_TAKES = _WORDS["takes"]
_OUT = frozenset(["out", "off", "away", "aside"])


def segments(pieces: Sequence[Piece]) -> Iterator[tuple[int, int, str, int]]:
    """(first, last, delimiter before, sentence) of each segment that has pieces."""
    first, before, sentence = 0, "stop", 0
    for at, piece in enumerate(pieces):
        if piece.category not in DELIMITERS:
            if at > first and not pieces[at - 1].covered and _first_person(pieces[at : at + 2]):
                yield first, at, before, sentence
                first, before = at, "comma"
            continue
        if first < at:
            yield first, at, before, sentence
            before = piece.category
        elif DELIMITERS.index(piece.category) < DELIMITERS.index(before):
            before = piece.category
        first = at + 1
        if piece.category == "stop":
            sentence += 1
            before = "stop"
    if first < len(pieces):
        yield first, len(pieces), before, sentence


def _first_person(pieces: Sequence[Piece]) -> bool:
    """Whether somebody begins to ask: *As a cardiologist | I need ...*."""
    if pieces[0].low == "i":
        return len(pieces) > 1 and (pieces[1].rules or pieces[1].category == "open")
    return pieces[0].low.startswith(("i ", "i'")) and pieces[0].category != "func"


def _named(name: Piece, before: Piece) -> bool:
    """Whether what stands before a name lets it be one: *papers by X*, *only from X*."""
    if name.attribute == "source":
        return before.rules
    return before.rules or before.carries or before.category in ("doc", "open")


def _parentheses(pieces: Sequence[Piece]) -> list[Piece]:
    """Brackets around a wish part it from its surroundings; all others belong to the subject."""
    out = list(pieces)
    opened = -1
    for at, piece in enumerate(pieces):
        if piece.category != "bracket":
            continue
        if piece.low in "([（【":
            opened = at
            out[at] = replace(piece, category="func")
        elif opened >= 0:
            inside = pieces[opened + 1 : at]
            if any(p.carries for p in inside) and all(p.covered for p in inside):
                out[opened] = pieces[opened]
            else:
                out[at] = replace(piece, category="func")
            opened = -1
        else:
            out[at] = replace(piece, category="func")
    return out


def settle(pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces that need company and have none are plain words."""
    pieces = _parentheses(pieces)
    out = list(pieces)
    aspects = [p for p in pieces if p.category == "aspect"]
    known = len(aspects) > 1 or any(p.sure for p in aspects) or any(p.value == "seed" for p in pieces)
    for first, last, _, _ in segments(pieces):
        others = all(p.covered for p in pieces[first:last])
        for at in range(first, last):
            piece = pieces[at]
            if piece.category == "open" and at > first and " " not in piece.low:
                if pieces[at - 1].carries:
                    out[at] = replace(piece, category="word")
                elif pieces[at - 1].low in RELATIVE | {"the", "this", "my", "a"}:
                    out[at] = replace(piece, category="func")
            if (
                piece.category == "name"
                and not piece.sure
                and at > first
                and not _named(piece, pieces[at - 1])
            ):
                out[at] = replace(piece, category="word", attribute="", values=())
            if (
                piece.attribute == "audience"
                and at + 1 < last
                and pieces[at + 1].low.split(" ")[0] in _WRITES
            ):
                out[at] = replace(
                    piece, category="func", attribute="", values=()
                )  # who writes, not who reads
            if (
                piece.category == "perm"
                and piece.low.startswith("any ")
                and at + 1 < last
                and pieces[at + 1].category == "neg"
            ):
                out[at] = replace(piece, category="func")  # "any language but ..."
            if piece.category == "label":
                leads = at == last - 1 or "lead" in piece.marks
                out[at] = replace(piece, category="topic" if leads else "word")
            if piece.low in _TAKES and any(p.low in _OUT for p in pieces[at + 1 : last]):
                out[at] = replace(piece, category="neg", value="strong")
            if piece.category == "aspect" and not (others and known):
                out[at] = replace(piece, category="word", attribute="", values=())
            if (
                piece.category == "mention"
                and at + 1 < last
                and pieces[at + 1].category == "word"
                and pieces[at + 1].tied
            ):
                out[at] = replace(piece, category="word", attribute="", values=())
    return out
