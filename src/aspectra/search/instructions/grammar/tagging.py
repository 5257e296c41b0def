"""Pieces of an instruction: what each word or phrase may be doing."""

from __future__ import annotations

import re
from functools import cache

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.instructions.grammar import terms
from aspectra.search.instructions.grammar.aspects import read_aspect
from aspectra.search.instructions.grammar.bounds import Bound, read_bound
from aspectra.search.instructions.grammar.lexicon import Entry, Lexicon, sections
from aspectra.search.instructions.grammar.names import Name, read_name
from aspectra.search.instructions.grammar.pieces import Piece
from aspectra.search.instructions.grammar.spelling import corrected
from aspectra.search.instructions.grammar.tokens import DELIMITERS, fold, tokenise

__all__ = ["pieces_of", "vocabulary"]


@cache
def _attributes_with_words() -> frozenset[str]:
    """Attributes whose values are lists of words; the others are read by recognisers."""
    return frozenset(name for name in ATTRIBUTES if ATTRIBUTES.get(name).words("en"))


_LINE = re.compile(r"^(?=[^\s#])", re.MULTILINE)  # where a line of a lexicon begins that is no continuation
# Words that hardly any English text has.
_GERMAN = re.compile(
    r"\b(?:bitte|nur|nicht|keine?[nrms]?|auf|und|oder|ein(?:e[nrms]?)?|das|der|dem|den|mit|ohne|für|über|höchstens|"
    r"mindestens|lieber|muss|müssen|soll(?:te|en|ten)?|suche|thema|möchte|ich|gleiche[rsnm]?|andere[rsnm]?|zum|zur|"
    r"vom|aus|seit|nichts|wie|warum|statt|außer|wörter|absatz|sätze)\b"
)


@cache
def vocabulary(with_german: bool) -> tuple[Lexicon, Lexicon]:
    """The lexicon, and the one of senses that count only in context."""
    main, context = Lexicon(), Lexicon()
    # What is read first stays: German words before English ones that look alike, attributes before grammar.
    languages = ("de", "en", "zh") if with_german else ("en", "zh")
    for language in languages:
        for name in sorted(_attributes_with_words()):
            main.read(_LINE.sub(f"{name} ", ATTRIBUTES.get(name).words(language)))
    lists = [sections(language) for language in languages]
    for words in lists:
        main.read(words["grammar"])
        context.read(words["context"])
    for phrase, entry in context.phrases():
        # What says that a term occurs, or that aspects agree, is no subject.
        if entry.value in ("verb", "post") or entry.category in ("samepost", "diffpost"):
            main.add(phrase, Entry("func"))
    main.share_han(context)
    return main, context


def _of_entry(entry: Entry, start: int, end: int, low: str, tied: bool) -> Piece:
    if entry.category in _attributes_with_words():
        sure = "weak" not in entry.marks
        values = (entry.value,)
        return Piece(
            "mention", start, end, low, "", entry.marks, entry.category, values, sure=sure, tied=tied
        )
    return Piece(entry.category, start, end, low, entry.value, entry.marks, tied=tied)


def _of_bound(bound: Bound, start: int, end: int, low: str) -> Piece:
    marks = frozenset(["vague"]) if bound.vague else frozenset[str]()
    category = "bound" if bound.opposite or len(bound.values) > 1 else "mention"
    sure = not bound.needs
    return Piece(category, start, end, low, "", marks, bound.attribute, bound.values, bound.opposite, sure)


def _of_name(name: Name, start: int, end: int, low: str) -> Piece:
    values = tuple(f"name:{v}" for v in name.values) if name.attribute == "source" else name.values
    return Piece("name", start, end, low, "", frozenset(), name.attribute, values, sure=name.sure)


def _asked(pieces: list[Piece]) -> str:
    """Category of the last piece that is more than a function word."""
    last = next((p for p in reversed(pieces) if p.category not in ("func", "wish")), None)
    return last.category if last else ""


def pieces_of(text: str) -> list[Piece]:
    """All pieces of a text in order; white space and hyphens lie between them."""
    low = fold(text)
    main, context = vocabulary(bool(_GERMAN.search(low)))
    tokens = [
        t._replace(low=corrected(t.low)) if t.kind == "word" and not main.knows(t.low, context) else t
        for t in tokenise(text, main.cut_han)
    ]
    out: list[Piece] = []

    def skip_to(end: int, number: int) -> int:
        while number < len(tokens) and tokens[number].start < end:
            number += 1
        return number

    at, earlier = 0, False
    while at < len(tokens):
        token = tokens[at]
        start = token.start
        if token.kind in DELIMITERS:
            out.append(Piece(token.kind, start, token.end, token.low))
            earlier = earlier and token.kind != "stop"
            at += 1
            continue
        if token.kind == "mark":
            out.append(Piece("func", start, token.end, token.low))
            at += 1
            continue
        prefixed = bool(out) and "prefix" in out[-1].marks
        if not token.tied:
            if name := read_name(text, start):
                out.append(_of_name(name[1], start, name[0], low[start : name[0]]))
                at = skip_to(name[0], at)
                continue
            if (bound := read_bound(low, start)) and (bound[0] == len(low) or not low[bound[0]].isalnum()):
                out.append(_of_bound(bound[1], start, bound[0], low[start : bound[0]]))
                at = skip_to(bound[0], at)
                continue
            if aspect := read_aspect(text, tokens, at, context, main):
                end = tokens[aspect.end - 1].end
                how, sure = "same" if aspect.same else "different", aspect.known
                out.append(
                    Piece(
                        "aspect",
                        start,
                        end,
                        low[start:end],
                        how,
                        frozenset(),
                        "aspect",
                        (aspect.aspect,),
                        sure=sure,
                    )
                )
                at = aspect.end
                continue
            if term := terms.read_term(
                text, tokens, at, main, context, out[-1] if out else None, _asked(out), earlier
            ):
                found, last, sure = term
                end = tokens[last - 1].end
                out.append(
                    Piece("term", start, end, low[start:end], "", frozenset(), "keyword", found, sure=sure)
                )
                at, earlier = last, True
                continue
        if not token.tied or prefixed:
            for length, entry in main.matches(tokens, at):
                end = tokens[at + length - 1].end
                words = " ".join(t.low for t in tokens[at : at + length])
                out.append(_of_entry(entry, start, end, words, token.tied))
                at += length
                break
            else:
                length = 0
            if length:
                continue
        category = "quote" if token.kind == "quote" else "word"
        out.append(Piece(category, start, token.end, token.low, tied=token.tied))
        at += 1
    return out
