"""Text as lenses read it: title and lead, prepared once for all lenses, and the layout of its lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import filterfalse
from operator import add, itemgetter, mul
from typing import Literal, NamedTuple

from msgspec import Struct

from aspectra.base.expressions import expression
from aspectra.papers.paper import Paper
from aspectra.papers.text.structure import lead_field, split_sentences, trimmed
from aspectra.views.lenses.protocol import TextSpan, load_data

# What kind of lines a text is made of: code, comments, items, options, headings, prose.
#
# Lines are told apart by their marks alone, so that it works in any language. One pass; a text of a single
# line, as most abstracts are, costs next to nothing.

LineKind = Literal[
    "answer", "clause", "code", "comment", "heading", "item", "option", "prose", "question", "quote", "turn"
]


class LeadLine(NamedTuple):
    """A line that is not blank: ``text[start:end]``, without its line break."""

    kind: LineKind
    start: int
    end: int


class LeadLayout(Struct, frozen=True, dict=True):
    """The lines of a text, blank lines and fences left out."""

    lines: tuple[LeadLine, ...]

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
        """Number of lines of these kinds."""
        return sum(self.counts.get(kind, 0) for kind in kinds)

    def share(self, *kinds: LineKind) -> float:
        """Share of the lines that are of one of the kinds, 0 without lines."""
        return self.number(*kinds) / max(1, len(self.lines))

    def weight(self, *kinds: LineKind) -> float:
        """Share of the characters in lines of the kinds."""
        return sum(self.weights.get(kind, 0) for kind in kinds) / max(1, sum(self.weights.values()))

    def first(self, *kinds: LineKind) -> LeadLine | None:
        """The first line of one of the kinds."""
        return next((line for line in self.lines if line.kind in kinds), None)


_LONGEST_CLAUSE = 250  # characters; longer lines are numbered paragraphs
_OPTION_REACH = 100  # characters in which an option and its arguments end
_CLOSERS = " \t\r\"'”’“‘»)」』*_"
_LONGEST_COMMAND = 300  # characters; longer lines are paragraphs


@cache
def _marks() -> dict[str, re.Pattern[str]]:
    """The patterns of ``data/layout.toml``; compiled at the first use."""
    return {name: re.compile(pattern) for name, pattern in load_data("layout").items()}


def _is(mark: str, line: str) -> bool:
    """True if a line begins with a mark."""
    return _marks()[mark].match(line) is not None


def _ends_with(line: str, marks: str) -> bool:
    return line.rstrip(_CLOSERS)[-1:] in marks if line.strip(_CLOSERS) else False


def _ends_sentence(line: str) -> bool:
    return _ends_with(line, ".!?。！？…")


def asks(line: str) -> bool:
    """True if a line ends in a question mark, apart from quotes, emphasis and a name in brackets."""
    if line.rstrip().endswith((")", "）")):
        line = line[: max(line.rfind("("), line.rfind("（"))]
    return _ends_with(line, "?？")


def _is_option(line: str) -> bool:
    flag = _marks()["flag"].match(line)
    if flag is None:
        return False
    described = _marks()["described"].search(line, flag.end(), flag.end() + _OPTION_REACH)
    return described is not None and line.count(" ", flag.end(), described.start()) <= 3


def _looks_like_code(line: str) -> bool:
    if _is("prompt", line) or _is("ticked", line):
        return True
    if len(line) > _LONGEST_COMMAND or not _marks()["code"].search(line):
        return False
    words = max(1, line.count(" "))
    spoken = len(_marks()["function_words"].findall(line))
    # In prose every third or fourth word is a function word; a stop at the end makes it a sentence.
    return spoken <= (0 if _ends_sentence(line) else 0.15 * words)


def _outside(line: str) -> LineKind | None:
    """The kind of a line outside code fences by its own marks, None for prose and ``#`` lines."""
    found: LineKind | None = None
    if len(line) <= _LONGEST_CLAUSE and _is("clause", line):
        found = "clause"
    elif _is_option(line):
        found = "option"
    elif _is("bullet", line) or _is("number", line):
        found = "item"
    elif _is("question", line):
        found = "question"
    elif _is("answer", line):
        found = "answer"
    elif _is("quote", line):
        found = "quote"
    elif _looks_like_code(line) or (_is("indented", line) and not _ends_sentence(line)):
        found = "code"
    elif line.lstrip().startswith(("//", "/*", "<!--")):
        found = "comment"
    elif _is("turn", line):
        found = "turn"
    elif line.isupper() and len(line.strip()) <= 60 and not _ends_sentence(line):
        found = "heading"
    return found


def _fenced(line: str) -> LineKind:
    if _is_option(line):
        return "option"
    return "comment" if _is("comment", line) else "code"


def _hash_runs(rows: list[str], kinds: list[LineKind | None]) -> None:
    """Decide for each run of ``# ...`` lines: comments of the code below them, or headings of a page.

    A comment stands directly above its command; a heading has a blank line or prose below it.
    """
    at = 0
    while at < len(rows):
        if kinds[at] is not None or not _is("hash", rows[at]):
            at += 1
            continue
        stop = at
        while stop < len(rows) and kinds[stop] is None and _is("hash", rows[stop]):
            stop += 1
        below = rows[stop] if stop < len(rows) else ""
        commands = stop < len(rows) and (
            kinds[stop] == "code"
            or (
                kinds[stop] in (None, "turn")
                and (_is("plain_command", below) or rows[stop - 1].rstrip().endswith((":", "：")))
                and not _marks()["function_words"].search(below)
                and not _ends_sentence(below)
            )
        )
        comments = commands or stop - at > 1
        for i in range(at, stop):
            kinds[i] = "comment" if comments else "heading"
        while commands and stop < len(rows) and rows[stop].strip() and kinds[stop] in (None, "code", "turn"):
            kinds[stop] = "code"
            stop += 1
            if stop < len(rows) and _is("hash", rows[stop]):
                break
        at = stop


def layout(text: str) -> LeadLayout:
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
        elif _is("fence", row):
            fence = not fence
            skipped.add(i)
        elif fence:
            kinds[i] = _fenced(row)
        elif _is("underline", row):
            skipped.add(i)
            if i and kinds[i - 1] is None and i - 1 not in skipped:
                kinds[i - 1] = "heading"
        else:
            kinds[i] = _outside(row)
    if "question" not in kinds:  # "A." is then the first of several points
        kinds = [
            "item" if k == "answer" and _is("letter_a", r) else k for k, r in zip(kinds, rows, strict=True)
        ]
    if "#" in text:
        _hash_runs(rows, kinds)
    lines = []
    start = 0
    for i, row in enumerate(rows):
        if i not in skipped:
            lines.append(LeadLine(kinds[i] or "prose", start, start + len(row)))
        start += len(row) + 1
    return LeadLayout(tuple(lines))


# Characters read: the style of a page shows long before its end.
_MOST = 12_000

# Punctuation becomes a space, one for one, so that offsets stay; apostrophes and hyphens belong to words.
_SPACES = {ord(c): " " for c in '\t\n\r!"#$%&()*+,./:;<=>?@[\\]^_`{|}~“”„«»…—–·•\u00a0\u3000'}
_SPACES[ord("’")] = "'"
_SPACES |= dict.fromkeys(map(ord, "\u2010\u2011"), "-")
_WORD = expression(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_CJK = expression(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")

# Letters a word: between talk and popular prose (4.2 to 4.7) and abstracts of papers (5.4 to 6.2).
_MIDDLE = 4.9
_GERMAN_EXTRA = 0.9  # letters that German words are longer by, in text of the same kind
_GERMAN = frozenset("der die das und ist nicht ein eine den dem mit von zu auf für sich auch bei".split())
_GERMAN_SHARE = 0.12
STEM = 4  # letters by which beginnings of words are looked up
_BEGINNING = itemgetter(slice(STEM))
_LEAST_WORDS = 8  # with fewer words their mean length is chance


class LeadText(Struct, frozen=True, dict=True):
    """A paper's title and lead, prepared once for all lenses that read them.

    Attributes:
        field: of the lead.
        title: as stored.
        lead: as stored, cut after 12,000 characters.
        text: the title, a line break, the lead.
        plain: ``text`` lower-cased, with spaces for punctuation, between two more spaces.
        order: what white space separates in ``plain``.
        tokens: each of these -> how often it occurs.
    """

    field: str
    title: str
    lead: str
    text: str
    plain: str
    order: Sequence[str]
    tokens: Counter[str]

    @cached_property
    def plain_text(self) -> str:
        """``text``, lower-cased, with its punctuation."""
        return _lower(self.text)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The tokens, their first :data:`STEM` letters, and every two in a row."""
        # Two in a row are put together without a loop, and as strings: collections of garbage pass them over.
        pairs = map(add, " \n".join(self.order).split("\n"), self.order[1:])
        return frozenset([*self.tokens, *map(_BEGINNING, self.tokens), *pairs])

    @cached_property
    def written(self) -> Sequence[str]:
        """The strings of ``text`` between white space."""
        return self.text.split()

    @cached_property
    def title_size(self) -> int:
        """Number of these in the title."""
        return len(self.title.split())

    @cached_property
    def odd(self) -> Sequence[str]:
        """The tokens that do not consist of letters alone."""
        return [*filterfalse(str.isalpha, self.tokens)]

    @cached_property
    def counts(self) -> Counter[str]:
        """Word -> how often it occurs, lower-cased; a Chinese clause is one word."""
        out = self.tokens.copy()
        odd = [" ".join([token] * out.pop(token)) for token in self.odd]
        out.update(_WORD.findall(" ".join(odd)))
        return out

    @cached_property
    def words(self) -> int:
        """Number of words."""
        return self.counts.total()

    @cached_property
    def letters(self) -> int:
        """Total number of letters of the words."""
        return sum(map(mul, map(len, self.counts), self.counts.values()))

    @cached_property
    def cjk(self) -> float:
        """Share of characters that are Chinese, Japanese or Korean, of all letters."""
        if self.text.isascii():
            return 0.0
        return len(_CJK.findall(self.text)) / max(1, self.letters)

    @cached_property
    def layout(self) -> LeadLayout:
        """The lines of the lead."""
        return layout(self.lead)

    def share(self, words: frozenset[str]) -> float:
        """Share of the text's words that are among ``words``; of at least a dozen, for short texts."""
        counts = self.counts
        return sum(counts[w] for w in counts.keys() & words) / max(12, self.words)

    def quote(self, start: int, end: int) -> TextSpan | None:
        """The sentence or line of the stored text that holds ``text[start:end]``."""
        shift = len(self.title) + 1
        if start < shift - 1:
            return _trimmed("title", self.title, 0, len(self.title))
        low, high = max(0, start - shift), max(0, end - shift)
        text = self.lead
        line_start = text.rfind("\n", 0, low) + 1
        line_end = text.find("\n", high)
        line_end = len(text) if line_end < 0 else line_end
        for a, b in split_sentences(text[line_start:line_end]):
            if line_start + a <= low < line_start + b:
                return _trimmed(self.field, text, line_start + a, max(line_start + b, min(high, line_end)))
        return _trimmed(self.field, text, line_start, line_end)


def _trimmed(name: str, text: str, start: int, end: int) -> TextSpan | None:
    start, end = trimmed(text, start, end)
    return TextSpan(name, start, end) if start < end else None


def _lower(text: str) -> str:
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # A few letters become two when lower-cased; offsets must stay.
    return "".join(low if len(low := c.lower()) == 1 else c for c in text)


@lru_cache(maxsize=1100)  # several lenses read the same thousand papers one after the other
def _prepared(field: str, title: str, lead: str) -> LeadText:
    text = f"{title}\n{lead}"
    plain = f" {_lower(text).translate(_SPACES)} "
    order = plain.split()
    return LeadText(field, title, lead, text, plain, order, Counter(order))


def lead_text(paper: Paper) -> LeadText:
    """A paper's title and lead, prepared for cues."""
    field, lead = lead_field(paper)
    return _prepared(field, paper.title, lead[:_MOST])


def hardness(lead: LeadText) -> float:
    """Letters a word above the middle, -1.5 to 1.5; 0 where words say nothing."""
    if lead.cjk > 0.3 or lead.words < _LEAST_WORDS:
        return 0.0
    mean = lead.letters / lead.words
    german = min(1.0, lead.share(_GERMAN) / _GERMAN_SHARE)
    return max(-1.5, min(1.5, mean - _MIDDLE - _GERMAN_EXTRA * german))
