"""Conditions on where the authors work: an institution, a kind of institution, a country, or both of these.

``INRIA`` is found by its words, or as the initials of a name (grade 0.8). ``industry``, ``universities`` and
``hospitals`` are kinds, ``Germany`` and ``Chinese`` are countries, ``Chinese universities`` is both. OpenAlex
states kind and country; elsewhere words of the printed affiliation decide. One author is enough.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from aspectra.papers.paper import Paper, normalise_title
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, table_of_words
from aspectra.search.conditions.attributes.record.facts import (
    NamedAttribute,
    RecordAttribute,
    by_name,
    has_words,
    phrases,
    stated,
)
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_INITIALS = 0.8
_TABLE = table_of_words("record_words")
_KIND_WORDS = {kind: phrases(words) for kind, words in _TABLE["affiliations"].items()}
_KINDS = {said: kind for kind, words in _TABLE["affiliation_kinds"].items() for said in phrases(words)}
_COUNTRIES = {code: phrases(words) for code, words in _TABLE["countries"].items()}
_CODES = {said: code for code, names in _COUNTRIES.items() for said in names}
_FACTS = re.compile(r"(.*) \((?:([a-z]+))?(?:, )?([A-Z]{2})?\)", re.DOTALL)
_SMALL = frozenset("a an and at de der des do du et for für i in la le of on the to und y".split())
_ACRONYM = re.compile(r"[A-Z]{2,7}")


@dataclass(frozen=True)
class _Asked:
    """A value taken apart; "" is any."""

    name: str = ""
    kind: str = ""
    country: str = ""


@lru_cache(maxsize=64)
def _asked(value: str) -> _Asked:
    text = normalise_title(value)
    if text in _KINDS:
        return _Asked(kind=_KINDS[text])
    for said in sorted(_CODES, key=len, reverse=True):
        if text == said:
            return _Asked(country=_CODES[said])
        for rest in (text.removeprefix(f"{said} "), re.sub(rf" (?:in|of|from) (?:the )?{said}$", "", text)):
            if rest != text and rest in _KINDS:
                return _Asked(kind=_KINDS[rest], country=_CODES[said])
    return _Asked(name=text)


def _grade(value: str, line: str) -> float:
    """Grade of one affiliation for a value: 1, 0.8 (by its initials) or 0."""
    asked = _asked(value)
    facts = _FACTS.fullmatch(line)
    printed, kind, country = facts.groups("") if facts else (line, "", "")
    text = normalise_title(printed)
    if asked.kind and not (
        kind == asked.kind if kind else any(has_words(text, word) for word in _KIND_WORDS[asked.kind])
    ):
        return 0.0
    if asked.country and not (
        country == asked.country
        if country
        else any(has_words(text, name) for name in _COUNTRIES[asked.country])
    ):
        return 0.0
    if not asked.name or has_words(text, asked.name):
        return 1.0
    if _ACRONYM.fullmatch(value):
        for part in printed.split(","):
            words = [word for word in normalise_title(part).split() if word not in _SMALL]
            if len(words) > 1 and "".join(word[0] for word in words) == asked.name:
                return _INITIALS
    return 0.0


@lru_cache(maxsize=64)
def _signs(value: str) -> tuple[str, ...]:
    """An affiliation in ASCII without any of these, in lower case, does not meet the value; () for any."""
    asked = _asked(value)
    if asked.name:
        return () if _ACRONYM.fullmatch(value) else (max(asked.name.split(), key=len),)
    if asked.country:
        return (*_COUNTRIES[asked.country], f"{asked.country.casefold()})")
    return (*_KIND_WORDS[asked.kind], asked.kind)


def _best(value: str, lines: str) -> float:
    if not lines:
        return float("nan")
    signs = _signs(value)
    if signs and lines.isascii() and (low := lines.casefold()) and not any(sign in low for sign in signs):
        return 0.0  # much quicker than comparing words
    return max(_grade(value, line) for line in lines.split("\n"))


class AffiliationAttribute(NamedAttribute, RecordAttribute):
    """See the module."""

    name = "affiliation"
    what, example = "institution", "affiliation=INRIA"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) of the author who fits best, NaN where no affiliation is stated."""
        return by_name(index, "affiliations", papers, lambda lines: _best(value, lines))

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The affiliation that fits best, or the first one."""
        lines = stated(index, paper, "affiliations").split("\n")
        return max(lines, key=lambda line: _grade(value, line))[:160]


ATTRIBUTES.register("affiliation")(AffiliationAttribute())
