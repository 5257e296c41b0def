"""The last pass over a question's pieces: unread requests are left out, plain lists and titles are kept.

A piece behind the first that holds words of a request and was not read as one is listed as not applied. Lists
of plain things (*mice, rats and humans*) and the second halves of titles are searched whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from aspectra.base.values import replace
from aspectra.search.instructions.marks import is_english
from aspectra.search.instructions.meaning import FACTS, Request, Sign, requests_of, sign_of
from aspectra.search.instructions.pieces import RECORDED, Piece, is_led
from aspectra.search.instructions.recognisers.lexicon import word_sets
from aspectra.search.instructions.settling import MEANT, UNKNOWN, Read

_WORDS = word_sets("guarding")
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
    behind = [m for m in tail.piece.marks if m.low not in _WORDS["and"]]
    # "owls, open access, and in English"
    apart = any(r.attribute not in _PEOPLE for r in tail.requests) or any(map(is_led, behind[:1]))
    if tail.piece.marks[0].low not in _WORDS["and"] or (tail.role == "request" and apart):
        return
    for n in range(last + 1):
        if n or not reads[0].subject or not reads[0].requests:
            reads[n] = _whole(reads[n])


def _recent(text: str, reads: list[Read]) -> None:
    """Prefer what is new where a subject beside requests begins so: *recent owl diets, no reviews*."""
    first, (mark, *others) = reads[0], reads[0].piece.marks
    new = mark.attribute == "recency" and mark.low in _WORDS["recent"] and any(m.free for m in others[:1])
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


def _long_ago(request: Request) -> bool:
    years = re.findall(r"\d{4}", request.value) if request.attribute == "year" else []
    return bool(years) and max(map(int, years)) < _LATELY and not request.opposite


def is_capitalised(text: str) -> bool:
    """True if an English text is capitalised like a title."""
    words = [w for w in re.findall(r"[^\W\d_]{4,}", text) if w not in _WORDS["small"]]
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
    return len(reads) == 1 and marks[0].low in _WORDS["no"] and content >= _FEW


def _doubtful(read: Read) -> bool:
    """True if a piece that would be searched for contains words of a request."""
    marks = read.piece.marks
    if marks[0].low in _WORDS["asking"] or read.piece.joint in ("bracket", "inline"):
        return False
    sign = sign_of(read.piece)
    opens = [
        m
        for m in marks[:_NEAR]
        if m.cat in ("neg", "hard", "soft", "except") and m.low not in _WORDS["imperatives"]
    ]
    if opens and sign.place == "lead":
        return True
    if any(m.cat in ("hard", "soft", "neg") for m in marks) and read.piece.carries:
        return True  # "and the weights should be up for download"
    if any(m.cat == "wish" for m in marks[:_NEAR]) and not any(m.cat in ("doc", "lead") for m in marks):
        return True
    if marks[0].sub != "back" and any(m.cat == "hard" and m.low in _WORDS["must"] for m in marks):
        return True
    first = next((n for n, m in enumerate(marks) if m.low not in _WORDS["a"]), 0)
    either = any(m.low in _WORDS["or"] for m in marks[first + 1 : first + 2])
    if either and marks[first].attribute in ("kind", "status"):
        return True
    if read.piece.joint in ("colon", "stop") and marks[first].free:
        return False  # a sentence of the subject that names papers further on
    values = [r for r in requests_of(read.piece, Sign()) if r.attribute not in _LOOSE]
    return any(r.attribute != "year" or r.opposite or ".." in r.value for r in values)


def field_of(piece: Piece, follows: str) -> str:
    """The field of a protocol that a piece before a colon names: *Population:*, *Outcomes:*; else ""."""
    words = " ".join(m.low for m in piece.marks)
    return words if follows == "colon" and words in _WORDS["fields"] else ""


def is_typed(piece: Piece, follows: str) -> bool:
    """True if a piece before a colon names a field of the record or a kind: *Years:*, *Study design:*."""
    return field_of(piece, follows) in _WORDS["typed"]


def in_field(text: str, piece: Piece, field: str, *, question: bool) -> Read:
    """A piece without a sign under a field: a value, or words that are searched for or preferred."""
    typed = field in _WORDS["typed"]
    values = requests_of(piece, Sign(), company=True) if typed else []
    if values:
        return Read(piece, "request", Sign(), tuple(values))
    start, end = piece.start, piece.end
    if typed:
        return Read(piece, "chatter" if not piece.free else "unread", why=UNKNOWN)
    if question:
        return Read(piece, "subject", subject=(start, end))
    people, outcome = field in _WORDS["people"], field in _WORDS["outcome"]
    attribute = "population" if people else "reports" if outcome else "topic"
    return Read(piece, "request", Sign(), (Request(attribute, text[start:end], "prefer", start, end),))


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
        if n and read.subject and read.requests and read.piece.marks[0].low in _WORDS["then"]:
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
    return plain and reads[end - 1].piece.marks[0].low in _WORDS["and"]
