"""From what somebody wrote to fields of a query: the instruction, and requests inside the text itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.search.conditions.condition import Condition
from aspectra.search.instructions.marks import SIGNS, is_english, marks_of
from aspectra.search.instructions.reading import Reading, read_instruction
from aspectra.search.instructions.recognisers.lexicon import Mark
from aspectra.search.instructions.search_strings import read_string
from aspectra.search.instructions.settling import is_capitalised
from aspectra.search.query import Query, Unread

_BETWEEN = re.compile(r"\s+(?:[\w'’-]+\s+)?")  # words that may ask for something: one other at most
_PERHAPS = "perhaps a request; its words are searched for"
LONGEST_READ = 2000  # characters of a text or an instruction in which requests are looked for
DENIALS = ("neg", "except")  # categories of marks
# How a topic begins that is none.
_DENIED = ("not ", "no ", "without ", "never ", "nothing ", "but not ", "but no ")
_DENYING = ("no", "not", "behind", "without")
# What an explanation of an aspect names without asking for it; and kinds that are named like aspects.
_EXPLAINED = frozenset("topic method population reports keyword kind artifacts".split())
_KINDS = frozenset("application empirical evaluation experiment method theory".split())


class Wording(NamedTuple):
    """Likeness to a seed in words that no rule knows.

    Attributes:
        aspect: in which papers should be like the seed; "" where none is named.
        words: the clause that says so.
        sure: whether the aspect is compared, or only mentioned as perhaps meant.
        differs: whether papers should perhaps differ in it.
        rest: the text without the sentences that ask for likeness, explain it, or say what does not matter.
        stated: clauses of those sentences that do none of it.
    """

    aspect: str
    words: str
    sure: bool
    differs: bool = False
    rest: str = ""
    stated: tuple[str, ...] = ()


Wordings = Callable[[str, tuple[str, ...]], Wording | None]  # of a text, and the words of conditions in it
Hints = Callable[[str], Iterable[tuple[int, int]]]  # where each word of a text is that may ask for something
SecondReader = Callable[[str, Reading], Reading]  # of a text, with what the rules read in it


class Understood(Struct, frozen=True):
    """A query with its words read.

    Attributes:
        query: with conditions and aspects as fields, and what is searched for as its text.
        unread: requests that are not applied, and why.
        fallback: whether the text holds requests alone, so that words of those are searched for.
    """

    query: Query
    unread: tuple[Unread, ...] = ()
    fallback: bool = False


def understand(
    query: Query,
    venues: Mapping[str, str] = {},
    wordings: Wordings | None = None,
    hints: Hints | None = None,
    second: SecondReader | None = None,
) -> Understood:
    """Read a query's text and instruction into conditions and aspects.

    A literal query's text is searched as it is, and so is one longer than :data:`LONGEST_READ` (as an
    unread request says). Of a text of nothing but requests, the words of what papers should be like are
    searched for, since something must be; never those of denials. Conditions that the query already has go
    before what is read about the same value.

    Args:
        query: as it was typed.
        venues: of the library that is searched, see ``library_venues``.
        wordings: reads likeness in words that no rule knows. It is asked beside a seed, where neither the
            query nor the rules name an aspect.
        hints: tells words that may ask for something. Those of an English text that are searched for are
            reported as perhaps a request, unless it is capitalised as a title is.
        second: reads each text again, beside the rules.

    Raises:
        UsageError: the text has requests, but nothing to search for.
    """
    unread: tuple[Unread, ...] = ()
    fallback = False
    if not query.literal and (string := read_string(query)) is not None:
        query, unread = string
    elif len(query.text) > LONGEST_READ and not query.literal:
        unread = (_too_long(query.text),)
    elif query.text.strip() and not query.literal:
        reading = _worded(query, query.text, partial(read_instruction, venues=venues), wordings)
        behind = reading.conditions and not query.text.strip().startswith(reading.topic)
        if (query.seeds or behind) and reading.topic.casefold().startswith(_DENIED):
            # Beside a seed or requests a denial needs no subject: it says what papers should not be like.
            beside = read_instruction(query.text, whole_query=False, venues=venues)
            reading = beside if beside.conditions or beside.unread else reading
        reading = second(query.text, reading) if second else reading
        unread += (*reading.unread, *_hinted(query.text, reading, hints))
        fallback = not reading.topic and not query.seeds
        read = reading.conditions or reading.same or reading.different or reading.unread
        left = reading.topic if reading.topic or read or not reading.parts else query.text
        query = _with(query, reading, _positive(query.text, reading) if fallback else left)
    if len(query.instruction) > LONGEST_READ:
        unread = (*unread, _too_long(query.instruction))
        query = replace(query, text=f"{query.text} {query.instruction}".strip(), instruction="")
    elif query.instruction.strip():
        beside_seed = partial(read_instruction, whole_query=False, venues=venues)
        reading = _worded(query, query.instruction, beside_seed, wordings)
        reading = second(query.instruction, reading) if second else reading
        text = " ".join(part for part in (query.text.strip(), reading.topic) if part)
        unread += reading.unread
        query = replace(_with(query, reading, text), instruction="")
    return Understood(query, unread, fallback)


def signed(text: str) -> bool:
    """True if a clause says how a request is meant: *only*, *no*, *ideally*."""
    return any(mark.cat in SIGNS for mark in marks_of(text))


def _worded(query: Query, text: str, read: Callable[[str], Reading], wordings: Wordings | None) -> Reading:
    """A text beside a seed as the rules read it, with the likeness that only its wording tells."""
    reading = read(text)
    if wordings is None or not query.seeds or query.same or query.different:
        return reading
    requested = tuple(c.words for c in reading.conditions)
    if reading.same or reading.different or (told := wordings(text, requested)) is None:
        return reading
    free = (told.rest, *told.stated)
    unread = [one for one in reading.unread if any(one.words in part for part in free)]
    if told.aspect and not told.sure:
        unread = [one for one in unread if one.words not in told.words]
        what, option = ("difference", "different") if told.differs else ("likeness", "same")
        why = f"perhaps {what} in the {told.aspect} is meant: --{option} {told.aspect}"
        unread.append(Unread(told.words, why))
    return replace(
        reading,
        conditions=tuple(c for c in reading.conditions if _asked(c, told, free)),
        same=(told.aspect,) if told.sure else (),
        topic=read(told.rest).topic if told.rest else "",
        unread=tuple(unread),
        parts=(),
    )


def _hinted(text: str, reading: Reading, hints: Hints | None) -> list[Unread]:
    """Words that are searched for though they may ask for something; those of one run together."""
    if hints is None or not reading.topic or is_capitalised(text) or not is_english(text):
        return []
    low, topic = text.casefold(), reading.topic.casefold()
    told = [one.words for one in reading.conditions] + [one.words for one in reading.unread]
    taken = [(at, at + len(words)) for words in told if (at := low.find(words.casefold())) >= 0]
    runs: list[tuple[int, int, bool]] = []
    for start, end in hints(text):
        if any(first < end and start < last for first, last in taken):
            continue
        says = any(map(_says, marks_of(text[start:end])))
        if runs and _BETWEEN.fullmatch(text[runs[-1][1] : start]) and low[runs[-1][0] : end] in topic:
            runs[-1] = (runs[-1][0], end, runs[-1][2] or says)
        else:
            runs.append((start, end, says))
    return [
        Unread(text[start:end], _PERHAPS, searched=True)
        for start, end, says in runs
        if says and low[start:end] in topic
    ]


def _says(mark: Mark) -> bool:
    return mark.free or mark.carries or mark.cat in ("taste", "demand")


def _asked(condition: Condition, told: Wording, free: tuple[str, ...]) -> bool:
    """True if a condition is a request, and not part of the explanation of an aspect."""
    like_aspect = condition.attribute == "kind" and condition.value in _KINDS
    if condition.attribute not in _EXPLAINED or condition.words in told.rest:
        return True
    if any(condition.words in part for part in free):
        return not like_aspect or signed(condition.words)
    clear = condition.words in told.words or condition.relation in ("require", "exclude")
    return condition.attribute == "kind" and clear and not like_aspect


def _too_long(text: str) -> Unread:
    why = f"{len(text):,} characters are searched as they are: requests are read in {LONGEST_READ:,} at most"
    return Unread(text[:60].strip(), why)


def _denies(mark: Mark) -> bool:
    """True if a mark denies by itself, or is a value expressed by a denial: *no paywalls*."""
    return mark.cat in DENIALS or mark.low.split()[0] in _DENYING or any(v[0] == "!" for v in mark.values)


def _positive(text: str, reading: Reading) -> str:
    """Search text for a text without a subject: the words of requests that do not deny.

    Raises:
        UsageError: no request has such words.
    """
    if not (reading.conditions or reading.unread):
        return text
    words = dict.fromkeys(
        c.words
        for c in reading.conditions
        if c.relation in ("require", "prefer") and not any(map(_denies, marks_of(c.words)))
    )
    if not words:
        raise UsageError(
            "something to search for is missing",
            why=f"“{text.strip()}” only says what papers should not be like, or was not read",
            hint="name a subject beside it, or search the words as they are with --literal",
        )
    return " ".join(words)


def _with(query: Query, reading: Reading, text: str) -> Query:
    known = {(c.attribute, c.value) for c in query.conditions}
    new = tuple(c for c in reading.conditions if (c.attribute, c.value) not in known)
    return replace(
        query,
        text=text,
        conditions=(*query.conditions, *new),
        same=tuple(dict.fromkeys((*query.same, *reading.same))),
        different=tuple(dict.fromkeys((*query.different, *reading.different))),
    )
