"""Pieces with a sign: their requests, or the reason why they are not read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise, product

from aspectra.base.values import replace
from aspectra.search.conditions.attributes.content.boolean import combined as combination
from aspectra.search.instructions.marks import is_english
from aspectra.search.instructions.meaning import (
    FACTS,
    WEB,
    RequestedValue,
    Sign,
    free_requests,
    phrases,
    requests_of,
)
from aspectra.search.instructions.pieces import Piece, is_rule
from aspectra.search.instructions.recognisers.aspects import aspect_names
from aspectra.search.instructions.recognisers.lexicon import Mark, word_sets
from aspectra.search.instructions.settling import EVENT, MEANT, TASTE, Read

_WORDS = word_sets("limiters")
_SMALL = _WORDS["small"]  # words of any phrase that say nothing of how it is meant
_MOST = 8  # combinations that one denial names
_DOCUMENTS = ("kind", "status")  # attributes that say what papers are
_BEHIND = ("func", "polite", "bound", "name")  # categories of marks behind "papers on" that no subject has
_COMBINED = "a denial of several things at once"


def pseudo(cat: str, sub: str = "") -> Sign:
    """The sign of a word that stands elsewhere: ``hard``, or ``neg`` with its finer kind."""
    return Sign((Mark(cat, 0, 0, "", sub),), "lead")


def _amount(piece: Piece) -> bool:
    """True if free words state an amount: *more than one GPU*."""
    return any(
        m.low[0].isdigit() and (m.low.isdecimal() or len(m.low) > 3) for m in piece.marks if m.free
    ) or any(m.low in _WORDS["amount"] for m in piece.marks if not is_rule(m))


def _at_least(text: str, free: Sequence[RequestedValue]) -> bool:
    """True if words count things that no table has: *at least two experiments*."""
    words = text[free[0].start : free[0].end].lower().split()
    return text[: free[0].start].endswith("at ") and words[0] in ("least", "most") and len(words) <= 3


def tastes(piece: Piece) -> tuple[tuple[int, int, str], ...]:
    """(start, end, why) of the judgements in a piece."""
    return tuple((m.start, m.end, TASTE) for m in piece.marks if m.cat == "taste")


def signed(text: str, piece: Piece, sign: Sign, *, others: bool, question: bool) -> Read:
    """A piece under a sign.

    Args:
        text: the whole text.
        piece: the piece.
        sign: of the piece, or of the list that it belongs to.
        others: whether another piece has a subject.
        question: whether the text is a question.
    """
    if sign.place == "unsure":
        return Read(piece, "unread", sign, why=MEANT)
    if is_event(piece):
        return Read(piece, "unread", sign, why=EVENT)
    values = _narrowed(text, piece, requests_of(piece, sign, company=True))
    if any(m.cat == "neg" for m in sign.rules) and _sized(piece):
        led = _led(piece, values, sign) if question and not others else None
        return Read(piece, "unread", sign, subject=led, why=_COMBINED)
    if sign.negative and _cites(text, piece):
        return Read(piece, "unread", sign, why=MEANT)
    if combined(piece, values, sign) and (others or not question):
        whole = _at_once(piece, values)
        return Read(piece, "request" if whole else "unread", sign, whole, why="" if whole else _COMBINED)
    judged: list[tuple[int, int, str]] = []
    if sign.negative:  # "no industry-funded trials" denies no trial but those
        for before, mark in pairwise(piece.marks):
            taste, value = (before, mark) if before.cat == "taste" else (mark, before)
            if taste.cat == "taste" and any(r.start == value.start for r in values):
                judged.append((before.start, mark.end, TASTE))
                values = [r for r in values if r.start != value.start]
    if question and not others and (led := _led(piece, values, sign)):
        kept = [r for r in values if r.end <= led[0]]
        if not kept:  # "no twin studies on heritability"
            kept = free_requests(text, _until(piece, led[0]), kept, sign)
        if sign.place == "post" and (tail := [r for r in values if r.start >= _last_free(piece)]):
            kept += tail  # "papers on owls German only"
            led = led[0], max(m.end for m in piece.marks if m.end <= tail[0].start)
        return Read(piece, "request", sign, tuple(kept), subject=led)
    if question and not others and sign.place == "post" and values and piece.marks[0].free:
        behind = tuple(r for r in values if r.start >= _last_free(piece))
        if behind:  # "teacher burnout qualitative studies preferred"
            until = max(m.end for m in piece.marks if m.end <= behind[0].start)
            return Read(piece, "request", sign, behind, subject=(piece.start, until))
    free = free_requests(text, piece, values, sign)
    free = [r for r in free if not any(a < r.end and r.start <= b + 1 for a, b, _ in judged)]
    if sign.negative and not question and free and all(r.value.lower() in aspect_names() for r in free):
        return Read(piece, "unread", sign, why=MEANT)  # "by method, not by task"
    values, free = _of_whom(text, piece, values, free)
    if sign.rules[0].low in _WORDS["before_authors"] and free and all(text[r.start].isupper() for r in free):
        free = [replace(r, attribute="author") for r in free]  # "I've read Piketty and Saez"
    if _verb_behind(text, piece, sign, values, free):
        return Read(piece, "unread", sign, why=MEANT)
    if free and (_tells_why(piece, sign) or not _earned(text, piece, values)):
        if not values:
            return Read(piece, "unread", sign, why=MEANT)
        return Read(piece, "request", sign, tuple(values), lost=tuple((r.start, r.end, MEANT) for r in free))
    if free and values and all(r.attribute in WEB for r in values):  # what the document holds, or is about
        lost = tuple((r.start, r.end, "a detail of what is asked for") for r in free)
        return Read(piece, "request", sign, tuple(values), lost=lost)
    if free and any(m.cat == "taste" for m in piece.marks) and not values:
        return Read(piece, "unread", sign, why=TASTE)
    if free and not values and ((sign.negative and _amount(piece)) or _at_least(text, free)):
        return Read(piece, "unread", sign, why="an amount that no field states")
    if values and free and any(r.attribute == "aspect" for r in values):
        free = []
    flipped = [r for r in values if r.opposite and sign.negative]
    if flipped and any(r.start < flipped[0].start for r in free):
        return Read(piece, "unread", sign, why=_COMBINED)  # "no tweets after 2019"
    if flipped and (over := [r for r in free if r.start > flipped[-1].end]):
        lost = tuple((r.start, r.end, "it is not clear whether it is wanted") for r in over)
        return Read(piece, "request", sign, tuple(values), lost=lost)
    if not values and not free:
        if any(m.cat == "taste" for m in piece.marks):
            return Read(piece, "unread", sign, why=TASTE)
        # "not research papers", "I've no access to Wiley so exclude it"
        if piece.carries or (piece.marks[0].low in _WORDS["bare"] and piece.marks[-1].cat == "doc"):
            return Read(piece, "unread", sign, why=MEANT)
        return Read(piece, "chatter", sign)
    lost = tuple(judged) if judged else tastes(piece) if values else ()
    requests = _modified(text, values, free) if sign.negative else (*values, *free)
    return Read(piece, "request", sign, requests, lost=lost)


def _sized(piece: Piece) -> bool:
    """True if words of size say which documents are meant: *small trials*, *trials with few patients*."""
    told = any(m.low in _WORDS["sizes"] and n.attribute in _DOCUMENTS for m, n in pairwise(piece.marks))
    kinds = [n for n, m in enumerate(piece.marks) if m.attribute in _DOCUMENTS]
    behind = [m.low for m in piece.marks[kinds[0] + 1 :]] if kinds else []
    links = [n for n, low in enumerate(behind) if low in _WORDS["qualifies"]]  # not "... and keep it small"
    return told or any(low in _WORDS["few"] for low in (behind[links[0] :] if links else ()))


def _narrowed(text: str, piece: Piece, values: list[RequestedValue]) -> list[RequestedValue]:
    """The values, where a denied kind that is said more narrowly is what is both: *no pilot trials*."""
    narrow = {m.start for m in piece.marks if "narrow" in m.flags}
    out = []
    for one in values:
        if one.relation in ("exclude", "avoid") and one.start in narrow:
            both = combination([(one.attribute, one.value), ("topic", text[one.start : one.end])])
            one = RequestedValue("combination", both, one.relation, one.start, one.end)  # noqa: PLW2901
        out.append(one)
    return out


def _modified(
    text: str, values: Sequence[RequestedValue], free: Sequence[RequestedValue]
) -> tuple[RequestedValue, ...]:
    """The denied values and words, where *no policy editorials* denies what is both."""
    out = [*values, *free]
    for word, kind in product(free, values):
        gap = text[word.end : kind.start] if word.end <= kind.start else None
        some = kind.attribute == "population" and " " not in word.value  # "no pregnant women"
        sort = kind.attribute in _DOCUMENTS or some
        if sort and word.attribute == "topic" and gap in _WORDS["gaps"] | {"", " "}:
            both = combination([(kind.attribute, kind.value), (word.attribute, word.value)])
            out = [request for request in out if request not in (word, kind)]
            out.append(RequestedValue("combination", both, kind.relation, word.start, kind.end))
    return tuple(out)


def _cites(text: str, piece: Piece) -> bool:
    """True if a name precedes a year, as in *not Smith 2019*."""
    return any(
        year.attribute == "year" and not year.sure and name.free and text[name.start].isupper()
        for name, year in pairwise(piece.marks)
    )


def _verb_behind(
    text: str, piece: Piece, sign: Sign, values: Sequence[RequestedValue], free: Sequence[RequestedValue]
) -> bool:
    """True if the one unknown word is a verb for what documents must do, or what must not be done to them.

    It may deny them, or deny that they are denied: *blogs must be axed*, *don't overlook blogs*.
    """
    if len(free) != 1 or not values or " " in text[free[0].start : free[0].end]:
        return False
    word, documents = free[0], all(r.attribute in ("kind", "source", "status", "language") for r in values)
    if sign.negative:
        before = word.end <= values[0].start
        verbal = _WORDS["verbal"] | (_WORDS["verbal_no"] if before and not is_english(text) else frozenset())
        outside = before or word.start >= values[-1].end
        return documents and outside and any(m.low in verbal and m.end <= word.start for m in sign.rules)
    between = [m for m in piece.marks if values[-1].end <= m.start and m.end <= word.start]
    modal = any(m in sign.rules and m.low.split()[0] in _WORDS["modal"] for m in between)
    return documents and modal and not any(m.cat == "cue" for m in between)


def _tells_why(piece: Piece, sign: Sign) -> bool:
    """True if a piece is about people and so does not limit papers: *our licence covers nothing else*."""
    first = next((n for n, m in enumerate(piece.marks) if m.free or m in sign.rules), 0)
    before = piece.marks[:first]
    return any(m.low in _WORDS["told"] for m in before) and not any(m.cat in ("doc", "open") for m in before)


def _of_whom(
    text: str, piece: Piece, values: list[RequestedValue], free: list[RequestedValue]
) -> tuple[list[RequestedValue], list[RequestedValue]]:
    """*Adults with type 1 diabetes* is one population."""
    for number, value in enumerate(values):
        behind = [m for m in piece.marks if m.start >= value.end]
        if value.attribute == "population" and behind and behind[0].low in _WORDS["with"]:
            words = [r for r in free if r.start >= value.end]
            if words:
                whole = replace(value, value=text[value.start : words[-1].end], end=words[-1].end)
                inside = [v for v in values if v.start < value.start or v.start > words[-1].end]
                return [*inside[:number], whole, *inside[number:]], [r for r in free if r not in words]
    return values, free


def _earned(text: str, piece: Piece, values: Sequence[RequestedValue]) -> bool:
    """True if unknown words are next to the words that rule them; not so in *only what came out of X*."""
    english = is_english(text)
    for first, last in phrases(piece, values):
        at = first - 1
        if not english:  # verbs of other languages are mostly unknown: "las tesis no me valen"
            while at >= 0 and piece.marks[at].cat == "func" and piece.marks[at].low not in _WORDS["and"]:
                at -= 1
            joint = piece.marks[max(0, at)]
            joined = at >= 0 and (joint.low in _WORDS["and"] or joint.cat in ("cue", "lead"))
            if (values and not joined) or any(m.carries for m in piece.marks[first:last]):
                return False
            continue
        while at >= 0 and piece.marks[at].cat == "func" and piece.marks[at].low in _SMALL:
            at -= 1
        if at >= 0 and piece.marks[at].cat in ("func", "but", "wish"):
            return False
        if first and piece.marks[first - 1].cat == "name":
            return False  # "no TREC tracks"
        if 0 <= at < first - 1 and piece.marks[first - 1].low in _WORDS["relatives"]:
            return False  # "code that runs is a must"
    return True


def _until(piece: Piece, end: int) -> Piece:
    """The part of a piece that ends before a place in the text."""
    return replace(piece, marks=tuple(m for m in piece.marks if m.end <= end))


def _last_free(piece: Piece) -> int:
    """End of the last word that no table has."""
    return max(m.end for m in piece.marks if m.free)


def _led(piece: Piece, values: Sequence[RequestedValue], sign: Sign) -> tuple[int, int] | None:
    """(start, end) of the subject that a limiter leads to: *only surveys on X*, not *no papers on X*."""
    for at, mark in enumerate(piece.marks):
        if at and (mark.cat == "lead" or (mark.low in _WORDS["of"] and "of" in piece.marks[at - 1].flags)):
            behind = piece.marks[at + 1 :]
            while behind and (is_rule(behind[-1]) or behind[-1].cat == "polite"):
                behind = behind[:-1]
            documents = [n for n, m in enumerate(piece.marks[:at]) if m.cat == "doc"]
            told = bool(documents) and (not sign.negative or piece.marks[documents[-1] - 1].free)
            headed = told or any(r.end <= mark.start for r in values)
            plain = all(m.cat in _BEHIND or m.attribute == "language" for m in behind)
            before = piece.marks[at - 1]
            if headed and not plain and not (before.free or is_rule(before)):
                return behind[0].start, behind[-1].end
            return None
    return None


def allows(piece: Piece, sign: Sign) -> bool:
    """True if a denial admits papers: *do not leave out preprints*, *non-English papers welcome*."""
    denials = [mark for mark in sign.rules if mark.cat == "neg"]
    told = [mark for mark in piece.marks if mark.values]
    lacks = not denials and all(m.values[0].startswith("!") and m.attribute != "known" for m in told)
    prefix = len(denials) == 1 and "prefix" in denials[0].flags
    if sign.cats <= {"neg", "soft"} and (prefix or (lacks and piece.carries)):
        return any(mark.low in _WORDS["lets_in"] for mark in piece.marks)
    rules, lows = [mark.low for mark in sign.rules], [mark.low for mark in denials]
    if len(rules) == 2 and rules[0] in _WORDS["no"] and rules[1] in _WORDS["needed"]:
        return True  # "no code needed"
    return len(lows) == 2 and lows[0] in _WORDS["dont"] and lows[1] in _WORDS["omits"]


def nested(piece: Piece, before: Read) -> bool:
    """True if a relative clause continues a sign without content: *only papers that aren't ...*."""
    empty = before.role == "chatter" and (before.sign.negative or before.sign.cats == {"hard"})
    return empty and piece.marks[0].low in _WORDS["relative"]


def denied_again(piece: Piece, sign: Sign, before: Read) -> bool:
    """True if *but* leads to what was just denied, and so to an exception: *no theses but PhD theses*."""
    if sign.rules or piece.marks[0].cat != "but" or not before.sign.negative:
        return False
    denied = {(r.attribute, r.value) for r in before.requests}
    values = requests_of(piece, Sign(), company=True)
    return bool(values) and all((r.attribute, r.value) in denied for r in values)


def perhaps_denied(text: str, piece: Piece, values: Sequence[RequestedValue]) -> bool:
    """True if words beside values may deny them, as in *preprints can go*: any words but small ones."""
    if all(r.attribute in ("audience", "aspect", "keyword") for r in values) or not is_english(text):
        return False
    words = [m for m in piece.marks if m.cat == "func" and not m.sub and m.low < "\u3400"]
    return any(not _SMALL.issuperset(m.low.split()) and m.low not in _SMALL for m in words)


def heads(piece: Piece) -> bool:
    """True if a limiter without content leads to a list: *don't want: ...*, but not *only those: ...*."""
    return not (piece.carries or piece.free or any(m.sub == "back" for m in piece.marks))


def prefixed(sign: Sign) -> bool:
    """True if the only denial is a prefix: *non-English*."""
    return len(sign.rules) == 1 and "prefix" in sign.rules[0].flags


def leads_to(piece: Piece, sign: Sign) -> tuple[int, int] | None:
    """(start, end) of the subject after *need ... on*, or None."""
    if sign.negative or sign.place != "lead" or not sign.rules[0].low.startswith("need"):
        return None
    for at, mark in enumerate(piece.marks[1:-1], 1):
        if mark.cat == "lead":
            return piece.marks[at + 1].start, piece.end
    return None


def needs(piece: Piece, sign: Sign) -> bool:
    """True if *need* is followed by a subject: *I'm a nurse; need delirium in adults*, not *need trials*."""
    first, *others = piece.marks
    opens = sign.rules == (first,) and sign.place == "lead" and first.low.startswith("need")
    return opens and any(m.free for m in others[:1]) and all(m.cat != "lead" for m in others)


def is_told(piece: Piece, sign: Sign) -> bool:
    """True if a denial is part of the subject: *people who never marry*, *excluding X from Y*."""
    first = next((n for n, m in enumerate(piece.marks) if m is sign.rules[0]), len(piece.marks))
    before, behind = piece.marks[:first], piece.marks[first + 1 :]
    told = any(m.cat == "lead" or m.low in _WORDS["ways"] for m in before)
    told = told or (bool(before) and before[-1].low in _WORDS["who"])
    parts = not first and sign.rules[0].low in _WORDS["excludes"] and any(m.low == "from" for m in behind)
    return parts or (told and sign.negative and any(m.free for m in behind))


def loose(piece: Piece, sign: Sign, listed: bool) -> bool:
    """True if a verb of denial is in a list of plain words: *residual blocks, skip connections*."""
    if (
        piece.joint != "comma"
        or sign.rules[0] is not piece.marks[0]
        or sign.rules[0].low not in _WORDS["imperatives"]
        or not (listed or any(m.low in _WORDS["and"] for m in piece.marks))
    ):
        return False
    return not any(m.carries or m.cat in ("doc", "polite") for m in piece.marks)


def besides(before: Read, sign: Sign) -> bool:
    """True if *other than* follows a denial, and so is an exception to it: *no US samples other than ...*."""
    denied = before.sign.negative and before.role == "request"
    return denied and any(m.low in _WORDS["besides"] for m in sign.rules)


def goes_on(piece: Piece, sign: Sign, before: Read) -> bool:
    """True if a relative clause with a denial continues a subject: *methods that need no data*."""
    about = before.piece.marks[-1].low in _WORDS["ways"] or piece.marks[0].low in _WORDS["who"]
    return about and piece.joint == "inline" and sign.negative and not before.lost and not before.sign.rules


def is_event(piece: Piece) -> bool:
    """True if a piece gives a time by an event: *published after the GDPR*."""
    content = [m for m in piece.marks if m.cat not in ("doc", "polite") and m.low not in _WORDS["done"]]
    while content and is_rule(content[0]):
        content = content[1:]
    if len(content) > 1 and content[0].low in _WORDS["age"] and content[1].low.startswith("than"):
        return not any(m.cat == "bound" for m in content)  # "no older than the seed"
    timed = bool(content) and content[0].low in _WORDS["after"]
    dated = next((n for n, m in enumerate(content) if m.attribute == "year"), len(content))
    return timed and (not piece.carries or any(m.free for m in content[dated:]))  # "before the 2008 crisis"


def _at_once(piece: Piece, denied: Sequence[RequestedValue]) -> tuple[RequestedValue, ...]:
    """Requests against papers that are several denied things at once; () if words are left.

    Args:
        piece: the piece.
        denied: its values as the sign turns them.
    """
    stated: dict[str, list[RequestedValue]] = {}
    for request in requests_of(piece, Sign(), company=True):
        stated.setdefault(request.attribute, []).append(request)
    beside = any(m.cat in ("taste", "aspect") for m in piece.marks)
    if piece.free or beside or sum(map(len, stated.values())) != len(denied) or len(stated) < 2:
        return ()
    if any(one.carries and other.attribute == "artifacts" for one, other in pairwise(piece.marks)):
        return ()  # "no survey data"
    relation = "exclude" if all(r.relation in ("exclude", "require") for r in denied) else "avoid"
    start, end = min(r.start for r in denied), max(r.end for r in denied)
    each = islice(product(*stated.values()), _MOST)
    values = (combination([(r.attribute, r.value) for r in one]) for one in each)
    return tuple(RequestedValue("combination", value, relation, start, end) for value in values)


def combined(piece: Piece, used: Sequence[RequestedValue], sign: Sign) -> bool:
    """True if a denial is of several things at once: *no case series with fewer than 10 cases*."""
    if not sign.negative or sign.place != "lead":
        return False
    for one, other in pairwise(used):
        between = [m.low for m in piece.marks if one.end <= m.start < other.start]
        if one.attribute != other.attribute and not _WORDS["and"].intersection(between):
            return True  # "no papers by Ong since 2020"
    kinds = [r for r in used if r.attribute not in WEB | FACTS and not r.opposite]
    if not kinds:
        return False
    behind = [m for m in piece.marks if m.start >= kinds[0].end]
    joined = any(m.low in _WORDS["qualifies"] for m in behind)
    return joined and bool([p for p in phrases(piece, used) if piece.marks[p[0]].start > kinds[0].start])
