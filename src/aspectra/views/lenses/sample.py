"""Number of participants of a study: the largest number that title and abstract give for its own people.

Numbers count beside a noun of people ("284 outpatients", "Ten healthy volunteers"), as a total ("a total of
107", "N = 46") or as sizes of groups ("n = 18 per group"), which are added up where there is nothing else.
Numbers of people that were only screened or invited are taken where no other is given. Animals count in
studies without people.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from aspectra.base.values import Remembered
from aspectra.papers.paper import Paper
from aspectra.views.lenses._lead import LeadText, lead_batch, lead_text
from aspectra.views.lenses.protocol import LENSES, Lens, TextSpan, load_data
from aspectra.views.view import Floats

_TOKEN = re.compile(r"[0-9]{1,9}(?:[,\u2009\u202f][0-9]{3})*+(?:\.[0-9]+)?|[^\W\d_]+|[%=.;:()<>≥≤+±-]")
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"[0-9]")
_FILLERS = 6  # words between a number and its noun
_LEAST, _MOST = 2, 10_000_000
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_ONES += " seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: n for n, word in enumerate(_ONES.split())}
_WORDS |= {word: 10 * n for n, word in enumerate(_TENS.split(), 2)}
_DATES = frozenset("in since from until to and between year of during before after by".split())
_EACH = (["per", "group"], ["per", "arm"], ["in", "each"], ["each", ")"])
_SCALES = {"hundred": 100, "thousand": 1000}


class _Token(NamedTuple):
    text: str
    start: int
    end: int


class _Number(NamedTuple):
    """A number in a text: tokens ``first`` to ``last`` of it are its words."""

    value: float
    first: int
    last: int


class _Found(NamedTuple):
    """A number of participants; ``rank`` orders what it was said of, the highest counts."""

    rank: int
    value: float
    start: int
    end: int


@cache
def _words() -> dict[str, frozenset[str]]:
    words = {name: frozenset(text.split()) for name, text in load_data("sample").items()}
    return words | {"everybody": words["people"] | words["animals"]}


# Whether a token has a word for people or animals; of *two-person* the parts count too.
_HAS_PEOPLE = Remembered(lambda token: not _words()["everybody"].isdisjoint(_LETTERS.findall(token)))
# Whether it has a part of a number above one.
_LARGER = (_WORDS.keys() - {"zero", "one"}) | _SCALES.keys()
_HAS_NUMBERS = Remembered(
    lambda token: _DIGIT.search(token) is not None or not _LARGER.isdisjoint(_LETTERS.findall(token))
)


def _numbers(tokens: Sequence[_Token]) -> Iterator[_Number]:
    """The numbers, in figures or words, in order."""
    at = 0
    while at < len(tokens):
        low = tokens[at].text
        if low[0] in "0123456789":
            value = float(re.sub(r"[,\u2009\u202f]", "", low))
            yield _Number(value, at, at)
        elif low in _WORDS:
            total, current, last = 0, _WORDS[low], at
            while last + 1 < len(tokens):
                ahead = last + 1
                if tokens[ahead].text in ("-", "and") and ahead + 1 < len(tokens):
                    ahead += 1
                word = tokens[ahead].text
                if word in _WORDS and (tokens[last].text in _SCALES or current % 100 >= 20 > _WORDS[word]):
                    current += _WORDS[word]
                elif word in _SCALES and ahead == last + 1:
                    current *= _SCALES[word]
                    if word == "thousand":
                        total, current = total + current, 0
                else:
                    break
                last = ahead
            yield _Number(total + current, at, last)
            at = last
        at += 1


def _noun(tokens: Sequence[_Token], number: _Number) -> tuple[int, bool] | None:
    """(position of the noun of people or animals that a number counts, whether of people), or None."""
    known = _words()
    for at in range(number.last + 1, min(number.last + 2 + _FILLERS, len(tokens))):
        word = tokens[at].text
        if word == "cases" and number.value < 5:
            return None  # of a proof, or of an argument
        if word in known["people"]:
            joined = at == number.last + 2 and tokens[at - 1].text == "-"  # "two-person teams"
            return None if joined else (at, True)
        if word in known["animals"]:
            return at, False
        if word == "-":
            continue
        if not word[0].isalpha() or word in known["units"]:
            return None
    return None


def _found(lead: LeadText) -> list[_Found]:
    """All numbers of participants."""
    known = _words()
    tokens = [_Token(m[0], *m.span()) for m in _TOKEN.finditer(lead.plain_text)]
    stops = [at for at, token in enumerate(tokens) if token.text == "."]
    out: list[_Found] = []
    groups: list[tuple[int, _Found]] = []
    for number in _numbers(tokens):
        start, end = tokens[number.first].start, tokens[number.last].end
        if not _LEAST <= number.value <= _MOST or number.value % 1 or _glued(lead.text, start):
            continue
        before = [token.text for token in tokens[max(0, number.first - 4) : number.first]]
        after = [token.text for token in tokens[number.last + 1 : number.last + 16]]
        mark = bisect_left(stops, number.first)  # of its sentence
        low, high = [-1, *stops][mark], [*stops, len(tokens)][mark]
        words = {token.text for token in tokens[low + 1 : high + 1]}
        rank = 1 + bool(words & known["own"]) - bool(words & known["others"])
        if before[-2:] == ["n", "="]:
            named = before[:1] and before[0] in known["people"]  # "respondents (n = 340)"
            capital = lead.text[tokens[number.first - 2].start] == "N"
            value = number.value * (2 if after[:2] in _EACH else 1)
            found = _Found(2 if capital else rank, value, start, end)
            if named or capital:
                out.append(found)
            else:
                groups.append((mark, found))
        elif before[-2:] in (["total", "of"], ["sample", "of"]):
            if after[:1] and after[0] not in known["units"] and known["everybody"].intersection(after):
                out.append(_Found(2, number.value, start, end))
        elif before[-1:] == ["("] and len(before) > 1 and before[-2] in known["people"]:
            if after[:1] and after[0] in (";", ")"):
                out.append(_Found(rank, number.value, start, end))
        elif not (before and before[-1] in known["names"]) and not _is_year(lead.text[start:end], before):
            noun = _noun(tokens, number)
            if noun is not None:
                lesser = "subgroup" in before or not noun[1]
                out.append(_Found(-1 if lesser else rank, number.value, start, tokens[noun[0]].end))
    if groups and not any(found.rank >= 1 for found in out):
        # Groups of one sentence are added up.
        same = [found for mark, found in groups if mark == groups[0][0]]
        out.append(_Found(2, sum(found.value for found in same), same[0].start, same[-1].end))
    return out


def _glued(text: str, start: int) -> bool:
    """True if a number is part of a name: ``CX516``, ``COVID-19``."""
    return start > 0 and (text[start - 1].isalnum() or text[start - 1] in "-–.")


def _is_year(written: str, before: Sequence[str]) -> bool:
    return len(written) == 4 and written[:2] in ("19", "20") and bool(_DATES.intersection(before[-1:]))


class SampleLens(Lens):
    """The number of participants, at least 2; NaN where none is told."""

    name = "sample"
    description = "how many participants a study has"
    labels: tuple[str, ...] = ("participants",)

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, 1) count of each paper, or NaN."""
        if not papers:
            return []
        batch = lead_batch(papers)
        tokens = batch.tokens
        counted = tokens.sums(tokens.each(_HAS_PEOPLE.__getitem__)) > 0
        counted |= ["=" in lead.text for lead in batch.leads]
        counted &= tokens.sums(tokens.each(_HAS_NUMBERS.__getitem__)) > 0
        rows = np.full((len(papers), 1, 1), np.nan, np.float32)
        for row in np.flatnonzero(counted):
            if best := _best(batch.leads[row]):
                rows[row] = best.value
        return [*rows]

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """The sentence with the number."""
        lead = lead_text(paper)
        best = _best(lead)
        return None if best is None else lead.quote(best.start, best.end)


def _best(lead: LeadText) -> _Found | None:
    return max(_found(lead), default=None)


LENSES.register("sample")(SampleLens())
