"""Lenses that grade by cues: phrases and patterns that count for or against a label.

A label's log-odds are a bias plus the sum over its cues of ``weight * min(occurrences, most)``: one mannerism
repeated all over a long text cannot decide alone. Its grade is ``1 / (1 + exp(-log-odds))``. Cues are data:
``data/NAME.toml`` has one table per cue under its label, see :func:`cue`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import mul
from typing import Literal

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.papers.text.sentences import lead_field, split_sentences
from aspectra.views.lenses._data import load_data
from aspectra.views.lenses._features import Features, logistic
from aspectra.views.lenses._layout import Layout, layout
from aspectra.views.lenses.protocol import LensKind, TextSpan
from aspectra.views.view import Floats

__all__ = ["Cue", "CueLens", "CueTable", "LeadText", "cue", "hardness", "lead_text", "strongest"]

# Characters read: the style of a page shows long before its end.
_MOST = 12_000

# Punctuation becomes a space, one for one, so that offsets stay; apostrophes and hyphens belong to words.
_SPACES = {ord(c): " " for c in '\t\n\r!"#$%&()*+,./:;<=>?@[\\]^_`{|}~“”„«»…—–·•\u00a0\u3000'}
_SPACES[ord("’")] = "'"
_NOT_BORDER = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef\s]")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")

# Letters a word: between talk and popular prose (4.2 to 4.7) and abstracts of papers (5.4 to 6.2).
_MIDDLE = 4.9
_GERMAN_EXTRA = 0.9  # letters that German words are longer by, in text of the same kind
_GERMAN = frozenset("der die das und ist nicht ein eine den dem mit von zu auf für sich auch bei".split())
_GERMAN_SHARE = 0.12
_LEAST_WORDS = 8  # with fewer words their mean length is chance

Where = Literal["anywhere", "title", "start", "line"]


@dataclass(frozen=True, slots=True)
class Cue:
    """Phrases and a pattern that count for (or, with a negative weight, against) a label.

    Attributes:
        weight: added to the log-odds per occurrence.
        most: occurrences that count.
        keys: a word -> the phrases that cannot occur without it, looked up in :attr:`LeadText.plain`.
        open: phrases without a word of their own: beginnings of words, and those of scripts without spaces.
        pattern: looked up in :attr:`LeadText.text`, or None.
        needs: the pattern is tried only where one of these is in the text; () for always.
        signs: characters of which each of ``needs`` holds one, or (): they are found ten times as fast.
        where: ``title`` restricts phrases and pattern to the title; ``start`` matches the pattern where the
            lead begins only, ``line`` at the beginnings of lines only.
    """

    weight: float
    most: int
    keys: Mapping[str, tuple[str, ...]]
    open: tuple[str, ...]
    pattern: re.Pattern[str] | None
    needs: tuple[str, ...]
    signs: frozenset[str]
    where: Where

    def places(self, lead: LeadText) -> list[tuple[int, int]]:
        """(start, end) in ``lead.text`` of the first :attr:`most` occurrences found."""
        out: list[tuple[int, int]] = []
        for phrases in (self.open, *(self.keys[key] for key in self.keys if key in lead.tokens)):
            for phrase in phrases:
                left, right = phrase[0] == " ", phrase[-1] == " "
                for at in self.found(phrase, lead, self.most - len(out)):
                    start = at - 1 + left  # ``plain`` begins with a space of its own
                    out.append((start, start + len(phrase) - left - right))
        return out + self.matches(lead, self.most - len(out))

    def found(self, phrase: str, lead: LeadText, most: int) -> list[int]:
        """Offsets in ``lead.plain`` of the first ``most`` occurrences of a phrase."""
        plain = lead.plain
        stop = len(lead.title) + 2 if self.where == "title" else len(plain)
        out: list[int] = []
        at = plain.find(phrase, 0, stop)
        while at >= 0 and len(out) < most:
            out.append(at)
            at = plain.find(phrase, at + 1, stop)
        return out

    def matches(self, lead: LeadText, most: int) -> list[tuple[int, int]]:
        """(start, end) in ``lead.text`` of the first ``most`` matches of the pattern."""
        text, shift = lead.text, len(lead.title) + 1
        if self.pattern is None or most <= 0 or not _holds(text, self.signs) or not _holds(text, self.needs):
            return []
        if self.where == "start":
            found: Iterable[re.Match[str]] = filter(None, [self.pattern.match(text, shift)])
        elif self.where == "line":
            found = _line_matches(self.pattern, text)
        else:
            found = self.pattern.finditer(text, 0, shift - 1 if self.where == "title" else len(text))
        return [m.span() for m, _ in zip(found, range(most), strict=False)]


def _line_matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Matches that begin where a line begins, not overlapping: much faster than ``^`` in a search."""
    free = start = 0
    while True:
        if start >= free and (found := pattern.match(text, start)):
            yield found
            free = found.end()
        start = text.find("\n", start) + 1
        if not start:
            return


def cue(
    weight: float,
    most: int,
    phrases: Iterable[str] = (),
    pattern: str | Iterable[str] = "",
    needs: Iterable[str] = (),
    where: Where = "anywhere",
) -> Cue:
    """A cue as written in a data file.

    Args:
        weight: as in :class:`Cue`.
        most: as in :class:`Cue`.
        phrases: in lower case, without punctuation; one that ends in ``*`` may go on.
        pattern: a regular expression, or its parts in order.
        needs: as in :class:`Cue`.
        where: as in :class:`Cue`.

    >>> found = cue(1.0, 2, ["we show", "leitfaden*", "问答"])
    >>> found.keys, found.open
    ({'show': (' we show ',)}, (' leitfaden', '问答'))
    """
    keys: dict[str, tuple[str, ...]] = {}
    loose: list[str] = []
    for phrase in map(_bordered, phrases):
        words = phrase.split() if phrase.endswith(" ") else phrase.split()[:-1]
        if words and phrase.startswith(" "):
            key = max(words, key=len)
            keys[key] = (*keys.get(key, ()), phrase)
        else:
            loose.append(phrase)
    joined = "".join(pattern)
    compiled = re.compile(joined, re.MULTILINE) if joined else None
    needs = tuple(needs)
    signs = [next((c for c in need if not c.isalnum() and c != " "), "") for need in needs]
    known = frozenset(signs) if all(signs) else frozenset()
    return Cue(weight, most, keys, tuple(loose), compiled, needs, known, where)


def _holds(text: str, some: Collection[str]) -> bool:
    """Whether the text holds one of the strings; True for no strings."""
    for each in some:  # a loop: any() of a generator takes three times as long
        if each in text:
            return True
    return not some


def _bordered(phrase: str) -> str:
    left = "" if _NOT_BORDER.match(phrase[0]) else " "
    if phrase.endswith("*"):
        return left + phrase[:-1]
    return left + phrase + ("" if _NOT_BORDER.match(phrase[-1]) else " ")


class CueTable:
    """The cues of a lens, looked up in a text all at once.

    Args:
        cues: label -> its cues.
    """

    def __init__(self, cues: Mapping[str, Sequence[Cue]]) -> None:
        self.cues = cues
        every = [c for label in cues for c in cues[label]]
        self._open = [(c, phrase) for c in every for phrase in c.open if phrase.isascii()]
        self._wide = [(c, phrase) for c in every for phrase in c.open if not phrase.isascii()]
        self._patterns = [c for c in every if c.pattern is not None]
        self._keyed: dict[str, list[tuple[Cue, str]]] = {}
        for c in every:
            for key, phrases in c.keys.items():
                self._keyed.setdefault(key, []).extend((c, phrase) for phrase in phrases)

    @classmethod
    def load(cls, name: str) -> CueTable:
        """The table in ``data/NAME.toml``."""
        return cls({label: [cue(**row) for row in rows] for label, rows in load_data(name).items()})

    def add_up(self, lead: LeadText) -> dict[str, float]:
        """Label -> the log-odds that its cues add."""
        counts: dict[int, int] = {}
        phrases = self._open if lead.plain.isascii() else self._open + self._wide
        for key in self._keyed.keys() & lead.tokens.keys():
            phrases = phrases + self._keyed[key]
        plain = lead.plain
        for c, phrase in phrases:
            if phrase in plain:
                counts[id(c)] = counts.get(id(c), 0) + len(c.found(phrase, lead, c.most))
        for c in self._patterns:
            if (have := counts.get(id(c), 0)) < c.most:
                counts[id(c)] = have + len(c.matches(lead, c.most - have))
        return {
            label: sum(c.weight * min(c.most, counts.get(id(c), 0)) for c in cues)
            for label, cues in self.cues.items()
        }


def strongest(cues: Iterable[Cue], lead: LeadText) -> tuple[int, int] | None:
    """The first place of the cue that adds most, or None where none adds anything."""
    best: tuple[float, int, int] | None = None
    for c in cues:
        if c.weight > 0 and (found := c.places(lead)):
            worth = c.weight * len(found)
            if best is None or worth > best[0]:
                best = (worth, *min(found))
    return None if best is None else best[1:]


@dataclass(frozen=True)
class LeadText:
    """A paper's title and lead, prepared once for all lenses that read them.

    Attributes:
        field: of the lead.
        title: as stored.
        lead: as stored, cut after 12,000 characters.
        text: the title, a line break, the lead.
        plain: ``text`` lower-cased, with spaces for punctuation, between two more spaces.
        tokens: what white space separates in ``plain`` -> how often it occurs.
    """

    field: str
    title: str
    lead: str
    text: str
    plain: str
    tokens: Counter[str]

    @cached_property
    def counts(self) -> Counter[str]:
        """Word -> how often it occurs, lower-cased; a Chinese clause is one word."""
        out: Counter[str] = Counter()
        odd = []
        for token, count in self.tokens.items():
            if token.isalpha():
                out[token] = count
            else:
                odd.append(" ".join([token] * count))
        out.update(_WORD.findall(" ".join(odd)))
        return out

    @cached_property
    def words(self) -> int:
        """How many words there are."""
        return self.counts.total()

    @cached_property
    def letters(self) -> int:
        """How many letters these have together."""
        return sum(map(mul, map(len, self.counts), self.counts.values()))

    @cached_property
    def cjk(self) -> float:
        """Share of characters that are Chinese, Japanese or Korean, of all letters."""
        if self.text.isascii():
            return 0.0
        return len(_CJK.findall(self.text)) / max(1, self.letters)

    @cached_property
    def layout(self) -> Layout:
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
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
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
    return LeadText(field, title, lead, text, plain, Counter(plain.split()))


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


class CueLens:
    """A lens of grades on a logistic scale, from the cues in ``data/NAME.toml`` and what a subclass adds.

    A subclass declares ``name``, ``description`` and ``labels``; a paper without text has NaN.
    """

    name: str
    description: str
    labels: tuple[str, ...]
    version = 2
    kind: LensKind = "paper"
    reads: tuple[str, ...] = ("text",)
    default = True

    @cached_property
    def table(self) -> CueTable:
        """The cues; read at the first use, since a search mostly needs the labels alone."""
        return CueTable.load(self.name)

    @cached_property
    def features(self) -> Features:
        """What is read beside the cues, of a lens that has a file of it."""
        return Features(self.name)

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, labels) grades of each paper."""
        return [self._row(paper) for paper in papers]

    def _row(self, paper: Paper) -> Floats:
        lead = lead_text(paper)
        if not lead.text.strip():
            return np.full((1, len(self.labels)), np.nan, np.float32)
        odds = self.odds(paper, lead, self.table.add_up(lead))
        return np.array([[logistic(x) for x in odds]], np.float32)

    def odds(self, paper: Paper, lead: LeadText, added: Mapping[str, float]) -> Iterable[float]:
        """Log-odds of each label.

        Args:
            paper: whose record may be read too.
            lead: its text.
            added: what the cues of each table of the data file add.
        """
        raise NotImplementedError

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """The sentence or line that counts most for the label, or None where only the whole text does."""
        lead = lead_text(paper)
        place = self.place(lead, label)
        return lead.quote(*place) if place else None

    def place(self, lead: LeadText, label: str) -> tuple[int, int] | None:
        """(start, end) in ``lead.text`` of what counts most for the label: the strongest cue."""
        return strongest(self.table.cues.get(label, ()), lead)
