"""Conditions on where a text comes from, a kind of place (``blog``) or one by its name, and on its length.

Kinds are graded as the lens ``source`` graded them. A name is looked for:

- in the record (address, venue, identifiers, metadata): grade 1;
- in the text: 0.6, or 0.3 where the record states another place, for then it is only mentioned;
- nowhere: what the name itself suggests still orders the papers, without meeting the condition. Something
  called a handbook has the form of one, and a *Chinese* site is in Chinese: up to 0.45, as lenses grade it.

A paper of which nothing is known has NaN.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct

from aspectra.base.errors import UsageError
from aspectra.base.expressions import expression
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.labels.lensed import LensAttribute, lacks
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute, by_name, table_of_words
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import LENSES, LensValues, TextSpan
from aspectra.views.lenses.source import SourceLens, stated_pages
from aspectra.views.view import Floats, Positions

_NAMED = "name:"
_WORD = expression(r"[^\W_]+")
_IN_RECORD, _IN_TEXT, _MENTIONED, _STYLE = 1.0, 0.6, 0.3, 0.45

# Words in names, and the (lens, label) that they promise.
_PROMISES = [
    (re.compile(f"(?:{one['words']})"), (one["lens"], one["label"]))
    for one in table_of_words("source_names")["promise"]
]
# Scripts whose words are not set apart.
_UNSPACED = expression("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


def _promises(name: str) -> list[tuple[str, str]]:
    """(lens, label) pairs that words of a name promise."""
    words = _WORD.findall(name.casefold())
    return list(dict.fromkeys(made for word in words for form, made in _PROMISES if form.fullmatch(word)))


@lru_cache(maxsize=64)
def _pattern(name: str) -> re.Pattern[str]:
    """The name as texts may spell it: in any case, its words apart or joined, but not inside others."""
    words = _WORD.findall(name)
    left = "" if _UNSPACED.match(words[0][0]) else r"(?<![^\W_])"
    right = "" if _UNSPACED.match(words[-1][-1]) else r"(?![^\W_])"
    return re.compile(left + r"[\W_]{0,3}".join(map(re.escape, words)) + right, re.IGNORECASE)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _grade(name: str, title: str, abstract: str, venue: str, record: str) -> float:
    """The grade from record and text, NaN where neither tells anything."""
    rest: dict[str, Any] = json.loads(record)
    pattern = _pattern(name)
    squeezed = "".join(_WORD.findall(name.casefold()))
    url = str(rest.get("url", ""))
    stated = bool(url or venue)
    if squeezed in re.sub(r"[\W_]", "", url.casefold()) or squeezed in rest.get("identifiers", {}):
        return _IN_RECORD
    # Long metadata are texts themselves, not names of places.
    if any(pattern.search(s) for s in (venue, *_strings(rest.get("metadata", {}))) if len(s) < 200):
        return _IN_RECORD
    if pattern.search(title) or pattern.search(abstract):
        return _MENTIONED if stated else _IN_TEXT
    return 0.0 if stated else float("nan")


class SourceAttribute(LensAttribute):
    """The place that a text comes from: a kind of place, or ``name:`` with the name of one."""

    def check(self, value: str) -> None:
        """Refuse a value that is neither a kind nor a name.

        Raises:
            UsageError: with the values there are.
        """
        if value not in self.values and not (value.startswith(_NAMED) and _WORD.search(value[len(_NAMED) :])):
            why = f"known: {', '.join(self.values)}, and name: with the name of a site or project"
            raise UsageError(f"{value!r} is no source", why=why, hint="source=name:Stack Overflow")

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN where nothing is known."""
        if not value.startswith(_NAMED):
            return super().grades(value, index, papers)
        name = value[len(_NAMED) :].strip()
        found = self._named(name, index)[papers]
        if promises := _promises(name):
            columns = [index.lens(lens).column(label)[papers] for lens, label in promises]
            style = np.mean(np.nan_to_num(np.stack(columns)), axis=0)
            found = np.fmax(found, np.float32(_STYLE) * style)
        return np.asarray(found, np.float32)

    def _named(self, name: str, index: Index) -> Floats:
        """(all papers,) grades from records and texts."""
        # What appeared elsewhere is not from there, unless the name is found after all.
        out = by_name(index, "venues", np.arange(len(index)), lambda venue: 0.0 if venue else np.nan)
        like = f"%{max(_WORD.findall(name), key=len)}%"
        sound = index.library.checksums.sound("papers")
        statement = (
            f"SELECT id, title, abstract, venue, record FROM papers WHERE CASE WHEN {sound} THEN "
            "title LIKE ?1 OR abstract LIKE ?1 OR venue LIKE ?1 OR record LIKE ?1 END"
        )
        for paper_id, *fields in index.library.rows(statement, [like]):
            if (at := index.positions.get(paper_id)) is not None:
                out[at] = _grade(name, *fields)
        return out

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The span of the name, or else one with the style that it promises."""
        if not value.startswith(_NAMED):
            return super().span(value, paper, index)
        name = value[len(_NAMED) :].strip()
        for field, text in (("title", paper.title), ("abstract", paper.abstract)):
            if match := _pattern(name).search(text):
                return TextSpan(field, *match.span())
        spans = (LENSES.get(lens).span(paper, label) for lens, label in _promises(name))
        return next((span for span in spans if span), None)


ATTRIBUTES.register("source")(SourceAttribute("source", SourceLens.labels))


# Conditions on length: ``paragraph``, ``<=paragraph``, ``>=1000 words``, ``<=1 minute``, ``<=8 pages``.
#
# The scale is how long a person reads. A sentence is one sentence of at most 60 words; a paragraph goes up
# to some 150 words; an article begins at some 220. Between the last two nothing is sharp, so the edge is
# their geometric mean, 182 words. A minute is 230 words: adults read English prose silently at 238 words a
# minute (Brysbaert, "How many words do we read per minute?", 2019), and a little slower where it is
# technical.
#
# A grade is a logistic function of the logarithm of the length, so that it crosses 0.5 at the bound and
# still tells a shorter from a longer paper anywhere on the scale. Classes have wide edges (0.18 at twice
# the bound), numbers narrow ones (0.04), for who says a number means it.
#
# Pages are of the paper, not of what the library stores of it: unknown where the record does not state them
# and only an abstract is stored. ``short`` is up to 6 pages, ``long`` from 15 on; a text of no venue, as a
# web page is, is as short or long as its words.

WORDS_PER_MINUTE = 230
ARTICLE_EDGE = float(np.sqrt(150 * 220))  # words
_SENTENCE_WORDS = 60  # longer than hardly any sentence: beyond it, unpunctuated text
_SENTENCE_EDGE = float(np.sqrt(1 * 2))  # sentences
_CLASS_SOFTNESS = 2 / 3  # octaves of length for one unit of log-odds
_NUMBER_SOFTNESS = 0.3

_CLASSES = ("sentence", "paragraph", "article", "short", "long")
_BOUND = expression(
    r"(<=|>=)\s*(?:(sentence|paragraph|article)|"
    r"(\d+(?:\.\d+)?)\s*(word|character|sentence|paragraph|minute|page)s?)"
)


class _Value(Struct, frozen=True):
    """A value taken apart: a class, or a number of units, with a sign where it is a bound."""

    sign: str = ""
    group: str = ""
    number: float = 0.0
    unit: str = ""

    @classmethod
    def parse(cls, value: str) -> _Value:
        text = value.strip().casefold()
        if text in _CLASSES:
            return cls(group=text)
        found = _BOUND.fullmatch(text)
        if found is None or (found[3] and not 0 < float(found[3]) < 1e12):
            raise UsageError(
                f"{value!r} is no length",
                why="known: sentence, paragraph, article, short, long, <=paragraph, >=paragraph, and <= or "
                ">= with a number of words, characters, sentences, paragraphs, minutes or pages: <=8 pages",
            )
        return cls(found[1], found[2] or "", float(found[3] or 0), found[4] or "")

    @property
    def paged(self) -> bool:
        """True if it counts pages."""
        return self.unit == "page" or self.group in _PAGED


# Class -> its bound in pages, and that in words.
_PAGED = {
    "short": (_Value("<=", "", 6.0, "page"), _Value("<=", "paragraph")),
    "long": (_Value(">=", "", 15.0, "page"), _Value(">=", "article")),
}


def _at_most(counts: Floats, bound: float, softness: float) -> Floats:
    """Grade of being no longer: 0.5 at the bound, falling with the logarithm of the count."""
    with np.errstate(divide="ignore"):
        octaves = np.log2(counts / bound)
    return np.asarray(1 / (1 + np.exp(np.clip(octaves / softness, -60, 60))), np.float32)


def _grades(value: _Value, lens: LensValues, papers: Positions) -> Floats:
    def column(name: str) -> Floats:
        return np.asarray(lens.column(name)[papers], np.float32)

    if value.unit:
        minutes = value.unit == "minute"
        counts = column("words" if minutes else value.unit + "s")
        bound = value.number * (WORDS_PER_MINUTE if minutes else 1)
        if value.sign == "<=":
            return _at_most(counts, bound, _NUMBER_SOFTNESS)
        with np.errstate(divide="ignore"):
            return _at_most(np.float32(1) / counts, 1 / bound, _NUMBER_SOFTNESS)
    words = column("words")
    short = _at_most(words, ARTICLE_EDGE, _CLASS_SOFTNESS)
    single = np.minimum(
        _at_most(column("sentences"), _SENTENCE_EDGE, _CLASS_SOFTNESS / 2),
        _at_most(words, _SENTENCE_WORDS, _CLASS_SOFTNESS / 2),
    )
    everything = np.where(np.isnan(words), words, np.float32(1))
    at_most = {"sentence": single, "paragraph": short, "article": everything}[value.group]
    at_least = {"sentence": everything, "paragraph": 1 - single, "article": 1 - short}[value.group]
    met = {"<=": (at_most,), ">=": (at_least,), "": (at_most, at_least)}[value.sign]
    return np.asarray(np.minimum.reduce(met), np.float32)


class LengthAttribute(Attribute):
    """The length of a text, as a class or as a bound: ``paragraph``, ``>=1000 words``, ``<=8 pages``."""

    name = "length"

    def check(self, value: str) -> None:
        """Refuse a value that is neither a class nor a bound.

        Raises:
            UsageError: with the values there are.
        """
        _Value.parse(value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN for a paper without text and where its pages are unknown."""
        parsed = _Value.parse(value)
        if parsed.paged and lacks(index, "length", "pages"):  # of an older version
            return np.full(len(papers), np.nan, np.float32)
        lens = index.lens("length")
        if parsed.group not in _PAGED:
            return _grades(parsed, lens, papers)
        by_pages, by_words = (_grades(bound, lens, papers) for bound in _PAGED[parsed.group])
        venue = by_name(index, "venues", papers, lambda name: 1.0 if name else np.nan)
        return np.where(np.isnan(by_pages) & np.isnan(venue), by_words, by_pages)

    def missing(self, value: str, index: Index) -> str:
        """Why nothing is known of any paper."""
        pages = lacks(index, "length", "pages") if _Value.parse(value).paged else ""
        return pages or super().missing(value, index)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The pages that the record states; "" where it states none, or they were not asked for."""
        paged, pages = _Value.parse(value).paged, stated_pages(paper)
        return f"{pages:g} pages (record)" if paged and not np.isnan(pages) else ""


ATTRIBUTES.register("length")(LengthAttribute())
