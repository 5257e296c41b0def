"""The terms that a paper has for an aspect, as a person reads them: words and short phrases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from aspectra.views.terms.head import ASPECTS
from aspectra.views.terms.values import PaperTerms

# Chances from which on a word makes a phrase, and is part of one beside it. Outcomes are named less surely.
_LIKELY = {"background": 0.4, "method": 0.4, "result": 0.5}
_BESIDE = 0.1
# Chance times rarity, as a share of the rarest word's, from which a word alone says something.
_SAYS = 0.2
_WHOLE = 0.5  # of the weight of a shorter phrase, from which one that holds it takes its place
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
        named = leader == column
        likely, beside = named & (chances >= _LIKELY[aspect]), chances >= _BESIDE
        runs = _runs(terms, stemmed, likely.tolist(), beside.tolist())
        out[aspect] = Offer(_phrases(terms, stemmed, runs, chances.tolist(), rarity), sum(best) / _SURE_OF)
    return out


def _phrases(
    terms: PaperTerms,
    stemmed: Sequence[tuple[str, ...]],
    runs: Iterable[tuple[int, int]],
    chances: Sequence[float],
    rarity: Callable[[Sequence[str]], float],
) -> tuple[Phrase, ...]:
    rare = {stem: rarity(stem) for stem in set(stemmed)}
    least = _SAYS * max(rare.values(), default=0.0)
    found: dict[tuple[tuple[str, ...], ...], Phrase] = {}
    for first, last in runs:
        key = tuple(stemmed[n] for n in range(first, last) if stemmed[n])
        start, end = terms.spans[first][0], terms.spans[last - 1][1]
        common = len(key) == 1 and max(chances[first:last]) * rare[key[0]] < least
        if common or not any(map(str.isalpha, terms.text[start:end])):
            continue
        weight = sum(chances[n] * rare[stemmed[n]] for n in range(first, last) if stemmed[n]) / len(key)
        held = found.get(key) or Phrase(" ".join(terms.text[start:end].split()), start, 0.0)
        found[key] = Phrase(held.text, held.start, held.weight + weight)
    order = sorted(found.items(), key=lambda one: (-one[1].weight, one[1].start))
    kept: list[tuple[set[tuple[str, ...]], Phrase]] = []
    for key, phrase in order:
        words = set(key)
        if any(words <= known for known, _ in kept):  # said already, in more words
            continue
        fewer = next((n for n, (known, _) in enumerate(kept) if known < words), None)
        if fewer is None or phrase.weight < _WHOLE * kept[fewer][1].weight:
            kept.append((words, phrase))
        else:  # the whole of what was said in part
            kept[fewer] = (words, replace(phrase, weight=kept[fewer][1].weight))
    return tuple(phrase for _, phrase in kept)


def _runs(
    terms: PaperTerms, stemmed: Sequence[tuple[str, ...]], likely: Sequence[bool], beside: Sequence[bool]
) -> list[tuple[int, int]]:
    """(first, end) of runs with nothing but a blank or a hyphen between their words.

    Each holds a likely word; words beside it belong to it where they are ``beside``, and the rest of its
    hyphened words always does. Stop words at the ends are left out, and long runs are cut.
    """
    spans, count = terms.spans, len(stemmed)
    joints = [terms.text[end:start] for (_, end), (start, _) in pairwise(spans)]

    def joined(left: int, *, part: bool = False) -> bool:
        return 0 <= left < count - 1 and joints[left] in (_JOINTS[1:] if part else _JOINTS)

    out: list[tuple[int, int]] = []
    taken = 0
    for word in range(count):
        if word < taken or not (likely[word] and stemmed[word]):
            continue
        first, end = word, word + 1
        while first > taken and (
            joined(first - 1, part=True)
            or (joined(first - 1) and beside[first - 1] and end - first < _LONGEST)
        ):
            first -= 1
        while joined(end - 1, part=True) or (joined(end - 1) and beside[end] and end - first < _LONGEST):
            end += 1
        while not (stemmed[end - 1] or joined(end - 2, part=True)):
            end -= 1
        while not (stemmed[first] or joined(first, part=True)):
            first += 1
        out.append((first, end))
        taken = end
    return out
