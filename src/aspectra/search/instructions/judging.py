"""What becomes of each piece: a request, the subject, chatter, or words that were not read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from aspectra.search.instructions.lexicon import Mark, word_sets
from aspectra.search.instructions.meaning import (
    FACTS,
    Request,
    Sign,
    combined,
    free_requests,
    is_event,
    phrases,
    requests_of,
    sign_of,
)
from aspectra.search.instructions.pieces import Piece, is_rule
from aspectra.search.instructions.settling import Read, correct, exempt, is_header, permit
from aspectra.search.instructions.subjects import subject_of

__all__ = ["read_pieces"]

_WORDS = word_sets("judging")
_AND = _WORDS["and"]
_PERSON = re.compile(r"(?:[A-Z][a-z]+ )?[A-Z][a-zA-Zà-ÿ'-]*[a-z]")
_NAMES = 3  # names in a row that make a list of people
_DIGIT = re.compile(r"\d")
_LIST = 8  # marks of an item of a list
_UNKNOWN = "not recognised"
_TASTE = "a judgement that no record or text states"
_DEMAND = "a demand on the answer, not on papers"
_EVENT = "a time that is no year"
_COMBINED = "a denial of several things at once"
_AMOUNT = "an amount that no field states"
_UNSURE = "it is not sure whether it is wanted"


def _pseudo(cat: str, sub: str = "") -> Sign:
    return Sign((Mark(cat, 0, 0, "", sub),), "lead")


def _amount(piece: Piece) -> bool:
    """Whether free words are about an amount: *more than one GPU*."""
    return any(_DIGIT.search(m.low) for m in piece.marks if m.free) or any(m.low in _WORDS["amount"] for m in piece.marks if not is_rule(m))


def _tastes(piece: Piece) -> tuple[tuple[int, int, str], ...]:
    return tuple((m.start, m.end, _TASTE) for m in piece.marks if m.cat == "taste")


def _signed(text: str, piece: Piece, sign: Sign, *, others: bool, question: bool) -> Read:
    """A piece under a sign.

    Args:
        text: the whole text.
        piece: the piece.
        sign: of the piece, or of the list that it belongs to.
        others: whether another piece has a subject.
        question: whether the text is a question.
    """
    values = requests_of(piece, sign, company=True)
    if combined(piece, values, sign) and (others or not question):
        return Read(piece, "unread", sign, why=_COMBINED)
    if question and not others and (led := _led(piece, values, sign)):
        kept = tuple(r for r in values if r.end <= led[0])
        return Read(piece, "request", sign, kept, subject=led)
    free = free_requests(text, piece, values, sign)
    if free and any(m.cat == "taste" for m in piece.marks) and not values:
        return Read(piece, "unread", sign, why=_TASTE)
    if free and not values and sign.negative and _amount(piece):
        return Read(piece, "unread", sign, why=_AMOUNT)
    if values and free and any(r.attribute == "aspect" for r in values):
        free = []
    flipped = [r for r in values if r.opposite and sign.negative]
    if flipped and (over := [r for r in free if r.start > flipped[-1].end]):
        lost = tuple((r.start, r.end, _UNSURE) for r in over)
        return Read(piece, "request", sign, tuple(values), lost=lost)
    if not values and not free:
        if any(m.cat == "taste" for m in piece.marks):
            return Read(piece, "unread", sign, why=_TASTE)
        return Read(piece, "chatter", sign)
    return Read(piece, "request", sign, (*values, *free), lost=_tastes(piece) if values else ())


def _led(piece: Piece, values: Sequence[Request], sign: Sign) -> tuple[int, int] | None:
    """Where the subject stands in a limiter that leads to it: *only surveys on X*; not under a plain denial of
    papers on it."""
    for at, mark in enumerate(piece.marks):
        if at and (mark.cat == "lead" or (mark.low in _WORDS["of"] and "of" in piece.marks[at - 1].flags)):
            behind = piece.marks[at + 1 :]
            while behind and is_rule(behind[-1]):
                behind = behind[:-1]
            headed = any(r.end <= mark.start for r in values) or (
                not sign.negative and any(m.cat == "doc" for m in piece.marks[:at])
            )
            plain = all(m.cat in ("func", "polite", "bound", "name") or m.attribute == "language" for m in behind)
            if headed and not plain and not any(m.free or is_rule(m) for m in [*piece.marks[:at][-1:], *behind[:1]][:1]):
                return behind[0].start, behind[-1].end
            return None
    return None


def _unsigned_question(piece: Piece, number: int, *, alone: bool, company: bool) -> Read:
    """A piece without a sign, of a question."""
    marks = piece.marks
    if marks[0].cat == "lead" and marks[1:]:
        return Read(piece, "subject", subject=(marks[1].start, piece.end))
    company = company or any(m.cat in ("doc", "open") or m.low in _WORDS["frames"] for m in marks)
    first_free = next((m for m in marks if m.cat not in ("func", "polite", "but")), marks[0])
    if number and not piece.carries and (
        first_free.cat == "demand" or (any(m.cat == "demand" for m in marks) and not piece.free)
    ):
        return Read(piece, "unread", why=_DEMAND)
    if number and not piece.carries and first_free.cat == "taste" and (not piece.free or " " in first_free.low):
        return Read(piece, "unread", why=_TASTE)
    if number and is_event(piece) and not piece.carries and first_free.low not in _WORDS["during"] and len(marks) < _LIST:
        return Read(piece, "unread", why=_EVENT)
    if number and marks[0].low in _WORDS["that"] and any(m.cat == "taste" for m in marks):
        return Read(piece, "unread", why=_TASTE)
    if not piece.free:
        found = subject_of(piece)
        if not number and found.requests and found.start > piece.start:
            return Read(piece, "subject", Sign(), found.requests, (found.start, found.end))
        values = requests_of(piece, Sign(), company=company)
        left = [m for m in marks if m.carries and m.start not in {r.start for r in values}]
        set_off = not alone or company or all(r.attribute in FACTS or r.hard for r in values) and marks[0].low != marks[-1].low
        if values and not left and set_off:
            return Read(piece, "request", Sign(), tuple(values), lost=_tastes(piece) if number else ())
        if not piece.carries and all(m.cat in ("func", "polite", "open", "but", "fix") for m in marks) and (
            number or any(m.cat in ("open", "polite") for m in marks)
        ):
            return Read(piece, "chatter")
        return Read(piece, "subject", subject=(piece.start, piece.end))
    found = subject_of(piece)
    return Read(piece, "subject", Sign(), found.requests, (found.start, found.end))


def _unsigned_instruction(text: str, piece: Piece) -> Read:
    """A piece without a sign, of words that accompany a question."""
    if any(m.cat == "demand" for m in piece.marks) and not piece.carries:
        return Read(piece, "unread", why=_DEMAND)
    if is_event(piece):
        return Read(piece, "unread", why=_EVENT)
    values = requests_of(piece, Sign(), company=True)
    free = phrases(piece, values)
    content = [m for m in piece.marks if m.cat not in ("func", "polite", "but", "open", "wish", "doc")]
    if any(m.cat == "taste" for m in piece.marks) and not values:
        return Read(piece, "unread", why=_TASTE)
    cued = any(m.cat in ("lead", "cue") for m in piece.marks) or piece.marks[0].low in _WORDS["place"]
    if values:
        more = free_requests(text, piece, values, Sign()) if cued else []
        lost = () if cued or values[0].attribute == "audience" else tuple((piece.marks[a].start, piece.marks[b - 1].end, _UNKNOWN) for a, b in free)
        if any(r.attribute == "aspect" for r in values):
            more, lost = [], ()
        return Read(piece, "request", Sign(), (*values, *more), lost=(*lost, *_tastes(piece)))
    if not content or (piece.marks[0].low in _WORDS["self"] and len(content) < _LIST):
        return Read(piece, "chatter")
    if cued and free and (content[0].cat in ("lead", "cue") or piece.marks[0].low in _WORDS["place"]):
        return Read(piece, "request", Sign(), tuple(free_requests(text, piece, (), Sign())))
    return Read(piece, "unread", why=_UNKNOWN)


def _holds_subject(piece: Piece, sign: Sign) -> bool:
    """Whether a piece can be the subject of a question."""
    return piece.free and not sign.rules


def _first_is_subject(piece: Piece, sign: Sign, values: Sequence[Request], others: bool) -> bool:
    """Whether the first piece of a question is its subject though it has a sign: *Only children*."""
    if not others and piece.free and all(r.attribute in ("population", "audience", "language") for r in values):
        if values and sign.cats == {"hard"} and not any(m.cat in ("doc", "lead") for m in piece.marks):
            return True
    if values or not piece.free:
        return False
    if others and sign.negative and sign.strong:
        return False
    return not any(m.cat == "doc" for m in piece.marks) or not others and not sign.negative


def _inherits(reads: Sequence[Read], at: int, *, subject_before: bool) -> Sign | None:
    """The sign of the list that a piece without one belongs to: *no surveys, theses or books*."""
    read = reads[at]
    first = read.piece.marks[0].cat
    if first in ("but", "lead", "wish", "open") or any(m.cat in ("fix", "wish") for m in read.piece.marks):
        return None
    if at and reads[at - 1].role == "fix":
        return None
    if read.sign.rules or at == 0 or read.piece.joint not in ("comma", "and") or len(read.piece.marks) > _LIST:
        return None
    before = reads[at - 1]
    if before.piece.sentence != read.piece.sentence or before.role != "request" or before.sign.place != "lead":
        return None
    if not before.requests or before.subject is not None or "perm" in before.sign.cats:
        return None
    chain = []
    for later in reads[at:]:
        if later.sign.rules or later.piece.joint not in ("comma", "and") or later.piece.sentence != read.piece.sentence:
            break
        chain.append(later)
    joined = any(m.low in _AND for later in chain for m in later.piece.marks)
    values = requests_of(read.piece, Sign(), company=True)
    alike = bool(values) and all(v.attribute == before.requests[-1].attribute for v in values)
    if any(v.attribute in FACTS and v.attribute != before.requests[-1].attribute for v in values):
        return None
    if not values:
        named = before.requests[-1].attribute == "author"
        return before.sign if (joined or named) and (subject_before or named) else None
    return before.sign if alike or joined else None


def read_pieces(text: str, pieces: Sequence[Piece], *, question: bool, long: bool) -> list[Read]:
    """What becomes of each piece of a text, in order.

    Args:
        text: the text.
        pieces: of it.
        question: whether it is typed as a search; otherwise it accompanies one.
        long: whether only plain limiters are read.
    """
    reads: list[Read] = []
    signs = [sign_of(piece) for piece in pieces]
    holders = [_holds_subject(p, s) for p, s in zip(pieces, signs, strict=True)]
    aspects = sum(m.cat == "aspect" for piece in pieces for m in piece.marks) > 1
    heading = ""
    heading_at = -1
    for number, (piece, sign) in enumerate(zip(pieces, signs, strict=True)):
        others = any(holders[:number]) or any(holders[number + 1 :])
        follows = pieces[number + 1].joint if number + 1 < len(pieces) else ""
        if follows == "colon" and (header := is_header(piece.marks)):
            heading, heading_at = header, piece.sentence
            reads.append(Read(piece, "chatter"))
            continue
        if heading and piece.sentence > heading_at + ("\n" in text):
            heading = ""
        if long and question:
            reads.append(_long(piece, sign))
            continue
        if heading and not sign.rules:
            sign = _pseudo("neg", "strong") if heading == "exclude" else _pseudo("hard")
            reads.append(_signed(text, piece, sign, others=True, question=question))
            continue
        if piece.joint == "than":
            reads.append(_signed(text, piece, _pseudo("neg", "avoid"), others=True, question=question))
            continue
        if all(m.cat in ("fix", "func", "polite", "but") for m in piece.marks) and any(m.cat == "fix" for m in piece.marks) and number:
            reads.append(Read(piece, "fix"))
            continue
        excepted = bool(number) and reads[-1].role == "exception" and not any(r.carries or r.free for r in pieces[number - 1 : number])
        if number and ("except" in sign.cats or excepted or _besides(reads, sign)):
            reads.append(Read(piece, "exception", sign))
            continue
        if sign.place == "inner" and not (number and reads[-1].requests and piece.carries):
            sign = Sign()
        if "perm" in sign.cats and (number or not question or not piece.free or sign.place == "lead"):
            reads.append(Read(piece, "permission", sign))
            continue
        if "except" in sign.cats:
            sign = replace(sign, rules=tuple(_denial(m) for m in sign.rules))
        if sign.rules and question and piece.marks[0].low in _WORDS["asks"] and piece.free and len(piece.marks) > 3:
            reads.append(Read(piece, "subject", subject=(piece.start, piece.end)))
            continue
        if sign.rules and question and _loose(piece, sign):
            reads.append(Read(piece, "subject", subject=(piece.start, piece.end)))
            continue
        if sign.rules and question and not any(r.role == "subject" for r in reads):
            values = requests_of(piece, sign, company=True)
            if _first_is_subject(piece, sign, values, others):
                reads.append(Read(piece, "subject", subject=(piece.start, piece.end)))
                continue
        if sign.rules:
            reads.append(_signed(text, piece, sign, others=others, question=question))
        elif question:
            compared = number + 1 < len(pieces) and any(m.low in _WORDS["rather"] for m in signs[number + 1].rules)
            company = (compared and bool(number)) or follows == "colon" or aspects
            reads.append(_unsigned_question(piece, number, alone=len(pieces) == 1, company=company))
        else:
            reads.append(_unsigned_instruction(text, piece))
    return _settled(text, reads, question=question) if not long or not question else reads


def _loose(piece: Piece, sign: Sign) -> bool:
    """Whether a verb of denial stands in a list of plain words: *residual blocks, skip connections*."""
    verbs = sign.rules[0].low in _WORDS["verbs"] and piece.marks[0] is sign.rules[0] and piece.joint == "comma"
    return verbs and not any(m.carries or m.cat in ("doc", "polite") for m in piece.marks)


def _besides(reads: Sequence[Read], sign: Sign) -> bool:
    """Whether *other than* follows a denial, and so is an exception to it: *no US samples other than ...*."""
    before = reads[-1]
    return before.sign.negative and before.role == "request" and any(m.low in _WORDS["besides"] for m in sign.rules)


def _denial(mark: Mark) -> Mark:
    return replace(mark, cat="neg", sub="strong") if mark.cat == "except" else mark


def _long(piece: Piece, sign: Sign) -> Read:
    """A piece of a long need: a limiter about papers of nothing but known words, or part of the subject."""
    values = requests_of(piece, sign, company=True) if sign.rules else requests_of(piece, Sign())
    about = any(m.cat == "doc" for m in piece.marks) or piece.marks[0].low.startswith("published")
    if values and about and not piece.free and not sign.cats & {"perm", "except"}:
        strong = sign.rules or all(v.attribute in FACTS for v in values)
        if strong and not combined(piece, values, sign):
            return Read(piece, "request", sign, tuple(values))
    return Read(piece, "subject", subject=(piece.start, piece.end))


def _settled(text: str, reads: list[Read], *, question: bool) -> list[Read]:
    """Lists, references back, corrections, exceptions and permission."""
    subject = False
    for at, read in enumerate(reads):
        if sign := _inherits(reads, at, subject_before=subject or not question):
            reads[at] = _signed(text, read.piece, sign, others=True, question=question)
            if reads[at - 1].requests[-1].attribute == "author" and all(r.attribute == "topic" for r in reads[at].requests):
                reads[at] = _as_authors(reads[at])
            _name_list(text, reads, at)
        subject = subject or reads[at].subject is not None
    for at in range(len(reads) - 1, 0, -1):
        _reach_back(text, reads, at, question=question)
    for at in range(len(reads)):
        if at and any(m.cat == "fix" for m in reads[at].piece.marks[:2]):
            correct(text, reads, at)
    for at in range(len(reads)):
        if reads[at].role == "exception":
            exempt(text, reads, at)
        elif reads[at].role == "permission":
            permit(text, reads, at)
    for at, read in enumerate(reads):
        if read.role == "exception":  # nothing to be exempt from: a denial
            sign = replace(read.sign, rules=tuple(_denial(m) for m in read.sign.rules))
            reads[at] = _signed(text, read.piece, sign, others=True, question=question)
    if any(read.requests for read in reads) and question:
        for at, read in enumerate(reads):
            if read.role == "subject" and not read.requests and not read.piece.free and (
                at == 0 or any(m.cat in ("doc", "open") for m in read.piece.marks)
            ):
                values = requests_of(read.piece, Sign(), company=True)
                reads[at] = replace(read, role="request" if values else "chatter", requests=tuple(values), subject=None)
    return reads


def _as_authors(read: Read) -> Read:
    hard = read.sign.relation(hard=True)
    return replace(read, requests=tuple(replace(r, attribute="author", relation=hard) for r in read.requests))


def _name_list(text: str, reads: list[Read], at: int) -> None:
    """*Not Hinton, LeCun or Bengio*: two or more names in a list that no table has are people."""
    first = at
    while reads[first].piece.joint == "comma" and first and reads[first - 1].sign.rules == reads[at].sign.rules:
        first -= 1
    requests = [r for read in reads[first : at + 1] for r in read.requests]
    if len(requests) >= _NAMES and all(r.attribute == "topic" and _PERSON.fullmatch(r.value) for r in requests):
        for n in range(first, at + 1):
            reads[n] = _as_authors(reads[n])


def _reach_back(text: str, reads: list[Read], at: int, *, question: bool) -> None:
    """A limiter behind a list reaches its items before (*A, B or C only*); one without content says how the
    piece before was meant (*blogs, leave those out*)."""
    read, before = reads[at], reads[at - 1]
    if before.sign.rules and before.sign.place == "lead" or before.piece.sentence != read.piece.sentence:
        return
    named = before.role == "request" or (before.role == "subject" and before.piece.carries and not before.piece.free)
    if read.role == "chatter" and read.sign.rules and named and not before.sign.rules:
        if any(m.sub == "back" for m in read.piece.marks) or all(m.cat != "doc" for m in read.piece.marks):
            reads[at - 1] = _signed(text, before.piece, read.sign, others=True, question=question)
        return
    if read.sign.place == "post" and read.role == "request" and read.piece.joint in ("comma", "and"):
        listed = any(m.low in _AND for m in read.piece.marks) and before.role == "request" and not before.sign.rules
        if listed and {r.attribute for r in before.requests} <= {r.attribute for r in read.requests}:
            reads[at - 1] = _signed(text, before.piece, read.sign, others=True, question=question)
