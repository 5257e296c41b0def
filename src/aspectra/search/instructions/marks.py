"""Marks: the words and phrases of a text, each with what it may be doing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import takewhile
from typing import Any

from aspectra.base.expressions import HAN, Expression, expression
from aspectra.base.values import replace
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.instructions.recognisers import terms
from aspectra.search.instructions.recognisers.aspects import read_aspect, share_aspects
from aspectra.search.instructions.recognisers.bounds import Bound, read_bound
from aspectra.search.instructions.recognisers.lexicon import (
    DELIMITERS,
    Entry,
    Lexicon,
    Mark,
    Token,
    corrected,
    fold,
    sections,
    tokenise,
    word_sets,
)
from aspectra.search.instructions.recognisers.names import Name, read_library_venue, read_name

SIGNS = ("neg", "hard", "soft", "perm", "except")
_GRAMMAR = frozenset(
    "neg hard soft wish perm except fix but cue taste demand open label lead doc".split()
) | frozenset("func polite change word".split())
_DOCUMENTS = ("kind", "status")  # attributes that say what papers are
_PLACES = (*_DOCUMENTS, "publisher", "venue", "author", "audience")  # who writes, prints, or reads papers
_BREAKS = ("comma", "dash")
_FOREIGN = ("de", "fr", "es")
# How words are typed without their accents.
_ROMANCE = str.maketrans("áàâéèêëíîïóôúùûüñçÁÀÉÈÊÍÓÚÑÇ", "aaaeeeeiiioouuuuncAAEEEIOUNC")
_PLAIN: dict[str, dict[int, Any]] = {
    "de": str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}),
    "fr": _ROMANCE,
    "es": _ROMANCE,
}
_NOTHING = Mark("", 0, 0, "")  # what stands before the first mark and behind the last
_LINE = re.compile(r"^(?=[^\s#])", re.MULTILINE)  # start of a lexicon's line that is not a continuation
_BEGINS = expression(
    r"(?<=[.?!] )(?:From|In|By|At|Out(?= of)|Appearing|Published|Von|Aus|Par|Dans|Por|En)"
    r"(?=\s+(?:of\s+|in\s+|the\s+)?[A-Z][\w.-]*[^\S\n]*(?:of\s+)?(?:[A-Z.,;\n]|$))"
)
_WORD = re.compile(r"[^\W\d_]+")
_SUFFIX = expression(r"\b([^\W\d_]{1,40})\(([^\W\d_]{1,10})\)")
_HAN = Expression(f"[{HAN}]")
_WORDS = word_sets("marks")
_SPANISH = expression(
    r"(?:ción|ciones|dad|dades|ales|ores|ivos|ivas|icos|icas|[aeií]dos|[aeií]das|eros|zas|ñ\w*)$"
)
_SHORT = 12  # words, of which one that signs a request tells the language
_REACH = 10  # marks between a verb and its "out"
_MOST_WORDS = 400  # that tell the language of a text
_FOREIGN_SHARE = 0.15  # of the words of a text: function words of a language, for it to be in that language


@cache
def _telling(language: str) -> frozenset[str]:
    return frozenset(sections(language)["tell"].partition(" = ")[2].split())


@cache
def _known(language: str) -> frozenset[str]:
    """Words of the tables of a language, also as they are typed without their accents."""
    text = "\n".join(_tables(language)).lower()
    ending = {f"{word}{end}" for word, end in _SUFFIX.findall(text)}
    words = ending.union(_WORD.findall(text))
    return frozenset(words.union(word.translate(_PLAIN[language]) for word in words))


def _tables(language: str) -> list[str]:
    """Word tables of a language, in reading order: values, those of attributes, grammar."""
    words = sections(language)
    own = [words["values"]]
    for name in sorted(ATTRIBUTES, key=lambda name: (name != "kind", name)):
        own.append(_LINE.sub(f"{name} ", ATTRIBUTES.get(name).words(language)))
    return [*own, words["grammar"]]


def _languages(text: str) -> tuple[str, ...]:
    """Languages whose tables read a text, those it is written in first."""
    said, capitals = _WORD.findall(text)[:_MOST_WORDS], text.isupper()
    found = [word.lower() for word in said if capitals or not word.isupper()]  # MIT is not German
    english = _vocabulary(("en",))[0]
    counts = {name: sum(word in _telling(name) for word in found) for name in _FOREIGN}
    unknown = [word for word in found if len(word) > 3 and not english.knows(word)]
    for name in _FOREIGN if unknown else ():
        counts[name] += sum(word in _known(name) and word not in _telling(name) for word in unknown)
    least = max(0.5, _FOREIGN_SHARE * len(found), max(counts.values()) / 2)  # related languages share words
    if len(found) <= _SHORT:  # "Eulen, nicht in PLOS ONE, The Lancet"
        for name in _FOREIGN:
            counts[name] += len(found) * any(word in _WORDS[f"signs_{name}"] for word in found)
        counts["es"] += len(found) * ("sin" in found and any(map(_SPANISH.search, found)))
    foreign = sorted((name for name in _FOREIGN if counts[name] > least), key=lambda name: -counts[name])
    return (*foreign, "en", *(("zh",) if _HAN.search(text) else ()))


@lru_cache(maxsize=16)  # each piece of a text is read in the light of its language
def is_english(text: str) -> bool:
    """True if a text is read by the tables of English first."""
    return _languages(text)[0] == "en"


@cache
def _vocabulary(languages: tuple[str, ...]) -> tuple[Lexicon, Lexicon]:
    """The lexicon, and the one of senses that count only in context."""
    main, context = Lexicon(), Lexicon()
    # What is read first stays: values before grammar, the language of the text before English.
    for language in languages:
        own, about = _tables(language), sections(language)["context"]
        if language in _PLAIN:  # "metodologias", "Uebersichtsarbeiten"
            own += [text.translate(_PLAIN[language]) for text in own]
            about = f"{about}\n{about.translate(_PLAIN[language])}"
        for text in own:
            main.read(text)
        context.read(about)
    for phrase, entry in context.phrases():
        # Words that say that a term occurs, or that aspects agree, are not a subject.
        if entry.value in ("verb", "post") or entry.category in ("samepost", "diffpost"):
            main.add(phrase, Entry("func"))
    return main, context


@cache
def _han_words(languages: tuple[str, ...]) -> re.Pattern[str]:
    """A group of the words of Han characters that tables have, the longest first."""
    words = {word for lexicon in _vocabulary(languages) for word in lexicon.words if _HAN.match(word)}
    return re.compile(f"({'|'.join(sorted(words, key=len, reverse=True))})")


def _of_entry(entry: Entry, start: int, end: int, low: str, tied: bool) -> Mark:
    if entry.category in _GRAMMAR:
        return Mark(entry.category, start, end, low, entry.value, entry.marks, tied=tied)
    sure = "weak" not in entry.marks
    return Mark(
        "value", start, end, low, "", entry.marks, entry.category, (entry.value,), sure=sure, tied=tied
    )


def _of_bound(bound: Bound, start: int, end: int, low: str) -> Mark:
    flags = frozenset(["vague"]) if bound.vague else frozenset[str]()
    sure = not bound.needs
    return Mark("bound", start, end, low, "", flags, bound.attribute, bound.values, bound.opposite, sure)


def _of_name(name: Name, start: int, end: int, low: str) -> Mark:
    values = tuple(f"name:{v}" for v in name.values) if name.attribute == "source" else name.values
    flags = frozenset(["alone"] if name.alone else [])
    return Mark("name", start, end, low, "", flags, name.attribute, values, sure=name.sure)


def _asked(marks: list[Mark]) -> str:
    """Category of the last mark that is more than a function word."""
    last = next((m for m in reversed(marks[-_REACH:]) if m.cat not in ("func", "wish", "doc")), None)
    return last.cat if last else ""


def _is_acronym(text: str, token: Token) -> bool:
    """True if a word is all capitals in a text that is not: *US*, *WHO*."""
    word = text[token.start : token.end]
    return len(word) > 1 and word.isupper() and any(c.islower() for c in text)


def _ends(low: str, at: int) -> bool:
    """True if a word may end at a place in a text."""
    return at == len(low) or not low[at].isalnum() or bool(_HAN.match(low[at]) or _HAN.match(low[at - 1]))


def _is_value(name: Name, end: int, main: Lexicon, tokens: list[Token], at: int) -> bool:
    """True if a possible name after *in* or *from* is a value of a table: *in Welsh*, *from News*."""
    if name.sure or at + 1 >= len(tokens):
        return False
    found = list(main.matches(tokens, at + 1))
    after = {entry.category for _, entry in found}
    whole = (entry.category for count, entry in found if tokens[at + count].end == end)
    if name.attribute == "affiliation" and "source" in whole:
        return True
    if name.attribute == "author":
        return not after.isdisjoint(("language", "kind", "status"))  # "von Preprints"
    return "language" in after


def _phrasal(marks: list[Mark]) -> None:
    """*Leave blogs out*, *keep surveys and theses away*, *lass Reviews weg*: the verb denies."""
    for at, mark in enumerate(marks):
        if mark.low.partition(" ")[0] not in _WORDS["takes"] or mark.cat not in ("func", "neg", "open"):
            continue
        listed = False
        for n, behind in enumerate(marks[at + 1 : at + _REACH], at + 1):
            if behind.cat in DELIMITERS:
                if behind.cat != "comma" or not marks[n - 1].carries:
                    break
                listed = True
            elif behind.low in _WORDS["out"]:
                marks[at] = replace(mark, cat="neg", sub="strong")
                if listed or behind.free:
                    del marks[n]
                break
            elif listed and not behind.carries and behind.cat != "func":
                break


def _denied(marks: list[Mark]) -> bool:
    """True if something was denied since the last punctuation."""
    return any(m.cat == "neg" for m in takewhile(lambda m: m.cat not in DELIMITERS, reversed(marks)))


def _beside(marks: list[Mark], at: int) -> Mark | None:
    """A mark as its neighbours make it another thing; None where they do not."""
    mark, ahead = marks[at], marks[at + 1 : at + 4]
    two = marks[max(0, at - 2) : at]
    if mark.cat == "neg" and mark.low in _WORDS["without"] and two and two[-1].attribute == "population":
        asked = any(m.cat == "doc" or m.attribute == "kind" for m in marks[:at])
        if not asked and at <= 2:
            return replace(mark, cat="word", sub="")  # "women without children"
    if mark.low in _WORDS["lacking"] and mark.free and two:  # "owls unlike surveys"
        held = next((m for m in ahead if m.cat not in ("func", "doc")), mark)
        if held.carries and (held.sure or held.attribute in ("artifacts", "author")):
            return replace(mark, cat="neg", sub="strong")
    of_people = len(ahead) > 1 and ahead[0].low == "of" and ahead[1].attribute in ("population", "audience")
    if mark.low in _WORDS["surveys"] and of_people:
        return replace(mark, cat="word", attribute="", values=())  # "surveys of teachers"
    first, last = two if len(two) > 1 else (mark, mark)
    if mark.low in _WORDS["samples"] and last.low == "only" and first.attribute == "population":
        return replace(mark, cat="func")  # "women only samples"
    if mark.low in _WORDS["people"] and first.cat == "doc" and last.low == "by":
        return replace(mark, cat="taste", sub="", attribute="", values=())  # "papers by women"
    if mark.cat == "neg" and mark.low in _WORDS["anyone"] and not (ahead and ahead[0].attribute in _PLACES):
        return replace(mark, cat="func", sub="")  # "anyone but him"
    if mark.cat == "name" and mark.attribute == "population" and last.low in _WORDS["printed"]:
        return replace(mark, cat="taste", attribute="", values=())  # "published in Sweden"
    named = [m for m in ahead if m.low not in ("a", "an", "the")]
    ends = bool(named) and named[0].carries and all(m.cat in (*DELIMITERS, "polite") for m in named[1:2])
    if mark.cat == "taste" and mark.low.startswith("anything that ") and ends:
        return replace(mark, cat="neg", sub="avoid")  # unlike "anything that isn't a survey can go"
    if mark.free and two and two[-1].cat in SIGNS and ahead and ahead[0].low in _WORDS["paid"]:
        return replace(mark, cat="taste", sub="")  # "no Airbnb-funded work"
    if mark.low in _WORDS["paid"] and last.cat == "taste" and first.cat in SIGNS:
        return replace(mark, cat="func")
    if mark.low in _WORDS["unneeded"] and two and two[-1].attribute in ("kind", "source"):
        return replace(mark, cat="neg", sub="avoid")  # "reviews not needed"
    told = [m.attribute for m in [*two[-1:], *ahead[:1]] if m.carries]
    if mark.low in _WORDS["dont_need"] and told and "artifacts" not in told:
        return replace(mark, cat="neg", sub="avoid")  # "I don't need reviews"
    return None


def _named(marks: list[Mark]) -> None:
    """Change marks whose neighbours change their meaning: *nerve block*, *exceptions to*, *with students*."""
    for at, mark in enumerate(marks):
        before = marks[at - 1] if at else _NOTHING
        after = marks[at + 1] if at + 1 < len(marks) else _NOTHING
        people = mark.attribute == "audience" and mark.low.endswith("s")
        if people and (before.low == "with" or before.cat == "neg"):
            marks[at] = replace(mark, cat="word", attribute="", values=())  # who was studied
            continue
        if (writers := after.low in _WORDS["writers"]) or after.low in _WORDS["labs"]:  # "by German authors"
            one = mark.attribute == "author" or (before.low in _WORDS["by"] and mark.free)
            if mark.attribute in ("language", "population") or (one and writers):
                marks[at] = replace(mark, cat="taste", sub="", attribute="", values=())
                marks[at + 1] = replace(after, cat="doc", attribute="", values=())
                continue
        site = mark.free and mark.low in _WORDS["sites"]
        if site and after.attribute == "affiliation" and after.low.startswith("of "):
            if any(m.attribute == "affiliation" for m in marks[max(0, at - 3) : at]):
                names = tuple(f"{mark.low.capitalize()} of {value}" for value in after.values)
                marks[at] = replace(after, start=mark.start, low=f"{mark.low} {after.low}", values=names)
                del marks[at + 1]  # "from MIT, University of Oxford"
            else:
                marks[at + 1] = replace(after, cat="word", attribute="", values=())
            continue
        if mark.cat == "neg" and before.low in _WORDS["with"] and _denied(marks[:at]):
            marks[at] = replace(mark, low=f"{before.low} {mark.low}")  # "no papers with no code"
            continue
        if other := _beside(marks, at):
            marks[at] = other
            continue
        kept = before.carries or before.cat == "doc" or before.low in _WORDS["ones"]
        if mark.low == "first" and kept and after.cat in ("", *DELIMITERS):
            marks[at] = replace(mark, cat="soft", attribute="", values=())  # "reviews first"
            continue
        # "copyright exceptions for data mining", "essential oils", "the need for sleep"
        noun = mark.cat == "except" and mark.low.startswith("exceptions") and before.free
        noun = noun or (mark.cat == "hard" and mark.low in _WORDS["adjectives"] and after.free)
        if noun or (mark.cat == "hard" and mark.low == "need" and after.low == "for"):
            marks[at] = replace(mark, cat="word")
            continue
        told = after.carries or after.low in _WORDS["published"]
        refused = before.carries if after.cat in ("", *DELIMITERS) else mark.low == "non" and told
        if mark.cat == "fix" and mark.low in _WORDS["bare_no"] and refused and before is not _NOTHING:
            marks[at] = replace(mark, cat="neg", sub="strong")  # "Blogs nein"
        elif mark.cat == "neg" and mark.low == "not" and before.low == "or" and after.low == "to":
            marks[at] = replace(mark, cat="word", sub="")  # "to be or not to be"
        elif mark.cat == "neg" and mark.low in _WORDS["verbs"] and before.free:
            if not after.carries and after.cat not in ("doc", "taste", "func", "polite"):
                marks[at] = replace(mark, cat="word", sub="")
        elif mark.cat == "neg" and mark.low in _WORDS["bare_no"] and {before.cat, after.cat} <= {*_BREAKS}:
            marks[at] = replace(mark, cat="fix", sub="")


def _forbidden(marks: list[Mark]) -> None:
    """Make a permission that is denied a demand: *not allowed*, *no preprints allowed*."""
    for at, mark in enumerate(marks):
        if mark.cat == "perm" and mark.low in _WORDS["admits"] | _WORDS["permits"]:
            before = [m for m in marks[max(0, at - _REACH) : at] if m.cat != "func"]
            last = before[-1:]
            while (
                mark.low in _WORDS["permits"] and before and (before[-1].carries or before[-1].cat == "doc")
            ):
                before.pop()
            if any(m.cat == "neg" and ([m] == last or m.low in _WORDS["none"]) for m in before[-1:]):
                marks[at] = replace(mark, cat="hard")
                if _denied(marks[: marks.index(before[-1])]):  # "not in German are not ok" denies twice
                    marks[marks.index(before[-1])] = replace(before[-1], low=f"{before[-1].low} {mark.low}")


def _or_else(marks: list[Mark]) -> None:
    """*Code on GitHub or it is no use to me*: the denial behind *or* says that it must be."""
    for at, mark in enumerate(marks):
        before = marks[at - 1] if at else mark
        if mark.low not in _WORDS["or"] or not (before.carries or before.cat == "doc"):
            continue
        end = next((n for n in range(at + 1, len(marks)) if marks[n].cat in DELIMITERS), len(marks))
        behind = marks[at + 1 : end]
        empty = sum(m.free for m in behind) <= 1 and not any(m.carries for m in behind)
        denied = any(m.cat == "neg" for m in behind) and behind[0].low not in _WORDS["bare_no"]
        if empty and denied and len(behind) <= _REACH:
            marks[at] = replace(mark, cat="hard", end=behind[-1].end)
            del marks[at + 1 : end]


def _reported(text: str, marks: list[Mark]) -> None:
    """*Effect sizes must be reported*: the words before the sign are what papers report."""
    for mark in [m for m in marks[2:] if m.low in _WORDS["reported"]]:
        at = marks.index(mark)
        sign = at - 1 - (marks[at - 1].low in _WORDS["be"])
        ends = all(m.cat in (*DELIMITERS, "polite", "but") for m in marks[at + 1 : at + 2])
        if not ends or marks[sign].cat not in ("hard", "soft"):
            continue
        first = sign
        while first and (marks[first - 1].free or marks[first - 1].low in _WORDS["between"]):
            first -= 1
        while first < sign and not marks[first].free:
            first += 1
        if first < sign and not (first and marks[first - 1].low in _WORDS["asking"]):
            start, end = marks[first].start, marks[sign - 1].end
            words = text[start:end]
            marks[at] = replace(mark, cat="func")
            marks[first:sign] = [
                Mark("value", start, end, words.lower(), "", frozenset(), "reports", (words,), sure=True)
            ]


def _leads_name(before: Token, token: Token, text: str, lexicon: Lexicon) -> bool:
    """True if a capitalised word is part of a name after the word before it: *by Gelman*, *Andrew Gelman*."""
    if before is token:
        return False
    capital = before.kind == "word" and text[before.start].isupper()
    return before.low in _WORDS["names"] or (capital and not lexicon.knows(before.low))


def _around(marks: list[Mark]) -> None:
    """Mark words around values in Chinese: 除综述外 excepts them, and requires them before a denial."""
    for at, mark in enumerate(marks):
        if mark.low not in _WORDS["around"]:
            continue
        listed = takewhile(
            lambda m: m.cat not in DELIMITERS or m.low == "、", marks[at + 1 : at + 1 + _REACH]
        )
        behind = range(at + 1, at + 1 + len(list(listed)))
        values = [n for n in behind if marks[n].carries]
        ends = [n for n in behind if values and n > values[0] and marks[n].low in _WORDS["behind"]]
        denials = [n for n in behind if values and n > values[0] and marks[n].cat == "neg"]
        if denials or ends or mark.cat == "except":
            marks[at] = replace(mark, cat="hard" if denials else "except", sub="")
            last = max([at, *values, *ends, *denials])
            for n in behind:
                if n in ends or n in denials or (n < last and marks[n].low == "、"):
                    marks[n] = replace(marks[n], cat="func", sub="", low=marks[n].low.replace("、", "和"))


def _skip(tokens: list[Token], number: int, end: int) -> int:
    """Number of the first token behind a place; one that reaches across it is cut: 年以来仓鸮 behind 以来."""
    while number < len(tokens) and tokens[number].start < end:
        number += 1
    last = tokens[number - 1]
    if last.end <= end:
        return number
    tokens[number - 1] = last._replace(start=end, low=last.low[end - last.start :])
    return number - 1


def marks_of(text: str, venues: Mapping[str, str] = {}) -> list[Mark]:
    """All marks of a text in order; white space and hyphens lie between them.

    Args:
        text: any text.
        venues: of the library that is searched, see ``library_venues``.
    """
    low = fold(text)
    main, context = _vocabulary(languages := _languages(text))
    tokens = tokenise(text, _han_words(languages) if "zh" in languages else None)
    tokens = [
        t._replace(low=corrected(t.low))
        if t.kind == "word"
        and not main.knows(t.low, context)
        and not (text[t.start].isupper() and _leads_name(before, t, text, main))  # "by Gelman"
        else t
        for before, t in zip([*tokens[:1], *tokens], tokens, strict=False)
    ]
    plain = _BEGINS.sub(lambda word: word.group().lower(), text)
    out: list[Mark] = []
    at, earlier = 0, False
    while at < len(tokens):
        token = tokens[at]
        start = token.start
        if token.kind in DELIMITERS:
            out.append(Mark(token.kind, start, token.end, token.low))
            earlier = earlier and token.kind != "stop"
            at += 1
            continue
        if token.low == "/" and text[max(0, start - 1) : token.end + 1].strip() == "/" and out:
            out.append(Mark("comma", start, token.end, token.low))
            at += 1
            continue
        longest = next(iter(main.matches(tokens, at)), None)
        if not token.tied:
            reach = tokens[at + longest[0] - 1].end if longest else start
            name = (read_library_venue(text, start, venues) if venues else None) or read_name(plain, start)
            if name and longest and name[0] == reach and longest[0] > 1 and longest[1].category in _DOCUMENTS:
                name = None  # "Systematic Reviews" are reviews, though a journal has that name
            if name and name[0] >= reach and not _is_value(name[1], name[0], main, tokens, at):
                out.append(_of_name(name[1], start, name[0], low[start : name[0]]))
                at = _skip(tokens, at, name[0])
                continue
            bound = read_bound(low, start)
            if bound and bound[0] > reach and _ends(low, bound[0]):
                out.append(_of_bound(bound[1], start, bound[0], low[start : bound[0]]))
                at = _skip(tokens, at, bound[0])
                continue
            aspect = read_aspect(text, tokens, at, context, main)
            by = out and out[-1].low in ("by", "von", "par", "por")
            if aspect and not by and tokens[aspect.end - 1].end >= reach:
                end = tokens[aspect.end - 1].end
                sub = "same" if aspect.same else "different"
                out.append(
                    Mark("aspect", start, end, low[start:end], sub, frozenset(), "aspect", (aspect.aspect,),
                         sure=aspect.known)
                )  # fmt: skip
                at = aspect.end
                continue
            before = out[-1].cat if out else ""
            if term := terms.read_term(
                text, tokens, at, main, context, out[-1] if out else None, _asked(out) or before, earlier
            ):
                found, last, sure = term
                end = tokens[last - 1].end
                out.append(
                    Mark("term", start, end, low[start:end], "", frozenset(), "keyword", found, sure=sure)
                )
                at, earlier = last, True
                continue
        prefixed = bool(out) and "prefix" in out[-1].flags
        shouted = longest and longest[0] == 1 and longest[1].category == "func" and _is_acronym(text, token)
        # "stock position papers" are not position papers
        split = longest and longest[0] > 1 and "weak" in longest[1].marks and bool(out) and out[-1].free
        split = split and text[out[-1].end : start].isspace()
        if longest and not shouted and not split and (not token.tied or prefixed):
            end = tokens[at + longest[0] - 1].end
            words = " ".join(t.low for t in tokens[at : at + longest[0]])
            out.append(_of_entry(longest[1], start, end, words, token.tied))
            at += longest[0]
            continue
        category = {"quote": "quote", "mark": "func"}.get(token.kind, "word")
        out.append(Mark(category, start, token.end, token.low, tied=token.tied))
        at += 1
    _phrasal(out)
    _around(out)
    _forbidden(out)
    _or_else(out)
    _named(out)
    _reported(text, out)
    share_aspects(out)
    return [
        replace(mark, cat="word")
        if "prefix" in mark.flags and mark.cat == "neg" and not (out[n + 1 : n + 2] or [mark])[0].carries
        else mark
        for n, mark in enumerate(out)
    ]
