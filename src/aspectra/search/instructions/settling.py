"""Pieces in the light of each other: lists, exceptions, corrections, permission, contradictions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from msgspec import Struct

from aspectra.base.values import replace
from aspectra.search.instructions.meaning import (
    FREE,
    Request,
    Sign,
    free_requests,
    phrases,
    requests_of,
    soften,
)
from aspectra.search.instructions.pieces import DOCUMENTS, Piece
from aspectra.search.instructions.recognisers.bounds import number_of
from aspectra.search.instructions.recognisers.lexicon import Mark, word_sets

# Why a piece is not read.
EVENT = "a time that is no year"
MEANT = "it is not clear how it is meant"
TASTE = "a judgement that no record or text states"
UNKNOWN = "not recognised"
_WORDS = word_sets("settling")
_AGE = _WORDS["age"]
_IF, _TOO = _WORDS["if"], _WORDS["too"]
_BACK = 12  # pieces between an exception and its condition
_MOST = 64  # requests that are compared
_NO_YEAR = 1000  # a smaller number counts years back from now
_FEW_WORDS, _LONG_WORD = 3, 4  # of a correction that is a number: "to 2018"
_NUMBER = re.compile(r"\d{4}")
_JOINED = re.compile(
    r"[,/&或和与、]|\b(?:" + "|".join(sorted(word_sets("lists")["and"])) + r")\b", re.IGNORECASE
)
_INTERVAL = re.compile(r"(>=|<=)?(\d{4})(?:\.\.(\d{4}))?")
# Values of one attribute that no paper has together.
_APART = (
    ("status", "preprint", "peer-reviewed"),
    ("status", "preprint", "journal"),
    ("length", "short", "long"),
)


class Read(Struct, frozen=True):
    """The result of reading a piece.

    Attributes:
        piece: the piece.
        role: ``request``, ``subject``, ``unread``, ``chatter``, ``permission``, ``exception`` or ``fix``.
        sign: its sign.
        requests: what was read.
        subject: (start, end) of what is searched for, or None.
        why: the reason if it was not read.
        lost: (start, end, why) of parts that were not read beside those that were.
    """

    piece: Piece
    role: str
    sign: Sign = Sign()
    requests: tuple[Request, ...] = ()
    subject: tuple[int, int] | None = None
    why: str = ""
    lost: tuple[tuple[int, int, str], ...] = ()


def _host(reads: Sequence[Read], at: int, *, across: bool) -> int:
    """Number of the read that an exception belongs to, or -1: the nearest with requests before it.

    Args:
        reads: all.
        at: number of the exception.
        across: whether it may stand in the sentence before.
    """
    sentence = reads[at].piece.sentence
    for n in range(at - 1, max(-1, at - _BACK), -1):
        there = reads[n].piece.sentence
        if there < sentence - across:
            return -1
        if any(r.attribute != "aspect" for r in reads[n].requests):
            return n
    return -1


def _chatter(read: Read) -> Read:
    return replace(read, role="chatter", requests=(), lost=(), subject=None)


def _taken_back(read: Read) -> Read:
    """A piece whose requests were taken back; its subject stays."""
    return replace(read, role="subject" if read.subject else "chatter", requests=(), lost=())


def _plainly(read: Read) -> Piece:
    """The piece without its rules."""
    marks = tuple(
        m for m in read.piece.marks if m.cat not in ("except", "perm", "neg", "hard", "soft", "fix", "but")
    )
    return replace(read.piece, marks=marks or read.piece.marks[-1:])


def _exemptions(text: str, values: list[Request]) -> list[tuple[str, str, bool]]:
    """(attribute, value, whether it begins another exception) of each.

    *bioRxiv from 2023* is one exception, *surveys and ACL papers* are two.
    """
    out: list[tuple[str, str, bool]] = []
    for before, one in zip([None, *values], values, strict=False):
        joined = before and _JOINED.search(text, before.end, one.start) and one.attribute != before.attribute
        out.append((one.attribute, one.value, bool(joined)))
    return out


def exempt(text: str, reads: list[Read], at: int, *, across: bool = False) -> None:
    """Bind an exception to its condition as ``unless``; else that softens, and the words are unread."""
    read = reads[at]
    host = _host(reads, at, across=across)
    if host < 0:
        return
    piece = _plainly(read)
    values = requests_of(piece, Sign(), company=True)
    words = phrases(piece, values)
    open_host = [r for r in reads[host].requests if r.attribute in FREE]
    if words and not values and open_host:
        values = [
            replace(r, attribute=open_host[0].attribute) for r in free_requests(text, piece, (), Sign())
        ]
        words = []
    hosts = reads[host].requests
    if any((r.attribute, r.value) == ("status", "preprint") for r in hosts):  # "no preprints unless bioRxiv"
        servers = [v for v in values if text[v.start : v.end].lower() in _WORDS["servers"]]
        values = [
            replace(v, attribute="venue", value=text[v.start : v.end]) if v in servers else v for v in values
        ]
    limits = [r for r in hosts if r.relation != "prefer"]
    # "Open access. Exception: surveys", unlike "In English. Except surveys."
    said = across and any(
        m.low in _WORDS["exceptions"] for m in (*reads[at - 1].piece.marks, *read.piece.marks)
    )
    if not said and not limits and not any(v.attribute == r.attribute for v in values for r in hosts):
        return  # "open access, except surveys" denies surveys
    pairs = _exemptions(text, [r for r in values if r.attribute != "aspect"])
    narrower = any(
        r.attribute == v and r.value == w
        for r in reads[host].requests
        for v, w, _ in pairs
        if r.relation in ("exclude", "avoid")
    )
    if pairs and not words and not narrower:
        reads[host] = _unless(reads[host], pairs)
        reads[at] = _chatter(read)
        return
    reads[host] = replace(reads[host], requests=tuple(soften(r) for r in reads[host].requests))
    reads[at] = replace(
        read, role="unread", requests=(), subject=None, why="an exception that was not read in full"
    )


def _unless(read: Read, pairs: Sequence[tuple[str, str, bool]]) -> Read:
    """A read whose requests papers need not meet that meet these; see :func:`_exemptions`."""
    (first, value, _), *others = pairs
    kept = (replace(r, unless=(*r.unless, (first, value, bool(r.unless)), *others)) for r in read.requests)
    return replace(read, requests=tuple(kept))


def _bare(words: str) -> str:
    return re.sub(r"(?:ies|es|s|e|y)$", "", words)


def permit(text: str, reads: list[Read], at: int) -> None:
    """Settle a permission: it undoes a denial, is an exception to the words before, or says nothing."""
    read = reads[at]
    piece = _plainly(read)
    values = requests_of(piece, Sign(), company=True)
    near = at > 0 and (
        read.piece.sentence == reads[at - 1].piece.sentence
        or reads[at - 1].role == "fix"
        or at == 1
        or read.sign.place == "post"
    )
    host = _host(reads, at, across=True) if near else -1
    after = reads[at + 1] if at + 1 < len(reads) else read
    otherwise = after.piece.marks[0].low in _WORDS["otherwise"]
    pairs = _exemptions(text, [v for v in values if v.attribute != "aspect"])
    if otherwise and pairs and any(r.relation == "require" for r in after.requests):
        reads[at + 1] = _unless(after, pairs)  # "theses are fine, otherwise English only"
    fixed = at > 0 and (reads[at - 1].role == "fix" or any(m.cat == "fix" for m in read.piece.marks))
    if host < 0:
        reads[at] = _chatter(read)
        return
    said = {(r.attribute, r.value): _bare(text[r.start : r.end].lower()) for r in reads[host].requests}
    undone = [v for v in values if said.get((v.attribute, v.value)) == _bare(text[v.start : v.end].lower())]
    same_attribute = any(v.attribute == r.attribute for v in values for r in reads[host].requests)
    lows = {m.low for m in read.piece.marks} | {w for m in read.piece.marks for w in m.low.split()}
    counted = bool(lows & _TOO) and all(r.relation == "require" for r in reads[host].requests)
    if undone or (fixed and values and not counted):
        reads[host], reads[at] = _chatter(reads[host]), _chatter(read)
        return
    aged = bool(lows & _AGE) and any(r.attribute == "year" for r in reads[host].requests)
    if any(r.relation in ("require", "exclude") for r in reads[host].requests) and (
        same_attribute or aged or (lows & _IF and values) or (counted and values)
    ):
        exempt(text, reads, at, across=True)
        return
    reads[at] = _chatter(read)


def _renumbered(request: Request, number: int) -> Request | None:
    """A numeric request with another number: *since 2015, no, 2018*; None where it has none."""
    found = list(re.finditer(r"\d+", request.value))
    if not found:
        return None
    if request.attribute == "year" and number < _NO_YEAR:
        number = date.today().year - number
    return replace(
        request, value=request.value[: found[-1].start()] + str(number) + request.value[found[-1].end() :]
    )


def _number_in(piece: Piece) -> int | None:
    """The number that a correction consists of, or None where it says more."""
    words = [m for m in piece.marks if m.cat not in ("fix", "polite", "but", "func")]
    said = " ".join(m.low for m in words)
    found = re.findall(r"\d+", said)
    if (
        len(found) == 1
        and len(words) <= _FEW_WORDS
        and not any(len(m.low) > _LONG_WORD and m.free for m in words)
    ):
        return int(found[0])
    return number_of(said) if not found else None


def correct(text: str, reads: list[Read], at: int) -> None:
    """Take back the words before a correction, if there are words after it."""
    after = next((n for n in range(at, min(at + _BACK, len(reads))) if reads[n].requests), -1)
    before = _host(reads, at, across=True)
    if before < 0:
        return
    if any(m.sub == "undo" for m in reads[at].piece.marks) and after < 0:
        reads[before], reads[at] = _taken_back(reads[before]), _chatter(reads[at])
        return
    place = at if reads[at].role != "fix" else min(at + 1, len(reads) - 1)
    number = _number_in(reads[place].piece)
    if number is not None:
        numeric = [r for r in reads[before].requests if _renumbered(r, number)]
        bare = all(r.attribute == "year" and _NUMBER.fullmatch(r.value) for r in reads[place].requests)
        if numeric and (bare or not reads[place].requests):
            new = tuple(
                (_renumbered(r, number) or r) if r is numeric[-1] else r for r in reads[before].requests
            )
            reads[before] = replace(reads[before], requests=new)
            reads[place] = _chatter(reads[place])
            return
    if after < 0:
        return
    said = {m.low for m in reads[after].piece.marks}
    if said & _TOO and after > before and all(r.relation == "require" for r in reads[before].requests):
        pairs = _exemptions(text, [r for r in reads[after].requests if r.attribute != "aspect"])
        if pairs:  # "only trials, actually cohort studies too"
            reads[before], reads[after] = _unless(reads[before], pairs), _chatter(reads[after])
            return
    new = reads[after].requests
    taken = {r.attribute for r in new}
    old = reads[before].requests
    rules = [[m.low for m in reads[n].sign.rules] for n in (before, after)]
    if rules[0] and rules[0] == rules[1] and after > before:  # "only surveys, I mean, only trials"
        taken |= {r.attribute for r in old}
    taken |= DOCUMENTS if taken & DOCUMENTS else set()  # "no theses, sorry, preprints"
    kept = [r for r in old if r.attribute not in taken]
    if len(kept) == len(old) and not (FREE & taken and any(r.attribute in FREE for r in old)):
        return
    changed = [r.relation for r in old if r.attribute in taken]
    again = {r.value for r in old} & {r.value for r in new}  # "exclude theory - wait, theory is what I want"
    if changed and rules[0] and not rules[1] and not again:  # "no editorials, sorry, I meant letters"
        reads[after] = replace(reads[after], requests=tuple(replace(r, relation=changed[-1]) for r in new))
    reads[before] = replace(reads[before], requests=tuple(kept)) if kept else _taken_back(reads[before])


def _years(request: Request) -> tuple[int, int] | None:
    found = _INTERVAL.fullmatch(request.value)
    if found is None:
        return None
    low = int(found[2])
    high = int(found[3] or low)
    return {">=": (low, 9999), "<=": (0, low)}.get(found[1] or "", (low, high))


def contradicting(requests: Sequence[Request]) -> list[Request]:
    """Requests that no paper can meet together."""
    requests = requests[:_MOST]
    out: list[Request] = []
    wanted = [r for r in requests if r.relation in ("require", "prefer")]
    for n, a in enumerate(requests):
        for b in requests[n + 1 :]:
            if a.attribute == b.attribute != "aspect" and a.value == b.value and not (a.unless or b.unless):
                positive = {r.relation in ("require", "prefer") for r in (a, b)}
                if len(positive) == 2:
                    out += [a, b]
            pair = (a.attribute, *sorted((a.value, b.value)))
            if (
                a.attribute == b.attribute
                and a in wanted
                and b in wanted
                and "require" in (a.relation, b.relation)
            ):
                if pair in [(x, *sorted((y, z))) for x, y, z in _APART]:
                    out += [a, b]
                if a.attribute == "year" and (i := _years(a)) and (j := _years(b)):
                    sides = {a.value[0] in "<>", b.value[0] in "<>"}
                    if sides != {False} and max(i[0], j[0]) > min(i[1], j[1]):
                        out += [a, b]
    lengths = [r for r in wanted if r.attribute == "length"]
    short = [r for r in lengths if r.value in ("short", "sentence", "<=paragraph")]
    for request in lengths:
        pages = re.fullmatch(r">=(\d+) (pages|words)", request.value)
        if short and pages and int(pages[1]) * (500 if pages[2] == "pages" else 1) > 5000:
            out += [request, *short]
    return list(dict.fromkeys(out))


def is_header(marks: Sequence[Mark]) -> str:
    """``require`` or ``exclude`` where a piece is a heading of criteria, or ""."""
    words = " ".join(m.low for m in marks).split()
    if not 0 < len(words) <= 3 or not set(words) <= _WORDS["header"]:
        return ""
    return "exclude" if set(words) & _WORDS["out"] else "require" if set(words) & _WORDS["inside"] else ""
