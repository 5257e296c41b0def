"""Style of a text, independent of its topic: function words, runs of characters, habits of punctuation.

The lens keeps raw shares; a view made from it standardises them over the library, see
:mod:`aspectra.views.dense.reverse`. It needs no model and no training. Names are masked first, because
they reveal the topic: every capitalised word inside a sentence becomes one sign. Quotation marks, apostrophes
and dashes are reduced to the plain ones, since the choice between them is the typesetter's habit and not the
writer's.

Sources: standardised frequencies of the commonest words (Burrows, "Delta", 2002), compared by cosine (Smith
and Aldridge 2011; Evert et al. 2017); character n-grams and punctuation as in much work on authorship since
(Stamatatos 2009). The shapes of punctuation, the hashing and the masking are ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from aspectra.papers.paper import Paper
from aspectra.views.lenses.protocol import LENSES, Lens, LensKind, load_data
from aspectra.views.view import Floats

MOST = 40_000  # characters read of a paper: a style is settled long before
WORD_BUCKETS, GRAM_BUCKETS, SHAPE_BUCKETS = 512, 1024, 512
_GRAMS, _SHAPES = (4,), (2, 3, 4, 5)

_PLAIN = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "’": "'", "‘": "'", "—": "-", "–": "-"}
)
_NAME = re.compile(r"(?<=[a-zà-ÿ,;'\-] )(?!I\b)[A-ZÀ-Þ][\w'\-]*")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SPACE = re.compile(r"\s+")
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_PRIME = np.uint64(0x9E3779B97F4A7C15)


class StyleLens(Lens):
    """Square roots of the shares of function words, 4-grams of characters and n-grams of punctuation.

    Columns are buckets of a hash: 512 of function words, 1,024 of character 4-grams and 512 of what is left
    of 2- to 5-grams when every run of letters is one sign. Values go from 0 to 1; a paper without a text of
    its own (a title is too little) has NaN everywhere.
    """

    name = "style"
    description = "how a text is written: function words, runs of characters, punctuation"
    default = False
    kind: LensKind = "vector"
    labels: tuple[str, ...] = tuple(
        f"{group}{number}"
        for group, size in (("word", WORD_BUCKETS), ("gram", GRAM_BUCKETS), ("shape", SHAPE_BUCKETS))
        for number in range(size)
    )
    reads: tuple[str, ...] = ("text", "sections")
    groups = (WORD_BUCKETS, GRAM_BUCKETS, SHAPE_BUCKETS)

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, 2048) shares of each paper, or NaN."""
        return [self.of_text(_body(paper))[None, :] for paper in papers]

    def of_text(self, text: str) -> Floats:
        """(2048,) shares of one text, or NaN where it has no letter."""
        plain = _SPACE.sub(" ", text[:MOST].translate(_PLAIN)).strip()
        if not _LETTERS.search(plain):
            return np.full(len(self.labels), np.nan, np.float32)
        masked = _NAME.sub("N", plain)
        words = _WORD.findall(masked.lower())
        known = function_words()
        buckets = np.array([known[word] for word in words if word in known], np.int64)
        counts = np.bincount(buckets, minlength=WORD_BUCKETS)
        parts = [
            counts / max(1, len(words)),
            _runs(f" {masked.lower()} ", _GRAMS, GRAM_BUCKETS),
            _runs(f" {_DIGITS.sub('0', _LETTERS.sub('a', masked))} ", _SHAPES, SHAPE_BUCKETS),
        ]
        return np.sqrt(np.concatenate(parts)).astype(np.float32)


@cache
def function_words() -> dict[str, int]:
    """Words that carry grammar rather than subject -> their buckets.

    English ones are listed for this lens; of other languages the common words by which the language lens
    tells them apart.
    """
    texts = (load_data("style")["english"], *load_data("language")["words"].values())
    return {word: _bucket(word) for text in texts for word in text.split()}


def _body(paper: Paper) -> str:
    """The paper's own prose, in order, without title and headings."""
    parts, size = [], 0
    for text in (paper.abstract, *(section.text for section in paper.sections)):
        if size >= MOST:
            break
        parts.append(text)
        size += len(text)
    return "\n".join(part for part in parts if part.strip())


def _runs(text: str, lengths: tuple[int, ...], buckets: int) -> NDArray[np.float64]:
    """(buckets,) shares of all runs of these lengths, hashed: the same on every machine."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    counts = np.zeros(buckets)
    total = 0
    for length in lengths:
        places = len(codes) - length + 1
        if places <= 0:
            continue
        mixed = np.full(places, length, np.uint64)
        for shift in range(length):
            mixed = (mixed ^ codes[shift : shift + places]) * _PRIME
            mixed ^= mixed >> np.uint64(29)
        counts += np.bincount((mixed % np.uint64(buckets)).astype(np.int64), minlength=buckets)
        total += places
    return counts / max(1, total)


def _bucket(word: str) -> int:
    return int(_runs(word, (len(word),), WORD_BUCKETS).argmax())


LENSES.register("style")(StyleLens())
