"""Free words as phrases to be found in texts, with their other forms, short forms, and words set apart."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from aspectra.base.errors import UsageError
from aspectra.base.expressions import expression
from aspectra.base.values import replace
from aspectra.search.conditions.attributes.content.keyword import Term

MOST_ALTERNATIVES = 8
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


def check_phrases(name: str, value: str) -> None:
    """Refuse a value without words.

    Raises:
        UsageError: it has none, or more than 8 alternatives.
    """
    found = alternatives(value)
    if not found:
        raise UsageError(
            f"the value of {name} is empty", hint=f"name it in words: {name}=graph neural networks"
        )
    if len(found) > MOST_ALTERNATIVES:
        raise UsageError(
            f"{len(found)} alternatives in the value of {name}",
            why=f"at most {MOST_ALTERNATIVES} are compared",
        )
    for part in found:
        Term.of(part)


class Naming(Struct, frozen=True):
    """Where a text names a phrase.

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
        """Whether other papers can tell a short or a long form of it."""
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
        """Where a paper names it, or None.

        A unit names it that has the phrase in any form, or all its words.

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
        """Whether a text has every word in one of its forms; False for a phrase of one word."""
        if not self.words:
            return False
        folded, written = set(_RUN.findall(text.lower())), None
        for forms in self.words:
            if not forms.isdisjoint(folded):
                continue
            written = set(_RUN.findall(text)) if written is None else written
            if forms.isdisjoint(written):
                return False
        return True


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
        at = -1
        for _ in range(_MOST_BRACKETS):
            at = text.find("(" + short, at + 1)
            if at < 0:
                break
            words = _RUN.findall(text[max(0, at - _LONGEST_FORM) : at])[-len(letters) :]
            if len(words) == len(letters) and _initials(" ".join(words)) == letters:
                found[" ".join(words).lower()] += 1
                break
    best = found.most_common(1)
    return best[0][0] if best and best[0][1] > 1 else ""
