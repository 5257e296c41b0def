"""Texts as plain characters: what cannot be seen is taken out and counted, digits of any script are read.

Papers may carry characters that a person does not see and a model does (zero-width and tag characters, marks
that turn the direction of writing); replies may carry digits in circles or above the line.
"""

from __future__ import annotations

import re
import unicodedata

# Besides every format character (category Cf: zero-width, direction, tags, soft hyphen): characters that
# change or fill others without being seen.
_ALSO_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_KEPT = frozenset("\t\n")


class _Table(dict[int, "str | None"]):
    """A translation table that works out each character when it is first met."""

    def __missing__(self, code: int) -> str | None:
        self[code] = found = self.of(code)
        return found

    def of(self, code: int) -> str | None:
        raise NotImplementedError


class _Hidden(_Table):
    def of(self, code: int) -> str | None:
        character = chr(code)
        if character in _KEPT:
            return character
        kind = unicodedata.category(character)
        if kind == "Cf" or _ALSO_HIDDEN.match(character):
            return None
        if kind == "Cc":
            return " " if character.isspace() else None
        if kind == "Cs":
            return "\ufffd"  # half a pair, from damaged input: no endpoint takes it
        return "\n" if kind in ("Zl", "Zp") else character


_SMALL = "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉"
_SMALL_AFTER = re.compile(rf"(?<=\d)(?=[{_SMALL}])|(?<=[{_SMALL}])(?=\d)")
_BRACKETS = dict(zip("【】〔〕［］⟦⟧〖〗", "[]" * 5, strict=True))


class _Digits(_Table):
    def of(self, code: int) -> str | None:
        character = chr(code)
        if character in _BRACKETS:
            return _BRACKETS[character]
        decimal = unicodedata.decimal(character, None)
        if decimal is not None:
            return str(decimal)
        if character in _SMALL:
            return str(unicodedata.digit(character))
        kind = unicodedata.category(character)
        if kind == "No":  # in a circle, in brackets, with a stop: each is a number by itself
            value = unicodedata.numeric(character)
            return f" {int(value)} " if value == int(value) else character
        folded = unicodedata.normalize("NFKC", character)
        return folded if len(folded) == 1 else character


_HIDDEN, _DIGITS = _Hidden(), _Digits()


def without_hidden(text: str) -> tuple[str, int]:
    r"""The text without characters that are not seen, and how many were taken out or replaced.

    Line ends and tabs stay; other control characters go, or become a space.

    >>> without_hidden("rank\u200b me\U000e0041 first")
    ('rank me first', 2)
    """
    if text.isascii() and text.isprintable():
        return text, 0
    odd = sum(text.count(c) for c in set(text) if _HIDDEN[ord(c)] != c)
    return (text.translate(_HIDDEN), odd) if odd else (text, 0)


def plain_digits(text: str) -> str:
    """The text with digits of every script and shape as 0-9, and wide letters and brackets as plain ones.

    >>> plain_digits("［１２］ > ③ > [¹⁴]")
    '[12] >  3  > [14]'
    """
    if text.isascii():
        return text
    # A small digit after a large one is a footnote or a power, not one more digit of the number.
    return _SMALL_AFTER.sub(" ", without_hidden(text)[0]).translate(_DIGITS)
