"""The subject of a question, and the requests that stand inside its piece: *a survey of X since 2019*."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import attrgetter

from msgspec import Struct

from aspectra.base.values import replace
from aspectra.search.instructions.meaning import RequestedValue, Sign, requests_of, soften
from aspectra.search.instructions.pieces import Piece
from aspectra.search.instructions.recognisers.bounds import number_of
from aspectra.search.instructions.recognisers.lexicon import Mark, word_sets
from aspectra.search.instructions.recognisers.names import is_venue

_WORDS = word_sets("subjects")
_OF, _THAT, _IN, _FOR, _WITH = _WORDS["of"], _WORDS["that"], _WORDS["in"], _WORDS["for"], _WORDS["with"]
_ONWARD = (_WORDS["prepositions"] | _THAT | _IN | _FOR | _WITH) - {"of"}
_HEADS = frozenset("kind status source format length artifacts".split())
_ADJECTIVES = frozenset("recency citations access status venue_rank".split())
# Years before these are history more often than limits: with "since", and with "after" or "before".
_LATELY, _NOW_ISH = 1990, 2010
_POINTS = ("after", "before", "nach", "vor", "avant", "après", "antes", "después")
_PUBLISHED, _NEWS = tuple(_WORDS["published"]), tuple(_WORDS["news"])  # how a time or a head begins
# Attributes of which values stand behind the subject: *X in top journals*.
_NAMED = frozenset("venue affiliation author publisher".split())
# Attributes that stand behind it in Chinese.
_HAN = frozenset("kind language recency status citations access venue_rank artifacts".split())
_BEHIND = frozenset("citations access venue_rank status known author recency".split())
_NOUNS = ("doc", "open", "change", "value")  # categories of marks that a name with "by" may follow
_PLAIN = Sign()
_ARTICLES = ("a", "an", "the")
_TEACHING = ("book", "tutorial", "survey")  # kinds that are written for somebody
_SHORT = 4  # letters of *oa*, *free*, *code*
# Categories of marks among requests in front of a subject.
_PASSED = ("func", "polite", "but", "wish", "taste", "hard", "demand")
_FAR = 6  # marks between what is denied and its denial
_REACH = 5  # words between an adjective and the word for documents that it describes


class Subject(Struct, frozen=True):
    """A piece that has words to search for.

    Attributes:
        requests: what is asked of papers in front of the subject and behind it.
        start, end: of the subject, in the text.
        asked: whether the piece says that documents are wanted.
    """

    requests: tuple[RequestedValue, ...]
    start: int
    end: int
    asked: bool


def _is_head(mark: Mark) -> bool:
    """True if a mark names documents."""
    if mark.cat == "doc" or (mark.cat == "value" and mark.low.split()[-1] in _WORDS["docs"]):
        return True
    if mark.cat == "bound":
        return mark.attribute == "length"
    if mark.attribute == "cites":
        return True
    if mark.cat == "name":
        words = mark.low.split()
        ends = {words[0], words[-1]}
        writings = not ends.isdisjoint(_WORDS["docs"] | _WORDS["whatever"]) or mark.low.endswith("的")
        owned = mark.attribute == "author" and writings
        return owned or (mark.attribute == "venue" and mark.sure)
    if mark.attribute == "recency" and mark.low.startswith(_NEWS):
        return True
    noun = "adj" not in mark.flags or "of" in mark.flags
    return noun and mark.cat == "value" and mark.attribute in _HEADS


def _requests(piece: Piece, picked: Sequence[int], sign: Sign = _PLAIN) -> list[RequestedValue]:
    """Requests of some marks of a piece, each by itself, under a sign."""
    out: list[RequestedValue] = []
    for at in picked:
        alone = Piece((piece.marks[at],), "inline", piece.sentence)
        out += requests_of(alone, sign, company=True)
    return out


def _denial(marks: Sequence[Mark], first: int, end: int) -> int:
    """Number of the denial after a subject, or -1: *owls never published in Nature*."""
    for at in range(end - 1, max(first, end - _FAR), -1):
        if marks[at].cat == "neg" or marks[at].low in _WORDS["outside"]:
            return at
        if marks[at].free or marks[at].carries:
            break
    return -1


def _front(piece: Piece) -> tuple[list[int], int, bool]:
    """Numbers of the marks that are requests, where the subject begins, whether documents are asked for."""
    marks = piece.marks
    pending: list[int] = []
    head = -1
    asked = False
    at = 0
    while at < len(marks):
        mark = marks[at]
        if mark.tied or (at + 1 < len(marks) and marks[at + 1].tied and marks[at + 1].free):
            break
        leads = mark.cat == "lead" or (at > 0 and _leads(marks, at, head, pending))
        if leads:
            ahead = at + 1
            around = ("audience", "language", "year")
            while ahead < len(marks) and (marks[ahead].cat == "func" or marks[ahead].attribute in around):
                ahead += 1
            again = ahead < len(marks) and marks[ahead].cat == "lead"
            if again and head >= 0 and ahead > at + 1 and marks[ahead - 1].carries:
                at += 1
                continue
            judged = head >= 0 and not pending and any(m.cat == "taste" for m in marks[:at])
            if head >= 0 and at + 1 < len(marks) and (judged or asked or _counts(marks[head])):
                return pending, at + 1, True
            if asked and mark.cat == "lead" and not pending and at + 1 < len(marks):
                return pending, at + 1, True  # "我想找关于 ..."
            if mark.low not in _FOR and pending and all(_in_time(marks[n], False) for n in pending):
                return pending, at + 1, True  # "since 2020 on ..."
            break
        if mark.low.endswith("的") and mark.cat == "func" and pending and at + 1 < len(marks):
            beside = marks[at - 1].low in _WORDS["sides"] and marks[at - 2].cat == "name"
            near = marks[at - 2] if beside else marks[at - 1]
            of_papers = near.attribute != "year" or mark.low != "的" or _in_time(near, False)
            if near.attribute not in ("", "kind") and of_papers:
                return pending, at + 1, True  # "发表在Nature上的", "2020年发表的"
        if mark.cat == "open":
            asked = True
        elif mark.low in _THAT and head == at - 1 and pending and (asked or "adj" in marks[pending[0]].flags):
            return pending, at + 1, True
        elif mark.carries and mark.attribute != "aspect" and not _mine(marks, at):
            pending.append(at)
            if _is_head(mark):
                head = at
        elif mark.cat == "doc" or (pending and mark.low in _WORDS["ones"]):
            head = at
        elif mark.cat not in _PASSED and number_of(mark.low) is None:
            break
        at += 1
    if at < len(marks) and pending:
        han = marks[at].low[0] > "\u3400" and pending[-1] == at - 1
        if han and all(marks[n].sure and _in_time(marks[n], False) for n in pending):
            return pending, at, True  # "2018年以后维生素D的研究"
        if head == at - 1 and marks[head].cat == "doc" and all(_describes(marks[n]) for n in pending):
            return pending, at, True
        first = pending[0]
        kind = head == first == at - 1 and marks[head].attribute == "kind" and _asks(marks[head])
        # "case reports takotsubo after vaccination", unlike "randomised trials comparing X and Y"
        if piece.joint == "start" and kind and marks[at].free and not marks[at].low.endswith("ing"):
            return pending, at, True
        adjective = "adj" in marks[first].flags and marks[first].attribute in _ADJECTIVES
        if adjective and marks[first].low not in _WORDS["close"]:
            for ahead in range(at, min(at + _REACH, len(marks))):
                if marks[ahead].low in _WORDS["prepositions"]:
                    break  # "foundational skills in early reading"
                if marks[ahead].cat == "doc" and ahead > at:
                    return [first], first + 1, True
    return [], 0, asked or head >= 0


def _leads(marks: Sequence[Mark], at: int, head: int, pending: Sequence[int]) -> bool:
    """True if *of* or *in* leads from a word for documents to the subject."""
    # "trials since 2015 of ..."
    before = next((m for m in marks[at - 1 :: -1] if m.cat != "bound" and not _follows(m)), marks[at])
    if marks[at].cat == "cue" and marks[at].sub == "topic":
        return head >= 0 and (head == at - 1 or before.low in _WORDS["and"] | _THAT)
    if marks[at].low == "to" and pending and before.low in _WORDS["ways"]:
        return True
    if marks[at].low in _OF:
        kind = before.carries and "adj" not in before.flags and _is_head(before)
        return (before.sure and (kind or "of" in before.flags)) or _plain_of(marks, at)
    if marks[at].low not in _WORDS["into"] or not pending or at + 1 == len(marks) or marks[at + 1].carries:
        return False
    mark = marks[head]
    told = mark.cat == "doc" or mark.low.split()[-1] in _WORDS["docs"] or mark.attribute == "recency"
    return head == at - 1 and told


def _follows(mark: Mark) -> bool:
    """True if a mark is an adjective that follows its noun in French and Spanish."""
    return mark.attribute in ("recency", "citations") and "adj" in mark.flags


def _plain_of(marks: Sequence[Mark], at: int) -> bool:
    """*A survey of X*: a word that is often a subject, with an article before it."""
    before = marks[at - 1]
    return "of" in before.flags and (at < 2 or marks[at - 2].cat in ("func", "value", "open", "taste"))


def _counts(head: Mark) -> bool:
    """True if the words before a lead are a request although none of them asks."""
    return head.attribute not in ("source", "format", "length") or (head.sure and "weak" not in head.flags)


def _mine(marks: Sequence[Mark], at: int) -> bool:
    """True if a kind of document is one that the text is for: *my thesis*."""
    return at > 0 and marks[at].attribute == "kind" and marks[at - 1].low in _WORDS["mine"]


def _describes(mark: Mark) -> bool:
    """True if a mark in front of a word for documents describes them."""
    described = (*_ADJECTIVES, "year", "venue", "language", "artifacts")
    return not mark.flags.isdisjoint(("adj", "of")) or mark.attribute in described


def _in_time(mark: Mark, framed: bool) -> bool:
    """True if years at the end of a subject limit papers: *X since 2018*, not *the economy before 1933*."""
    if mark.attribute != "year":
        return bool(mark.opposite) or framed
    if mark.low.endswith("0s") and mark.low.startswith(("in the", "from the", "during the")):
        return int(mark.values[0][:4]) >= _LATELY
    years = [int(year) for year in re.findall(r"\d{4}", mark.values[0])]
    point = ".." not in mark.values[0] and mark.low.startswith(_POINTS)
    lately = max(years) >= (_NOW_ISH if point else _LATELY)
    if mark.low.startswith(_PUBLISHED):
        return True
    half = mark.opposite or (".." in mark.values[0] and mark.sure)
    return bool(half and (framed or lately)) or (framed and mark.sure)


def _asks(mark: Mark) -> bool:
    """True if a mark names a fact of the record as a noun: *RCTs*, *open access*, *top journals*."""
    if not mark.sure or not mark.flags.isdisjoint(("adj", "weak")):
        return False
    if mark.attribute == "kind":
        return mark.values[0] in _WORDS["told_kinds"]
    if mark.attribute == "audience":
        return " " in mark.low
    return mark.cat == "value" and mark.attribute in _WORDS["recorded"] and len(mark.low) > _SHORT


def _limits(marks: Sequence[Mark], at: int, framed: bool, changes: bool) -> bool:
    """True if one mark at the end of a subject is a request."""
    mark, before = marks[at], marks[at - 1]
    if mark.cat == "bound" and not mark.low.isdigit():
        named = before.cat == "doc" or (before.cat == "name" and before.sure and before.attribute in _NAMED)
        of_papers = named and mark.attribute == "year" and _lately(mark)
        return not changes and mark.attribute != "population" and (_in_time(mark, framed) or of_papers)
    if mark.attribute == "year":
        return at == len(marks) - 1 and _trails(mark, before, framed)
    if mark.cat == "name" and mark.sure and mark.attribute in _NAMED:
        of = mark.attribute == "venue" and not framed and mark.low.startswith("of ")
        return " " in mark.low and not of
    if mark.cat == "name":
        if mark.values[0].startswith("!"):  # "outside the United States"
            return True
        named = mark.attribute == "author" or (mark.attribute == "venue" and all(map(is_venue, mark.values)))
        listed = len(mark.values) > 1 and " or " in mark.low
        if mark.attribute == "author":  # "poisoning by Salmonella or Listeria"
            listed = listed and all(" " in name for name in mark.values)
        told = framed and (mark.attribute == "venue" or " " in mark.low)
        return named and (before.cat == "doc" or listed or told)
    listed = before.low in _WORDS["and"] and at > 1 and marks[at - 2].attribute == "artifacts"
    if mark.attribute == "artifacts" and (mark.sure or (listed and marks[at - 2].sure)):
        return listed or mark.low.split()[0] in _WITH or before.low in _WITH | _THAT
    if mark.attribute in _HEADS and mark.sure and _is_head(mark) and at > 1:
        said = " ".join(m.low for m in marks[max(0, at - 3) : at])
        if said.endswith(tuple(_WORDS["stated"])):
            return True  # "owls that are reviews"
    if mark.attribute == "kind" and mark.low in _WORDS["reviews"]:
        return before.free
    if _asks(mark) and all(m.free or _asks(m) for m in marks[:at]):  # "riblet drag preprints"
        return sum(m.free for m in marks[:at]) > 1
    return mark.attribute in _BEHIND and "sure" in mark.flags and _joined(before, mark)


def _listed(marks: Sequence[Mark], at: int, picked: Sequence[int]) -> bool:
    """True if the mark before years limits papers as well: *wheat review 2019*."""
    mark = marks[at]
    if not picked or any(marks[n].attribute != "year" for n in picked) or not marks[at - 1].free:
        return False
    kind = mark.attribute == "kind" and "of" in mark.flags and mark.values[0] in _WORDS["documents"]
    return kind or (mark.attribute == "author" and "alone" in mark.flags and len(mark.low.split()) > 2)


def _tail(piece: Piece, first: int, asked: bool) -> tuple[list[int], int]:
    """Numbers of the marks that are requests behind the subject, and where the subject ends."""
    marks = piece.marks
    picked: list[int] = []
    end = len(marks)
    framed = asked or any(_is_head(m) and m.cat != "value" for m in marks[:first] or marks)
    changes = any(m.cat == "change" for m in marks)
    han = "\u3400" <= marks[-1].low[0] <= "\u9fff"
    told = _WORDS["told"]
    while end > first + 1:
        at = end - 1
        mark, before = marks[at], marks[at - 1]
        links = mark.cat in ("func", "cue") and mark.low in _WORDS["between"]
        links = links and bool(picked or mark.low in _WORDS["and"])
        if mark.cat == "polite" or links or (han and mark.cat == "open"):
            end = at
        elif mark.tied or before.cat in ("perm", "except"):
            break
        elif mark.attribute == "language" and (spoken := _languages(marks, at, first)):
            picked = [*spoken, *picked]
            end = spoken[0] - 1 - (marks[spoken[0] - 2].low in _WORDS["written"])
        elif mark.attribute == "audience" and marks[lead := at - 1 - (before.low in _ARTICLES)].low in _FOR:
            teaches = marks[0].attribute == "kind" and marks[0].values[0] in _TEACHING
            if mark.values != ("lay",) and not teaches and not told & {marks[lead - 1].low, marks[0].low}:
                break
            picked, end = [at, *picked], lead - (lead - 1 > first and marks[lead - 1].low in told)
        elif (
            _limits(marks, at, framed, changes)
            or _listed(marks, at, picked)
            or (han and mark.attribute in _HAN)
        ):
            picked, end = [at, *picked], at
        elif picked and mark.low in _WORDS["papers"] and all(m.free for m in marks[first:at]):
            end = at  # "coreference resolution papers since 2020"
        elif han and mark.cat == "doc" and (asked or _chinese(marks, at, first)):
            end = at
        else:
            break
    while picked and end > first + 1 and marks[end - 1].low in _WORDS["between"] | _WITH:
        end -= 1
    return picked, end


def _inner(piece: Piece, first: int, asked: bool) -> tuple[list[int], int]:
    """Numbers of marks from the first bound inside a subject on, and where the subject ends.

    *X between 2005 and 2022 in English* ends before the bound, *X since 2020 with Y* goes on behind it.
    """
    marks = piece.marks
    framed = asked or any(_is_head(m) and m.cat != "value" for m in marks)
    changes = any(m.cat == "change" for m in marks)
    for at in range(first + 1, len(marks) - 1):
        mark, after = marks[at], marks[at + 1]
        if mark.attribute not in ("citations", "year", "sample") or not _limits(marks, at, framed, changes):
            continue
        behind = [m for m in marks[at + 1 :] if not m.carries or _names_subject(m)]
        on = after.cat in ("lead", "cue") or after.low.split()[0] in _ONWARD
        goes_on = any(m.free or m.carries for m in behind)
        if goes_on and on and any(m.free for m in marks[first:at]):
            return [at], len(marks)
        if goes_on and not any(m.low in _THAT for m in behind[:1]):
            return [], 0
        if framed or mark.attribute != "year":
            return [n for n in range(at, len(marks)) if marks[n].carries], at
    return [], 0


def _perhaps_author(marks: Sequence[Mark], first: int, end: int) -> range:
    """Numbers of a name at the end of a subject, and of years behind it: *X by Ong in 2020*.

    It may be no person's, *X by Salmonella*: the words are searched for as well, and filter nothing.
    """
    at = end - 1 - (marks[end - 1].attribute == "year")
    named = at > first and "alone" in marks[at].flags and (marks[at - 1].free or marks[at - 1].cat in _NOUNS)
    return range(at, end) if named else range(0)


def _names_subject(mark: Mark) -> bool:
    """True if people or a doubtful name belong to a subject that continues: *X since 2020 in Brazil*."""
    return mark.attribute in ("population", "audience") or (mark.cat == "name" and not mark.sure)


def _joined(before: Mark, mark: Mark) -> bool:
    """True if a word before a value relates it to documents: *in*, *with*, *published*."""
    return before.low in _WORDS["joins"] or mark.low.startswith(("with ", "in ", "from ", "by ", "i "))


def _trails(mark: Mark, before: Mark, framed: bool) -> bool:
    """True if a bare year at the end is a limit: *hypertension guidelines 2023*, not *ImageNet 2012*."""
    bare = mark.low.isdigit() and (framed or before.carries or before.cat == "doc" or "of" in before.flags)
    return bare and _lately(mark)


def _lately(mark: Mark) -> bool:
    """True if plain years are late enough to limit papers."""
    return all(year.isdigit() and int(year) >= _LATELY for year in mark.values)


def _languages(marks: Sequence[Mark], at: int, first: int) -> list[int]:
    """Numbers of the languages that a piece ends in after *written in* or *papers in*."""
    out = [at]
    at -= 1
    while at > first and (marks[at].attribute == "language" or marks[at].low in _WORDS["or"]):
        out = [at, *out] if marks[at].carries else out
        at -= 1
    return out if marks[at].low in _IN and at - 1 > first and _told(marks[at - 1]) else []


def _told(mark: Mark) -> bool:
    return mark.cat == "doc" or mark.low in _WORDS["written"]


def _chinese(marks: Sequence[Mark], at: int, first: int) -> bool:
    """True if 的 or a value precedes a word for documents at the end."""
    owned = at - 1 > first and (marks[at - 1].low == "的" or marks[at - 1].carries)
    return owned or (at > first and marks[at].low[0] == "的")


def subject_of(piece: Piece) -> Subject:
    """The subject of a piece without a sign, and the requests around it."""
    picked, first, asked = _front(piece)
    more, last = _tail(piece, first, asked)
    if last <= first:
        more, last = [], len(piece.marks)
    if not more:
        more, last = _inner(piece, first, asked)
    behind = [n for n in more if not any(m.free for m in piece.marks[n:last])]
    denial = _denial(piece.marks, first, last) if more and behind == more else -1
    sign = _PLAIN
    if denial > 0:
        rule = piece.marks[denial]
        rule = rule if rule.cat == "neg" else replace(rule, cat="neg", sub="strong")
        sign, last = Sign((rule,), "lead"), denial
        while last > first + 1 and not (piece.marks[last - 1].free or piece.marks[last - 1].carries):
            last -= 1
    doubtful = map(soften, _requests(piece, _perhaps_author(piece.marks, first, last or len(piece.marks))))
    requests = [*_requests(piece, picked), *_requests(piece, more, sign), *doubtful]
    requests.sort(key=attrgetter("start"))
    cut = bool(requests) or any(m.cat in ("taste", "demand", "lead") for m in piece.marks[:first])
    start = piece.marks[first].start if cut and first < len(piece.marks) else piece.start
    return Subject(tuple(requests), start, piece.marks[last - 1].end if more else piece.end, asked)
