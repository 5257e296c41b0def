"""Conditions on facts of the record: year, recency, citations, publisher and access.

``year`` is ``>=2021``, ``<2019``, ``2015..2018``, ``2017`` or ``>=now-5``; ``now`` is the present year.

``recency`` is ``new`` or ``old``. Age is counted back from the newest year of the library (of which a
hundredth is left aside, for years are misprinted), but at most from the present year. The grade of ``new``
halves every 5 years, so that it is met up to 5 years back; that of ``old`` is what is left of 1 when the
other half-life is 10 years.

``citations`` is ``>=50``, ``<20``, ``10..20``, ``high`` or ``low``. The number is the record's own. Where
the record has none, and most papers of the library list references, the citations inside the library are
counted; these are fewer, and the reason says which was used. ``high`` is met by the most cited tenth of the
papers counted in the same way, ``low`` by the least cited half: the grades are t / (t + share of papers
cited more, or less), with t = 0.1 and 0.5.

``publisher`` is ``ACM``, ``IEEE``, ``Springer`` ... The record's publisher decides, under any of its names
(grade 1), else the prefix of the DOI, for those listed in ``words/record_words.toml`` (0.9), else a venue
that bears the name (*IEEE Access*, 0.7).

``access`` is ``open`` to everybody, or ``fulltext`` in the library. Open is what the record calls so, what
is in arXiv, PubMed Central or the ACL Anthology, and what a host or a publisher lets everybody read; closed
only what the record calls so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper, normalise_title
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute, table_of_words
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

# How conditions on records write their values, and how columns of a generation are graded.

_FORM = re.compile(r"\s*+(?:(>=|<=|>|<)\s*+(\d{1,9}+)|(\d{1,9}+)(?:\s*+\.\.\s*+(\d{1,9}+))?+)\s*+", re.ASCII)
_MOST = 10**9


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
        """Refuse a value that is not one of the classes.

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
        high = {"<=": number, "<": number - 1}.get(sign, _MOST)
    else:
        low = int(first)
        high = low if last is None else int(last)
    return (low, high) if low <= high else None


def check_class(value: str, what: str, known: Sequence[str], synonyms: Mapping[str, str]) -> str:
    """The class that a value names, by itself or by a synonym, in any case.

    Raises:
        UsageError: it does not name a class.
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
    """True if a text contains a phrase as whole words; both normalised."""
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


_YEAR = r"(\d{4}+|now(?:\s*+-\s*+\d{1,3}+)?+)"
_YEARS = re.compile(rf"\s*+(?:(>=|<=|>|<)\s*+{_YEAR}|{_YEAR}(?:\s*+\.\.\s*+{_YEAR})?+)\s*+", re.ASCII)
_FIRST, _LAST = -(10**6), 10**6
_HALF_LIVES = {"new": 5.0, "old": 10.0}
_MISPRINTED = 1.0  # per cent of the years
_SHARES = {"high": 0.1, "low": 0.5}
_LISTING = 0.5  # share of the papers that must list references for the citations inside to be counted
_BY_DOI, _BY_VENUE = 0.9, 0.7
_TABLE = table_of_words("record_words")
_NAMES = {name: (name, *phrases(others)) for name, others in _TABLE["publishers"].items()}
_PREFIXES = {prefix: name for name, all_ in _TABLE["doi_prefixes"].items() for prefix in phrases(all_)}
_ACRONYM = re.compile(r"[A-Z]{3,8}")
_OPEN = {"open access": "open", "full text": "fulltext"}
_counted: WeakKeyDictionary[Index, tuple[NDArray[np.int64], NDArray[np.int64]]] = WeakKeyDictionary()


_Tally = tuple[NDArray[np.int64], NDArray[np.int64]]  # numbers, ascending, and how often each occurs


def _tally(numbers: NDArray[Any]) -> _Tally:
    values, times = np.unique(numbers, return_counts=True)
    return values.astype(np.int64), times.astype(np.int64)


def _together(parts: Sequence[_Tally]) -> _Tally:
    values, places = np.unique(np.concatenate([values for values, _ in parts]), return_inverse=True)
    times = np.zeros(len(values), np.int64)
    np.add.at(times, places, np.concatenate([times for _, times in parts]))
    return values, times


@dataclass(frozen=True)
class FactAttribute(Attribute):
    """An attribute that the record decides.

    Attributes:
        name, about: of the attribute.
        read: the value in its one spelling; refuses one that means nothing.
        graded: (papers,) grades of a value; its last argument is what was measured of the collection.
        why: what decided; its last argument too.
        noun: what is unknown of a paper without a grade, where that is not the name.
        columns: whether it reads columns that indexes of older versions lack.
        lacks: value -> why nothing is known of any paper, where that is not the usual reason.
        measured: what papers tell of the others, see :meth:`measure`; None where they tell nothing.
        merged: what was measured of all parts, as one.
    """

    name: str
    about: str
    read: Callable[[str], object]
    graded: Callable[[str, Index, Positions, Any], Any]
    why: Callable[[str, Paper, Index, Any], str]
    noun: str = ""
    columns: bool = True
    lacks: Mapping[str, str] = field(default_factory=dict)
    measured: Callable[[str, Index, Positions], Any] | None = None
    merged: Callable[[Sequence[Any]], Any] = any

    def check(self, value: str) -> None:
        """Refuse a value that means nothing here.

        Raises:
            UsageError: with the values there are.
        """
        self.read(value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) see the module; NaN where nothing is known."""
        return np.asarray(self.graded(value, index, papers, self.told(value, index)), np.float32)

    def measure(self, value: str, index: Index, papers: Positions) -> Any:
        """Counts of years or citations, or whether there is any full text."""
        return None if self.measured is None else self.measured(value, index, papers)

    def merge(self, parts: Sequence[Any]) -> Any:
        """The measurements of all parts, merged."""
        return self.merged(parts)

    def missing(self, value: str, index: Index) -> str:
        """That the index is too old, or that no record states it."""
        if self.columns and (why := too_old(index)):
            return why
        return self.lacks.get(str(self.read(value)), "") or super().missing(value, index)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The deciding fact, for people."""
        return self.why(value, paper, index, self.told(value, index))


def _year(text: str) -> int:
    """A year, counted back from the present one where it is written so."""
    if not text.startswith("now"):
        return int(text)
    back = text.removeprefix("now").strip().removeprefix("-").strip()
    return datetime.now(UTC).year - int(back or 0)


def _years(value: str) -> tuple[int, int]:
    """First and last year that meet the condition."""
    found = _YEARS.fullmatch(value)
    if found is None:
        raise UsageError(f"{value!r} is no year", why="write >=2021, <2019, 2015..2018, 2017 or >=now-5")
    sign, bound, first, last = found.groups()
    if sign:
        year = _year(bound)
        low = {">=": year, ">": year + 1}.get(sign, _FIRST)
        return low, {"<=": year, "<": year - 1}.get(sign, _LAST)
    low = _year(first)
    high = low if last is None else _year(last)
    if high < low:
        raise UsageError(f"{value!r} holds no year", why="the first year comes after the last")
    return low, high


def _in_years(value: str, index: Index, papers: Positions, _: None) -> Any:
    (low, high), years = _years(value), index.years[papers]
    return np.where(years == 0, np.nan, (years >= low) & (years <= high))


def _known_years(value: str, index: Index, papers: Positions) -> _Tally:
    years = index.years[papers]
    return _tally(years[years != 0])


def _year_of_now(parts: Sequence[_Tally]) -> int:
    """The year that ages are counted back from; 0 where no year is known."""
    known = np.repeat(*_together(parts))
    newest = int(np.percentile(known, 100 - _MISPRINTED, method="higher")) if len(known) else 0
    return min(newest, datetime.now(UTC).year)


def _age(value: str) -> str:
    return check_class(value, "recency", tuple(_HALF_LIVES), {})


def _recent(value: str, index: Index, papers: Positions, now: int) -> Any:
    named, years = _age(value), index.years[papers]
    left = 0.5 ** (np.maximum(now - years, 0) / _HALF_LIVES[named])
    return np.where(years == 0, np.nan, left if named == "new" else 1.0 - left)


def _aged(value: str, paper: Paper, index: Index, now: int) -> str:
    return f"{paper.year}; the newest here are of {now}" if paper.year else ""


class _Cited(NamedTuple):
    """Citation statistics of some papers of a collection.

    Attributes:
        papers: how many they are.
        listing: how many of them list references.
        linked: whether any of these references is a paper of the collection.
        stated: citations of those of which the record states them.
        inside: citations inside the collection of the others.
    """

    papers: int
    listing: int
    linked: bool
    stated: _Tally
    inside: _Tally

    @property
    def counted(self) -> bool:
        """True if citations inside the collection replace those that no record states."""
        return self.linked and self.listing / self.papers >= _LISTING


def _counts(index: Index) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(all papers,) citations by the record, -1 where unknown; (all papers,) those inside the library."""
    if index not in _counted:
        inside = np.bincount(index.citations[1], minlength=len(index))
        _counted[index] = index.cited_by.astype(np.int64), inside
    return _counted[index]


def _citing(value: str, index: Index, papers: Positions) -> _Cited:
    by_record, inside = (counts[papers] for counts in _counts(index))
    listing, starts, stated = int((index.references[papers] > 0).sum()), index.citations[0], by_record >= 0
    linked = bool((starts[papers + 1] > starts[papers]).any()) if len(index.citations[1]) else False
    return _Cited(len(papers), listing, linked, _tally(by_record[stated]), _tally(inside[~stated]))


def _cited_in_all(parts: Sequence[_Cited]) -> _Cited:
    papers, listing, linked, stated, inside = zip(*parts, strict=True)
    return _Cited(sum(papers), sum(listing), any(linked), _together(stated), _together(inside))


def citation_counts(index: Index, cited: _Cited | None = None) -> NDArray[np.int64]:
    """(all papers,) citations, -1 where unknown; ``cited`` is of a collection that the index is a part of."""
    by_record, inside = _counts(index)
    known = _citing("", index, np.arange(len(index))) if cited is None else cited
    return np.where(by_record < 0, inside, by_record) if known.counted else by_record


def _count(value: str) -> None:
    if value.casefold() not in _SHARES and number_range(value) is None:
        raise UsageError(
            f"{value!r} is no number of citations", why="write >=50, >100, <20, 10..20, high or low"
        )


def _ranked(counts: NDArray[np.int64], among: _Tally, share: float, *, most: bool) -> Floats:
    """Grades of being among the most, or the least, cited of some papers."""
    values, times = among
    upto, at = np.cumsum(times), np.searchsorted(values, counts)
    beyond = upto[-1] - upto[at] if most else upto[at] - times[at]
    out = share / (share + beyond / upto[-1])
    return np.asarray(np.where(counts == 0, 0.0, out) if most else out, np.float32)


def _cited(value: str, index: Index, papers: Positions, cited: _Cited) -> Any:
    counts, by_record = citation_counts(index, cited)[papers], _counts(index)[0][papers] >= 0
    named = value.casefold()
    if named not in _SHARES:
        low, high = number_range(value) or (0, 0)
        return np.where(counts < 0, np.nan, (counts >= low) & (counts <= high))
    out = np.full(len(papers), np.nan, np.float32)
    for known, among in ((by_record, cited.stated), (~by_record & (counts >= 0), cited.inside)):
        if known.any():
            out[known] = _ranked(counts[known], among, _SHARES[named], most=named == "high")
    return out


def _times_cited(value: str, paper: Paper, index: Index, cited: _Cited) -> str:
    at = index.positions.get(paper.id)
    by_record, inside = (-1, -1) if at is None else (int(counts[at]) for counts in _counts(index))
    count = by_record if by_record >= 0 or not cited.counted else inside
    if count < 0:
        return ""
    times = f"cited {count:,} time{'' if count == 1 else 's'}"
    return f"{times}, says the record" if by_record >= 0 else f"{times} inside this library"


def _publisher(value: str) -> None:
    if not normalise_title(value):
        raise UsageError(f"{value!r} is no publisher", why="write a name, as in: publisher=IEEE")


@lru_cache(maxsize=64)
def _names_of(value: str) -> tuple[frozenset[str], frozenset[str]]:
    """(every name, normalised; names in the table of prefixes) of the publisher that a value means."""
    asked = normalise_title(value)
    groups = [name for name, names in _NAMES.items() if asked in names]
    return frozenset({asked}.union(*(_NAMES[name] for name in groups))), frozenset(groups)


def _published(value: str, index: Index, papers: Positions, _: None) -> Any:
    """0 where record or DOI name another one, NaN where neither names any."""
    names, groups = _names_of(value)
    acronym = normalise_title(value) if _ACRONYM.fullmatch(value) else ""

    def by_publisher(publisher: str) -> float:
        text = normalise_title(publisher)
        return float(any(has_words(text, name) for name in names)) if text else np.nan

    def by_doi(origin: str) -> float:
        owner = _PREFIXES.get(origin_parts(origin)[1])
        return np.nan if owner is None else _BY_DOI if owner in groups else 0.0

    def by_venue(venue: str) -> float:
        return _BY_VENUE if acronym and has_words(normalise_title(venue), acronym) else np.nan

    ways = {"publishers": by_publisher, "origins": by_doi, "venues": by_venue}
    return np.fmax.reduce([by_name(index, column, papers, grade) for column, grade in ways.items()])


def _publishing(value: str, paper: Paper, index: Index, _: None) -> str:
    """The publisher as printed, else the prefix of the DOI, else the venue."""
    if publisher := stated(index, paper, "publishers"):
        return f"published by {publisher}"
    doi = paper.identifiers.get("doi", "").partition("/")[0]
    if doi in _PREFIXES:
        return f"its DOI begins with {doi}"
    return f"its venue is {paper.venue}" if paper.venue else ""


def _access(value: str) -> str:
    return check_class(value, "access", ("open", "fulltext"), _OPEN)


def _has_full_text(value: str, index: Index, papers: Positions) -> bool:
    return bool(index.full_text[papers].any())


def _accessible(value: str, index: Index, papers: Positions, any_full: bool) -> Any:
    """NaN where nothing says whether it is open, or the collection has no full texts."""
    if _access(value) == "open":
        return by_name(index, "accesses", papers, lambda said: float(said[:4] == "open") if said else np.nan)
    return index.full_text[papers] if any_full else np.full(len(papers), np.nan)


def _accessed(value: str, paper: Paper, index: Index, _: bool) -> str:
    if _access(value) == "open":
        return stated(index, paper, "accesses")
    held = paper.id in index.positions and bool(index.full_text[index.positions[paper.id]])
    return "the library holds its full text" if held else "the library holds no full text of it"


for _fact in (
    FactAttribute(
        "year",
        "The year of publication.",
        _years,
        _in_years,
        lambda value, paper, *_: str(paper.year or ""),
        columns=False,
    ),
    FactAttribute(
        "recency",
        "How recent a paper is, without a year.",
        _age,
        _recent,
        _aged,
        noun="year",
        columns=False,
        measured=_known_years,
        merged=_year_of_now,
    ),
    FactAttribute(
        "citations",
        "How often a paper is cited.",
        _count,
        _cited,
        _times_cited,
        noun="number of citations",
        measured=_citing,
        merged=_cited_in_all,
    ),
    FactAttribute("publisher", "Who published a paper.", _publisher, _published, _publishing),
    FactAttribute(
        "access",
        "Whether everybody can read a paper, or the library holds its full text.",
        _access,
        _accessible,
        _accessed,
        lacks={"fulltext": "the library holds no full text"},
        measured=_has_full_text,
    ),
):
    ATTRIBUTES.register(_fact.name)(_fact)
