"""Lists, and limiters that reach other pieces: *no surveys, theses or books*; *A, B or C only*."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile

from aspectra.base.values import replace
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.instructions.limiters import signed
from aspectra.search.instructions.meaning import FACTS, RequestedValue, Sign, requests_of
from aspectra.search.instructions.pieces import DOCUMENTS, is_led, told_apart
from aspectra.search.instructions.recognisers.aspects import aspect_names
from aspectra.search.instructions.recognisers.lexicon import Mark, fold, word_sets
from aspectra.search.instructions.settling import MEANT, UNKNOWN, Read, correct, exempt, permit

LIST = 8  # marks of an item of a list
_AND = word_sets("lists")["and"]
_OR = word_sets("lists")["or"]
_WITHOUT = word_sets("pieces")["modifies"]
_ARTICLES = word_sets("pieces")["some"]
_PLUS = word_sets("pieces")["plus"]
_IF = word_sets("settling")["if"] - word_sets("settling")["exceptions"]
_ANEW = word_sets("lists")["anew"]
_UNLESS = word_sets("lists")["unless"]
_NOTHING = word_sets("lists")["nothing"]
_SIZES = word_sets("lists")["sizes"]
_PERSON = re.compile(r"(?:[A-Z][a-z]+ )?[A-Z][a-zA-Zà-ÿ'-]*[a-z]")
_CHAIN = 12  # items of a list that are looked at


def denial(mark: Mark) -> Mark:
    """A word of exception as the denial that it is where nothing stands before it."""
    return replace(mark, cat="neg", sub="strong") if mark.cat == "except" else mark


def _later(reads: Sequence[Read], at: int) -> list[Mark]:
    """The marks of a piece and of those that go on with a list behind it."""
    out: list[Mark] = []
    for later in reads[at : at + _CHAIN]:
        listed = not later.sign.rules and later.piece.joint in ("comma", "and")
        if not listed or later.piece.sentence != reads[at].piece.sentence:
            break
        out += later.piece.marks
    return out


def _inherits(reads: Sequence[Read], at: int, *, subject_before: bool) -> Sign | None:
    """The sign of the list that a piece without one belongs to: *no surveys, theses or books*."""
    read = reads[at]
    first = read.piece.marks[0].cat
    if first in ("but", "lead", "wish", "open") or any(m.cat in ("fix", "wish") for m in read.piece.marks):
        return None
    item = [m.cat for m in read.piece.marks]
    length = item.index("lead") if "lead" in item and not subject_before else len(item)
    if read.sign.rules or at == 0 or read.piece.joint not in ("comma", "and") or length > LIST:
        return None
    before = reads[at - 1]
    unclear = before.role == "unread" and before.sign.negative  # "no trials in children, ... or theses"
    excepted = before.role == "exception"
    if not (before.role == "request" or unclear or excepted) or before.sign.place != "lead":
        return None
    behind = list(dropwhile(lambda m: m.low in _PLUS, read.piece.marks))
    marks = _later(reads, at)
    apart = told_apart(before.piece.marks, behind) and not any(m.low in _OR for m in marks)
    if apart and (before.sign.negative or excepted or len(behind) < len(item)):
        return None
    denied = requests_of(before.piece, Sign(), company=True) if excepted else before.requests
    if not (denied or unclear) or before.subject is not None:
        return None
    if {m.cat for m in read.piece.marks if m.carries or m.free} == {"bound"}:
        return None  # "not from a blog, and no more than a page"
    if before.requests and before.sign.rules[0].start > before.requests[-1].start:
        return None  # "peer-reviewed only, English or German"
    ahead = marks if subject_before else list(takewhile(lambda m: m.cat != "lead", marks))
    joints = [n for n, m in enumerate(marks) if m.low in _AND or (m.cat == "doc" and " or " in m.low)]
    # "no reviews, letters or papers by Ito" is a list, "no reviews, English and since 2020" two requests
    itemised = bool(joints) and _names_documents(marks[joints[-1] :])
    led = {m.low.split()[-1] for m in before.piece.marks}
    anew = read.piece.marks[0].low in _ANEW and led.isdisjoint(_ANEW)
    if anew and before.sign.negative and not joints:
        return None  # "pas de revues, des essais"
    if unclear:
        return before.sign if itemised and any(m.carries for m in read.piece.marks) else None
    attribute = denied[-1].attribute
    values = requests_of(read.piece, Sign(), company=True)
    alike = all(v.attribute == attribute for v in values)
    # "no surveys, blogs", "not in German, French", but not "no surveys, blogs please"
    listed = _bare(ahead, attribute) and (before.sign.negative or excepted)
    listed = listed and all(v.value != "en" for v in values)  # "not in German, English"
    if any(v.attribute in FACTS and v.attribute != attribute for v in values) and not itemised:
        return None
    if not values:
        named = attribute == "author"
        return before.sign if (joints or named) and (subject_before or named) else None
    return before.sign if joints or listed or (alike and not before.sign.negative) else None


def _lacks(read: Read) -> bool:
    """True if a subject may end in the first item of a denied list: *bees without letters, theses or CVs*."""
    behind = list(dropwhile(lambda m: m.low not in _WITHOUT, read.piece.marks))
    return read.role == "subject" and any(m.carries for m in behind[1:])


def _listed(read: Read) -> bool:
    """True if a piece without a sign names documents of one kind or another."""
    marks = read.piece.marks
    return not read.sign.rules and _names_documents(marks) and any(m.low in _OR for m in marks)


def _bare(marks: Sequence[Mark], attribute: str) -> bool:
    """True if marks name only values of an attribute or, for a kind of documents, only such kinds."""
    alike = DOCUMENTS if attribute in DOCUMENTS else {attribute}
    beside = _ARTICLES | _AND | {"ones", "的"}
    named = marks[:1] and marks[0].cat != "doc"

    def plain(mark: Mark) -> bool:  # "not the same method, task", unlike "ignore the task, match the method"
        compares = mark.cat == "aspect" and mark.low not in aspect_names()
        return mark.attribute in alike and not is_led(mark) and not compares

    return all(plain(m) or m.low in beside or (named and m.cat == "doc") for m in marks)


def _names_documents(marks: Sequence[Mark]) -> bool:
    return any(m.cat == "doc" or m.attribute in DOCUMENTS for m in marks)


def _terms(text: str, read: Read) -> Read:
    """Terms of one list with *or* between them: one will do (*must mention "zinc" or "copper"*)."""
    if len(read.requests) < 2 or len({(r.start, r.end) for r in read.requests}) > 1:
        return read
    first, *others = read.requests
    if first.relation != "require" or not ATTRIBUTES.get(first.attribute).every:
        return read
    if _OR.isdisjoint(fold(text[first.start : first.end]).split()):
        return read
    return replace(read, requests=(_unless(first, others),))


def _unless(request: RequestedValue, others: Sequence[RequestedValue]) -> RequestedValue:
    """A request from which papers are exempt that meet others."""
    return replace(request, unless=tuple((r.attribute, r.value, False) for r in others))


def _either(read: Read) -> Read:
    """Requests of different attributes with *or* between them: either will do (*open access or by Babai*)."""
    if any(r.relation not in ("require", "prefer") for r in read.requests):
        return read
    for mark in read.piece.marks if len(read.requests) + len(read.lost) > 1 else ():
        one = [r for r in read.requests if r.start < mark.start]
        other = [r for r in read.requests if r.start > mark.start]
        behind = min([*(r.start for r in other), *(a for a, _, _ in read.lost if a > mark.start)], default=0)
        if mark.low not in _OR or not one or not behind:
            continue
        last = max(r.end for r in one)
        if any(m.carries or m.free for m in read.piece.marks if last <= m.start < behind):
            continue
        known = bool(other) and other[0].start == behind and not read.lost
        if known and one[-1].attribute == other[0].attribute and not ATTRIBUTES.get(one[-1].attribute).every:
            continue
        if any(r.relation == "prefer" for r in read.requests):
            soft = tuple(replace(r, relation="prefer") for r in read.requests)
            return replace(read, requests=soft) if known else read
        if not known or any(r.unless for r in read.requests):
            return replace(read, role="unread", requests=(), lost=(), why="alternatives of different kinds")
        return replace(read, requests=tuple(_unless(r, other) for r in one))
    return read


def settled(text: str, reads: list[Read], *, question: bool) -> list[Read]:
    """Lists, references back, corrections, exceptions and permission."""
    subject = False
    for at, read in enumerate(reads):
        sign = _inherits(reads, at, subject_before=subject or not question)
        if sign and reads[at - 1].role == "exception":  # "all except surveys, theses and books"
            reads[at] = replace(read, role="exception", sign=sign, requests=())
        elif sign:
            made = signed(text, read.piece, sign, others=subject, question=question)
            if made.subject is None and not subject:  # unlike "no theses or letters on bees"
                made = signed(text, read.piece, sign, others=True, question=question)
            reads[at] = made
            people = reads[at - 1].role == "request" and reads[at - 1].requests[-1].attribute == "author"
            if people and all(r.attribute == "topic" for r in reads[at].requests):
                reads[at] = _as_authors(reads[at])
            _name_list(text, reads, at)
            _term_list(reads, at)
        elif at and read.role == "request" and _lacks(reads[at - 1]) and _listed(read):
            reads[at] = replace(read, role="unread", why=UNKNOWN, requests=())
        subject = subject or reads[at].subject is not None
    for at in range(len(reads) - 1, 0, -1):
        _reach_back(text, reads, at, question=question)
    for at in range(len(reads)):
        if at and any(m.cat == "fix" for m in reads[at].piece.marks[:2]):
            correct(text, reads, at)
    for at, read in enumerate(reads):
        empty = not (read.piece.carries or read.piece.free)
        if read.role == "exception" and empty and [r.role for r in reads[at + 1 : at + 2]] == ["exception"]:
            reads[at] = replace(read, role="chatter")  # "Exception: ..."
        elif reads[at].role == "exception":
            exempt(text, reads, at, across=read.piece.joint in ("stop", "colon"))
        elif reads[at].role == "permission":
            permit(text, reads, at)
    for at, read in enumerate(reads):
        if read.role == "exception":  # nothing to be exempt from: a denial
            if read.piece.marks[0].low in _UNLESS or not read.sign.rules:
                reads[at] = replace(read, role="unread", why=MEANT)
                continue
            sign = replace(read.sign, rules=tuple(denial(m) for m in read.sign.rules))
            reads[at] = signed(text, read.piece, sign, others=True, question=question)
    for at, read in enumerate(reads):
        if read.requests or not question:
            break
        if at and read.role == "chatter" and read.sign.negative and read.piece.marks[0].low in _OR:
            # "do they follow rules, or ignore them"
            reads[at] = replace(read, role="subject", subject=(read.piece.start, read.piece.end))
    for at, read in enumerate(reads[1:]):  # "Reviews nur, wenn sie systematisch sind"
        before = reads[at].piece.marks[-1]
        if read.piece.marks[0].low in _IF and before.cat == "hard" and reads[at].requests:
            reads[at] = replace(reads[at], role="unread", requests=(), why=MEANT)
    reads[:] = [_either(_terms(text, read)) if read.role == "request" else read for read in reads]
    if any(read.requests for read in reads) and question:
        for at, read in enumerate(reads):
            asks = at == 0 or any(m.cat in ("doc", "open") for m in read.piece.marks)
            if asks and read.role == "subject" and not read.requests and not read.piece.free:
                values = tuple(requests_of(read.piece, Sign(), company=True))
                role = "request" if values else "chatter"
                reads[at] = replace(read, role=role, requests=values, subject=None)
    return reads


def _as_authors(read: Read) -> Read:
    hard = read.sign.relation(hard=True)
    return replace(read, requests=tuple(replace(r, attribute="author", relation=hard) for r in read.requests))


def _first(reads: Sequence[Read], at: int) -> int:
    """Number of the first item of the list that a piece is in."""
    first = at
    while (
        first and reads[first].piece.joint == "comma" and reads[first - 1].sign.rules == reads[at].sign.rules
    ):
        first -= 1
    return first


def _name_list(text: str, reads: list[Read], at: int) -> None:
    """*Not Hinton, LeCun or Bengio*: two or more names in a list that no table has are people."""
    first = _first(reads, at)
    requests = [r for read in reads[first : at + 1] for r in read.requests]
    people = all(r.attribute == "topic" and _PERSON.fullmatch(r.value) for r in requests)
    if people and len(requests) >= 3:
        for n in range(first, at + 1):
            reads[n] = _as_authors(reads[n])


def _term_list(reads: list[Read], at: int) -> None:
    """*Must mention zinc, copper or lead*: terms go on behind a term, and with *or* one will do."""
    before, read = reads[at - 1], reads[at]
    if [{r.attribute for r in one.requests} for one in (before, read)] != [{"keyword"}, {"topic"}]:
        return
    terms = tuple(
        replace(r, attribute="keyword", value=one) for r in read.requests for one in r.value.split(" and ")
    )
    reads[at] = replace(read, requests=terms)
    if terms[0].relation == "require" and any(m.low in _OR for m in read.piece.marks):
        first = _first(reads, at - 1)
        listed = [r for one in reads[first : at + 1] for r in one.requests]
        reads[first] = replace(reads[first], requests=(_unless(listed[0], listed[1:]),))
        for n in range(first + 1, at + 1):
            reads[n] = replace(reads[n], role="chatter", requests=())


def _reach_back(text: str, reads: list[Read], at: int, *, question: bool) -> None:
    """Let a limiter reach back: behind a list (*A, B or C only*), or without content (*leave those out*)."""
    read, before = reads[at], reads[at - 1]
    # "Theses? Leave them out."
    asked = text[before.piece.end : read.piece.start].lstrip().startswith(("?", "？"))
    near = asked or before.piece.sentence == read.piece.sentence
    if not near or (before.sign.rules and before.sign.place == "lead"):
        return
    value = before.role == "subject" and before.piece.carries and not before.piece.free
    named = value or before.role == "request"
    if read.role == "chatter" and read.sign.rules and named and not before.sign.rules:
        pronoun = read.sign.rules[-1].low in _NOTHING and len(read.piece.marks) > 1
        plain = all(m.cat in ("neg", "polite") for m in read.piece.marks)
        sized = any(m.low in _SIZES for m in read.piece.marks)  # "that are not small"
        if sized or (pronoun and not plain and all(m.sub != "back" for m in read.piece.marks)):
            unsure = (at - 1, at) if len(read.piece.marks) == 2 else (at,)
            for n in unsure:  # whether the one before is denied
                reads[n] = replace(reads[n], role="unread", why=UNKNOWN, requests=(), subject=None)
            return
        if any(m.sub == "back" for m in read.piece.marks) or all(m.cat != "doc" for m in read.piece.marks):
            reads[at - 1] = signed(text, before.piece, read.sign, others=True, question=question)
        return
    twice = sum(m.cat == "neg" for m in read.sign.rules) > 1 and not read.sign.negative
    if twice and read.piece.joint == "inline" and before.role == "request" and not before.sign.rules:
        for n in (at - 1, at):  # "preprints not in English are not ok"
            reads[n] = replace(reads[n], role="unread", why=MEANT, requests=())
        return
    if read.piece.joint not in ("comma", "and") or not read.sign.rules:
        return
    items = [m for m in (*before.piece.marks, *read.piece.marks) if m not in read.sign.rules]
    denied = read.sign.negative or read.role == "exception"
    behind = read.sign.rules[0].start > max(m.start for m in items)
    plain = before.role == "request" and not before.sign.rules
    if denied and behind and plain and _bare(items, before.requests[0].attribute):
        # "surveys, theses left out"
        if read.role == "exception":
            reads[at - 1] = replace(before, role="exception", sign=read.sign, requests=())
        else:
            reads[at - 1] = signed(text, before.piece, read.sign, others=True, question=question)
        return
    if not read.requests:
        return
    if read.sign.rules[0].start > max(r.end for r in read.requests) and read.role == "request":
        reached = read.sign.rules[0].start >= read.piece.end  # by the limiter behind the list
        listed = reached or any(m.low in _AND for m in read.piece.marks)
        if (
            listed
            and plain
            and {r.attribute for r in before.requests} <= {r.attribute for r in read.requests}
        ):
            reads[at - 1] = signed(text, before.piece, read.sign, others=True, question=question)
