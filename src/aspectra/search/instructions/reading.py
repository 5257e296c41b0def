"""Reading requests: free words to conditions, aspects, what is searched for, and what was not read.

>>> reading = read_instruction("bee health, only papers written in German, please")
>>> reading.spellings, reading.topic
(('require language=de',), 'bee health')

The way of a text: ``marks`` names its words by the tables in ``words``, ``pieces`` cuts it, ``meaning`` and
``limiters`` read each piece under its sign, ``subjects`` finds the subject of a question, ``lists`` and
``settling`` read pieces in the light of each other. ``docs/instructions.md`` says what people can write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from aspectra.base.errors import UsageError
from aspectra.search.conditions.condition import Condition, Exemption, Relation
from aspectra.search.instructions.judging import read_pieces
from aspectra.search.instructions.marks import marks_of
from aspectra.search.instructions.meaning import Request
from aspectra.search.instructions.pieces import divide
from aspectra.search.instructions.settling import Read, contradicting
from aspectra.search.query import Unread

# What nobody counts as part of a subject at its ends.
_OUTER = " \t\r\n.,;:!?…。，：；？！、-–—"
_MOST, _MOST_ASPECTS = 32, 4  # conditions, and aspects of each sign, that are read from one text
_LONG = 400  # characters: beyond, a text is a description of a need, of which only plain limiters are read


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the text and what became of it.

    Attributes:
        words: a substring of the text.
        role: ``applied``, ``unread``, ``searched`` or ``chatter``.
    """

    words: str
    role: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text asks for.

    Attributes:
        conditions: what papers should be like, in the order of the text, each with its words.
        same, different: aspects in which they should be like the seeds, or unlike them.
        topic: what is searched for; words of the text, without those of requests.
        unread: requests that are not applied, with the reason.
        parts: every piece of the text, in order.
    """

    conditions: tuple[Condition, ...] = ()
    same: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    topic: str = ""
    unread: tuple[Unread, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        """Conditions and aspects as a person edits them: ``avoid language=zh``, ``same method``."""
        conditions = tuple(c.spelling for c in self.conditions)
        return (
            conditions
            + tuple(f"same {a}" for a in self.same)
            + tuple(f"different {a}" for a in self.different)
        )


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start] in _OUTER or text[start].isspace()):
        start += 1
    while end > start and (text[end - 1] in _OUTER or text[end - 1].isspace()):
        end -= 1
    return start, end


def _cut(text: str, start: int, end: int) -> str:
    return text[slice(*_trim(text, start, end))]


def _topic(text: str, reads: Sequence[Read]) -> str:
    """The subjects without what is required inside them, joined where nothing else stands between them."""
    spans: list[tuple[int, int]] = []
    last = -2
    for number, read in enumerate(reads):
        if read.subject is None:
            continue
        start, end = read.subject
        inside = [r for r in read.requests if start < r.start and r.end <= end and r.relation == "require"]
        inner = {(r.start, r.end) for r in inside}
        edges = [start, *(edge for span in sorted(inner) for edge in span), end]
        parts = list(zip(edges[::2], edges[1::2], strict=True))
        joined = spans and last == number - 1 and start == read.piece.start
        if joined and spans[-1][1] == reads[last].piece.end:
            parts[0] = (spans.pop()[0], parts[0][1])
        spans += parts
        last = number
    closed = [
        (a, b + (b < len(text) and text[b] in ")]" and text.count("(", a, b) > text.count(")", a, b)))
        for a, b in spans
    ]
    return " ".join(filter(None, (_cut(text, a, b) for a, b in closed)))


def _condition(text: str, request: Request, piece: tuple[int, int]) -> Condition:
    """The condition of a request.

    Raises:
        UsageError: the value means nothing for its attribute.
    """
    unless = tuple(dict.fromkeys(Exemption(*exempt) for exempt in request.unless))
    words = _cut(text, *piece)
    return Condition(request.attribute, request.value, cast(Relation, request.relation), words, unless)


def read_instruction(text: str, *, whole_query: bool = True, venues: Mapping[str, str] = {}) -> Reading:
    """Read what a text says about the papers it asks for.

    Args:
        text: any text. Of a question of more than 400 characters only plain limiters are read.
        whole_query: the text is the whole query, subject included; otherwise it accompanies one, and all of
            it is about what papers should be like.
        venues: of the library that is searched, see ``library_venues``; those of the tables are known anyway.

    Returns:
        The reading. Words of conditions and ``unread`` are substrings of the text. Nothing is raised,
        whatever the text.
    """
    marks = marks_of(text, venues)
    pieces = divide(marks, question=whole_query)
    reads = read_pieces(text, pieces, question=whole_query, long=len(text) > _LONG)
    requests = [request for read in reads for request in read.requests]
    against = contradicting(requests)
    conditions: dict[str, Condition] = {}
    aspects: dict[str, list[str]] = {"same": [], "different": []}
    unread: list[Unread] = []
    parts: list[Part] = []
    for read in reads:
        span = (read.piece.start, read.piece.end)
        role = {"request": "applied", "subject": "searched", "unread": "unread"}.get(read.role, "chatter")
        if role == "unread":
            unread.append(Unread(_cut(text, *span) or text[slice(*span)], read.why))
        for request in read.requests:
            if request.attribute == "known" and request.relation == "prefer":
                unread.append(Unread(_cut(text, *span), "it is not clear whether they are wanted"))
            elif request in against:
                unread.append(Unread(_cut(text, *span), "it contradicts another request"))
            elif request.attribute == "aspect":
                aspects[request.relation].append(request.value)
            else:
                subject = read.subject is not None
                try:
                    made = _condition(text, request, (request.start, request.end) if subject else span)
                except UsageError as error:  # a value that its attribute cannot mean: better said than lost
                    unread.append(Unread(_cut(text, *span), str(error)))
                    continue
                if len(conditions) < _MOST:
                    conditions.setdefault(made.spelling, made)
                else:
                    unread.append(Unread(made.words, "more requests than one search takes"))
        unread += [Unread(_cut(text, a, b), why) for a, b, why in read.lost if _cut(text, a, b)]
        parts.append(Part(text[slice(*span)], role))
    topic = _topic(text, reads)
    if (
        whole_query
        and not (conditions or aspects["same"] or aspects["different"] or unread)
        and all(part.role == "searched" for part in parts)
    ):
        topic = _cut(text, 0, len(text))
    return Reading(
        tuple(conditions.values()),
        tuple(dict.fromkeys(aspects["same"]))[:_MOST_ASPECTS],
        tuple(dict.fromkeys(aspects["different"]))[:_MOST_ASPECTS],
        topic,
        tuple({u.words: u for u in unread if u.words}.values()),
        tuple(parts),
    )
