"""Verdicts on readings of requests: what is right, lost, misread or turned around, and shares over texts.

A condition is right if a read one has its relation, its attribute and its value; topic, method, population,
keyword and reported results count as one attribute, and so do venue and publisher. *Inverted* is the
opposite sign, or the other side of a bound. *Lost* is what is neither applied nor reported. A denied subject
whose words are searched for counts by itself: a ranked search then finds what was to be left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from annotations import (
    NUMBERS,
    Annotation,
    Reading,
    Stated,
    all_words,
    common,
    complementary,
    empty_words,
    normal,
    same_aspect,
    same_value,
    share,
    subject,
)

_TOPIC_KEPT = 0.9  # of its words
_STILL_SEARCHED = 0.6  # of the words of what is denied


@dataclass(frozen=True)
class Verdict:
    """One text judged.

    Attributes:
        requested: its conditions, in normal form.
        results: of each: ``right``, ``strength`` (soft for hard, or hard for soft), ``inverted``,
            ``misread``, ``unread`` (reported), ``lost``, or ``topic`` (left in the topic, where it may be).
        undecidable: of each request that cannot be decided: ``right`` (reported), ``misread`` or ``lost``.
        read: conditions read.
        spare: those that no annotated one is like.
        aspects, exceptions, told, topic: whether these are right: aspects, exceptions of conditions, what is
            reported, and the topic (always, for an instruction).
        turned: whether anything is inverted: a condition, an aspect, or both signs of one value.
        searched: denied conditions that were not read and whose words are searched for.
        damaged: whether anything was read out of a plain text, or its words were changed.
    """

    requested: tuple[Stated, ...]
    results: tuple[str, ...]
    undecidable: tuple[str, ...]
    read: int
    spare: int
    aspects: bool
    exceptions: bool
    told: bool
    topic: bool
    turned: bool
    searched: int
    damaged: bool

    @property
    def conditions(self) -> bool:
        """Whether conditions and aspects are right, and no other is read."""
        kept = sum(result != "topic" for result in self.results)
        fit = all(result in ("right", "topic") for result in self.results)
        return fit and self.read == kept and self.aspects and self.exceptions

    @property
    def exact(self) -> bool:
        """Whether everything is right."""
        return self.conditions and self.told and self.topic


def _near(one: str, other: str) -> bool:
    return bool(one and other) and share(all_words(one), all_words(other)) >= 0.5


def _near_any(text: str, others: Iterable[str]) -> bool:
    return any(_near(text, other) for other in others)


class _Matching:
    """Annotated conditions matched with read ones, one to one."""

    def __init__(self, right: Annotation, read: Reading, year: int) -> None:
        self.requested = normal(right.reading.conditions, year)
        self.read = normal(read.conditions, year)
        self.given = read
        self.year = year
        self.used: set[int] = set()
        self.exceptions = True
        results: list[str | None] = [None] * len(self.requested)
        # Those that find their own relation choose first.
        first = [max((self._even(w, p) for p in self._alike(w)), default=-1) for w in self.requested]
        for number in sorted(range(len(self.requested)), key=lambda n: -first[n]):
            results[number] = self._settle(self.requested[number])
        self.results = [
            result or self._missed(requested)
            for result, requested in zip(results, self.requested, strict=True)
        ]

    def _even(self, requested: Stated, place: int) -> int:
        return int(self.read[place].relation == requested.relation)

    def _same(self, requested: Stated, read: Stated) -> bool:
        return read.family == requested.family and any(
            same_value(requested.attribute, value, read.value, self.year)
            for value in (requested.value, *requested.accept)
        )

    def _alike(self, requested: Stated) -> list[int]:
        unused = (place for place in range(len(self.read)) if place not in self.used)
        return [place for place in unused if self._same(requested, self.read[place])]

    def _settle(self, requested: Stated) -> str | None:
        """What became of a condition, or None where nothing like it was read."""
        alike = self._alike(requested)
        if alike:
            place = min(
                alike,
                key=lambda p: (
                    self.read[p].relation != requested.relation,
                    self.read[p].wanted != requested.wanted,
                ),
            )
            self.used.add(place)
            return self._compare(requested, self.read[place])
        if requested.or_topic and share(subject(requested.value), subject(self.given.topic)) >= 0.5:
            return "topic"
        return "unread" if _near_any(requested.span, self.given.unread) else None

    def _compare(self, requested: Stated, read: Stated) -> str:
        if read.wanted != requested.wanted:
            result = "inverted"
        else:
            result = "right" if read.relation == requested.relation else "strength"
        if not requested.unless or (result == "right" and self._excepts(requested, read)):
            return result
        # Softened, with the exception reported, it drops nothing that was to be kept.
        if _near_any(requested.span, self.given.unread) and result != "inverted" and not read.hard:
            return "right"
        self.exceptions = False
        return result

    def _excepts(self, requested: Stated, read: Stated) -> bool:
        pairs = [
            (Stated("prefer", a.attribute, a.value), Stated("prefer", b.attribute, b.value))
            for a in requested.unless
            for b in read.unless
        ]
        return any(self._same(a, b) for a, b in pairs)

    def _missed(self, requested: Stated) -> str:
        """What became of a condition of which no value was read."""
        spare = [read for place, read in enumerate(self.read) if place not in self.used]
        here = [read for read in spare if _near(requested.span, read.span)]
        turned = [
            read
            for read in spare
            if requested.attribute in NUMBERS
            and read.attribute == requested.attribute
            and read.wanted == requested.wanted
            and complementary(requested.value, read.value, self.year)
        ] or [
            r
            for r in here
            if r.wanted != requested.wanted and r.family == requested.family and r.family != "year"
        ]
        return "inverted" if turned else "misread" if here else "lost"

    def both_signs(self) -> bool:
        """Whether something is read with the opposite sign beside, or instead of, the right one."""
        spare = [read for place, read in enumerate(self.read) if place not in self.used]
        return any(read.wanted != w.wanted and self._same(w, read) for read in spare for w in self.requested)


def judge_reading(right: Annotation, read: Reading, year: int) -> Verdict:
    """Judge what was read out of a text.

    Args:
        right: the annotated text.
        read: what was read.
        year: the year that *now* means.
    """
    found = _Matching(right, read, year)
    spans = [one.span for one in found.read]
    undecidable = tuple(
        "right" if _near_any(words, read.unread) else "misread" if _near_any(words, spans) else "lost"
        for words in right.reading.unread
    )
    reported = [
        w.span for w, r in zip(found.requested, found.results, strict=True) if r == "unread" or w.unless
    ]
    expected = (*right.reading.unread, *right.chatter, *reported)
    told = all(result == "right" for result in undecidable) and all(
        _near_any(words, expected) for words in read.unread
    )
    kept, leaks = _topic(right, read)
    topic = right.mode != "question" or (kept >= _TOPIC_KEPT and not leaks)
    more = Counter(subject(read.topic)) - Counter(subject(right.text))
    changed = bool(found.read or read.same or read.different or read.unread or kept < 1 or more)
    searched = sum(
        not w.wanted
        and r in ("lost", "unread", "misread")
        and w.attribute not in (*NUMBERS, "length")
        and bool(read.topic)
        and share(subject(w.span), subject(read.topic)) >= _STILL_SEARCHED
        for w, r in zip(found.requested, found.results, strict=True)
    )
    return Verdict(
        requested=tuple(found.requested),
        results=tuple(found.results),
        undecidable=undecidable,
        read=len(found.read),
        spare=len(found.read) - len(found.used),
        aspects=_aspects_right(right.reading, read),
        exceptions=found.exceptions,
        told=told,
        topic=topic,
        turned="inverted" in found.results or _swapped(right.reading, read) or found.both_signs(),
        searched=searched,
        damaged=right.plain and changed,
    )


def _topic(right: Annotation, read: Reading) -> tuple[float, list[str]]:
    """The share of the topic's words that is searched for, and words of conditions that are."""
    topic, searched = subject(right.reading.topic), subject(read.topic)
    bad: set[str] = set()
    fine = set(topic)
    for one in right.reading.conditions:
        if one.wanted and one.family == "content":
            fine.update(subject(one.value), subject(one.span))
        else:
            bad.update(word for word in subject(one.span) if word not in empty_words())
    leaks = [word for word in searched if word in bad - fine]
    return common(topic, searched) / max(1, len(topic)), leaks


def _aspects_right(right: Reading, read: Reading) -> bool:
    for requested, given in ((right.same, list(read.same)), (right.different, list(read.different))):
        for one in requested:
            alike = next((other for other in given if same_aspect(one, other)), None)
            if alike is None:
                return False
            given.remove(alike)
        if given:
            return False
    return True


def _swapped(right: Reading, read: Reading) -> bool:
    crossed = ((right.same, read.different), (right.different, read.same))
    return any(
        same_aspect(one, other) for requested, given in crossed for one in requested for other in given
    )


class Ratio(NamedTuple):
    """How many of how many."""

    hits: int
    of: int

    @property
    def share(self) -> float:
        """From 0 to 1; 0 of nothing is 0."""
        return self.hits / max(1, self.of)

    def __str__(self) -> str:
        return f"{100 * self.share:.1f} ({self.hits} of {self.of})"


def _ratio(over: Iterable[Verdict], holds: Callable[[Verdict], bool]) -> Ratio:
    judged = list(over)
    return Ratio(sum(map(holds, judged)), len(judged))


def reading_scores(judged: Sequence[tuple[Annotation, Verdict]]) -> dict[str, Ratio]:
    """Name -> share over all texts, or over all conditions.

    Args:
        judged: annotations with their verdicts.
    """
    every = [verdict for _, verdict in judged]
    asking = [verdict for right, verdict in judged if not right.plain]
    questions = [v for right, v in judged if not right.plain and right.mode == "question"]
    with_aspects = [v for right, v in judged if right.reading.same or right.reading.different]
    excepted = [v for v in every if any(one.unless for one in v.requested)]
    results = Counter(result for verdict in every for result in verdict.results)
    others = Counter(result for verdict in every for result in verdict.undecidable)
    requested = sum(results.values()) - results["topic"]
    read = sum(verdict.read for verdict in every)
    asked = requested + sum(others.values())
    return {
        "exact, all texts": _ratio(every, lambda v: v.exact),
        "exact, texts with requests": _ratio(asking, lambda v: v.exact),
        "conditions and aspects right": _ratio(asking, lambda v: v.conditions),
        "topic right": _ratio(questions, lambda v: v.topic),
        "precision": Ratio(results["right"], read),
        "recall": Ratio(results["right"], requested),
        "precision, sign alone": Ratio(results["right"] + results["strength"], read),
        "recall, sign alone": Ratio(results["right"] + results["strength"], requested),
        "conditions inverted": Ratio(results["inverted"], requested),
        "texts with something inverted": _ratio(every, lambda v: v.turned),
        "texts that search for denied words": _ratio(every, lambda v: v.searched > 0),
        "silently lost": Ratio(results["lost"] + others["lost"], asked),
        "reported": Ratio(results["unread"] + others["right"], asked),
        "decidable, only reported": Ratio(results["unread"], requested),
        "undecidable, reported": Ratio(others["right"], sum(others.values())),
        "misread": Ratio(results["misread"] + others["misread"], asked),
        "wrong strength": Ratio(results["strength"], requested),
        "read where nothing is requested": Ratio(sum(verdict.spare for verdict in every), read),
        "exceptions right": _ratio(excepted, lambda v: v.exceptions and set(v.results) <= {"right"}),
        "aspects right": _ratio(with_aspects, lambda v: v.aspects),
        "plain texts damaged": _ratio((v for r, v in judged if r.plain), lambda v: v.damaged),
    }


def by_attribute(judged: Sequence[Verdict]) -> dict[str, Counter[str]]:
    """Attribute -> result -> conditions, the most frequent attribute first."""
    out: dict[str, Counter[str]] = {}
    for verdict in judged:
        for one, result in zip(verdict.requested, verdict.results, strict=True):
            out.setdefault(one.attribute, Counter())[result] += 1
    return dict(sorted(out.items(), key=lambda held: -held[1].total()))
