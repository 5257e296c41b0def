"""The text that lenses of cues read: a paper's title and lead, prepared once for all of them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import mul

from aspectra.papers.paper import Paper
from aspectra.papers.text.structure import lead_field, split_sentences, trimmed
from aspectra.views.lenses._layout import Layout, layout
from aspectra.views.lenses.protocol import TextSpan

# Characters read: the style of a page shows long before its end.
_MOST = 12_000

# Punctuation becomes a space, one for one, so that offsets stay; apostrophes and hyphens belong to words.
_SPACES = {ord(c): " " for c in '\t\n\r!"#$%&()*+,./:;<=>?@[\\]^_`{|}~“”„«»…—–·•\u00a0\u3000'}
_SPACES[ord("’")] = "'"
_SPACES |= dict.fromkeys(map(ord, "\u2010\u2011"), "-")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")

# Letters a word: between talk and popular prose (4.2 to 4.7) and abstracts of papers (5.4 to 6.2).
_MIDDLE = 4.9
_GERMAN_EXTRA = 0.9  # letters that German words are longer by, in text of the same kind
_GERMAN = frozenset("der die das und ist nicht ein eine den dem mit von zu auf für sich auch bei".split())
_GERMAN_SHARE = 0.12
STEM = 4  # letters by which beginnings of words are looked up
_LEAST_WORDS = 8  # with fewer words their mean length is chance


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
    def plain_text(self) -> str:
        """``text``, lower-cased, with its punctuation."""
        return _lower(self.text)

    @cached_property
    def keys(self) -> frozenset[str | tuple[str, str]]:
        """The tokens, and every two in a row."""
        tokens = self.plain.split()
        return frozenset(itertools.chain(tokens, itertools.pairwise(tokens)))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The first :data:`STEM` letters of the tokens."""
        return frozenset([token[:STEM] for token in self.tokens])

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
