"""Pieces: where a text is cut, before anything is read.

A text is cut at its punctuation and before the words that begin a limiter (*but, without, except, not,
ideally ...*). Each piece is then read by itself, with the help of its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from aspectra.base.values import replace
from aspectra.search.instructions.marks import SIGNS
from aspectra.search.instructions.recognisers.lexicon import DELIMITERS, Mark, word_sets

_WORDS = word_sets("pieces")
_NEAR = 30  # marks on either side that decide about a cut
_AHEAD = 6  # marks behind "I need" among which papers are named
_ASKS = _WORDS["asks"]
RECORDED = ("language", "venue", "publisher", "author", "year")  # what no subject has, but its papers
DOCUMENTS = frozenset("kind status source".split())  # attributes whose values name documents
_LEADS_ON = _WORDS["prepositions"]
_NAMES_DOCUMENTS = frozenset("kind source format".split())


class Piece(Struct, frozen=True):
    """A run of marks that is read as one.

    Attributes:
        marks: without delimiters; at least one.
        joint: what stands before it: a delimiter, ``and``, ``but``, ``than``, ``inline``, or ``start``.
        sentence: number of its sentence, from 0.
        bracketed: whether it stands in brackets.
    """

    marks: tuple[Mark, ...]
    joint: str
    sentence: int
    bracketed: bool = False

    @property
    def start(self) -> int:
        """Start of the piece in the text."""
        return self.marks[0].start

    @property
    def end(self) -> int:
        """End of the piece in the text."""
        return self.marks[-1].end

    @property
    def carries(self) -> bool:
        """True if any of its marks says what papers should be like."""
        return any(m.carries for m in self.marks)

    @property
    def free(self) -> bool:
        """True if it has words that no table has."""
        return any(m.free for m in self.marks)


def is_rule(mark: Mark) -> bool:
    """True if a mark says how a request is meant."""
    return mark.cat in SIGNS or mark.cat == "wish"


def _of_papers(mark: Mark) -> bool:
    """True if a mark describes papers and not a subject: a language, a journal, *reviews*."""
    named = mark.attribute in DOCUMENTS and mark.sure and "weak" not in mark.flags and mark.cat == "value"
    return named or mark.attribute in RECORDED or mark.attribute == "access"


def is_led(mark: Mark) -> bool:
    """True if a mark begins with a preposition."""
    return mark.low.partition(" ")[0] in _LEADS_ON


def told_apart(denied: Sequence[Mark], behind: Sequence[Mark]) -> bool:
    """True if *and* after a denial begins a new request: *no surveys and in English*, unlike *and theses*."""
    held = [m for m in denied if m.carries]
    named = [m for m in behind if m.carries]
    plain = not any(m.free for m in (*denied, *behind)) and all(m.cat != "doc" for m in denied)
    if not plain or not named or len(held) != 1:
        return False
    if behind[-1].cat == "hard":
        return True  # "no surveys and peer-reviewed only"
    alike = any(m.attribute == held[0].attribute for m in named)
    alike = alike and (not is_led(behind[0]) or is_led(held[0]) or denied[-1] is not held[0])
    nouns = (m.cat == "doc" or m.attribute in _NAMES_DOCUMENTS or "of" in m.flags for m in behind)
    return not alike and not any(nouns) and all(m.low.rpartition(" ")[2] not in _WORDS["docs"] for m in named)


def _limits_papers(marks: Sequence[Mark], at: int) -> bool:
    """True if a hard word limits papers: *must be reviews*, not *must be tested in trials*."""
    if marks[at].cat != "hard" or marks[at].low not in _WORDS["limited"]:
        return False
    held = next((m for m in marks[at + 1 : at + 3] if m.cat != "func"), None)
    return held is not None and _of_papers(held)


def _denies_documents(marks: Sequence[Mark], at: int) -> bool:
    """True if a denial is of some of the documents denied before it: *no preprints without code*."""
    denial = next((n for n, m in enumerate(marks[:at]) if m.cat == "neg"), at)
    told = marks[-1].cat != "doc"  # unlike "abstracts without full papers"
    return (
        told
        and any(m.attribute in DOCUMENTS for m in marks[denial:at])
        and marks[denial].low != marks[at].low
    )


def _cuts_denial(marks: Sequence[Mark], at: int, *, question: bool) -> bool:
    """True if a denial inside a run begins a new piece."""
    before, mark = marks[at - 1], marks[at]
    after = marks[at + 1] if at + 1 < len(marks) else None
    if mark.tied or after is None or (after.tied and after.free):
        return False
    if before.low in _WORDS["and"] or before.cat in ("but", "polite", "fix"):
        return True
    if before is marks[0] and before.attribute == "known":
        return False  # "I have no login"
    if any(m.cat == "neg" for m in marks[:at]) and not any(m.carries or m.free for m in marks[:at]):
        return False  # two denials in one: "nothing without code"
    if mark.low in _WORDS["modifies"] and _denies_documents(marks, at):
        return False
    said = sum(m.free or m.cat == "label" for m in marks[:at])
    if question and mark.low in _WORDS["modifies"] and said < 2:
        if not said and any(m.cat == "lead" for m in marks[:at]):
            return False  # "articles about children without siblings"
        # One word has no such thing: "learning without forgetting".
        return any(m.cat == "doc" or m.carries for m in marks[:at]) or _of_papers(after)
    if mark.low in _WORDS["without"]:
        return not (question and marks[0].low in _ASKS and not any(m.cat == "doc" for m in marks[:at]))
    said = before.free or before.carries
    if question and mark.low in _WORDS["bare"] and said and sum(m.free for m in marks[:at]) >= 2:
        behind = next((n for n, m in enumerate(marks[at + 1 :]) if not m.free), len(marks) - at - 1)
        ends = at + 1 + behind
        if 0 < behind <= 2 and ends < len(marks) and marks[ends].cat in ("polite", "bound", "neg"):
            return True  # "sentiment analysis financial news no tweets please"
    content = before.free or before.carries or before.cat == "doc"
    if mark.low in _WORDS["verbal"] and question:
        beyond = mark.low == "beyond" and after.attribute == "language"
        return content and (after.cat == "taste" or beyond or after.attribute == "author")
    if is_rule(before) or mark.low in _WORDS["verbal"]:
        return False
    if mark.sub == "not":
        told = after.carries or after.cat in ("doc", "taste", "cue", "lead") or after.low in _LEADS_ON
        return content and told
    recorded = after.low in _LEADS_ON and any(map(_of_papers, marks[at + 2 : at + 4]))
    return content and (after.carries or after.cat == "doc" or not question or recorded)


def _cuts(marks: Sequence[Mark], at: int, *, question: bool) -> str:
    """The joint before a mark inside a run where it begins a piece, or ""."""
    mark, before = marks[at], marks[at - 1]
    last = at == len(marks) - 1
    if mark.cat == "but":
        return "but"
    if mark.cat == "bound" and before.cat == "polite":
        return "inline"
    if mark.cat == "fix" and not mark.tied and (" " in mark.low or before.cat == "polite"):
        return "comma"
    compared = [m.low for m in marks[:at] if m.low in _WORDS["comparing"]]
    if (
        mark.low in _WORDS["than"]
        and any(mark.low != "to" or "prefer" in low.split() for low in compared)
        and not last
    ):
        return "than"
    if mark.low in _WORDS["and"] and not last and not mark.tied:
        after = marks[at + 1]
        if after.low in _WORDS["keep"] | _WORDS["we"] and any(map(is_rule, marks[at + 2 : at + 3])):
            return "and"
        denies = any(m.cat in ("neg", "except") for m in marks[:at])
        if denies and mark.low in _WORDS["plus"] and told_apart(marks[:at], marks[at + 1 :]):
            return "and"
        if after.low in _WORDS["adverbs"] and after.cat == "hard" and marks[0].cat == "neg":
            return "list"
        rules = after.cat in ("demand", "open") or (is_rule(after) and after.low not in _WORDS["and"])
        judges = after.cat == "taste" and (at + 2 == len(marks) or marks[at + 2].cat != "lead")
        compares = after.cat == "aspect" and (not question or any(m.cat == "aspect" for m in marks[:at]))
        return "and" if rules or judges or compares else ""
    if before.low in _WORDS["and"] and is_rule(mark):
        return ""  # cut before the "and"
    if mark.low in _WORDS["relative"] and any(m.cat == "taste" and " " in m.low for m in marks[at:]):
        return "inline"
    told = before.carries or any(m.cat == "doc" for m in marks[:at])
    if before.free and not last:  # "owls that are not in German"
        told = told or (marks[at + 1].cat == "neg" and any(map(_of_papers, marks[at + 2 : at + _NEAR])))
        told = told or _limits_papers(marks, at + 1)
    if mark.low in _WORDS["relative"] and not last and told:
        doubly = any(m.cat == "neg" for m in marks[:at])
        # "nothing that is not German"; "no essays that mention zinc" denies what is both
        doubly = doubly and (marks[at + 1].cat == "term" or not any(m.carries or m.free for m in marks[:at]))
        doubly = doubly or (marks[at + 1].cat == "neg" and _denies_documents(marks, at + 1))
        cut = marks[at + 1].cat in ("neg", "term") or _limits_papers(marks, at + 1)
        return "inline" if cut and not doubly else ""
    subject = question and any(m.free for m in marks[:at])
    if mark.cat == "term" and subject and (before.free or before.cat == "doc"):
        return "inline"
    if mark.cat == "except" and not last and before.low not in _WORDS["articles"]:  # "the unless operator"
        return "inline"
    if mark.cat == "open" and subject and " " in mark.low and not last:
        ahead = marks[at + 1 : at + _AHEAD]
        if any(m.cat == "doc" or (m.carries and m.attribute != "aspect") for m in ahead):
            return "clause"
    judged = mark.cat == "taste" and mark.low.startswith(("not ", "funded", "sponsored"))
    if judged and (before.free or before.carries) and not any(m.cat == "neg" for m in marks[:at]):
        return "inline"
    if mark.low.startswith("with ") and mark.carries and before.cat == "bound":
        return "inline"
    if mark.cat == "neg":
        return "inline" if _cuts_denial(marks, at, question=question) else ""
    content = before.free or before.carries or before.cat == "doc"
    if mark.cat == "soft" and content and not last and mark.low in _WORDS["forward"]:
        return "inline"
    if mark.cat in ("hard", "soft") and content and not last and mark.low in _WORDS["only"]:
        led = marks[at + 1].low in _WORDS["into"]  # "papers on owls only in German"
        behind = marks[at + 1 + (led or marks[at + 1].low in _WORDS["some"]) :]
        if behind and behind[0].carries and (not led or behind[0].attribute == "language"):
            return "inline"
    return "inline" if content and _limits_papers(marks, at) else ""


def divide(marks: Sequence[Mark], *, question: bool) -> list[Piece]:
    """Cut a text.

    Args:
        marks: of a text, delimiters among them.
        question: the text is typed as a search; otherwise it accompanies one and is cut at every denial.
    """
    out: list[Piece] = []
    run: list[Mark] = []
    joint, sentence, depth = "start", 0, 0

    def close() -> None:
        first, how = 0, joint
        for at in range(1, len(run)):
            low = max(first, at - _NEAR)
            if cut := _cuts(run[low : at + _NEAR], at - low, question=question):
                out.append(Piece(tuple(run[first:at]), how, sentence, depth > 0))
                first, how = at, cut
        out.append(Piece(tuple(run[first:]), how, sentence, depth > 0))
        run.clear()

    for mark in marks:
        if mark.cat not in DELIMITERS:
            run.append(mark)
            continue
        if run:
            close()
            joint = mark.cat
        elif joint == "start" or DELIMITERS.index(mark.cat) < DELIMITERS.index(joint):
            joint = mark.cat if out else "start"
        if mark.cat == "bracket":
            depth = depth + 1 if mark.low in "([（【" else max(0, depth - 1)
        if mark.cat == "stop":
            sentence += 1
    if run:
        close()
    return out


def without_aspects(piece: Piece) -> Piece:
    """A piece of a question with its one doubtful aspect as plain words: *papers on this topic*."""
    marks = tuple(
        replace(m, cat="word", attribute="", values=()) if m.cat == "aspect" and not m.sure else m
        for m in piece.marks
    )
    return replace(piece, marks=marks)


def is_fix(piece: Piece) -> bool:
    """True if a piece takes back the words before it, and says nothing else: *no wait*."""
    cats = {mark.cat for mark in piece.marks}
    return "fix" in cats and cats <= {"fix", "func", "polite", "but"}
