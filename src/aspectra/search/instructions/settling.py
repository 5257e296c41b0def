"""Pieces in the light of each other: exceptions, corrections, permission, contradictions; and the last pass.

In the last pass unread requests are left out: a piece behind the first that holds words of a request and was
not read as one is listed as not applied. Lists of plain things (*mice, rats and humans*) and the second
halves of titles are searched whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from itertools import combinations

from msgspec import Struct

from aspectra.base.values import replace
from aspectra.search.instructions.marks import is_english
from aspectra.search.instructions.meaning import (
    FACTS,
    FREE,
    RequestedValue,
    Sign,
    free_requests,
    phrases,
    requests_of,
    sign_of,
    soften,
)
from aspectra.search.instructions.pieces import DOCUMENTS, RECORDED, Piece, is_led
from aspectra.search.instructions.recognisers.bounds import number_of
from aspectra.search.instructions.recognisers.lexicon import Mark, word_sets

# Why a piece is not read.
EVENT = "a time that is no year"
MEANT = "it is not clear how it is meant"
TASTE = "a judgement that no record or text states"
UNKNOWN = "not recognised"
_PARTLY = "an exception that was not read in full"
_WORDS = word_sets("settling")
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
    ("status", {"preprint", "peer-reviewed"}),
    ("status", {"preprint", "journal"}),
    ("length", {"short", "long"}),
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
    requests: tuple[RequestedValue, ...] = ()
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
    first = reads[at].piece.sentence - across
    for n in range(at - 1, max(-1, at - _BACK), -1):
        if reads[n].piece.sentence < first:
            break
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


def _exemptions(text: str, values: list[RequestedValue]) -> list[tuple[str, str, bool]]:
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
    hosts = reads[host].requests
    open_host = [r.attribute for r in hosts if r.attribute in FREE]
    if open_host and not values:
        found = free_requests(text, piece, (), Sign())
        values, words = [replace(r, attribute=open_host[0]) for r in found], []
    if any((r.attribute, r.value) == ("status", "preprint") for r in hosts):  # "no preprints unless bioRxiv"
        named = [text[v.start : v.end] for v in values]
        values = [
            replace(v, attribute="venue", value=name) if name.lower() in _WORDS["servers"] else v
            for v, name in zip(values, named, strict=True)
        ]
    limits = [r for r in hosts if r.relation != "prefer"]
    # "Open access. Exception: surveys", unlike "In English. Except surveys."
    marks = (*reads[at - 1].piece.marks, *read.piece.marks) if across else ()
    said = any(m.low in _WORDS["exceptions"] for m in marks)
    if not said and not limits and not any(v.attribute == r.attribute for v in values for r in hosts):
        return  # "open access, except surveys" denies surveys
    pairs = _exemptions(text, [r for r in values if r.attribute != "aspect"])
    denied = {(r.attribute, r.value) for r in hosts if r.relation in ("exclude", "avoid")}
    if pairs and not words and denied.isdisjoint((v, w) for v, w, _ in pairs):
        reads[host] = _unless(reads[host], pairs)
        reads[at] = _chatter(read)
        return
    reads[host] = replace(reads[host], requests=tuple(soften(r) for r in hosts))
    reads[at] = replace(read, role="unread", requests=(), subject=None, why=_PARTLY)


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
    apart = read.piece.sentence != reads[at - 1].piece.sentence and reads[at - 1].role != "fix"
    host = -1 if apart and at > 1 and read.sign.place != "post" else _host(reads, at, across=True)
    after = reads[at + 1] if at + 1 < len(reads) else read
    otherwise = after.piece.marks[0].low in _WORDS["otherwise"]
    pairs = _exemptions(text, [v for v in values if v.attribute != "aspect"])
    if otherwise and pairs and any(r.relation == "require" for r in after.requests):
        reads[at + 1] = _unless(after, pairs)  # "theses are fine, otherwise English only"
    if host < 0:
        reads[at] = _chatter(read)
        return
    fixed = reads[at - 1].role == "fix" or any(m.cat == "fix" for m in read.piece.marks)
    hosts = reads[host].requests
    said = {(r.attribute, r.value): _bare(text[r.start : r.end].lower()) for r in hosts}
    undone = [v for v in values if said.get((v.attribute, v.value)) == _bare(text[v.start : v.end].lower())]
    same_attribute = any(v.attribute == r.attribute for v in values for r in hosts)
    lows = {m.low for m in read.piece.marks} | {w for m in read.piece.marks for w in m.low.split()}
    counted = bool(lows & _WORDS["too"]) and all(r.relation == "require" for r in hosts)
    if undone or (fixed and values and not counted):
        reads[host], reads[at] = _chatter(reads[host]), _chatter(read)
        return
    aged = bool(lows & _WORDS["age"]) and any(r.attribute == "year" for r in hosts)
    bound = same_attribute or aged or (values and (lows & _WORDS["if"] or counted))
    if bound and any(r.relation in ("require", "exclude") for r in hosts):
        exempt(text, reads, at, across=True)
    else:
        reads[at] = _chatter(read)


def _renumbered(request: RequestedValue, number: int) -> RequestedValue | None:
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
    old = reads[before].requests
    if any(m.sub == "undo" for m in reads[at].piece.marks) and after < 0:
        reads[before], reads[at] = _taken_back(reads[before]), _chatter(reads[at])
        return
    place = at if reads[at].role != "fix" else min(at + 1, len(reads) - 1)
    number = _number_in(reads[place].piece)
    if number is not None:
        numeric = [(r, made) for r in old if (made := _renumbered(r, number))]
        bare = all(r.attribute == "year" and _NUMBER.fullmatch(r.value) for r in reads[place].requests)
        if numeric and (bare or not reads[place].requests):
            last, moved = numeric[-1]
            requests = tuple(moved if r is last else r for r in old)
            reads[before] = replace(reads[before], requests=requests)
            reads[place] = _chatter(reads[place])
            return
    if after < 0:
        return
    said = {m.low for m in reads[after].piece.marks}
    if said & _WORDS["too"] and all(r.relation == "require" for r in old):
        pairs = _exemptions(text, [r for r in reads[after].requests if r.attribute != "aspect"])
        if pairs:  # "only trials, actually cohort studies too"
            reads[before], reads[after] = _unless(reads[before], pairs), _chatter(reads[after])
            return
    new = reads[after].requests
    taken = {r.attribute for r in new}
    rules = [[m.low for m in reads[n].sign.rules] for n in (before, after)]
    if rules[0] and rules[0] == rules[1]:  # "only surveys, I mean, only trials"
        taken |= {r.attribute for r in old}
    taken |= DOCUMENTS if taken & DOCUMENTS else set()  # "no theses, sorry, preprints"
    kept = [r for r in old if r.attribute not in taken]
    changed = [r.relation for r in old if r.attribute in taken]
    again = {r.value for r in old} & {r.value for r in new}  # "exclude theory - wait, theory is what I want"
    if changed and rules[0] and not rules[1] and not again:  # "no editorials, sorry, I meant letters"
        reads[after] = replace(reads[after], requests=tuple(replace(r, relation=changed[-1]) for r in new))
    reads[before] = replace(reads[before], requests=tuple(kept)) if kept else _taken_back(reads[before])


def _years(request: RequestedValue) -> tuple[int, int]:
    how, low, high = _INTERVAL.findall(request.value)[0]
    return {">=": (int(low), 9999), "<=": (0, int(low))}.get(how, (int(low), int(high or low)))


def contradicting(requests: Sequence[RequestedValue]) -> list[RequestedValue]:
    """Requests that no paper can meet together."""
    requests = requests[:_MOST]
    out: list[RequestedValue] = []
    wanted = [r for r in requests if r.relation in ("require", "prefer")]
    for a, b in combinations(requests, 2):
        if a.attribute != b.attribute:
            continue
        if (a in wanted) != (b in wanted):
            apart = a.value == b.value and not (a.unless or b.unless)
        elif "require" not in (a.relation, b.relation):
            continue
        elif a.attribute == "year" and (a.value[0] in "<>" or b.value[0] in "<>"):
            (first, last), (start, end) = _years(a), _years(b)
            apart = max(first, start) > min(last, end)
        else:
            apart = (a.attribute, {a.value, b.value}) in _APART
        if apart:
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


# The last pass.

_GUARDING = word_sets("guarding")
_FEW = 3  # words of a title or a name at least
_MOSTLY = 0.75  # of the words of a title begin with a capital
_NEAR = 2  # marks at the beginning of a piece among which a sign opens it
_SAYING = ("perm", "fix", "polite", "open", "wish", "taste", "demand")  # categories of no item of a list
_PEOPLE = frozenset("population audience language".split())
_LATELY = 1960  # earlier years behind a comma are those of the subject: *propaganda, 1939-1945*
# Attributes whose words are as often words of a subject in the middle of a text.
_LOOSE = frozenset("language population audience aspect keyword reports method topic source format".split())


def _plain(read: Read) -> bool:
    """True if a piece has no sign and states no fact of the record: it can be an item of a plain list."""
    hard = any(r.attribute in FACTS or r.hard for r in read.requests)
    says = any(m.cat in _SAYING for m in read.piece.marks)
    return not read.sign.rules and not hard and not says and read.role in ("request", "subject", "chatter")


def _whole(read: Read) -> Read:
    whole = (read.piece.start, read.piece.end)
    return replace(read, role="subject", requests=(), subject=whole, lost=(), why="")


def _lists(reads: list[Read]) -> None:
    """Search a list of plain things whole: *children, adolescents, and adults with ADHD*."""
    last = 0
    while last + 1 < len(reads) and reads[last + 1].piece.joint == "comma" and _plain(reads[last + 1]):
        last += 1
    if not last or not _plain(reads[0]):
        return
    tail = reads[last]
    behind = [m for m in tail.piece.marks if m.low not in _GUARDING["and"]]
    # "owls, open access, and in English"
    apart = any(r.attribute not in _PEOPLE for r in tail.requests) or any(map(is_led, behind[:1]))
    if tail.piece.marks[0].low not in _GUARDING["and"] or (tail.role == "request" and apart):
        return
    for n in range(last + 1):
        if n or not reads[0].subject or not reads[0].requests:
            reads[n] = _whole(reads[n])


def _recent(text: str, reads: list[Read]) -> None:
    """Prefer what is new where a subject beside requests begins so: *recent owl diets, no reviews*."""
    first, (mark, *others) = reads[0], reads[0].piece.marks
    new = mark.attribute == "recency" and mark.low in _GUARDING["recent"] and any(m.free for m in others[:1])
    beside = any(read.requests for read in reads[1:])
    if first.subject and not first.requests and new and beside and not is_capitalised(text):
        asked = tuple(requests_of(replace(first.piece, marks=(mark,)), Sign(), company=True))
        reads[0] = replace(first, requests=asked, subject=(others[0].start, first.subject[1]))


def _titles(text: str, reads: list[Read]) -> None:
    """Search the second half of a title whole: *Placing by touch: An empirical study of fingers*."""
    if len(reads) < 2 or reads[1].piece.joint != "colon" or reads[0].role != "subject" or reads[0].requests:
        return
    second = reads[1]
    if text[second.piece.start].isupper() and second.piece.free:
        for n in range(1, len(reads)):
            if reads[n].piece.sentence > second.piece.sentence or not _plain(reads[n]):
                break
            reads[n] = _whole(reads[n])


def _long_ago(request: RequestedValue) -> bool:
    years = re.findall(r"\d{4}", request.value) if request.attribute == "year" else []
    return bool(years) and max(map(int, years)) < _LATELY and not request.opposite


def is_capitalised(text: str) -> bool:
    """True if an English text is capitalised like a title."""
    words = [w for w in re.findall(r"[^\W\d_]{4,}", text) if w not in _GUARDING["small"]]
    capital = sum(w[0].isupper() and not w.isupper() for w in words)
    return len(words) >= _FEW and capital >= _MOSTLY * len(words) and is_english(text)


def _is_title(text: str, reads: Sequence[Read]) -> bool:
    """True if a text is capitalised like a title, and no piece after a comma or a stop is a request."""
    if not is_capitalised(text):
        return False
    if any(m.cat == "bound" and m.opposite for r in reads for m in r.piece.marks):
        return False
    asking = [r for r in reads[1:] if r.requests]
    apart = any(r.piece.joint in ("comma", "semicolon", "stop") for r in asking)
    # "Owls in Nature, but Not by Andrew Gelman"
    return not apart and not any(
        q.attribute in RECORDED for r in asking if r.sign.negative for q in r.requests
    )


def _is_name(reads: Sequence[Read]) -> bool:
    """True if a text is a single denial that is a name: *no free lunch theorems*, *except clauses in SQL*."""
    first = reads[0]
    if any(r.subject for r in reads) or not first.sign.rules or not first.piece.free:
        return False
    marks = first.piece.marks
    if any(m.cat in ("doc", "open", "polite", "lead", "wish", "fix") for r in reads for m in r.piece.marks):
        return False
    if marks[0].cat == "except" or first.role == "exception":
        return True
    content = sum(m.free or m.carries for m in marks)
    return len(reads) == 1 and marks[0].low in _GUARDING["no"] and content >= _FEW


def _doubtful(read: Read) -> bool:
    """True if a piece that would be searched for contains words of a request."""
    marks = read.piece.marks
    if marks[0].low in _GUARDING["asking"] or read.piece.joint in ("bracket", "inline"):
        return False
    sign = sign_of(read.piece)
    opens = [
        m
        for m in marks[:_NEAR]
        if m.cat in ("neg", "hard", "soft", "except") and m.low not in _GUARDING["imperatives"]
    ]
    if opens and sign.place == "lead":
        return True
    if any(m.cat in ("hard", "soft", "neg") for m in marks) and read.piece.carries:
        return True  # "and the weights should be up for download"
    if any(m.cat == "wish" for m in marks[:_NEAR]) and not any(m.cat in ("doc", "lead") for m in marks):
        return True
    if marks[0].sub != "back" and any(m.cat == "hard" and m.low in _GUARDING["must"] for m in marks):
        return True
    first = next((n for n, m in enumerate(marks) if m.low not in _GUARDING["a"]), 0)
    either = any(m.low in _GUARDING["or"] for m in marks[first + 1 : first + 2])
    if either and marks[first].attribute in ("kind", "status"):
        return True
    if read.piece.joint in ("colon", "stop") and marks[first].free:
        return False  # a sentence of the subject that names papers further on
    values = [r for r in requests_of(read.piece, Sign()) if r.attribute not in _LOOSE]
    return any(r.attribute != "year" or r.opposite or ".." in r.value for r in values)


def field_of(piece: Piece, follows: str) -> str:
    """The field of a protocol that a piece before a colon names: *Population:*, *Outcomes:*; else ""."""
    words = " ".join(m.low for m in piece.marks)
    return words if follows == "colon" and words in _GUARDING["fields"] else ""


def is_typed(piece: Piece, follows: str) -> bool:
    """True if a piece before a colon names a field of the record or a kind: *Years:*, *Study design:*."""
    return field_of(piece, follows) in _GUARDING["typed"]


def in_field(text: str, piece: Piece, field: str, *, question: bool) -> Read:
    """A piece without a sign under a field: a value, or words that are searched for or preferred."""
    typed = field in _GUARDING["typed"]
    values = requests_of(piece, Sign(), company=True) if typed else []
    if values:
        return Read(piece, "request", Sign(), tuple(values))
    start, end = piece.start, piece.end
    if typed:
        return Read(piece, "chatter" if not piece.free else "unread", why=UNKNOWN)
    if question:
        return Read(piece, "subject", subject=(start, end))
    people, outcome = field in _GUARDING["people"], field in _GUARDING["outcome"]
    attribute = "population" if people else "reports" if outcome else "topic"
    return Read(piece, "request", Sign(), (RequestedValue(attribute, text[start:end], "prefer", start, end),))


def guarded(text: str, reads: Sequence[Read]) -> list[Read]:
    """The pieces of a question: plain lists and titles whole, doubtful pieces listed as not applied."""
    out = list(reads)
    if not out:
        return out
    _recent(text, out)
    _lists(out)
    _titles(text, out)
    for n, read in enumerate(out[1:], 1):
        if read.requests and not read.sign.rules and all(_long_ago(r) for r in read.requests):
            out[n] = _whole(read)
    if _is_title(text, out) or _is_name(out):
        out = [_whole(r) if n or r.sign.rules else r for n, r in enumerate(out)]
    for n, read in enumerate(out):
        if n and read.subject and read.requests and read.piece.marks[0].low in _GUARDING["then"]:
            out[n] = replace(read, role="request", subject=None)
            continue
        searched = read is reads[n] and read.role == "subject" and not read.requests
        listed = read.piece.joint == "comma" and out[n - 1].role == "subject" and _enumerated(out, n)
        if searched and not listed and any(r.role == "subject" for r in out[:n]) and _doubtful(read):
            out[n] = replace(read, role="unread", subject=None, why=MEANT)
    return out


def _enumerated(reads: Sequence[Read], at: int) -> bool:
    """True if a piece is an item of a list of plain things that are all searched for."""
    end = next((n for n in range(at + 1, len(reads)) if reads[n].piece.joint != "comma"), len(reads))
    plain = all(r.role == "subject" and not r.requests for r in reads[at:end])
    return plain and reads[end - 1].piece.marks[0].low in _GUARDING["and"]
