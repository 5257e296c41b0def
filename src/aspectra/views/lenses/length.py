"""How long a paper's stored text is: raw counts, comparable between scripts.

The text is the abstract and all sections; the title is counted only where there is nothing else. The pages of
a paper are those that its record states, else those that its full text would fill. Counts are raw: what is
short or long is decided by the condition (see :mod:`aspectra.search.conditions.attributes.labels.length`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.papers.text.sentences import split_sentences
from aspectra.views.lenses.protocol import LENSES, LensKind, TextSpan
from aspectra.views.view import Floats

WORDS_PER_PAGE = 500  # of a paper: two narrow columns hold some 900, a manuscript 300

# Words of an alphabetic script that one character is worth to a reader. A Chinese word has 1.6 characters
# on average; Japanese spells endings and particles in kana, so that a sentence takes more characters.
HAN_WORDS = 0.6
_KANA_WORDS = 0.4
_UNSPACED_WORDS = 0.2  # Thai, Lao, Khmer and Burmese: letters, five to a word, without spaces between words

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_KANA = re.compile("[\u3041-\u30ff\u31f0-\u31ff]")
_UNSPACED = re.compile("[\u0e01-\u0e4e\u0e81-\u0edd\u1000-\u109f\u1780-\u17d3]")
_LETTER = re.compile(r"[^\W_]")
_BREAK = re.compile(r"\n[^\S\n]*\n")


def _words_and_characters(text: str) -> tuple[float, int]:
    """Words as a reader counts them, and characters that are not white space."""
    tokens = text.split()
    characters = sum(map(len, tokens))
    words = 0.0
    if not text.isascii():
        for pattern, worth in ((_HAN, HAN_WORDS), (_KANA, _KANA_WORDS), (_UNSPACED, _UNSPACED_WORDS)):
            text, count = pattern.subn(" ", text)
            words += worth * count
        tokens = text.split()
    return words + sum(token.isalnum() or _LETTER.search(token) is not None for token in tokens), characters


def _sentences(text: str) -> int:
    return sum(_LETTER.search(text, start, end) is not None for start, end in split_sentences(text))


def _paragraphs(text: str) -> int:
    if "\n" not in text:
        return int(_LETTER.search(text) is not None)
    return sum(_LETTER.search(block) is not None for block in _BREAK.split(text))


def _texts(paper: Paper) -> Iterator[str]:
    found = False
    for text in (paper.abstract, *(section.text for section in paper.sections)):
        if text.strip():
            found = True
            yield text
    if not found:
        yield paper.title


_RANGE = re.compile(r"\D{0,3}(\d{1,6})\s?[-–—]{1,2}\s?\D{0,3}(\d{1,6})")
_STATED = re.compile(r"\b(\d{1,4})\+?\s?(?:pages?|pp)\b", re.IGNORECASE)
_MOST_PAGES = 5000


def stated_pages(paper: Paper) -> float:
    """Pages by the record: a range, their number, or the author's remark; NaN where it has none."""
    metadata = paper.metadata
    for name in ("numpages", "pagetotal", "number-of-pages", "number_of_pages", "num_pages"):
        value = str(metadata.get(name, ""))
        if value.isdecimal() and 0 < int(value) <= _MOST_PAGES:
            return float(value)
    if found := _RANGE.fullmatch(str(metadata.get("pages", "")).strip()):
        first, last = found.groups()
        if len(last) < len(first):
            last = first[: len(first) - len(last)] + last  # 1187-94
        if 0 <= int(last) - int(first) < _MOST_PAGES:
            return float(int(last) - int(first) + 1)
    if found := _STATED.search(str(metadata.get("comments", ""))[:500]):
        return float(found[1])
    return math.nan


class LengthLens:
    """Words, characters, sentences and paragraphs of the stored text, and pages of the paper, as counts.

    ``words`` counts runs between spaces that hold a letter or digit; a Han character counts as 0.6 words,
    kana as 0.4 and a letter of a script without spaces as 0.2. ``characters`` are all but white space.
    ``sentences`` are those of :func:`~aspectra.papers.text.sentences.split_sentences`; ``paragraphs`` are
    blocks between blank lines, at least one to a section. ``pages`` are NaN where neither the record states
    them nor the full text is stored. A paper without any text has NaN everywhere.
    """

    name = "length"
    description = "how long a text is: words, characters, sentences, paragraphs, pages"
    default = True
    version = 2
    kind: LensKind = "paper"
    labels: tuple[str, ...] = ("words", "characters", "sentences", "paragraphs", "pages")
    reads: tuple[str, ...] = ("text", "sections", "metadata")

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, 5) counts >= 0 of each paper, or NaN."""
        return [self._row(paper) for paper in papers]

    def _row(self, paper: Paper) -> Floats:
        counts = np.zeros((1, 5), np.float32)
        for text in _texts(paper):
            if text.strip():
                counts += (*_words_and_characters(text), _sentences(text), _paragraphs(text), 0)
        if not counts[0, 1]:
            counts[:] = np.nan
            return counts
        counts[0, 4] = stated_pages(paper)
        if paper.has_full_text and np.isnan(counts[0, 4]):
            counts[0, 4] = counts[0, 0] / WORDS_PER_PAGE
        return counts

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """None: a length is of the whole."""
        return None


LENSES.register("length")(LengthLens())
