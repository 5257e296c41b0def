"""The meaning of a limiter: the sign of a piece, the values in it, and the words that no table has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from aspectra.base.values import replace
from aspectra.search.instructions.marks import SIGNS
from aspectra.search.instructions.pieces import Piece, is_rule
from aspectra.search.instructions.recognisers.lexicon import Mark, word_sets
from aspectra.search.instructions.recognisers.names import is_place, is_publisher, is_venue

# Facts of the record: hard where they are stated plainly.
FACTS = frozenset("year venue author affiliation publisher cites".split())
# Attributes that free words can be.
FREE = frozenset("topic method population reports keyword".split())
_ADJECTIVES = frozenset("recency citations access venue_rank".split())
# Attributes of documents on the web.
WEB = frozenset("source format length audience".split())
_WORDS = word_sets("meaning")
_MIRROR = {"require": "exclude", "exclude": "require", "prefer": "avoid", "avoid": "prefer"}
_NOR, _BY = _WORDS["nor"], _WORDS["by"]
_OR, _AND, _IN = _WORDS["or"], _WORDS["and"], _WORDS["in"]
_STOPS, _ABOUT, _WITH = _WORDS["stops"], _WORDS["about"], _WORDS["with"]
# Attributes whose values are as often subjects.
_SUBJECTS = frozenset("language kind status format source artifacts access citations".split())
_METHOD, _UTTER = _WORDS["method"], _WORDS["utter"]
_NEAR = 12  # marks before a word that may say what it is about
_VERBS = ("func", "doc")  # what a verb that has no other sense is marked as
_FEW = 3  # words on either side of an "and" that joins two denials


@dataclass(frozen=True, slots=True)
class RequestedValue:
    """One value that papers should have, or not.

    Attributes:
        attribute, value: as in a condition; ``aspect`` for an aspect.
        relation: ``require``, ``exclude``, ``prefer``, ``avoid``; ``same`` or ``different`` for an aspect.
        start, end: the words that it was read from.
        hard: whether it is a fact of the record or a number, and so hard where it is stated plainly.
        opposite: what a denied bound leaves, or "".
        unless: (attribute, value, whether it begins another exception) of what is exempt.
    """

    attribute: str
    value: str
    relation: str
    start: int
    end: int
    hard: bool = False
    opposite: str = ""
    unless: tuple[tuple[str, str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Sign:
    """The words of a piece that say how its request is meant.

    Attributes:
        rules: the marks that say so.
        place: ``lead``, ``post`` (behind what it rules), ``inner`` (permission alone), ``unsure`` (in a
            clause of its own: *a level they would not run away from*), or "" without one.
    """

    rules: tuple[Mark, ...] = ()
    place: str = ""

    @property
    def cats(self) -> frozenset[str]:
        """Categories of the rules."""
        return frozenset(mark.cat for mark in self.rules)

    @property
    def negative(self) -> bool:
        """True if an odd number of the rules denies; *neither ... nor* is one denial."""
        return len(self._denials) % 2 == 1

    @property
    def _denials(self) -> list[str]:
        """The finer kind of each denial that is not part of a list."""
        out: list[Mark] = []
        for mark in self.rules:
            if mark.cat == "neg" and not (out and (mark.low in _NOR or mark.low == out[-1].low)):
                out.append(mark)
        return [mark.sub for mark in out]

    @property
    def strong(self) -> bool:
        """True if the rules filter: a hard word or a strong denial, and no softener."""
        return self.relation(hard=False) in ("require", "exclude")

    def relation(self, *, hard: bool) -> str:
        """The relation of a value; ``hard``: of one that is hard where it is stated plainly."""
        denials = self._denials
        soft = any(mark.cat == "soft" or "soft" in mark.flags for mark in self.rules)
        if len(denials) % 2:
            if soft or ("avoid" in denials and "strong" not in denials):
                return "avoid"
            return "exclude" if "strong" in denials or hard or "hard" in self.cats else "avoid"
        if soft:
            return "prefer"
        return "require" if hard or denials or "hard" in self.cats else "prefer"


def sign_of(piece: Piece) -> Sign:
    """The sign of a piece: rules before its content, or else behind all of it."""
    shown = {n + 1 for n, m in enumerate(piece.marks) if m.low in _WORDS["shows"]}
    rules = [m for n, m in enumerate(piece.marks) if m.cat in SIGNS and not (m.cat == "neg" and n in shown)]
    if not rules:
        return Sign()
    first = piece.marks.index(rules[0])
    swallowed = rules[0].cat == "neg" and any(m.cat == "perm" and "swallow" in m.flags for m in rules)
    if swallowed or _narrates(piece.marks, first) or _twice(piece.marks, rules):
        return Sign(tuple(rules), "unsure")
    before = piece.marks[:first]
    if rules[0].cat == "neg" and before and before[-1].cat == "cue" and not piece.free:
        clear = not any(m.carries for m in before)  # "papers with no code", not "preprints with no code"
        return Sign(tuple(rules), "lead" if clear else "unsure")
    if not any(m.free or (m.cat == "cue" and n) for n, m in enumerate(before)):
        return Sign(tuple(rules), "lead")
    last = piece.marks.index(rules[-1])
    if rules[-1].low in _WORDS["states"] and any(m.cat in _VERBS for m in piece.marks[last + 1 : last + 2]):
        return Sign()  # "studies proving that homework does not work"
    if not any(m.free or m.carries for m in piece.marks[last + 1 :]):
        behind = takewhile(lambda m: not m.free and not m.carries, reversed(piece.marks))
        return Sign(tuple(filter(is_rule, behind)), "post")
    allowed = tuple(m for m in rules if m.cat == "perm")
    return Sign(allowed, "inner") if allowed else Sign()


def _narrates(marks: Sequence[Mark], first: int) -> bool:
    """True if the first rule is a denial after a value that it cannot deny from there."""
    rule = marks[first]
    ahead = marks[first + 1 :]
    if rule.low in _WORDS["only_if"]:  # "conference papers only if at FAccT"
        return any(m.carries for m in marks[:first])
    if first and rule.low in _WORDS["might"] and marks[first - 1].low in _WORDS["others"]:
        return True  # "a level that they would not run away from"
    return (
        rule.cat == "neg"
        and rule.low < "\u3400"
        and rule.low not in _WORDS["behind"]
        and any(m.carries for m in marks[:first])
        and any(m.free for m in ahead)
        and not any(m.carries or m.cat == "doc" for m in ahead)
    )


def _twice(marks: Sequence[Mark], rules: Sequence[Mark]) -> bool:
    """True if another denial follows the words that the first denies.

    So in *avoid by Smith or Jones I don't need beginners*.
    """
    for one, other in pairwise([m for m in rules if m.cat == "neg"]):
        between = marks[marks.index(one) + 1 : marks.index(other)]
        if other.low not in _NOR and other.low != one.low and any(m.carries or m.free for m in between):
            return any(m.carries or m.free for m in marks[marks.index(other) + 1 :])
    return False


def _modifies(piece: Piece, at: int) -> bool:
    """True if a value modifies the word after it: *German tweets*."""
    mark = piece.marks[at]
    if at + 1 >= len(piece.marks):
        return False
    after = piece.marks[at + 1]
    if mark.attribute == "language" and after.attribute in WEB:
        return True
    near = after.start - mark.end <= 1 and not re.match("[\u3400-\u9fff]", after.low)
    return after.free and near and mark.cat == "value" and not mark.low.startswith(("with ", "that "))


def _journals(mark: Mark) -> bool:
    return mark.attribute == "venue" and all(map(is_venue, mark.values))


def valid(piece: Piece, at: int, *, signed: bool, company: bool) -> bool:
    """True if a mark that carries a value has that meaning here.

    Args:
        piece: the piece.
        at: number of the mark.
        signed: whether the piece has a sign.
        company: whether something else says that documents are meant.
    """
    mark = piece.marks[at]
    after = piece.marks[at + 1] if at + 1 < len(piece.marks) else None
    if after and after.tied and (after.free or after.attribute == mark.attribute == "language"):
        return False
    if _modifies(piece, at):
        return False
    if after and "adj" in mark.flags and not (mark.flags & {"sure", "of"}):
        if after.cat in ("word", "quote", "change", "cue") or (
            after.cat == "func" and after.low not in _STOPS and mark.attribute != "kind"
        ):
            return False
        if mark.attribute in _ADJECTIVES and after.attribute in ("population", "audience"):
            return False
        if after.cat == "value" and not valid(piece, at + 1, signed=signed, company=company):
            return False
    if at:
        before = piece.marks[at - 1]
        loose = not mark.sure or "bare" in mark.flags
        loose = loose and mark.cat == "value" and mark.start - before.end <= 1
        if loose and (before.free or (before.cat == "doc" and not signed)):
            return False
        if _of_subject(piece.marks, at) or (mark.attribute == "audience" and before.low in _BY | _ABOUT):
            return False
        own = any(m.low in _WORDS["mine"] for m in piece.marks[max(0, at - 3) : at])
        if own and mark.attribute in ("kind", "status", "source"):
            return False  # "my thesis is about", "for my gap year blog"
        if before.attribute == "language" and mark.attribute in WEB:
            return False  # "Latin script"
        if mark.attribute == "recency" and after and after.attribute == "year":
            return False  # "early 2000s"
        lows = [m.low for m in piece.marks[max(0, at - _NEAR) : at] if not m.carries]
        held = [low for low in lows if low not in _WORDS["articles"]][-1:]
        if mark.attribute in ("kind", "population") and not mark.sure and not _WITH.isdisjoint(held):
            return False
    if "bare" in mark.flags:
        return signed
    if not mark.sure:
        alike = sum(m.cat == "value" and m.attribute == mark.attribute for m in piece.marks)
        # ", RCT or cohort" and ", in Nature"
        listed = alike > 1 and piece.joint in ("comma", "semicolon")
        content = [m for m in piece.marks if m.cat not in ("func", "but", "polite")]
        said = len(content) == 1 and piece.joint not in ("start", "inline")
        return signed or company or listed or (said and _journals(mark))
    return True


def _of_subject(marks: Sequence[Mark], at: int) -> bool:
    """True if a value is the topic of something: *not for code or data*, *nothing to do with data*."""
    led = at - 1
    while led > 1 and marks[led].low in _OR | _AND:
        led -= 2
    mark, lead = marks[at], marks[led]
    if mark.attribute == "source" and lead.low in _WORDS["on"] and any(m.low in _UTTER for m in marks[:led]):
        return False  # "what riders say to each other on forums"
    if lead.sub == "method":
        return mark.attribute == "artifacts" and not mark.sure  # "trained on code"
    leads = lead.cat == "lead" and not (led and marks[led - 1].cat == "bound")  # "from 2023 on preprints"
    topic = lead.sub == "topic" and lead.low != "consider"  # "only consider manuals"
    about = leads or topic or lead.low.endswith("to do with")
    return about and mark.attribute in _SUBJECTS


def requests_of(piece: Piece, sign: Sign, *, company: bool = False) -> list[RequestedValue]:
    """The requests of a piece that tables and recognisers read, under its sign."""
    out: list[RequestedValue] = []
    whole = sign
    ruled = [n for n, m in enumerate(piece.marks) if m in sign.rules]
    follows = bool(ruled) and any(m.carries for m in piece.marks[ruled[-1] :])
    for at, mark in enumerate(piece.marks):
        # A denial between two values is one of the second: "papers citing X that are not surveys".
        sign = Sign() if follows and whole.negative and at < ruled[0] else whole
        if not mark.carries or not valid(piece, at, signed=bool(sign.rules), company=company):
            continue
        if mark.attribute == "aspect":
            alike = "same" if (mark.sub == "same") != sign.negative else "different"
            out.append(RequestedValue("aspect", mark.values[0], alike, mark.start, mark.end))
            continue
        number = mark.cat == "bound" and "vague" not in mark.flags and mark.attribute != "population"
        person = mark.attribute == "publisher" and not is_publisher(mark.values[0])
        # "published by Ong in 2022" is all there is
        doubtful = person and (piece.free or piece.joint != "start")
        attribute = "author" if person else mark.attribute
        hard = (mark.attribute in FACTS and not doubtful) or number
        relation = sign.relation(hard=hard)
        values = mark.values
        platform = values[0].removeprefix("name:").lower() in _WORDS["platforms"]
        # "not Twitter"
        if sign.negative and values[0].startswith("name:") and (platform or mark.low.startswith("on ")):
            out.append(RequestedValue("topic", values[0][5:], relation, mark.start, mark.end))
            continue
        if values[0].startswith("!"):  # a word that says what papers lack: *paywalled*
            values, relation = tuple(value[1:] for value in values), _MIRROR[relation]
        if mark.opposite and sign.negative:
            values = (mark.opposite,)
            if not mark.opposite.isdigit():
                relation = "prefer" if relation == "avoid" or "vague" in mark.flags else "require"
        out += [
            RequestedValue(attribute, v, relation, mark.start, mark.end, hard, mark.opposite) for v in values
        ]
    held = next((m.start for m in piece.marks if m.low in _WITH), -1)
    heads = [r for r in out if r.attribute == "format" and r.end <= held]
    if heads:  # "a manual with a list of options"
        out = [r for r in out if r.attribute != "format" or r in heads]
    had = [r for r in out if (r.attribute, r.value) == ("known", "have")]
    if not had or sign.rules:
        return out
    # Who has papers does not want them again: "I already have the ones by Smith", "I have no background".
    others = [r for r in out if r not in had] or had
    kept = ("audience", "aspect")
    return [r if r.attribute in kept else replace(r, relation="exclude") for r in others]


def phrases(piece: Piece, used: Sequence[RequestedValue]) -> list[tuple[int, int]]:
    """(first, last) marks of each run of words that no table has; inner marks of any kind belong to it."""
    taken = {request.start for request in used}
    out: list[tuple[int, int]] = []
    start = last = -1
    for at, mark in enumerate(piece.marks):
        part = mark.free or (mark.carries and mark.start not in taken) or _is_thing(piece, at)
        if (mark.carries and mark.start in taken) or is_rule(mark) or mark.low in _OR:
            if start >= 0:
                out.append((start, last + 1))
            start = -1
        elif part:
            if start < 0 and at and piece.marks[at - 1].low in _WORDS["things"]:
                start = at - 1  # "language models"
            start, last = (at, at) if start < 0 else (start, at)
    if start >= 0:
        out.append((start, last + 1))
    for n, (a, b) in enumerate(out):  # "no pilot studies": the noun belongs to it
        if b < len(piece.marks) and piece.marks[b].low in _WORDS["nouns"] and piece.marks[b - 1].free:
            out[n] = (a, b + 1)
    return out


def _is_thing(piece: Piece, at: int) -> bool:
    """True if a word that also occurs around requests is the object of one: *not language or text*."""
    mark, *behind = piece.marks[at : at + 2]
    if at:
        before = piece.marks[at - 1]
        begins = before.free or before.cat in ("neg", "lead", "cue")
        begins = begins or before.low in _OR | _AND | _WORDS["things"]
    else:
        begins = piece.joint == "comma"
    return mark.low in _WORDS["things"] and begins and all(m.low in _OR | _AND for m in behind)


def _attribute(piece: Piece, first: int, sign: Sign) -> str:
    """The attribute that free words belong to, by the words before them."""
    for mark in reversed(piece.marks[max(0, first - _NEAR) : first]):
        if mark.cat == "cue":
            return mark.sub
        if mark.cat == "lead":
            return "topic"
        if mark.low in _METHOD:
            return "method"
        if mark.low in _IN:
            return "population"
    if any(mark.low in _METHOD for mark in sign.rules):
        return "method"
    return "topic"


def _joined(piece: Piece, first: int, last: int, sign: Sign) -> Iterator[tuple[int, int]]:
    """Parts of a phrase that are denied one by one: *surveys and position statements*."""
    if sign.negative:
        for at in range(first + 1, last - 1):
            if piece.marks[at].low in _AND and at - first <= _FEW and last - at - 1 <= _FEW:
                yield first, at
                yield at + 1, last
                return
    yield first, last


def free_requests(
    text: str, piece: Piece, used: Sequence[RequestedValue], sign: Sign
) -> list[RequestedValue]:
    """Requests in words that no table has, of a piece with a sign."""
    relation = sign.relation(hard=False)
    out: list[RequestedValue] = []
    for first, last in phrases(piece, used):
        for a, b in _joined(piece, first, last, sign):
            start, end = piece.marks[a].start, piece.marks[b - 1].end
            value = text[start:end].strip(" \"'“”‘’«»„")
            if is_place(value):
                out.append(RequestedValue("population", value, relation, start, end))
                continue
            if is_venue(value) and value[0].isupper():  # "only Nature"
                out.append(RequestedValue("venue", value, sign.relation(hard=True), start, end))
                continue
            quoted = b - a == 1 and piece.marks[a].cat == "quote"
            attribute = "keyword" if quoted else _attribute(piece, first, sign)
            if value:
                out.append(RequestedValue(attribute, value, relation, start, end))
    return out


def soften(request: RequestedValue) -> RequestedValue:
    """The same request as a preference."""
    soft = {"require": "prefer", "exclude": "avoid"}
    return replace(request, relation=soft.get(request.relation, request.relation))
