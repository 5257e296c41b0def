"""Conditions on what a text says: one term, as written.

How strictly a term is compared follows from how it is written, word by word:

- a plain lower-case word (``zinc``, ``heat pump``) matches in any case;
- a word with capitals (``BERT``, ``iPhone``, ``Kalman``) matches as written;
- a term with other signs (``--omit-header``, ``C++``, ``a/b``) matches as written, and not inside a longer
  option or name: ``--all`` is not ``--all-files``;
- Chinese, Japanese and Korean characters match anywhere, since words are not set apart.

Grade 1 is the term itself. Grade 0.7 is another form of it: an inflection (*heat pumps*, *LSTMs*), a hyphen
for a space or the other way round, or another case of a word with one initial capital (*kalman*, or *COVID*
for ``Covid``). Derived words are other terms (*organ*, *organisation*). Inflections are those of English.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.base.expressions import expression
from aspectra.base.values import replace
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute, places
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.protocol import Asked, View
from aspectra.views.text.tokens import Tokeniser
from aspectra.views.view import Floats, Positions, Probe

FORM_GRADE = 0.7
_MANY = 1000  # papers in one statement
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_IS_CJK = expression(f"[{_CJK}]")
_HYPHENS = r"\-\u2010\u2011\u2012\u2013"
_ORDINARY = expression(rf"[^\W_]+(?:['’{_HYPHENS}][^\W_]+)*")
_PART = expression(r"[^\W_]+")
_VOWEL = expression("[aeiouy]")
# Learned plurals: analysis, analyses; criterion, criteria; fungus, fungi; alga, algae; matrix, matrices.
_LEARNED = [pair.split() for pair in "sis ses, on a, um a, us i, a ae, ix ices, ex ices".split(", ")]


def _bases(word: str) -> set[str]:
    """Words that a word may be an inflection of, itself included."""
    out = {word}
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        out |= {word[:-1], word[:-2]} if word.endswith("es") else {word[:-1]}
    for ending in ("ing", "ings", "ed"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            out |= {rest, rest + "e"}
            if len(rest) > 3 and rest[-1] == rest[-2]:
                out.add(rest[:-1])
    out |= {word[:-3] + "y" for ending in ("ies", "ied") if word.endswith(ending)}
    return {base for base in out if len(base) > 2 and _VOWEL.search(base)}


def inflections(word: str) -> list[str]:
    """Forms of a lower-case English word, itself first: plurals, -ed and -ing; not all of them exist.

    >>> inflections("study")
    ['study', 'studied', 'studies', 'studying', 'studyings']
    >>> "study" in inflections("studies"), "criteria" in inflections("criterion"), inflections("of")
    (True, True, ['of'])
    """
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return [word]
    out = set()
    for base in _bases(word):
        silent = base[:-1] if base.endswith("e") and not base.endswith("ee") else base
        out |= {base, silent + "ing", silent + "ings"}
        if base.endswith("y") and base[-2] not in "aeiou":
            out |= {base[:-1] + "ies", base[:-1] + "ied"}
            continue
        out |= {base + ("es" if base.endswith(("s", "x", "z", "ch", "sh")) else "s"), silent + "ed"}
        if re.search("[^aeiou][aeiou][bdgklmnprt]$", base):
            out |= {base + base[-1] + ending for ending in ("ed", "ing", "ings")}
    if len(word) > 4:
        for one, many in _LEARNED:
            out |= {word[: -len(a)] + b for a, b in ((one, many), (many, one)) if word.endswith(a)}
    return [word, *sorted(out - {word})]


def _runs(word: str) -> list[tuple[str, bool]]:
    """(letters and digits, whether they end the word) of each part."""
    runs = _PART.findall(word)
    return [(run, number == len(runs)) for number, run in enumerate(runs, 1)]


def _forms(word: str, inflected: bool) -> tuple[bool, list[str]]:
    """(True if case is ignored, forms) of a word."""
    if not inflected:
        return word[1:] == word[1:].lower(), [word]
    if word == word.lower():
        return True, inflections(word)
    if len(word) > 2 and word[1:] == word[1:].lower():  # one initial capital
        return True, inflections(word.lower())
    return False, [word, word + "s", word + "es"]


def _pattern(any_case: bool, forms: Sequence[str]) -> str:
    return f"(?{'i' if any_case else ''}:{'|'.join(map(re.escape, forms))})"


def _exact(word: str) -> str:
    return _pattern(word == word.lower(), [word]) if _ORDINARY.fullmatch(word) else re.escape(word)


@dataclass(frozen=True)
class Term:
    """A term prepared for searching.

    Attributes:
        needle: folded text that every match contains, so that most texts need no pattern; may be "".
        patterns: of the term itself, and of the other forms too, or "" without any.
        parts: forms of each run of letters and digits; every match has one of each.
    """

    needle: str
    patterns: tuple[str, str]
    parts: tuple[tuple[str, ...], ...]

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, text: str) -> Term:
        """From a term as written.

        Raises:
            UsageError: it contains nothing that can be searched.
        """
        words = text.split()
        term = " ".join(words)
        runs = _PART.findall(term)
        if not runs:
            raise UsageError(f"{text!r} is no term", why="it has neither letters nor digits")
        ordinary = all(_ORDINARY.fullmatch(word) for word in words)
        left, right = _edges(term, ordinary)
        exact = left + r"\s+".join(map(_exact, words)) + right
        if not ordinary:
            return cls(_needle([[run] for run in runs]), (exact, ""), tuple((run,) for run in runs))
        # Of a hyphenated word only the end is inflected: bed-ins, but not bedding-in.
        folded = [_forms(run, last) for word in words for run, last in _runs(word)]
        forms = tuple(tuple(of_run) for _, of_run in folded)
        joint = rf"[\s'’{_HYPHENS}]+"
        loose = left + joint.join(_pattern(*pair) for pair in folded) + right
        return cls(_needle(forms), (exact, loose), forms)

    # Compiling takes milliseconds, for the many letters in their edges, and most texts need none.
    @cached_property
    def exact(self) -> re.Pattern[str]:
        """The term itself."""
        return re.compile(self.patterns[0])

    @cached_property
    def loose(self) -> re.Pattern[str] | None:
        """The other forms too, or None without any."""
        return re.compile(self.patterns[1]) if self.patterns[1] else None

    def find(self, text: str) -> tuple[float, tuple[int, int] | None]:
        """(grade, span) of the first match of the best grade."""
        if self.needle and self.needle not in text.lower():
            return 0.0, None
        if found := self.exact.search(text):
            return 1.0, found.span()
        if self.loose is not None and (found := self.loose.search(text)):
            return FORM_GRADE, found.span()
        return 0.0, None


def _needle(parts: Sequence[Sequence[str]]) -> str:
    """The longest beginning that all forms of a part share; other letters than ASCII fold in several ways."""
    shared = []
    for forms in parts:
        # All between the first and the last in order begin with what these two share.
        first, last = min(f.lower() for f in forms), max(f.lower() for f in forms)
        size = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
        shared.append(first[:size])
    return max((s for s in shared if s.isascii() or _IS_CJK.match(s)), key=len, default="")


def _edges(term: str, ordinary: bool) -> tuple[str, str]:
    """Patterns of what may not stand before and after."""
    first, last, letter = term[0], term[-1], rf"[^\W{_CJK}]"
    if _IS_CJK.match(first):
        left = ""
    elif first.isalnum():
        left = f"(?<!{letter})"
    else:
        left = r"(?<![\w\-])" if first == "-" else f"(?<!{re.escape(first)})"
    if _IS_CJK.match(last):
        right = ""
    elif not last.isalnum():
        right = rf"(?!{re.escape(last)}|\w)"
    else:  # C is not C++ or C#
        right = rf"(?!{letter}|\+\+|#)" if ordinary else rf"(?!{letter}|-\w)"
    return left, right


class KeywordAttribute(Attribute):
    """One term in title, abstract or full text, compared as strictly as it is written."""

    name = "keyword"
    cheap = False
    every = True

    def check(self, value: str) -> None:
        """Refuse a term without letters or digits.

        Raises:
            UsageError: always then.
        """
        Term.of(value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 the term, 0.7 another form of it, 0 neither, in title, abstract or sections.

        NaN for a paper without text. Papers removed from the library since have 0.
        """
        term = Term.of(value)
        best: dict[str, float] = {}
        ids, sound = [index.ids[paper] for paper in papers], index.library.checksums.sound("papers")
        for at in range(0, len(ids), _MANY):
            part, deep = ids[at : at + _MANY], []
            where = f"id IN ({','.join('?' * len(part))}) AND {sound}"
            statement = f"SELECT pos, id, title, abstract, full_hash != '' FROM papers WHERE {where}"
            for pos, paper_id, title, abstract, full in index.library.fetch(statement, part):
                grade = max(term.find(title)[0], term.find(abstract)[0])
                best[paper_id] = grade if title or abstract or full else np.nan
                if full and grade < 1:
                    deep.append(pos)
            for paper in index.library.papers_at(deep, "sections").values():
                for section in paper.sections:
                    if best[paper.id] < 1:
                        best[paper.id] = max(best[paper.id], term.find(section.text)[0])
        return np.array([best.get(paper_id, 0.0) for paper_id in ids], np.float32)

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False where a word of the term occurs nowhere; None where no view knows."""
        settings, views = index.settings.lexical, _lexical(index)
        # Only there a score above 0 is the same as a word's occurrence.
        if not views or settings.method != "lucene":
            return None
        groups = _groups(Term.of(value), Tokeniser(settings.tokens))
        if not groups:
            return None
        out = np.ones(len(index), np.bool_)
        for group in groups:
            out &= reduce(np.logical_or, (occurs(view, word) for view in views for word in group))
        if len(views) == 1:  # full texts are in no lexical view
            sound = index.library.checksums.sound("papers")
            rows = index.library.rows(
                f"SELECT id FROM papers WHERE CASE WHEN {sound} THEN full_hash != '' END"
            )
            out[places(index, (paper_id for (paper_id,) in rows))] = True
        return out

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The first occurrence, of the term itself where there is one."""
        term, other = Term.of(value), None
        for field, text in _fields(paper):
            grade, span = term.find(text)
            found = span and TextSpan(field, *span)
            if grade == 1:
                return found
            other = other or found
        return other


def occurs(view: View, word: str) -> NDArray[np.bool_]:
    """(all papers,) whether a paper has one of the view's words, as its tokeniser writes it.

    Such a word is not tokenised again: the stem of a stem may be another one (*diseas*, *disea*).
    """
    return view.score_many([Asked(Probe(view.name, word), words=(word,))])[0].scores > 0


def _groups(term: Term, tokeniser: Tokeniser) -> list[set[str]]:
    """Words of the lexical views; a text with the term has one of each group."""
    out = []
    for forms in term.parts:
        words = [tokeniser.words(form) for form in forms]
        if len(forms) > 1:
            if all(words):  # a part that is a stop word asks for nothing
                out.append({word for of_form in words for word in of_form})
        else:  # a lone Chinese character is a word only where it stands alone
            out += [{word} for word in words[0] if len(word) > 1]
    return out


def _lexical(index: Index) -> list[View]:
    """The lexical views that together hold every text, the abstracts first; [] without any."""
    facts = [one for one in map(index.facts, index.view_names) if one.lexical]
    abstracts = [one.name for one in facts if one.base == "abstract"]
    chunks = [one.name for one in facts if one.chunks]
    return [index.view(name) for name in abstracts + chunks[:1]] if abstracts else []


def _fields(paper: Paper) -> Iterator[tuple[str, str]]:
    yield "title", paper.title
    yield "abstract", paper.abstract
    for number, section in enumerate(paper.sections):
        yield f"section:{number}", section.text


ATTRIBUTES.register("keyword")(KeywordAttribute())


# Free words as phrases to be found in texts, with their other forms, short forms, and words set apart.

_MOST_ALTERNATIVES = 8
_EITHER = expression(r" (?:and/or|or|oder|ou) |; ?|, (?:or )?|或者?")
_ARTICLES = expression(r"(?:(?:any|all|the|an?|other) )++", re.IGNORECASE)
_RUN = expression(r"[^\W_]+")
_BRACKETED = expression(r"\s?\(\s?([^\W_][\w\-]{1,9})\s?[,;)]")
_SHORT = expression(r"[A-Z][A-Za-z0-9]?[A-Z0-9-]{1,7}s?")
_LEAST_LETTERS = 3  # of a short form that is taken from other papers: two letters have many meanings
_LONGEST_FORM = 120  # characters before a bracket that may hold the long form
_MOST_BRACKETS = 5  # read in one text


def alternatives(value: str) -> list[str]:
    """The phrases of a list, any of which will do, without articles.

    >>> alternatives("the deep learning or CNNs"), alternatives("2,4-D, atrazine")
    (['deep learning', 'CNNs'], ['2,4-D', 'atrazine'])
    """
    parts = (part.strip() for part in _EITHER.split(" ".join(value.split())))
    bare = (part[found.end() :] if (found := _ARTICLES.match(part)) else part for part in parts)
    return list(dict.fromkeys(part for part in bare if part))


class PhrasesAttribute(Attribute):
    """An attribute whose values are one phrase or several, of which any will do."""

    def check(self, value: str) -> None:
        """Refuse a value without words.

        Raises:
            UsageError: it has none, or more than 8 alternatives.
        """
        if not (found := alternatives(value)):
            hint = f"name it in words: {self.name}=graph neural networks"
            raise UsageError(f"the value of {self.name} is empty", hint=hint)
        if len(found) > _MOST_ALTERNATIVES:
            why = f"at most {_MOST_ALTERNATIVES} are compared"
            raise UsageError(f"{len(found)} alternatives in the value of {self.name}", why=why)
        for part in found:
            Term.of(part)


class Naming(Struct, frozen=True):
    """Title and units of a text that name a phrase.

    Attributes:
        title: whether the title does.
        units: numbers of the units that do, in order, the title's among them.
        intact: whether one of them has the phrase itself or its short form, rather than its words apart.
    """

    title: bool
    units: tuple[int, ...]
    intact: bool


class Phrase(Struct, frozen=True):
    """One phrase, ready to be found.

    Attributes:
        text: as written, or its long form where a short form was written.
        terms: the phrase, and its short or long forms.
        words: the forms of each of its words, where it has several; else ().
    """

    text: str
    terms: tuple[Term, ...]
    words: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, text: str) -> Phrase:
        """From its words."""
        term = Term.of(text.removesuffix("s") if _SHORT.fullmatch(text) else text)
        words = tuple(map(frozenset, term.parts)) if len(term.parts) > 1 else ()
        return cls(text, (term,), words)

    @property
    def has_forms(self) -> bool:
        """True if other papers may give a short or a long form of it."""
        return bool(_SHORT.fullmatch(self.text)) or len(_initials(self.text)) >= _LEAST_LETTERS

    def known_as(self, texts: Iterable[str]) -> Phrase:
        """The same with the short or long form that texts give for it: *graph neural networks (GNNs)*."""
        if _SHORT.fullmatch(self.text):
            found = _long_form(self.text.removesuffix("s"), texts)
            if not found:
                return self
            longer = Phrase.of(found)
            return replace(longer, terms=(*longer.terms, *self.terms))
        letters = _initials(self.text)
        if len(letters) < _LEAST_LETTERS:
            return self
        for text in texts:
            for start, end in _spans(self.terms[0], text):
                given = _BRACKETED.match(text, end) if start < end else None
                if given and given.group(1).removesuffix("s").replace("-", "").lower() == letters:
                    return replace(self, terms=(*self.terms, Term.of(given.group(1).removesuffix("s"))))
        return self

    def named(self, title: str, text: str, bounds: Sequence[tuple[int, int]]) -> Naming | None:
        """Title and units of a paper that name it, or None.

        A unit names it if it has the phrase in any form, or all its words.

        Args:
            title: of the paper.
            text: that the other units are spans of.
            bounds: (start, end) of these units, in order; they count from 1, the title is 0.
        """
        apart = [n for n, (start, end) in enumerate(bounds, 1) if self._apart(text[start:end])]
        intact: set[int] = set()
        for number, term in enumerate(self.terms):
            if number == 0 and self.words:  # where the phrase is, all its words are
                intact |= {n for n in apart if _spans(term, text[slice(*bounds[n - 1])])}
            else:
                starts = [start for start, _ in bounds]
                intact |= {bisect_right(starts, at) for at, _ in _spans(term, text)} - {0}
        whole = any(term.find(title)[1] for term in self.terms)
        in_title = whole or self._apart(title)
        units = tuple(sorted(intact.union(apart)))
        if not units and not in_title:
            return None
        return Naming(in_title, ((0,) if in_title else ()) + units, whole or bool(intact))

    def _apart(self, text: str) -> bool:
        """True if a text has every word in one of its forms; False for a phrase of one word."""
        if not self.words:
            return False
        runs = set(_RUN.findall(text.lower()))
        apart = [forms for forms in self.words if forms.isdisjoint(runs)]
        written = _RUN.findall(text) if apart else ()
        return not any(forms.isdisjoint(written) for forms in apart)


def _spans(term: Term, text: str) -> list[tuple[int, int]]:
    if term.needle and term.needle not in text.lower():
        return []
    return [found.span() for found in (term.loose or term.exact).finditer(text)]


def _initials(text: str) -> str:
    return "".join(run[0] for run in _RUN.findall(text)).lower()


def _long_form(short: str, texts: Iterable[str]) -> str:
    """The words that most texts put before a short form in brackets, or "": two texts must agree."""
    letters = short.replace("-", "").lower()
    found: Counter[str] = Counter()
    for text in texts:
        for bracket in islice(re.finditer(re.escape(f"({short}"), text), _MOST_BRACKETS):
            at = bracket.start()
            words = _RUN.findall(text[max(0, at - _LONGEST_FORM) : at])[-len(letters) :]
            if len(words) == len(letters) and _initials(" ".join(words)) == letters:
                found[" ".join(words).lower()] += 1
                break
    best = found.most_common(1)
    return best[0][0] if best and best[0][1] > 1 else ""
