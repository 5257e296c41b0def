"""From what somebody wrote to fields of a query: the instruction, and requests inside the text itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.search.instructions.marks import marks_of
from aspectra.search.instructions.reading import Reading, read_instruction
from aspectra.search.instructions.recognisers.lexicon import Mark
from aspectra.search.instructions.search_strings import read_string
from aspectra.search.query import Query, Unread

__all__ = ["LONGEST_READ", "Understood", "understand"]

LONGEST_READ = 2000  # characters of a text or an instruction in which requests are looked for
_DENIALS = ("neg", "except")  # categories of marks
_DENIED = ("not ", "no ", "without ", "never ", "nothing ")  # how a topic begins that is none
_DENYING = ("no", "not", "behind", "without")


@dataclass(frozen=True, slots=True)
class Understood:
    """A query with its words read.

    Attributes:
        query: with conditions and aspects as fields, and what is searched for as its text.
        unread: requests that are not applied, and why.
        fallback: whether the text holds requests alone, so that words of those are searched for.
    """

    query: Query
    unread: tuple[Unread, ...] = ()
    fallback: bool = False


def understand(query: Query, venues: Mapping[str, str] = {}) -> Understood:
    """Read a query's text and instruction into conditions and aspects.

    A literal query's text is searched as it is, and so is one longer than :data:`LONGEST_READ` (as an
    unread request says). Of a text of nothing but requests, the words of what papers should be like are
    searched for, since something must be; never those of denials. Conditions that the query already has go
    before what is read about the same value.

    Args:
        query: as it was typed.
        venues: of the library that is searched, see ``library_venues``.

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
        reading = read_instruction(query.text, venues=venues)
        if query.seeds and reading.topic.casefold().startswith(_DENIED):
            # Beside a seed a denial needs no subject: it says what papers like the seed should not be like.
            beside = read_instruction(query.text, whole_query=False, venues=venues)
            reading = beside if beside.conditions or beside.unread else reading
        unread += reading.unread
        fallback = not reading.topic and not query.seeds
        read = reading.conditions or reading.same or reading.different or reading.unread
        left = reading.topic if reading.topic or read else query.text
        query = _with(query, reading, _positive(query.text, reading) if fallback else left)
    if len(query.instruction) > LONGEST_READ:
        unread = (*unread, _too_long(query.instruction))
        query = replace(query, text=f"{query.text} {query.instruction}".strip(), instruction="")
    elif query.instruction.strip():
        reading = read_instruction(query.instruction, whole_query=False, venues=venues)
        text = " ".join(part for part in (query.text.strip(), reading.topic) if part)
        query = replace(_with(query, reading, text), instruction="")
        unread += reading.unread
    return Understood(query, unread, fallback)


def _too_long(text: str) -> Unread:
    why = f"{len(text):,} characters are searched as they are: requests are read in {LONGEST_READ:,} at most"
    return Unread(text[:60].strip(), why)


def _denies(mark: Mark) -> bool:
    """Whether a mark denies by itself, or is a value that is said by a denial: *no paywalls*."""
    return mark.cat in _DENIALS or mark.low.split()[0] in _DENYING or any(v[0] == "!" for v in mark.values)


def _positive(text: str, reading: Reading) -> str:
    """What is searched for where a text has no subject: words of wishes that deny nothing.

    Raises:
        UsageError: there are none.
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
