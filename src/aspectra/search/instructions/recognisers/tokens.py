"""Tokens of an instruction, with exact offsets into its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from aspectra.base.expressions import HAN, Expression

# Kinds of delimiters, from the loosest tie between their sides to the closest.
DELIMITERS = ("stop", "semicolon", "colon", "dash", "bracket", "comma")

_QUOTED = (
    r"“[^”\n]{1,120}”|„[^“”\n]{1,120}[“”]|\"[^\"\n]{1,120}\"|«[^»\n]{1,120}»|「[^」\n]{1,120}」|『[^』\n]{1,120}』"
    r"|《[^》\n]{1,120}》|‘[^’\n]{1,120}’(?!\w)|`[^`\n]{1,120}`|(?<![\w'’])'(?=[^\s'])[^'\n]{1,120}?(?<=[^\s'])'(?!\w)"
)
# A full stop without a blank behind it ends a sentence before a word that begins a request: "weight.Please".
_BEGINS = (
    "Please|I|Avoid|Exclude|Only|No|Nothing|Not|Don|Do|Prefer|Give|Show|Find|Use|Provide|Include|Limit|Make"
)
_WITHIN = rf"(?:['’&+_]|(?<![a-z]{{3}})\.|\.(?!(?:{_BEGINS})[\s'’]))"
_PARTS = {
    "quote": _QUOTED,
    "option": r"(?<![\w-])--?[^\W\d_][\w-]*",
    "number": r"\d{1,3}(?:,\d{3})+(?![\w])|\d+(?![^\W\d_\u3400-\u9fff]|_)",
    "han": rf"[{HAN}]+",
    "elision": r"(?:[dlnsjcmDLNSJCM]|[Qq]u)['’](?=[^\W\d_]|$)",
    "word": rf"[^\W_\u3400-\u9fff]+(?:{_WITHIN}(?=[^\W_\u3400-\u9fff])[^\W_\u3400-\u9fff]+)*(?:[+#]+(?!\w))?",
    "stop": r"[.!?…。！？]+|\n\s*",
    "semicolon": r"[;；]|(?<=\s)\|(?=\s)",
    "colon": r"[:：]",
    "dash": r"(?<=\s)[-–—]+(?=\s)|—",
    "bracket": r"[()\[\]（）【】]",
    "comma": r"[,，、]",
    "hyphen": r"[-‐‑–]",
    "mark": r"[^\s]",
}
_TOKEN = Expression("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PARTS.items()))


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: a name in ``_PARTS`` (but ``hyphen``, which only ties its neighbours).
        start, end: where it stands in the text.
        low: its text in lower case.
        tied: whether a hyphen, and no white space, stands before it.
    """

    kind: str
    start: int
    end: int
    low: str
    tied: bool = False


def fold(text: str) -> str:
    """Lower case with plain apostrophes and spaces, every character still at its place.

    >>> fold("Don’t")
    "don't"
    """
    folded = text.lower()
    if len(folded) != len(text):  # some letters grow: İ
        folded = "".join(new if len(new := c.lower()) == 1 else c for c in text)
    return folded.replace("’", "'").replace("\u00a0", " ")


def tokenise(text: str, words_of_han: Callable[[str], list[int]]) -> list[Token]:
    """Cut a text.

    Args:
        text: any text.
        words_of_han: cuts a run of Han characters: the lengths of its words.

    >>> [t.low for t in tokenise("Non-English, please.", lambda run: [len(run)])]
    ['non', 'english', ',', 'please', '.']
    """
    low = fold(text)
    out: list[Token] = []
    tie = -1
    for match in _TOKEN.finditer(text):
        kind, (start, end) = str(match.lastgroup), match.span()
        if kind == "hyphen":
            tie = end if start > 0 and not text[start - 1].isspace() else -1
            continue
        if kind == "han":
            for length in words_of_han(match.group()):
                out.append(Token("word", start, start + length, low[start : start + length]))
                start += length
        else:
            kind = "word" if kind == "elision" else kind
            out.append(Token(kind, start, end, low[start:end], tied=tie == start))
    return out
