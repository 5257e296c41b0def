"""Readings of requests in words, annotations that say what is right, and when two values are alike.

An annotation says what a text requests (conditions, aspects), what its topic is, what cannot be decided
(``unread``) and what requests nothing (``chatter``). Two values are compared by what they mean: years,
numbers and lengths as spans, names and subjects by words, others with the synonyms of ``annotations.toml``.
:mod:`verdicts` judges whole texts.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from aspectra.base.errors import UsageError
from aspectra.base.values import Value, replace
from aspectra.search.instructions.understanding import Hints, understand
from aspectra.search.query import Query

# What only the text of a paper decides: one family. Venues and publishers are another.
_FAMILIES = {
    **dict.fromkeys(("topic", "method", "population", "keyword", "reports"), "content"),
    "publisher": "venue",
}
_NAMES = {"venue", "author", "affiliation", "publisher", "cites", "known"}
NUMBERS = ("year", "citations", "sample")
_WORDS_A_PAGE, _CHARACTERS_A_PAGE = 500, 3000
_LENGTHS = {
    **dict.fromkeys(("short", "sentence", "paragraph", "<=paragraph"), "short"),
    **dict.fromkeys(("long", "article", ">=paragraph", ">=article"), "long"),
}


class Exempt(Value, frozen=True):
    """What a condition makes an exception of."""

    attribute: str
    value: str


class Stated(Value, frozen=True):
    """A condition as annotated, or as read.

    Attributes:
        relation: ``require``, ``exclude``, ``prefer`` or ``avoid``.
        attribute, value: as the engine names them.
        span: the words of the text.
        accept: other values that are right.
        unless: its exceptions.
        or_topic: whether its words may stay in the topic.
    """

    relation: Literal["require", "exclude", "prefer", "avoid"]
    attribute: str
    value: str
    span: str = ""
    accept: tuple[str, ...] = ()
    unless: tuple[Exempt, ...] = ()
    or_topic: bool = False

    @property
    def wanted(self) -> bool:
        """Whether papers shall have the value."""
        return self.relation in ("require", "prefer")

    @property
    def hard(self) -> bool:
        """Whether papers are dropped."""
        return self.relation in ("require", "exclude")

    @property
    def family(self) -> str:
        """The attribute, or what several that are told apart by no reader are taken as."""
        return _FAMILIES.get(self.attribute, self.attribute)


class Reading(Value, frozen=True):
    """What was read out of a text.

    Attributes:
        topic: what is searched for.
        conditions: in the order of the text.
        same, different: aspects.
        unread: words that request something and were not applied.
    """

    topic: str = ""
    conditions: tuple[Stated, ...] = ()
    same: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


class Annotation(Value, frozen=True):
    """What a text requests.

    Attributes:
        id, text: its own.
        mode: ``question`` (with a topic) or ``instruction`` (beside a seed paper).
        lang: its language.
        reading: the right one; of an instruction the topic is "".
        chatter: words that request nothing and are not searched for.
        half: ``development`` or ``test``, where there are halves.
    """

    id: str
    text: str
    mode: Literal["question", "instruction"]
    lang: str
    reading: Reading
    chatter: tuple[str, ...] = ()
    half: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Annotation:
        """From a row of a file of annotations; see ``tests/data/requests``.

        Raises:
            UsageError: a field is missing or has a value that it cannot have.
        """
        reading = {name: row.get(name) for name in ("topic", "conditions", "unread")}
        own = {name: row.get(name) for name in ("id", "text", "mode", "lang", "chatter")}
        return cls.from_dict(
            {**own, "reading": {**reading, **row.get("aspects", {})}, "half": row.get("half", "")}
        )

    @property
    def plain(self) -> bool:
        """Whether nothing is requested: the text is its own topic."""
        right = self.reading
        return not (right.conditions or right.unread or self.chatter or right.same or right.different)


def read_text(annotation: Annotation, hints: Hints | None = None) -> Reading:
    """What the engine reads out of a text, as it does for a search.

    Args:
        annotation: of the text; what is right is not looked at.
        hints: tells words that may ask for something, as an encoder does.
    """
    if annotation.mode == "question":
        try:
            found = understand(Query(annotation.text), hints=hints)
        except UsageError:  # requests alone, and nothing to search for
            found = understand(Query(annotation.text, seeds=("seed",)), hints=hints)
    else:
        found = understand(Query("", seeds=("seed",), instruction=annotation.text))
    query = found.query
    conditions = [
        Stated(
            c.relation,
            c.attribute,
            c.value,
            span=c.words,
            unless=tuple(Exempt(e.attribute, e.value) for e in c.unless),
        )
        for c in query.conditions
    ]
    unread = tuple(part.words for part in found.unread)
    return Reading(query.text, tuple(conditions), query.same, query.different, unread)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def _canonical() -> dict[str, str]:
    return {name: group[0] for group in _table()["same_values"] for name in group}


@cache
def _aspects() -> dict[str, str]:
    return {name: aspect for aspect, names in _table()["aspects"].items() for name in names}


@cache
def empty_words() -> frozenset[str]:
    """Words that make no difference between two topics."""
    return frozenset(word for words in _table()["empty_words"].values() for word in words.split())


def all_words(text: str) -> list[str]:
    """Words in lower case; a Chinese character is a word.

    >>> all_words("no ICRA papers, 综述")
    ['no', 'icra', 'papers', '综', '述']
    """
    return re.findall(r"[\u4e00-\u9fff]|[^\W_]+", text.lower())


def subject(text: str) -> list[str]:
    """Stems of the words that carry a subject; of all words where none does.

    >>> subject("papers on the studies of eagles")
    ['eagl']
    """
    words = all_words(text)
    empty = empty_words()
    return [_stem(word) for word in words if word not in empty] or [_stem(word) for word in words]


def _stem(word: str) -> str:
    return re.sub(r"(?:ies|es|s)$", "", word) if len(word) > 4 else word


def common(a: Iterable[str], b: Iterable[str]) -> int:
    """Words that both have, each as often as both have it."""
    return sum((Counter(a) & Counter(b)).values())


def share(a: Sequence[str], b: Sequence[str]) -> float:
    """Common words over those of the shorter one; 0 where one is empty."""
    return common(a, b) / max(1, min(len(a), len(b)))


def same_aspect(one: str, other: str) -> bool:
    """Whether two aspects are one, by name or by most of their words."""
    a, b = (subject(_aspects().get(name.lower().strip(), name)) for name in (one, other))
    return not (a or b) or 2 * common(a, b) / max(1, len(a) + len(b)) > 0.6


class _Span(NamedTuple):
    """Numbers from low to high, both included; ``relative`` to this year, so that one year off is right."""

    low: float
    high: float
    relative: bool


_BOUND = re.compile(r"(>=|<=|>|<|=)?(\d+(?:\.\d+)?)")
_RANGE = re.compile(r"(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)")


def _span_of(value: str, year: int) -> _Span | None:
    """The numbers that a value allows, or None where it is no number.

    >>> _span_of(">= now-5", 2026), _span_of("high", 2026)
    (_Span(low=2021.0, high=inf, relative=True), None)
    """
    text = re.sub(r"\s+", "", value.lower()).replace("–", "-")
    relative = "now" in text
    text = re.sub(r"now([-+]\d+)?", lambda found: str(year + int(found[1] or 0)), text)
    if both := _RANGE.fullmatch(text):
        return _Span(float(both[1]), float(both[2]), relative)
    if (bound := _BOUND.fullmatch(text)) is None:
        return None
    number, sign = float(bound[2]), bound[1] or "="
    low = {">=": number, ">": number + 1, "=": number}.get(sign, -math.inf)
    high = {"<=": number, "<": number - 1, "=": number}.get(sign, math.inf)
    return _Span(low, high, relative)


def _same_span(right: _Span, read: _Span) -> bool:
    if not right.relative:
        return right[:2] == read[:2]
    ends = [(a, b) for a, b in zip(right[:2], read[:2], strict=True) if math.isfinite(a) or math.isfinite(b)]
    near = all(abs(a - b) <= 1 for a, b in ends)
    return near or (right.low == right.high == read.low and read.high == math.inf)


def _length(value: str) -> str:
    text = value.lower()
    if text in _LENGTHS:
        return _LENGTHS[text]
    found = re.fullmatch(r"(>=|<=|>|<|=)?\s*(\d+)\s*(pages?|words?|characters?)?", text)
    if found is None:
        return text
    a_page = {"w": _WORDS_A_PAGE, "c": _CHARACTERS_A_PAGE}.get((found[3] or "p")[0], 1)
    return f"{found[1] or '='}{int(found[2]) / a_page:g}"


def same_value(attribute: str, right: str, read: str, year: int) -> bool:
    """Whether a read value is the right one.

    Args:
        attribute: of the annotated condition.
        right: the annotated value.
        read: the other one.
        year: this year.
    """
    if attribute in NUMBERS:
        a, b = _span_of(right, year), _span_of(read, year)
        if a and b:
            return _same_span(a, b)
        return _plain(right) == _plain(read)
    if attribute == "length":
        return _length(right) == _length(read)
    if attribute == "language":
        return right.lower().split("-")[0] == read.lower().split("-")[0]
    a_words, b_words = subject(right), subject(read)
    if _FAMILIES.get(attribute) == "content" or attribute in _NAMES:
        return share(a_words, b_words) >= 0.5
    one, other = _plain(right.strip()), _plain(read.strip())
    spelled = len(right.strip()) > 5 and len(a_words) > 1 and share(a_words, b_words) >= 0.99
    return one == other or spelled


def _plain(value: str) -> str:
    return _canonical().get(value.lower(), value.lower())


def complementary(one: str, other: str, year: int) -> bool:
    """Whether two half-lines have at most their ends in common: since 2018 read as until 2018."""
    a, b = _span_of(one, year), _span_of(other, year)
    if a is None or b is None:
        return False
    upper, lower = (a, b) if a.high == math.inf else (b, a)
    return upper.high == math.inf and lower.low == -math.inf and lower.high <= upper.low


def normal(conditions: Sequence[Stated], year: int) -> list[Stated]:
    """Conditions in one of several forms that mean the same: a denied half-line is the other half."""
    out = []
    for condition in conditions:
        one = condition
        if one.attribute == "audience" and not one.wanted and one.value == "expert":
            one = replace(one, relation="prefer", value="lay")
        if one.attribute == "venue" and one.value.lower() == "arxiv":
            one = replace(one, attribute="status", value="preprint")
        if one.attribute in NUMBERS and not one.wanted:
            span = _span_of(one.value, year)
            if span and (span.low == -math.inf) != (span.high == math.inf):
                rest = f">={span.high + 1:g}" if span.low == -math.inf else f"<={span.low - 1:g}"
                one = replace(one, relation="require" if one.hard else "prefer", value=rest)
        out.append(one)
    return out
