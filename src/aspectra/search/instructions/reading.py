"""Reading requests: from free words to conditions, aspects, the topic, and unread requests.

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
from operator import itemgetter
from typing import cast

from msgspec import Struct

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.search.conditions.condition import Condition, Exemption, Relation
from aspectra.search.instructions import limiters, settling
from aspectra.search.instructions.lists import LIST, denial, settled
from aspectra.search.instructions.marks import is_english, marks_of
from aspectra.search.instructions.meaning import (
    FACTS,
    WEB,
    RequestedValue,
    Sign,
    free_requests,
    phrases,
    requests_of,
    sign_of,
)
from aspectra.search.instructions.pieces import Piece, divide, is_fix, without_aspects
from aspectra.search.instructions.recognisers.lexicon import word_sets
from aspectra.search.instructions.search_strings import without_operators
from aspectra.search.instructions.settling import EVENT, MEANT, TASTE, UNKNOWN, Read
from aspectra.search.instructions.subjects import subject_of
from aspectra.search.query import Unread

# Classify each piece: a request, the subject, chatter, or words that were not read.

_WORDS = word_sets("judging")
_DEMAND = "a demand on the answer, not on papers"
_IF = "a condition on a condition"
_UNSURE = "a word before it that is not known"


def _no_request(piece: Piece) -> str:
    """Why no paper decides what a piece behind the first asks, which has no sign; "" where one may."""
    marks = piece.marks
    first = next((m for m in marks if m.cat not in ("func", "polite", "but")), marks[0])
    if marks[0].low in _WORDS["relatives"] and any(m.cat == "taste" for m in marks):
        return TASTE
    if piece.carries:
        return ""
    demanded = sum(m.free for m in marks) < 2 and any(m.cat == "demand" for m in marks)
    if demanded or first.cat == "demand":
        return _DEMAND
    if first.cat == "taste" and (not piece.free or " " in first.low):
        return TASTE
    event = limiters.is_event(piece) and first.low not in _WORDS["during"] and len(marks) < LIST
    return EVENT if event else ""


def _meant_for(piece: Piece, before: Read) -> tuple[RequestedValue, ...]:
    """Requests of *for* in a sentence of its own or after a request: *How do tides work? For beginners.*"""
    marks = piece.marks
    if piece.free or marks[0].low not in _WORDS["for"]:
        return ()
    found = tuple(requests_of(piece, Sign(), company=True))
    set_off = piece.joint == "stop" or before.role == "request"
    return found if set_off or all((r.attribute, r.value) == ("audience", "lay") for r in found) else ()


def _unsigned_question(text: str, piece: Piece, number: int, *, alone: bool, company: bool) -> Read:
    """A piece without a sign, of a question."""
    marks = piece.marks
    if marks[0].cat == "lead" and marks[1:]:
        last = -1 if marks[-1].cat == "doc" and marks[-1].low > "\u3400" and marks[2:] else len(marks)
        return Read(piece, "subject", subject=(marks[1].start, marks[1:last][-1].end))  # "关于 ... 的论文"
    company = company or any(
        m.attribute in ("author", "publisher", "cites")
        or (number and m.sure and m.attribute == "kind" and "of" in m.flags)
        or m.cat in ("doc", "open")
        or m.low in _WORDS["frames"]
        or (m.attribute == "known" and m.sure)
        for m in marks
    )
    if number and (why := _no_request(piece)):
        return Read(piece, "unread", why=why)
    if not piece.free:
        found = subject_of(piece)
        if not number and found.requests and found.start > piece.start:
            return Read(piece, "subject", Sign(), found.requests, (found.start, found.end))
        values = requests_of(piece, Sign(), company=company)
        read = {r.start for r in values}
        had = bool(values) and marks[0].attribute == "known"  # "I already know" says how the rest is meant
        left = [m for m in marks[had:] if m.carries and m.start not in read]
        facts = all(r.attribute in FACTS or r.hard for r in values) and marks[0].low != marks[-1].low
        set_off = not alone or company or facts
        asks = marks[0].low in _WORDS["auxiliary"] and not any(m.cat in ("doc", "open") for m in marks)
        if asks or (alone and values and all(r.attribute in WEB for r in values) and len(marks) >= 3):
            return Read(piece, "subject", subject=(piece.start, piece.end))
        if values and number and limiters.perhaps_denied(text, piece, values):
            return Read(piece, "unread", why=MEANT)
        if values and not left and set_off:
            return Read(
                piece, "request", Sign(), tuple(values), lost=limiters.tastes(piece) if number else ()
            )
        if all(m.cat in ("func", "polite", "open", "but", "fix") for m in marks) and (
            number or any(m.cat in ("open", "polite") for m in marks)
        ):
            return Read(piece, "chatter")
        return Read(piece, "subject", subject=(piece.start, piece.end))
    found = subject_of(piece)
    front = [m for m in piece.marks if m.end <= found.start]
    judged = [(m.start, m.end, TASTE) for m in front if m.cat == "taste"]
    judged += [(m.start, m.end, _DEMAND) for m in front if m.cat == "demand"]
    return Read(piece, "subject", Sign(), found.requests, (found.start, found.end), lost=tuple(judged))


def _unsigned_instruction(text: str, piece: Piece) -> Read:
    """A piece without a sign, of words that accompany a question."""
    if any(m.cat == "demand" for m in piece.marks) and not piece.carries:
        return Read(piece, "unread", why=_DEMAND)
    if limiters.is_event(piece):
        return Read(piece, "unread", why=EVENT)
    purpose = piece.marks[0].low in _WORDS["for"] and any(m.low in _WORDS["my"] for m in piece.marks[1:2])
    if purpose and not any(m.low in _WORDS["relatives"] or m.attribute == "audience" for m in piece.marks):
        return Read(piece, "chatter")  # what it is for
    values = requests_of(piece, Sign(), company=True)
    doubtful = [n for n, m in enumerate(piece.marks) if m.cat == "aspect" and not m.sure]
    if doubtful and any(m.free or m.cat == "cue" for m in piece.marks[: doubtful[0]]):
        return Read(piece, "unread", why=_UNSURE)  # "papers that criticise this approach"
    free = phrases(piece, values)
    content = [m for m in piece.marks if m.cat not in ("func", "polite", "but", "open", "wish", "doc")]
    if any(m.cat == "taste" for m in piece.marks) and not values:
        return Read(piece, "unread", why=TASTE)
    cued = any(m.cat in ("lead", "cue") for m in piece.marks) or piece.marks[0].low in _WORDS["place"]
    opens = piece.marks[0].cat == "word" and piece.marks[0].low.isalpha() and not cued
    if values and not is_english(text) and ((opens and values[0].start > piece.start) or (free and not cued)):
        return Read(piece, "unread", why=_UNSURE)  # perhaps a verb that denies it
    about = all(r.attribute in WEB or r.attribute == "aspect" for r in values)
    if values and (limiters.perhaps_denied(text, piece, values) or (free and not cued and not about)):
        return Read(piece, "unread", why=MEANT)
    if values:
        more = free_requests(text, piece, values, Sign()) if cued else []
        left = [] if cued or values[0].attribute == "audience" else free
        lost = tuple((piece.marks[a].start, piece.marks[b - 1].end, UNKNOWN) for a, b in left)
        if any(r.attribute == "aspect" for r in values):
            more, lost = [], ()
        elif all(r.attribute in WEB for r in values):
            more, lost = [], tuple((r.start, r.end, UNKNOWN) for r in more) or lost
        return Read(piece, "request", Sign(), (*values, *more), lost=(*lost, *limiters.tastes(piece)))
    if not content or (piece.marks[0].low in _WORDS["self"] and len(content) < LIST):
        return Read(piece, "chatter")
    leads = content[0].cat in ("lead", "cue") or piece.marks[0].low in _WORDS["place"]
    if free and leads and piece.marks[0].low not in _WORDS["for"]:
        return Read(piece, "request", Sign(), tuple(free_requests(text, piece, (), Sign())))
    return Read(piece, "unread", why=UNKNOWN)


def _first_is_subject(piece: Piece, sign: Sign, others: bool) -> bool:
    """True if the first piece of a question is its subject in spite of a sign: *Only children*."""
    if not others and (sign.place == "unsure" or limiters.is_told(piece, sign)):
        return True
    values = requests_of(piece, sign, company=True)
    documents = any(m.cat == "doc" for m in piece.marks)
    denied = others and sign.negative and sign.strong
    if denied or sign.rules[0].low in _WORDS["excludes"] or not piece.free:
        return False
    if values:
        people = all(r.attribute in ("population", "audience", "language") for r in values)
        led = any(m.cat == "lead" for m in piece.marks)
        return people and not others and sign.cats == {"hard"} and not documents and not led
    return not documents or (not others and not sign.negative)


def _is_subject(piece: Piece, sign: Sign, before: Sequence[Read], others: bool, listed: bool) -> bool:
    """True if a piece of a question is part of its subject in spite of a sign."""
    asks = piece.marks[0].low in _WORDS["asking"] | _WORDS["auxiliary"]
    if asks and piece.joint != "inline" and piece.free:  # unlike "papers which don't use X"
        return True
    if piece.joint == "bracket" and not piece.bracketed and sign.cats == {"soft"} and piece.free:
        return True  # the sentence goes on behind brackets
    started = any(read.role == "subject" or read.subject for read in before[-20:])
    return limiters.loose(piece, sign, listed) or (not started and _first_is_subject(piece, sign, others))


def _judged(text: str, piece: Piece, sign: Sign, before: Sequence[Read], context: _Context) -> Read:
    """Classify one piece, given the pieces before it."""
    number, question = len(before), context.question
    if piece.joint == "than":
        return limiters.signed(text, piece, limiters.pseudo("neg", "avoid"), others=True, question=question)
    have = piece.marks[0].attribute == "known" and len(piece.marks) > 1 and piece.marks[1].cat == "neg"
    if have and not any(m.cat == "doc" or m.carries for m in piece.marks[1:]):
        return Read(piece, "chatter")  # "I have no login"
    told = piece.marks[0].cat == "polite" and piece.marks[0].low.startswith(
        ("i am", "i'm", "we are", "we're")
    )
    if told and not sign.rules and (not question or context.others):
        return Read(piece, "chatter")
    if piece.joint == "list" and before[-1].sign.negative:  # "exclude A and purely B"
        return limiters.signed(text, piece, before[-1].sign, others=context.others, question=question)
    first = piece.marks[0].low
    follows = number and first in _WORDS["then"] and before[-1].why == _IF
    if follows or (first in _WORDS["if"] and piece.carries):
        return Read(piece, "unread", sign, why=_IF)
    if number and sign.rules and limiters.nested(piece, before[-1]):
        sign = replace(sign, rules=(*before[-1].sign.rules, *sign.rules))
    if number and before[-1].role == "permission" and first in _WORDS["nor"]:
        return Read(piece, "chatter", sign)  # "length doesn't matter, nor does the year"
    if limiters.allows(piece, sign):
        return Read(piece, "chatter")
    if number and is_fix(piece):
        return Read(piece, "fix")
    if number:
        last = before[-1]
        opened = last.role == "exception" and not (last.piece.carries or last.piece.free)
        other = first in _WORDS["otherwise"] and any(r.relation == "require" for r in last.requests)
        again = limiters.denied_again(piece, sign, last)
        if "except" in sign.cats or opened or other or again or limiters.besides(last, sign):
            return Read(piece, "exception", sign)
    if sign.place == "inner" and not (number and before[-1].requests and piece.carries):
        sign = Sign()
    if number and sign.place == "unsure":
        return Read(piece, "unread", sign, why=MEANT)
    if "perm" in sign.cats and (number or not question or not piece.free or sign.place == "lead"):
        return Read(piece, "permission", sign)
    sign = replace(sign, rules=tuple(denial(m) for m in sign.rules))
    if question and not number and _tells(piece) and not sign.rules and (context.others or context.led):
        return Read(piece, "chatter")
    if sign.rules and question and number and not context.others and (led := limiters.leads_to(piece, sign)):
        kept = tuple(r for r in requests_of(piece, sign, company=True) if r.end <= led[0])
        return Read(piece, "subject", sign, kept, subject=led)
    if question and number and not context.others and limiters.goes_on(piece, sign, before[-1]):
        return Read(piece, "subject", subject=(piece.start, piece.end))
    if question and number and not context.others and limiters.needs(piece, sign):
        piece, sign = replace(piece, marks=piece.marks[1:]), Sign()
    if sign.rules and question and _is_subject(piece, sign, before, context.others, context.listed):
        return Read(piece, "subject", subject=(piece.start, piece.end))
    if sign.rules:
        return limiters.signed(text, piece, sign, others=context.others, question=question)
    if question and number and (values := _meant_for(piece, before[-1])):
        return Read(piece, "request", sign, values)
    if question:
        return _unsigned_question(text, piece, number, alone=context.alone, company=context.company)
    return _unsigned_instruction(text, piece)


class _Context(Struct, frozen=True):
    """Facts about the rest of a text, by which a piece is classified.

    Attributes:
        question: whether the text is a question.
        others: whether another piece can be the subject.
        alone: whether the text is one piece.
        company: whether something else says that documents are meant.
        led: whether a later piece leads to a subject.
        listed: whether a comma stands behind the piece.
    """

    question: bool
    others: bool
    alone: bool
    company: bool
    led: bool = False
    listed: bool = False


def read_pieces(text: str, pieces: Sequence[Piece], *, question: bool, long: bool) -> list[Read]:
    """Classify each piece of a text, in order.

    Args:
        text: the text.
        pieces: of it.
        question: whether it is typed as a search; otherwise it accompanies one.
        long: whether only plain limiters are read.
    """
    signs = [sign_of(piece) for piece in pieces]
    if long and question:
        whole = [_long(piece, sign) for piece, sign in zip(pieces, signs, strict=True)]
        for number, read in enumerate(whole[1:], 1):  # "..., please"
            if whole[number - 1].requests and all(m.cat == "polite" for m in read.piece.marks):
                whole[number] = Read(read.piece, "chatter")
        return whole
    aspects = sum(m.cat == "aspect" for piece in pieces for m in piece.marks) > 1
    if question and not aspects:
        pieces = [without_aspects(piece) for piece in pieces]
    reads: list[Read] = []
    holders = [piece.free and not sign.rules for piece, sign in zip(pieces, signs, strict=True)]
    joints = [piece.joint for piece in pieces[1:]]
    named = sum(bool(settling.field_of(p, j)) for p, j in zip(pieces, joints, strict=False))
    typed = any(settling.is_typed(p, j) for p, j in zip(pieces, joints, strict=False))
    fields, field = named > question or typed, ""
    heading, heading_at, many = "", -1, sum(holders)
    led = any(
        limiters.leads_to(p, s) or limiters.needs(p, s) for p, s in zip(pieces[1:], signs[1:], strict=True)
    )
    for number, (piece, sign) in enumerate(zip(pieces, signs, strict=True)):
        follows = pieces[number + 1].joint if number + 1 < len(pieces) else ""
        compared = number and follows and any(m.low in _WORDS["rather"] for m in signs[number + 1].rules)
        if piece.sentence > heading_at + ("\n" in text):
            heading = ""
        if fields and settling.field_of(piece, follows):
            field = settling.field_of(piece, follows)
            reads.append(Read(piece, "chatter"))
            continue
        if field and not heading and not sign.rules:
            reads.append(settling.in_field(text, piece, field, question=question))
            continue
        if follows in ("colon", "dash") and (header := settling.is_header(piece.marks)):
            heading, heading_at = header, piece.sentence
            reads.append(Read(piece, "chatter"))
        elif follows == "colon" and sign.strong and sign.rules and limiters.heads(piece):
            # "don't want: ..."
            heading, heading_at = "exclude" if sign.negative else "require", piece.sentence
            reads.append(Read(piece, "chatter"))
        elif heading and (not sign.rules or (heading == "exclude" and limiters.prefixed(sign))):
            under = limiters.pseudo("neg", "strong") if heading == "exclude" else limiters.pseudo("hard")
            under = replace(under, rules=(*under.rules, *sign.rules))
            reads.append(limiters.signed(text, piece, under, others=True, question=question))
        else:
            company = bool(compared) or follows == "colon" or aspects
            told = many > holders[number] + (number > 0 and _tells(pieces[0]))
            context = _Context(question, told, len(pieces) == 1, company, led, follows == "comma")
            reads.append(_judged(text, piece, sign, reads, context))
    reads = settled(text, reads, question=question)
    return settling.guarded(text, reads) if question else reads


def _tells(piece: Piece) -> bool:
    """True if a piece says who is searching: *I am a nurse on a surgical ward*."""
    words = " ".join(m.low for m in piece.marks[:2])
    return words.startswith(tuple(_WORDS["am"]))


def _long(piece: Piece, sign: Sign) -> Read:
    """A piece of a long need: a limiter about papers of nothing but known words, or part of the subject."""
    values = requests_of(piece, sign, company=bool(sign.rules))
    about = any(m.cat == "doc" for m in piece.marks) or piece.marks[0].low.startswith("published")
    if values and about and not piece.free and not sign.cats & {"perm", "except"}:
        strong = sign.rules or all(v.attribute in FACTS for v in values)
        if strong and not limiters.combined(piece, values, sign):
            return Read(piece, "request", sign, tuple(values))
    return Read(piece, "subject", subject=(piece.start, piece.end))


# What nobody counts as part of a subject at its ends.
_BLANKS = (
    " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
OUTER = _BLANKS + ".,;:!?…。，：；？！、-–—"
_MOST, _MOST_ASPECTS = 32, 4  # conditions, and aspects of each sign, that are read from one text
_LONG = 400  # characters: beyond, a text is a description of a need, of which only plain limiters are read


class TextPart(Struct, frozen=True):
    """A part of the text and its use.

    Attributes:
        words: a substring of the text.
        role: ``applied``, ``unread``, ``searched`` or ``chatter``.
    """

    words: str
    role: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The requests and the topic read from a text.

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
    parts: tuple[TextPart, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        """Conditions and aspects as a person edits them: ``avoid language=zh``, ``same method``."""
        aspects = [f"same {a}" for a in self.same] + [f"different {a}" for a in self.different]
        return (*(c.spelling for c in self.conditions), *aspects)


def _cut(text: str, start: int, end: int) -> str:
    return text[start:end].strip(OUTER)


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


def _condition(text: str, request: RequestedValue, piece: tuple[int, int]) -> Condition:
    """The condition of a request.

    Raises:
        UsageError: the value means nothing for its attribute.
    """
    unless = tuple(dict.fromkeys(Exemption(*exempt) for exempt in request.unless))
    words = _cut(text, *piece)
    return Condition(request.attribute, request.value, cast(Relation, request.relation), words, unless)


def _named_by(words: str) -> tuple[Condition, ...]:
    """Conditions read from an operator's words; () if a part of them is not read."""
    reading = read_instruction(words, whole_query=False)
    return () if reading.unread else reading.conditions


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
    text, asked = without_operators(text, _named_by, settling.is_capitalised)
    marks = marks_of(text, venues)
    pieces = divide(marks, question=whole_query)
    reads = read_pieces(text, pieces, question=whole_query, long=len(text) > _LONG)
    requests = [request for read in reads for request in read.requests]
    against = settling.contradicting(requests)
    conditions: dict[str, Condition] = {}
    aspects: dict[str, list[str]] = {"same": [], "different": []}
    unread: list[Unread] = []
    operated = [edge for start, one in asked.items() for edge in (start, start + len(one.words))]
    parts: list[tuple[int, TextPart]] = []
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
        unread += [Unread(_cut(text, a, b), why) for a, b, why in read.lost]
        edges = [span[0], *(edge for edge in operated if span[0] < edge < span[1]), span[1]]
        cuts = zip(edges[::2], edges[1::2], strict=True)
        parts += [(a, TextPart(text[a:b].strip(), role)) for a, b in cuts]
    topic = _topic(text, reads)
    if whole_query and not (conditions or unread) and all(part.role == "searched" for _, part in parts):
        topic = _cut(text, 0, len(text))
    for start, meant in asked.items():
        if isinstance(meant, Unread):
            unread.append(meant)
        else:
            conditions.setdefault(meant.spelling, meant)
        parts.append((start, TextPart(meant.words, "unread" if isinstance(meant, Unread) else "applied")))
    return Reading(
        tuple(conditions.values()),
        tuple(dict.fromkeys(aspects["same"]))[:_MOST_ASPECTS],
        tuple(dict.fromkeys(aspects["different"]))[:_MOST_ASPECTS],
        " ".join(topic.split()) if asked else topic,
        tuple({u.words: u for u in unread if u.words}.values()),
        tuple(part for _, part in sorted(parts, key=itemgetter(0))),
    )
