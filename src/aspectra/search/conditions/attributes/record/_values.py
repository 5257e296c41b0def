"""How conditions on records write their values, and how columns of a generation are graded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper, normalise_title
from aspectra.search.conditions.attributes.protocol import Attribute
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_FORM = re.compile(r"\s*+(?:(>=|<=|>|<)\s*+(\d{1,9}+)|(\d{1,9}+)(?:\s*+\.\.\s*+(\d{1,9}+))?+)\s*+", re.ASCII)
_LAST = 10**9


def too_old(index: Index) -> str:
    """Why nothing is known of what records state, for people; "" where the index keeps it."""
    kept = index.keeps_records
    return (
        ""
        if kept
        else "the index was built by an older version, which kept less of the records: aspectra index"
    )


class RecordAttribute(Attribute):
    """An attribute that is decided by columns which indexes of older versions lack."""

    def missing(self, value: str, index: Index) -> str:
        """That the index is too old, or that no record states it."""
        return too_old(index) or super().missing(value, index)


class NamedAttribute(Attribute):
    """An attribute whose values are names.

    Attributes:
        what: the noun for what a value names.
        example: a condition, for people.
    """

    what: str
    example: str

    def check(self, value: str) -> None:
        """Refuse a name without letters or digits.

        Raises:
            UsageError: always then.
        """
        if not normalise_title(value):
            raise UsageError(f"{value!r} is no {self.what}", why=f"write a name, as in: {self.example}")


class MarkAttribute(Attribute):
    """An attribute of what the searcher says about papers, which changes while an index stays."""

    def state(self, index: Index) -> int:
        """Counts changes of marks."""
        return index.library.marks.revision


class ClassAttribute(Attribute):
    """An attribute whose values are a few classes.

    Attributes:
        classes: the values there are.
        synonyms: other words for them.
    """

    classes: Sequence[str]
    synonyms: Mapping[str, str] = {}

    def check(self, value: str) -> None:
        """Refuse what is none of the classes.

        Raises:
            UsageError: with the values there are.
        """
        self.named(value)

    def named(self, value: str) -> str:
        """The class that a value names; raises as :meth:`check`."""
        return check_class(value, self.name, self.classes, self.synonyms)


def number_range(value: str) -> tuple[int, int] | None:
    """Smallest and largest whole number of ``>=50``, ``>100``, ``<20``, ``<=20``, ``10..20`` or ``7``.

    >>> [number_range(value) for value in (">=50", "<20", "10..20", "many")]
    [(50, 1000000000), (0, 19), (10, 20), None]
    """
    found = _FORM.fullmatch(value)
    if found is None:
        return None
    sign, bound, first, last = found.groups()
    if sign:
        number = int(bound)
        low = {">=": number, ">": number + 1}.get(sign, 0)
        high = {"<=": number, "<": number - 1}.get(sign, _LAST)
    else:
        low = int(first)
        high = low if last is None else int(last)
    return (low, high) if low <= high else None


def check_class(value: str, what: str, known: Sequence[str], synonyms: Mapping[str, str]) -> str:
    """The class that a value names, by itself or by a synonym, in any case.

    Raises:
        UsageError: it names none.
    """
    text = " ".join(value.casefold().split())
    named = synonyms.get(text, text)
    if named not in known:
        raise UsageError(f"{value!r} is no {what}", why="known: " + ", ".join(known))
    return named


def phrases(words: str) -> tuple[str, ...]:
    """The alternatives of a line of ``words/record_words.toml``."""
    return tuple(words.split(" | "))


def has_words(text: str, phrase: str) -> bool:
    """Whether a text holds a phrase as whole words; both normalised."""
    return f" {phrase} " in f" {text} "


def stated(index: Index, paper: Paper, column: str) -> str:
    """A paper's text in a column, "" where it is not in the index."""
    at = index.positions.get(paper.id)
    codes, names = index.coded(column)
    return "" if at is None else names[codes[at]]


def origin_parts(text: str) -> tuple[list[str], str, str]:
    """(schemes of identifiers, prefix of the DOI, host) of a text of the column ``origins``.

    >>> origin_parts("arxiv doi|10.48550|arxiv.org"), origin_parts("")
    ((['arxiv', 'doi'], '10.48550', 'arxiv.org'), ([], '', ''))
    """
    schemes, prefix, host = [*text.split("|"), "", "", ""][:3]
    return schemes.split(), prefix, host


def by_name(index: Index, column: str, papers: Positions, grade: Callable[[str], float]) -> Floats:
    """(papers,) what ``grade`` gives for each paper's text in a column; it is called once for each text."""
    codes, names = index.coded(column)
    if not names:
        return np.full(len(papers), np.nan, np.float32)
    chosen = codes[papers]
    table = np.full(len(names), np.nan, np.float32)
    for code in np.unique(chosen):
        table[code] = grade(names[code])
    return np.asarray(table[chosen], np.float32)
