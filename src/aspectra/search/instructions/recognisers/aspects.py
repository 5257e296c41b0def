"""Requests about aspects: *same method, different task*; *the conclusions should differ*."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from aspectra.base.values import replace
from aspectra.search.instructions.recognisers.lexicon import (
    DELIMITERS,
    Lexicon,
    Mark,
    Token,
    sections,
    word_sets,
)

_MOST_WORDS = 3  # of an aspect in free words
_REACH = 7  # tokens behind an aspect in which its verb is looked for
_WORDS = word_sets("aspects")
_ADVERBS = _WORDS["adverbs"]
_SEED = frozenset("it seed paper this one one's paper's seed's in".split())
_NOT = frozenset("not n't don't doesn't shouldn't".split())
_FREE = frozenset("may can could".split())
_NEEDED = frozenset("need needs have has".split())


class AspectWish(NamedTuple):
    """An aspect and how it should compare.

    Attributes:
        aspect: ``background``, ``method``, ``result``, or free words.
        same: or different.
        known: whether the word is known as an aspect; free words need company.
        end: number of the first token behind it.
    """

    aspect: str
    same: bool
    known: bool
    end: int


def _find(
    lexicon: Lexicon, tokens: Sequence[Token], at: int, *categories: str
) -> tuple[int, str, str] | None:
    for length, entry in lexicon.matches(tokens, at):
        if entry.category in categories:
            return length, entry.category, entry.value
    return None


def _value(text: str, tokens: Sequence[Token], start: int, noun: tuple[int, str, str]) -> str:
    """The aspect that a noun names, or the noun as it is written."""
    return text[tokens[start].start : tokens[start + noun[0] - 1].end] if noun[2] == "free" else noun[2]


def read_aspect(
    text: str, tokens: Sequence[Token], at: int, context: Lexicon, main: Lexicon
) -> AspectWish | None:
    """The request about an aspect that begins at a token, or None."""
    if trigger := _find(context, tokens, at, "same", "diff"):
        paired = trigger[2] == "pair"
        start = at + trigger[0]
        if trigger[2] == "verb":
            return _object(tokens, start, context, same=trigger[1] == "same")
        skipped = _SEED if tokens[at].low == "unlike" else frozenset()
        while start < len(tokens) and (tokens[start].low in _ADVERBS or tokens[start].low in skipped):
            start += 1
        same = trigger[1] == "same"
        if noun := _find(context, tokens, start, "aspect"):
            end = start + noun[0]
            aspect = _value(text, tokens, start, noun)
            if paired and (verb := _verb(tokens, end, context)):  # "their results contradict this one"
                return None if verb == "free" else AspectWish(aspect, verb == "same", True, end)
            return AspectWish(aspect, same, not paired, end)
        for ahead in (1, 2):  # "the same clinical question"
            inner = tokens[start : start + ahead]
            if any(token.low in _WORDS["joints"] for token in inner):
                break  # "the method must be the same and the results ..."
            if start + ahead < len(tokens) and all(
                t.kind == "word" and all(e.category == "func" for _, e in main.matches(tokens, start + n))
                for n, t in enumerate(inner)
            ):
                noun = _find(context, tokens, start + ahead, "aspect")
                led = all(token.low in _WORDS["before"] for token in inner)  # "similar in task"
                if noun and (led or noun[2] != "free"):
                    aspect = _value(text, tokens, start + ahead, noun)
                    return AspectWish(aspect, same, not paired, start + ahead + noun[0])
        if paired:
            return None
        end = start
        while end < len(tokens) and end - start <= _MOST_WORDS:
            token = tokens[end]
            if token.kind in DELIMITERS or token.low in _WORDS["behind"]:
                break
            if token.kind != "word" or any(e.category != "func" for _, e in main.matches(tokens, end)):
                return None
            end += 1
        if not start < end <= start + _MOST_WORDS:
            return None
        return AspectWish(text[tokens[start].start : tokens[end - 1].end], same, False, end)
    if noun := _find(context, tokens, at, "aspect"):
        end = at + noun[0]
        verb = _verb(tokens, end, context)
        if verb and verb != "free":
            return AspectWish(_value(text, tokens, at, noun), verb == "same", True, end)
    return None


def _object(tokens: Sequence[Token], at: int, context: Lexicon, *, same: bool) -> AspectWish | None:
    """Aspect that a verb agrees with or opposes: *contradicts its method*; of *this paper*, its result."""

    def end_of(start: int) -> int:
        while start < len(tokens) and tokens[start].low in _WORDS["seeds"]:
            start += 1
        return start

    start = end_of(at)
    noun = _find(context, tokens, start, "aspect") if start > at else None
    known = noun and noun[2] != "free"
    end = start + noun[0] if noun and known else start
    if end < len(tokens) and tokens[end].low == "of":
        end = end_of(end + 1)
    if start == at or (end < len(tokens) and tokens[end].kind not in DELIMITERS):
        return None
    return AspectWish(noun[2] if noun and known else "result", same, False, end)


def _verb(tokens: Sequence[Token], at: int, context: Lexicon) -> str:
    """Relation stated after an aspect: ``same``, ``diff``, ``free`` for *may differ*, or ""."""
    for behind in range(at, min(len(tokens), at + _REACH)):
        post = _find(context, tokens, behind, "samepost", "diffpost", "same", "diff")
        if post and (post[1] in ("samepost", "diffpost") or post[2] == "verb"):
            passed = {token.low for token in tokens[at:behind]}
            # "may differ", "need not be the same": it does not matter
            return "free" if passed & _FREE or (passed & _NOT and passed & _NEEDED) else post[1][:4]
        if tokens[behind].low not in _WORDS["between"]:
            break
    return ""


@cache
def aspect_names() -> dict[str, str]:
    """Names of aspects in lower case, of all languages: each -> the aspect, or ``free``."""
    lexicon = Lexicon()
    for language in ("en", "de", "fr", "es", "zh"):
        lexicon.read(sections(language)["context"])
    return {phrase: entry.value for phrase, entry in lexicon.phrases() if entry.category == "aspect"}


def _stands_alone(marks: Sequence[Mark], at: int) -> bool:
    """True if a mark is the name of an aspect, and the words after it do not continue it."""
    ends = at + 1 >= len(marks) or marks[at + 1].cat in (*DELIMITERS, "but", "polite")
    named = at < len(marks) and marks[at].cat != "aspect" and marks[at].low in aspect_names()
    return named and (ends or marks[at + 1].low in _WORDS["joints"])


def _past(marks: Sequence[Mark], at: int) -> int:
    while at < len(marks) and marks[at].low in _WORDS["before"]:
        at += 1
    return at


def _like(mark: Mark, other: Mark) -> Mark:
    """The name of an aspect as an aspect that compares as another."""
    value = aspect_names()[mark.low]
    values = (mark.low if value == "free" else value,)
    return replace(other, start=mark.start, end=mark.end, low=mark.low, values=values)


def share_aspects(marks: list[Mark]) -> None:
    """Read aspects that are named beside one: *same method and task*, *share the method, not the data*.

    Args:
        marks: of a text, with the aspects that words of their own compare; they are changed.
    """
    found = [n for n, mark in enumerate(marks) if mark.cat == "aspect"]
    for at in found:
        here = at
        while here + 1 < len(marks) and (
            marks[here + 1].low in _WORDS["joints"] or marks[here + 1].cat == "comma"
        ):
            there = _past(marks, here + 2)
            if not _stands_alone(marks, there):
                break
            marks[there] = _like(marks[there], marks[at])
            here = there
        joined = at > 1 and marks[at].low in aspect_names() and marks[at - 1].low in _WORDS["joints"]
        if joined and _stands_alone(marks, at - 2):
            marks[at - 2] = _like(marks[at - 2], marks[at])  # "method and task should match"
    for at, mark in enumerate(marks if found else ()):
        there = _past(marks, at + 1)
        if mark.cat != "aspect" and mark.low in aspect_names():
            behind = next((n for n in range(at + 1, len(marks)) if marks[n].low not in _WORDS["verbs"]), at)
            last = behind + 1 >= len(marks) or marks[behind + 1].cat in DELIMITERS
            if last and marks[behind].cat == "neg":  # "the method is the same, the task is not"
                free = "may" in marks[behind].low
                differs = _like(mark, replace(marks[found[0]], sub="different"))
                marks[at] = replace(mark, cat="func", attribute="", values=()) if free else differs
                marks[behind] = replace(marks[behind], cat="func", sub="")
            continue
        if mark.cat in ("neg", "except") and _stands_alone(marks, there):
            marks[there] = _like(marks[there], replace(marks[found[0]], sub="same"))
            if mark.low in _WORDS["no_matter"]:
                marks[at] = replace(mark, cat="perm", sub="")
