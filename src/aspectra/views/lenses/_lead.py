"""Text as lenses read it: title and lead, prepared once for all lenses, and the layout of its lines."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain, count
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.expressions import expression
from aspectra.base.values import Remembered
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


Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

# Characters read: the style of a page shows long before its end.
_MOST = 12_000

# Punctuation becomes a space, one for one, so that offsets stay; apostrophes and hyphens belong to words.
_SPACES = {ord(c): " " for c in '\t\n\r!"#$%&()*+,./:;<=>?@[\\]^_`{|}~“”„«»…—–·•\u00a0\u3000'}
_SPACES[ord("’")] = "'"
_SPACES |= dict.fromkeys(map(ord, "\u2010\u2011"), "-")
# Token -> its words.
_WORDS = Remembered(expression(r"[^\W\d_]+(?:['-][^\W\d_]+)*").findall)
_CJK = expression(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")

# Letters a word: between talk and popular prose (4.2 to 4.7) and abstracts of papers (5.4 to 6.2).
_MIDDLE = 4.9
_GERMAN_EXTRA = 0.9  # letters that German words are longer by, in text of the same kind
_GERMAN = frozenset("der die das und ist nicht ein eine den dem mit von zu auf für sich auch bei".split())
_GERMAN_SHARE = 0.12
_LEAST_WORDS = 8  # with fewer words their mean length is chance


class LeadText(Struct, frozen=True, dict=True):
    """A paper's title and lead, prepared once for all lenses that read them.

    Attributes:
        field: of the lead.
        title: as stored.
        lead: as stored, cut after 12,000 characters.
        text: the title, a line break, the lead.
        plain: ``text`` lower-cased, with spaces for punctuation, between two more spaces.
    """

    field: str
    title: str
    lead: str
    text: str
    plain: str

    @cached_property
    def plain_text(self) -> str:
        """``text``, lower-cased, with its punctuation."""
        return _lower(self.text)

    @cached_property
    def tokens(self) -> frozenset[str]:
        """The strings of ``plain`` between white space."""
        return frozenset(self.plain.split())

    @cached_property
    def layout(self) -> LeadLayout:
        """The lines of the lead."""
        return layout(self.lead)

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


def lead_text(paper: Paper) -> LeadText:
    """A paper's title and lead, prepared for cues."""
    field, lead = lead_field(paper)
    lead = lead[:_MOST]
    text = f"{paper.title}\n{lead}"
    return LeadText(field, paper.title, lead, text, f" {_lower(text).translate(_SPACES)} ")


class Tokens:
    """Tokens of several texts, numbered: facts of a token are worked out once, however often it occurs.

    Args:
        texts: the tokens of each.

    Attributes:
        known: every token -> its number.
        numbers: (tokens,) of all texts, one text after the other.
        ends: (texts + 1,) where each text begins in ``numbers``, and the end of the last.
        rows: (tokens,) the text of each.
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        every = [*texts]
        self.ends = np.cumsum([0, *map(len, every)])
        self.rows = np.repeat(np.arange(len(every)), np.diff(self.ends))
        known: dict[str, int] = defaultdict(count().__next__)
        numbers = map(known.__getitem__, chain.from_iterable(every))
        self.numbers = np.fromiter(numbers, np.int64, len(self.rows))
        self.known = dict(known)

    @cached_property
    def offsets(self) -> Integers:
        """(tokens,) characters before each, where one sign stands between two tokens."""
        sizes = np.array([*map(len, self.known)], np.int64)[self.numbers] + 1
        return np.cumsum(sizes) - sizes

    def each(self, fact: Callable[[str], float]) -> Doubles:
        """(distinct tokens,) the value of each."""
        return np.fromiter(map(fact, self.known), np.float64, len(self.known))

    def sums(self, values: Doubles, among: NDArray[np.bool_] | slice = slice(None)) -> Doubles:
        """(texts,) sum of the values of its tokens; of those ``among`` them."""
        rows, numbers = self.rows[among], self.numbers[among]
        return np.bincount(rows, values[numbers], len(self.ends) - 1).astype(np.float64)

    def any(self, words: frozenset[str]) -> NDArray[np.bool_]:
        """(texts,) whether a text has one of the words between white space."""
        return self.sums(self.each(lambda token: not words.isdisjoint(token.split()))) > 0


def spread(lists: Sequence[Sequence[int]], numbers: Integers) -> tuple[Integers, Integers]:
    """The elements of the lists with these numbers, list after list, and the size of each such list.

    >>> spread([[], [5], [7, 8]], np.array([2, 0, 1, 2]))
    (array([7, 8, 5, 7, 8]), array([2, 0, 1, 2]))
    """
    sizes = np.array([*map(len, lists)], np.int64)
    elements = np.array([*chain.from_iterable(lists)], np.int64)
    each = sizes[numbers]
    # Where a list begins among the elements, less where it begins in the result.
    shifts = (np.cumsum(sizes) - sizes)[numbers] - (np.cumsum(each) - each)
    return elements[np.repeat(shifts, each) + np.arange(each.sum())], each


class LeadBatch:
    """Titles and leads of several papers, whose words are numbered together.

    Args:
        papers: in order.

    Attributes:
        papers: the same.
        leads: of each paper.
    """

    def __init__(self, papers: Sequence[Paper]) -> None:
        self.papers = [*papers]
        self.leads = [*map(lead_text, papers)]

    @cached_property
    def tokens(self) -> Tokens:
        """The strings of ``plain`` between single spaces; those at both ends of a text are empty."""
        return Tokens(lead.plain.split(" ") for lead in self.leads)

    @cached_property
    def written(self) -> Tokens:
        """The strings of ``text`` between white space."""
        return Tokens(lead.text.split() for lead in self.leads)

    @cached_property
    def in_title(self) -> NDArray[np.bool_]:
        """Whether each of ``written`` is of the title."""
        written = self.written
        sizes = np.array([len(lead.title.split()) for lead in self.leads], np.int64)
        return np.arange(len(written.numbers)) < (written.ends[:-1] + sizes)[written.rows]

    @cached_property
    def _within(self) -> dict[str, list[int]]:
        """Word -> numbers of the tokens that it is a word of; a Chinese clause is one word."""
        within: dict[str, list[int]] = {}
        for token, number in self.tokens.known.items():
            for word in _WORDS[token]:
                within.setdefault(word, []).append(number)
        return within

    @cached_property
    def words(self) -> Doubles:
        """(papers,) number of words."""
        return self.tokens.sums(self.tokens.each(lambda token: len(_WORDS[token])))

    @cached_property
    def letters(self) -> Doubles:
        """(papers,) total number of letters of the words."""
        return self.tokens.sums(self.tokens.each(lambda token: len("".join(_WORDS[token]))))

    @cached_property
    def cjk(self) -> Doubles:
        """(papers,) share of characters that are Chinese, Japanese or Korean, of all letters."""
        found = [0 if lead.text.isascii() else len(_CJK.findall(lead.text)) for lead in self.leads]
        return np.array(found) / np.maximum(1, self.letters)

    @cached_property
    def words_of_cjk(self) -> Doubles:
        """(papers,) number of words of a text that is mostly Chinese: 1.6 characters are one."""
        characters = np.array([len(lead.plain) for lead in self.leads], np.float64)
        return self.cjk * characters / 1.6

    def share(self, words: frozenset[str]) -> Doubles:
        """(papers,) share of words that are among ``words``; of at least a dozen, for short texts."""
        values = np.zeros(len(self.tokens.known))
        for word in words:
            for number in self._within.get(word, ()):
                values[number] += 1
        return self.tokens.sums(values) / np.maximum(12, self.words)

    @cached_property
    def hardness(self) -> Doubles:
        """(papers,) letters a word above the middle, -1.5 to 1.5; 0 where words say nothing."""
        mean = self.letters / np.maximum(1, self.words)
        german = np.minimum(1.0, self.share(_GERMAN) / _GERMAN_SHARE)
        above = np.clip(mean - _MIDDLE - _GERMAN_EXTRA * german, -1.5, 1.5)
        return np.where((self.cjk > 0.3) | (self.words < _LEAST_WORDS), 0.0, above)


_LAST: dict[tuple[int, ...], LeadBatch] = {}


def lead_batch(papers: Sequence[Paper]) -> LeadBatch:
    """Titles and leads of papers; kept until others are read, since several lenses read the same papers."""
    key = tuple(map(id, papers))  # of papers that the batch holds
    if (batch := _LAST.get(key)) is None:
        _LAST.clear()
        batch = _LAST[key] = LeadBatch(papers)
    return batch
