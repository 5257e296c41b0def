"""Small heads on an encoder's vectors, which read what no rule of requests does.

One reads wordings of an aspect that no rule knows, on the vectors of a text's clauses. The other finds words
that may ask for something and were not applied, on the states of a text's tokens; it changes no search: such
words are searched for, as before, and reported as *perhaps a request*. Each is a linear layer for the encoder
that its file names; ``data/README.md`` says how it was trained and what it gives. An index of another
encoder, or of none, is read by the rules alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import AspectraError
from aspectra.search.instructions.marks import marks_of
from aspectra.search.instructions.recognisers.lexicon import fold, word_sets
from aspectra.search.instructions.understanding import DENIALS, Hints, Wording, Wordings, signed
from aspectra.views.encoders.query_encoder import QueryEncoder
from aspectra.views.index.opened import Index
from aspectra.views.terms.view import ASPECTS, TokenHead
from aspectra.views.view import Floats

# Classes of the head of wordings: likeness in an aspect, likeness alone, what does not matter, all else.
LABELS = (*ASPECTS, "likeness", "aside", "other")
SURE, PERHAPS = 0.8, 0.5  # chances from which an aspect is read, and from which it may be mentioned
_LIKENESS, _ASIDE = LABELS.index("likeness"), LABELS.index("aside")
_MOST = 40  # clauses that are read of a text
_SENTENCES = re.compile(r"(?<!\bi\.e\.)(?<!\be\.g\.)(?<=[.?!;])\s+|(?<=[。；？！])|\n+")
_CLAUSES = re.compile(
    r"[,:，：、（）()—]\s*|\s[-–]\s|\s(?=(?:but|though|although|while|whatever|even if|no matter|regardless"
    r"|irrespective)\b)",
    re.IGNORECASE,
)
_LEAST, _LEAST_HAN = 3, 6  # words of a clause, or Chinese characters
_HAN = re.compile("[\u3400-\u9fff]")
_WORDS = word_sets("wordings")
HINT_LABELS = ("subject", "request")  # classes of the head of hints
HINT = 0.8  # chance from which a word is reported
_WORD = re.compile(r"[\w'’-]+")

Chances = Callable[[tuple[str, ...]], Floats]


def _parts(pattern: re.Pattern[str], text: str) -> list[str]:
    return [part.strip() for part in pattern.split(text) if part.strip()]


def clauses(text: str) -> list[str]:
    """The clauses of a text that say enough to be read; a sentence of few words is one.

    >>> clauses("Like this one in method, no surveys, I think. Same aims!")
    ['Like this one in method', 'Same aims!']
    """
    return [clause for sentence in _parts(_SENTENCES, text) for clause in _clauses(sentence)]


def _clauses(sentence: str) -> list[str]:
    found = _parts(_CLAUSES, sentence)
    long = [c for c in found if len(c.split()) >= _LEAST or len(_HAN.findall(c)) >= _LEAST_HAN]
    return long or found[:1]


def _has(text: str, name: str) -> bool:
    """True if a text has a word of a set; a Chinese word may be part of another."""
    words, low = _WORDS[name], fold(text)
    return not words.isdisjoint(re.findall(r"[\w-]+", low)) or any(w in low for w in words if _HAN.match(w))


def _denies(clause: str) -> bool:
    """True if a clause denies, or says that something should differ."""
    marks = marks_of(clause)
    denials = (mark for mark in marks if mark.cat in DENIALS)
    if _has(clause, "apart") or any(m.start == 0 or m.low not in _WORDS["imperatives"] for m in denials):
        return True
    # "another question", "the question is another": but another paper is one that is alike
    return any(
        m.low in _WORDS["another"] and (not behind or behind[0].cat != "doc")
        for m, *behind in (marks[at : at + 2] for at in range(len(marks)))
    )


def _is_aside(clause: str) -> bool:
    """True if a clause begins by saying that something does not matter: *whatever the outcome*."""
    return fold(clause).startswith(tuple(_WORDS["aside"]))


def read_wording(text: str, requested: tuple[str, ...], chances: Chances) -> Wording | None:
    """The likeness that a text asks for; None where it asks for none.

    A text that asks for likeness has a word that likens, which subjects of papers lack. The clause that is
    surest of an aspect decides, of those that neither deny nor say that something should differ (the head
    knows aspects, not signs), and in which the rules read no condition, unless it likens. Where there is
    none, what should perhaps differ is told.

    Args:
        text: typed beside a seed paper.
        requested: words of the conditions in it.
        chances: (clauses, classes) of some clauses.
    """
    if not _has(text, "alike"):
        return None
    sentences = {sentence: _clauses(sentence) for sentence in _parts(_SENTENCES, text)}
    held = tuple(dict.fromkeys(clause for found in sentences.values() for clause in found))[:_MOST]
    free = [c for c in held if not _denies(c) and (_has(c, "alike") or not any(w in c for w in requested))]
    meant = [c for c in free if not _is_aside(c)]
    table = dict(zip(held, chances(held), strict=True)) if held else {}
    if not meant:
        apart = [c for c in held if c not in free and not _is_aside(c) and not any(w in c for w in requested)]
        best = max(apart, key=lambda clause: table[clause][: len(ASPECTS)].max(), default="")
        if not best or table[best][: len(ASPECTS)].max() < SURE:
            return None
        return Wording(ASPECTS[table[best].argmax()], best, sure=False, differs=True, rest=text)
    best = max(meant, key=lambda clause: table[clause][: len(ASPECTS)].max())
    chance, first = float(table[best][: len(ASPECTS)].max()), int(table[best].argmax())
    aspect = ASPECTS[first] if first < len(ASPECTS) else ""
    alike = {c for c in free if table[c][: _LIKENESS + 1].sum() >= SURE}
    if alike.isdisjoint(meant):
        return Wording(aspect, best, sure=False, rest=text) if chance >= PERHAPS else None
    about = alike.union(c for c in held if _is_aside(c) or table[c][_ASIDE] >= PERHAPS)
    rest, stated = list[str](), list[str]()
    for sentence, found in sentences.items():
        if about.isdisjoint(found):
            rest.append(sentence)
            continue
        listed = _parts(_CLAUSES, sentence.partition(":")[2]) if best in found else _parts(_CLAUSES, sentence)
        others = [c for c in _parts(_CLAUSES, sentence) if c not in about]
        stated += [c for c in others if c not in listed or signed(c)]
    return Wording(aspect, best, chance >= SURE, rest=" ".join(rest), stated=tuple(stated))


def wordings_of(index: Index) -> Wordings:
    """Reads wordings with the encoder of an index, which is loaded at the first text.

    Nothing is read where the head does not fit that encoder, or its weights are not here or not permitted.
    """

    def read(text: str, requested: tuple[str, ...]) -> Wording | None:
        head = _head("wordings")
        if (encoder := _encoder_of(index, head)) is None:
            return None
        with suppress(AspectraError):  # rules alone: the search itself reports what it needs and lacks
            return read_wording(text, requested, lambda texts: head.shares(encoder.several(texts)))
        return None

    return read


def beside(states: Floats) -> Floats:
    """(tokens, 2 x dimensions) each token's state, and the mean of those before and behind it.

    Args:
        states: (tokens, dimensions) of a whole text, its special tokens included.
    """
    around = (np.vstack([states[:1], states[:-1]]) + np.vstack([states[1:], states[-1:]])) / 2
    return np.hstack([states, around])


def hints(
    text: str, tokens: tuple[Floats, NDArray[np.int64]], head: TokenHead, least: float = HINT
) -> list[tuple[int, int]]:
    """(start, end) of each word that may belong to a request, by the mean probability of its tokens.

    Args:
        text: that was encoded.
        tokens: (tokens, dimensions) states, and (tokens, 2) the characters of each.
        head: with the labels :data:`HINT_LABELS`.
        least: probability from which a word is reported.
    """
    states, places = tokens
    chances = head.shares(beside(states))[:, HINT_LABELS.index("request")]
    out = []
    for word in _WORD.finditer(text):
        inside = (places[:, 0] < word.end()) & (places[:, 1] > word.start())
        if inside.any() and chances[inside].mean() >= least:
            out.append(word.span())
    return out


def hints_of(index: Index) -> Hints:
    """Find words that may ask for something with the encoder of an index; none if it is not the head's."""

    def read(text: str) -> Iterable[tuple[int, int]]:
        with suppress(AspectraError):  # the search itself reports what it needs and lacks
            if (encoder := _encoder_of(index, _head("hints"))) is not None:
                return hints_by(encoder)(text)
        return []

    return read


def hints_by(encoder: QueryEncoder) -> Hints:
    """Find words that may ask for something with an encoder; none if it is not the head's."""

    def read(text: str) -> list[tuple[int, int]]:
        head = _head("hints")
        fits = encoder.encoder.fingerprint == head.encoder
        return hints(text, tokens, head) if fits and (tokens := encoder.states(text)) is not None else []

    return read


def _encoder_of(index: Index, head: TokenHead) -> QueryEncoder | None:
    """The encoder of an index, not yet loaded; None where it is not the head's, or is not permitted."""
    facts = index.facts(f"abstract@{index.default_encoder()}")
    if facts.stored.get("fingerprint") != head.encoder or index.refusal(facts.stored["encoder"]):
        return None
    return index.query_encoder(facts)


@cache
def _head(name: str) -> TokenHead:
    with as_file(files(__package__) / "data" / f"heads-{name}-minilm.npz") as path, np.load(path) as arrays:
        return TokenHead.of(arrays)
