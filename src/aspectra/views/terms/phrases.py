"""The terms that a paper has for an aspect, as a person reads them: words and short phrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aspectra.views.terms.head import ASPECTS
from aspectra.views.terms.values import PaperTerms

_LIKELY = 0.3  # chance from which on a word is part of a phrase
_SURE_OF = 3  # words that say how sure a paper's terms are
_JOINTS = (" ", "-", "\u2010", "\u2011")
_LONGEST = 5  # words


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that follow each other and name the same aspect.

    Attributes:
        text: as it first occurs.
        start: of that occurrence, in characters of the encoded text.
        weight: sum over its occurrences of the mean of chance times rarity of its words.
    """

    text: str
    start: int
    weight: float


@dataclass(frozen=True, slots=True)
class Offer:
    """What a paper has for an aspect.

    Attributes:
        phrases: strongest first.
        sure: mean of the three highest chances of different words, 0 to 1.
    """

    phrases: tuple[Phrase, ...] = ()
    sure: float = 0.0


def offers_of(
    terms: PaperTerms, stems: Callable[[str], Sequence[str]], rarity: Callable[[Sequence[str]], float]
) -> dict[str, Offer]:
    """What a paper offers for each aspect.

    Args:
        terms: of the paper.
        stems: word -> its stems; () for a stop word.
        rarity: stems of a word -> how rare it is in the library.
    """
    words = terms.words
    stemmed = [tuple(stems(word)) for word in words]
    leader = terms.chances.argmax(axis=1) if len(words) else np.zeros(0, np.int64)
    out = {}
    for column, aspect in enumerate(ASPECTS):
        chances = terms.chances[:, column]
        highest: dict[tuple[str, ...], float] = {}
        for stem, chance in zip(stemmed, chances.tolist(), strict=True):
            if stem:
                highest[stem] = max(chance, highest.get(stem, 0.0))
        best = sorted(highest.values(), reverse=True)[:_SURE_OF]
        likely = (leader == column) & (chances >= _LIKELY)
        out[aspect] = Offer(_phrases(terms, stemmed, likely, chances.tolist(), rarity), sum(best) / _SURE_OF)
    return out


def _phrases(
    terms: PaperTerms,
    stemmed: Sequence[tuple[str, ...]],
    likely: Sequence[bool],
    chances: Sequence[float],
    rarity: Callable[[Sequence[str]], float],
) -> tuple[Phrase, ...]:
    found: dict[tuple[tuple[str, ...], ...], Phrase] = {}
    for first, last in _runs(terms, stemmed, likely):
        key = tuple(stemmed[n] for n in range(first, last) if stemmed[n])
        weight = sum(chances[n] * rarity(stemmed[n]) for n in range(first, last) if stemmed[n]) / len(key)
        start, end = terms.spans[first][0], terms.spans[last - 1][1]
        held = found.get(key) or Phrase(" ".join(terms.text[start:end].split()), start, 0.0)
        found[key] = Phrase(held.text, held.start, held.weight + weight)
    order = sorted(found.items(), key=lambda one: (-one[1].weight, one[1].start))
    kept: list[tuple[set[tuple[str, ...]], Phrase]] = []
    for key, phrase in order:
        if not any(set(key) <= known for known, _ in kept):  # said already, in more words
            kept.append((set(key), phrase))
    return tuple(phrase for _, phrase in kept)


def _runs(
    terms: PaperTerms, stemmed: Sequence[tuple[str, ...]], likely: Sequence[bool]
) -> list[tuple[int, int]]:
    """(first, end) of runs of likely words with nothing but a blank or a hyphen between them.

    Stop words at their ends are left out, and long runs are cut.
    """
    out: list[tuple[int, int]] = []
    first = 0
    while first < len(stemmed):
        if not (likely[first] and stemmed[first]):
            first += 1
            continue
        end = first + 1
        while end < len(stemmed) and likely[end] and end - first < _LONGEST:
            if terms.text[terms.spans[end - 1][1] : terms.spans[end][0]] not in _JOINTS:
                break
            end += 1
        last = end
        while not stemmed[last - 1]:
            last -= 1
        out.append((first, last))
        first = end
    return out
