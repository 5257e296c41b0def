"""What kind of lines a text is made of: code, comments, items, options, headings, prose.

Lines are told apart by their marks alone, so that it works in any language. One pass; a text of a single
line, as most abstracts are, costs next to nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

__all__ = ["Layout", "Line", "LineKind", "asks", "layout"]

LineKind = Literal[
    "answer", "clause", "code", "comment", "heading", "item", "option", "prose", "question", "quote", "turn"
]


class Line(NamedTuple):
    """A line that is not blank: ``text[start:end]``, without its line break."""

    kind: LineKind
    start: int
    end: int


@dataclass(frozen=True)
class Layout:
    """The lines of a text, blank lines and fences left out."""

    lines: tuple[Line, ...]

    @cached_property
    def counts(self) -> Mapping[LineKind, int]:
        """Lines of each kind; kinds without a line are missing."""
        return Counter(line.kind for line in self.lines)

    @cached_property
    def weights(self) -> Mapping[LineKind, int]:
        """Characters of each kind."""
        out: dict[LineKind, int] = {}
        for line in self.lines:
            out[line.kind] = out.get(line.kind, 0) + line.end - line.start
        return out

    def number(self, *kinds: LineKind) -> int:
        """How many lines are of one of the kinds."""
        return sum(self.counts.get(kind, 0) for kind in kinds)

    def share(self, *kinds: LineKind) -> float:
        """Share of the lines that are of one of the kinds, 0 without lines."""
        return self.number(*kinds) / max(1, len(self.lines))

    def weight(self, *kinds: LineKind) -> float:
        """Share of the characters in lines of the kinds."""
        return sum(self.weights.get(kind, 0) for kind in kinds) / max(1, sum(self.weights.values()))

    def first(self, *kinds: LineKind) -> Line | None:
        """The first line of one of the kinds."""
        return next((line for line in self.lines if line.kind in kinds), None)


_FENCE = re.compile(r"\s*(?:```|~~~)")
_HASH = re.compile(r"\s*#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r"\s*(?:={3,}|-{3,}|\*{3,}|~{3,})\s*$")
_BULLET = re.compile(r"\s*(?:[-*+•·▪◦‣–—]\s+|\[[ xX]\]\s)\S")
_NUMBER = re.compile(
    r"\s*(?:\(?(?:(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)、．]|[A-Z]\))\s*(?!\d)\S"
    r"|[（(][一二三四五六七八九十\d]{1,3}[)）]|[一二三四五六七八九十]{1,3}[、．.]\s*\S"
    r"|第[一二三四五六七八九十\d]{1,3}步|[①-⑳]|(?:[Ss]tep|Schritt)\s+\d+\b)"
)
# 3.1 and 7.2.4: clauses of a document that is meant to be referred to; longer ones are numbered paragraphs.
_LONGEST_CLAUSE = 250
_CLAUSE = re.compile(r"\s*(?:§\s*)?\d{1,2}(?:\.\d{1,2}){1,3}\.?\s+\S")
# "-x, --long  what it does", "/S  what", "-o：what", in man pages and help texts; a mere flag at the start of
# a command line is not followed by a description.
_FLAG = re.compile(r"\s*[*`|]{0,3}(?:--?[A-Za-z\d?#@][\w.+-]*|--?(?=[:：])|\+[A-Za-z]\b|/[A-Z?]{1,3}\b)")
_DESCRIBED = re.compile(r"(?:[:：](?=\s|[^\x00-\x7f])|\s{2,}|\t|\s[—–#]\s|[^\x00-\x7f])\s*\S")
_OPTION_REACH = 100  # characters in which an option and its arguments end
_QUESTION = re.compile(
    r"[*_#>\s]{0,8}(?:Q(?:uestion)?|F(?:rage)?|问题?|提问|(?:Question|Asked|Frage) (?:from|by"
    r"|von) [^:：\n]{2,40})"
    r" ?\d{0,3} ?[*_]{0,2}[:：.)]",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    r"[*_#>\s]{0,8}(?:A(?=[:：.])|(?:\w+ )?(?:Answer|Antwort)(?: \([^)\n]{1,30}\))?|答案?"
    r"|回答) ?\d{0,3} ?[*_]{0,2}[:：.]",
    re.IGNORECASE,
)
_LETTER_A = re.compile(r"\s*[*_]{0,2}[Aa][*_]{0,2}[.:：]")
# "name: text" and "name wrote: text", as threads and interviews have it.
_TURN = re.compile(
    r"\s*+([^\W\d][\w.'’-]{1,24}(?: [\w.'’-]{1,15}){0,2}?)(?: (?:wrote|writes|said|schrieb|写道|说))?"
    r"\s?[:：](?:\s+\S|[^\x00-\x7f])"
)
_QUOTE = re.compile(r"\s*>\s")
_PROMPT = re.compile(r"\s*(?:\$|>>>|PS>|C:\\[^>]*>|\[?\w+@[\w.-]+[^#$\n]{0,40}[#$]|%)\s+\S")
_INDENTED = re.compile(r"(?: {4}|\t)\s*[^\s\-*•\d]")
_TICKED = re.compile(r"\s*`[^`]+`[.:;]?\s*$")
_COMMENT = re.compile(r"\s*(?:#(?!!)|//|/\*|\*/|\*\s|--\s|;;?\s|'\s|%\s|<!--|\(\*|\{-|REM\b|\"\"\")")
_CODE = re.compile(
    r"(?:^|\s)--?[A-Za-z][\w-]*(?=[\s=,\]]|$)|[{};]\s*$|\w\([^)\s]*\)|\s(?:\|\|?|&&|>>?|<<)\s"
    r"|<[a-z][\w_/-]*>|\{\{"
    r"|[\w\])\"']\s*(?::?=|=>|->|\+=|==)\s*[\w\"'\[({$]|(?:^|\s)(?:~|\.{1,2})?/[\w.*-]+|\$[\w{(]|\\$|^\s*@\w+"
    r"|^\s*(?:def|class|import|from|function|var|let|const|return|public|private|static|package|sudo"
    r"|SELECT|INSERT|echo)\s"
)
_PLAIN_COMMAND = re.compile(r"\s*[a-z./~$(\[{\"'<:!][^\s]*(?:\s|$)")
_FUNCTION_WORDS = re.compile(
    r"\b(?:the|is|are|was|were|of|that|which|with|when|you|your|it|its|this|they|have|has|will|can|not|be"
    r"|der|die|das|und|ist|nicht)\b",
    re.I,
)
_CLOSERS = " \t\r\"'”’“‘»)」』*_"
_LONGEST_COMMAND = 300  # characters; longer lines are paragraphs


def _ends_with(line: str, marks: str) -> bool:
    return line.rstrip(_CLOSERS)[-1:] in marks if line.strip(_CLOSERS) else False


def _ends_sentence(line: str) -> bool:
    return _ends_with(line, ".!?。！？…")


def asks(line: str) -> bool:
    """Whether a line ends in a question mark; quotes, emphasis and a name in brackets aside."""
    if line.rstrip().endswith((")", "）")):
        line = line[: max(line.rfind("("), line.rfind("（"))]
    return _ends_with(line, "?？")


def _is_option(line: str) -> bool:
    flag = _FLAG.match(line)
    if flag is None:
        return False
    described = _DESCRIBED.search(line, flag.end(), flag.end() + _OPTION_REACH)
    return described is not None and line.count(" ", flag.end(), described.start()) <= 3


def _looks_like_code(line: str) -> bool:
    if _PROMPT.match(line) or _TICKED.match(line):
        return True
    if len(line) > _LONGEST_COMMAND or not _CODE.search(line):
        return False
    words = max(1, line.count(" "))
    spoken = len(_FUNCTION_WORDS.findall(line))
    # In prose every third or fourth word is a function word; a stop at the end makes it a sentence.
    return spoken <= (0 if _ends_sentence(line) else 0.15 * words)


def _outside(line: str) -> LineKind | None:
    """The kind of a line outside code fences by its own marks, None for prose and ``#`` lines."""
    found: LineKind | None = None
    if len(line) <= _LONGEST_CLAUSE and _CLAUSE.match(line):
        found = "clause"
    elif _is_option(line):
        found = "option"
    elif _BULLET.match(line) or _NUMBER.match(line):
        found = "item"
    elif _QUESTION.match(line):
        found = "question"
    elif _ANSWER.match(line):
        found = "answer"
    elif _QUOTE.match(line):
        found = "quote"
    elif _looks_like_code(line) or (_INDENTED.match(line) and not _ends_sentence(line)):
        found = "code"
    elif line.lstrip().startswith(("//", "/*", "<!--")):
        found = "comment"
    elif _TURN.match(line):
        found = "turn"
    elif line.isupper() and len(line.strip()) <= 60 and not _ends_sentence(line):
        found = "heading"
    return found


def _fenced(line: str) -> LineKind:
    if _is_option(line):
        return "option"
    return "comment" if _COMMENT.match(line) else "code"


def _hash_runs(rows: list[str], kinds: list[LineKind | None]) -> None:
    """Decide for each run of ``# ...`` lines: comments of the code below them, or headings of a page.

    A comment stands directly above its command; a heading has a blank line or prose below it.
    """
    at = 0
    while at < len(rows):
        if kinds[at] is not None or not _HASH.match(rows[at]):
            at += 1
            continue
        stop = at
        while stop < len(rows) and kinds[stop] is None and _HASH.match(rows[stop]):
            stop += 1
        below = rows[stop] if stop < len(rows) else ""
        commands = stop < len(rows) and (
            kinds[stop] == "code"
            or (
                kinds[stop] in (None, "turn")
                and (bool(_PLAIN_COMMAND.match(below)) or rows[stop - 1].rstrip().endswith((":", "：")))
                and not _FUNCTION_WORDS.search(below)
                and not _ends_sentence(below)
            )
        )
        comments = commands or stop - at > 1
        for i in range(at, stop):
            kinds[i] = "comment" if comments else "heading"
        while commands and stop < len(rows) and rows[stop].strip() and kinds[stop] in (None, "code", "turn"):
            kinds[stop] = "code"
            stop += 1
            if stop < len(rows) and _HASH.match(rows[stop]):
                break
        at = stop


def layout(text: str) -> Layout:
    r"""The lines of a text.

    >>> [line.kind for line in layout("# Count lines\nwc -l FILE\n\n- One thing.\n- Another.").lines]
    ['comment', 'code', 'item', 'item']
    """
    rows = text.split("\n")
    kinds: list[LineKind | None] = [None] * len(rows)
    skipped = set()
    fence = False
    for i, row in enumerate(rows):
        if not row.strip():
            skipped.add(i)
        elif _FENCE.match(row):
            fence = not fence
            skipped.add(i)
        elif fence:
            kinds[i] = _fenced(row)
        elif _UNDERLINE.match(row):
            skipped.add(i)
            if i and kinds[i - 1] is None and i - 1 not in skipped:
                kinds[i - 1] = "heading"
        else:
            kinds[i] = _outside(row)
    if "question" not in kinds:  # "A." is then the first of several points
        kinds = [
            "item" if k == "answer" and _LETTER_A.match(r) else k for k, r in zip(kinds, rows, strict=True)
        ]
    if "#" in text:
        _hash_runs(rows, kinds)
    lines = []
    start = 0
    for i, row in enumerate(rows):
        if i not in skipped:
            lines.append(Line(kinds[i] or "prose", start, start + len(row)))
        start += len(row) + 1
    return Layout(tuple(lines))
