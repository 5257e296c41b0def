"""Conditions on facts of the record: year, recency, citations, publisher, access and status.

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

``status`` is how a paper was published: ``preprint``, ``peer-reviewed``, ``journal`` ...
The record's types of publication decide, then words of the venue, then where its identifiers lead: a paper
with an arXiv id, and neither a venue nor another DOI, is a preprint. No record states peer review; journals
and conferences are taken to have it (0.9), workshops by half (0.6), preprints, theses, reports and the press
not to. A paper is retracted where its record or the beginning of its title says so. A paper of which one
status is known is known not to have the others. Where nothing is recorded of any document (a collection of
web pages), and at most half of the texts are scholarly by the lens ``source``, these count as peer-reviewed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper, normalise_title
from aspectra.search.conditions.attributes.protocol import (
    ATTRIBUTES,
    Attribute,
    by_name,
    meeting,
    table_of_words,
)
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

# How conditions on records write their values, and how columns of a generation are graded.

_FORM = re.compile(r"\s*+(?:(>=|<=|>|<)\s*+(\d{1,9}+)|(\d{1,9}+)(?:\s*+\.\.\s*+(\d{1,9}+))?+)\s*+", re.ASCII)
_MOST = 10**9


class RecordAttribute(Attribute):
    """An attribute that is decided by columns which indexes of older versions lack."""

    def missing(self, value: str, index: Index) -> str:
        """That the index is too old, or that no record states it."""
        if index.keeps_records:
            return super().missing(value, index)
        return "the index was built by an older version, which kept less of the records: aspectra index"


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


class MeantAttribute(NamedAttribute):
    """An attribute whose values mean some of the papers, which have it."""

    def meant(self, value: str, index: Index) -> Collection[int]:
        """Positions of the papers that a value means."""
        raise NotImplementedError

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 for those that are meant, else 0; NaN where none of the collection is."""
        others = 0.0 if self.told(value, index) else np.nan
        return meeting(index, papers, self.meant(value, index), others)

    def measure(self, value: str, index: Index) -> bool:
        """Whether any paper is meant."""
        return len(self.meant(value, index)) > 0


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


def read_range(
    found: re.Match[str] | None, read: Callable[[str], int], lowest: int, highest: int
) -> tuple[int, int] | None:
    """Smallest and largest whole number that meet a bound or a range; None where the value is neither.

    Args:
        found: the sign and the number of a bound, or the first and the last number of a range.
        read: the number that a text stands for.
        lowest: of what is below a number.
        highest: of what is above a number.
    """
    if found is None:
        return None
    sign, bound, first, last = found.groups()
    if not sign:
        return read(first), read(last or first)
    number = read(bound)
    low = {">=": number, ">": number + 1}.get(sign, lowest)
    return low, {"<=": number, "<": number - 1}.get(sign, highest)


def number_range(value: str) -> tuple[int, int] | None:
    """Smallest and largest whole number of ``>=50``, ``>100``, ``<20``, ``<=20``, ``10..20`` or ``7``.

    >>> [number_range(value) for value in (">=50", "<20", "10..20", "many")]
    [(50, 1000000000), (0, 19), (10, 20), None]
    """
    found = read_range(_FORM.fullmatch(value), int, 0, _MOST)
    return found if found and found[0] <= found[1] else None


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
_counted: WeakKeyDictionary[Index, tuple[NDArray[np.int64], NDArray[np.int64]]] = WeakKeyDictionary()


_Tally = tuple[NDArray[np.int64], NDArray[np.int64]]  # numbers, ascending, and how often each occurs


def _tally(numbers: NDArray[Any]) -> _Tally:
    values, times = np.unique(numbers, return_counts=True)
    return values.astype(np.int64), times.astype(np.int64)


def _year(text: str) -> int:
    """A year, counted back from the present one where it is written so."""
    if text.startswith("now"):
        return datetime.now(UTC).year - int(text.removeprefix("now").replace("-", "") or 0)
    return int(text)


def _years(value: str) -> tuple[int, int]:
    """First and last year that meet the condition."""
    found = read_range(_YEARS.fullmatch(value), _year, _FIRST, _LAST)
    if found is None:
        raise UsageError(f"{value!r} is no year", why="write >=2021, <2019, 2015..2018, 2017 or >=now-5")
    if found[0] > found[1]:
        raise UsageError(f"{value!r} holds no year", why="the first year comes after the last")
    return found


class YearAttribute(Attribute):
    """The year of publication."""

    name = "year"

    def check(self, value: str) -> None:
        """Refuse a value that is neither a year, a bound nor a range.

        Raises:
            UsageError: with the forms there are, or the range is empty.
        """
        _years(value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 within the bounds, 0 outside, NaN where the year is unknown."""
        (low, high), years = _years(value), index.years[papers]
        return np.where(years == 0, np.nan, (years >= low) & (years <= high)).astype(np.float32)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The year."""
        return str(paper.year or "")


ATTRIBUTES.register("year")(YearAttribute())


class RecencyAttribute(ClassAttribute):
    """How recent a paper is, without a year."""

    name = "recency"
    noun = "year"
    classes = tuple(_HALF_LIVES)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) see the module; NaN where the year is unknown."""
        named, years, now = self.named(value), index.years[papers], self.told(value, index)
        left = 0.5 ** (np.maximum(now - years, 0) / _HALF_LIVES[named])
        return np.where(years == 0, np.nan, left if named == "new" else 1.0 - left).astype(np.float32)

    def measure(self, value: str, index: Index) -> int:
        """The year that ages are counted back from; 0 where no year is known."""
        known = index.years[index.years != 0]
        newest = int(np.percentile(known, 100 - _MISPRINTED, method="higher")) if len(known) else 0
        return min(newest, datetime.now(UTC).year)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The year, and the one that it is compared with."""
        return f"{paper.year}; the newest here are of {self.told(value, index)}" if paper.year else ""


ATTRIBUTES.register("recency")(RecencyAttribute())


class _Cited(NamedTuple):
    """Citation statistics of a library.

    Attributes:
        counted: citations inside the library replace those that no record states.
        stated: citations of the papers of which the record states them.
        inside: citations inside the library of the others.
    """

    counted: bool
    stated: _Tally
    inside: _Tally


def _counts(index: Index) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(all papers,) citations by the record, -1 where unknown; (all papers,) those inside the library."""
    if index not in _counted:
        inside = np.bincount(index.citations[1], minlength=len(index))
        _counted[index] = index.cited_by.astype(np.int64), inside
    return _counted[index]


def citation_counts(index: Index, cited: _Cited | None = None) -> NDArray[np.int64]:
    """(all papers,) citations, -1 where unknown; ``cited``: what the attribute measured, if it is known."""
    by_record, inside = _counts(index)
    known: _Cited = ATTRIBUTES.get("citations").told("", index) if cited is None else cited
    return np.where(by_record < 0, inside, by_record) if known.counted else by_record


def _ranked(counts: NDArray[np.int64], among: _Tally, share: float, *, most: bool) -> Floats:
    """Grades of being among the most, or the least, cited of some papers."""
    values, times = among
    upto, at = np.cumsum(times), np.searchsorted(values, counts)
    beyond = upto[-1] - upto[at] if most else upto[at] - times[at]
    out = share / (share + beyond / upto[-1])
    return np.asarray(np.where(counts == 0, 0.0, out) if most else out, np.float32)


class CitationsAttribute(RecordAttribute):
    """How often a paper is cited."""

    name = "citations"
    noun = "number of citations"

    def check(self, value: str) -> None:
        """Refuse a value that is neither a number, a bound, a range nor a class.

        Raises:
            UsageError: with the forms there are.
        """
        if value.casefold() not in _SHARES and number_range(value) is None:
            why = "write >=50, >100, <20, 10..20, high or low"
            raise UsageError(f"{value!r} is no number of citations", why=why)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) see the module; NaN where no number is known."""
        cited = self.told(value, index)
        counts, by_record = citation_counts(index, cited)[papers], _counts(index)[0][papers] >= 0
        named, out = value.casefold(), np.full(len(papers), np.nan, np.float32)
        if named not in _SHARES:
            low, high = number_range(value) or (0, 0)
            return np.where(counts < 0, out, (counts >= low) & (counts <= high))
        for known, among in ((by_record, cited.stated), (~by_record & (counts >= 0), cited.inside)):
            if known.any():
                out[known] = _ranked(counts[known], among, _SHARES[named], most=named == "high")
        return out

    def measure(self, value: str, index: Index) -> _Cited:
        """Counts of citations and of papers that list references."""
        by_record, inside = _counts(index)
        listing, stated = int((index.references > 0).sum()), by_record >= 0
        counted = bool(len(index.citations[1])) and listing / len(index) >= _LISTING
        return _Cited(counted, _tally(by_record[stated]), _tally(inside[~stated]))

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The number of citations, and who counted them."""
        at = index.positions.get(paper.id)
        by_record, inside = (-1, -1) if at is None else (int(counts[at]) for counts in _counts(index))
        count = by_record if by_record >= 0 or not self.told(value, index).counted else inside
        if count < 0:
            return ""
        times = f"cited {count:,} time{'' if count == 1 else 's'}"
        return f"{times}, says the record" if by_record >= 0 else f"{times} inside this library"


ATTRIBUTES.register("citations")(CitationsAttribute())


@lru_cache(maxsize=64)
def _names_of(value: str) -> tuple[frozenset[str], frozenset[str]]:
    """(every name, normalised; names in the table of prefixes) of the publisher that a value means."""
    asked = normalise_title(value)
    groups = [name for name, names in _NAMES.items() if asked in names]
    return frozenset({asked}.union(*(_NAMES[name] for name in groups))), frozenset(groups)


class PublisherAttribute(NamedAttribute, RecordAttribute):
    """Who published a paper."""

    name = "publisher"
    what, example = "publisher", "publisher=IEEE"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) see the module; 0 where record or DOI name another one, NaN where neither names any."""
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
        found = [by_name(index, column, papers, grade) for column, grade in ways.items()]
        return np.asarray(np.fmax.reduce(found))

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The publisher as printed, else the prefix of the DOI, else the venue."""
        if publisher := stated(index, paper, "publishers"):
            return f"published by {publisher}"
        doi = paper.identifiers.get("doi", "").partition("/")[0]
        if doi in _PREFIXES:
            return f"its DOI begins with {doi}"
        return f"its venue is {paper.venue}" if paper.venue else ""


ATTRIBUTES.register("publisher")(PublisherAttribute())


class AccessAttribute(ClassAttribute, RecordAttribute):
    """The means by which a paper can be read: openly, or as full text in the library."""

    name = "access"
    classes, synonyms = ("open", "fulltext"), {"open access": "open", "full text": "fulltext"}

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 or 0; NaN where nothing says if it is open, or the collection has no full texts."""
        if self.named(value) == "fulltext":
            return np.where(self.told(value, index), index.full_text[papers], np.float32(np.nan))
        return by_name(index, "accesses", papers, lambda said: float(said[:4] == "open") if said else np.nan)

    def measure(self, value: str, index: Index) -> bool:
        """Whether the library holds the full text of any."""
        return bool(index.full_text.any())

    def missing(self, value: str, index: Index) -> str:
        """That there is no full text, the index is too old, or no record states it."""
        if self.named(value) == "fulltext" and index.keeps_records:
            return "the library holds no full text"
        return super().missing(value, index)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The record's words, or whether the library holds the full text."""
        if self.named(value) == "open":
            return stated(index, paper, "accesses")
        held = paper.id in index.positions and bool(index.full_text[index.positions[paper.id]])
        return "the library holds its full text" if held else "the library holds no full text of it"


ATTRIBUTES.register("access")(AccessAttribute())


STATUSES = tuple("preprint peer-reviewed journal conference workshop abstract registration retracted".split())
_SYNONYMS = {
    **dict.fromkeys(("peer reviewed", "refereed", "published"), "peer-reviewed"),
    **dict.fromkeys(("poster", "demo", "late-breaking"), "abstract"),
}
_IN_SUPPLEMENT = "conference proceeding"  # of a journal: how CENTRAL calls abstracts of supplements
_STATED, _OF_VENUE, _BY_IDS, _WEAK = 0.95, 0.8, 0.8, 0.6
_REVIEWED = 0.9
_HALF = 0.5
_WORDS = {name: frozenset(phrases(words)) for name, words in table_of_words("record_words")["status"].items()}
_TYPES = ("preprint", "abstract", "registration", "conference", "journal")
_TYPED = tuple((name, _WORDS[f"{name}_types"]) for name in _TYPES)
_BY_WORDS = {"journal_proceedings": "journal", "conference_venues": "conference", "journal_venues": "journal"}


@lru_cache(maxsize=20_000)
def status_of(types: str, venue: str, origin: str) -> tuple[dict[str, float], str]:
    """Status -> grade, and what decided; statuses of which nothing is known are left out.

    Args:
        types: of publication, as the column ``types`` has them.
        venue: as printed.
        origin: as the column ``origins`` has it.

    >>> status_of("article-journal", "Journal of Owls", "")[0]["peer-reviewed"]
    0.9
    >>> status_of("", "", "arxiv|10.48550|")[1]
    'it is in arXiv, and no venue is known'
    """
    kinds = {part for part in types.split("; ") if part}
    found, why = next(_evidence(kinds, venue, origin), ({}, ""))
    if found:
        found = dict.fromkeys(STATUSES[:-1], 0.0) | found
    if not kinds.isdisjoint(("retracted", "not retracted")):
        found["retracted"] = float("retracted" in kinds)
    return found, why


def _evidence(kinds: set[str], venue: str, origin: str) -> Iterator[tuple[dict[str, float], str]]:
    """(status -> grade, reason) of all that a record tells; the first of them decides."""
    schemes, prefix, host = origin_parts(origin)
    if not venue and host in _WORDS["preprint_hosts"] and prefix in ("", "10.48550", "10.2139", "10.1101"):
        yield {"preprint": _BY_IDS}, f"it is at {host}, and no venue is known"

    # The types of publication, and the venue where that says more.
    words, by_venue = normalise_title(venue), f"venue {venue}"
    named = {name: sorted(kinds & wanted) for name, wanted in _TYPED}
    if named["journal"] and _IN_SUPPLEMENT in named["conference"]:
        named["abstract"].append(_IN_SUPPLEMENT)
    said = {name: f"record type {some[0]}" for name, some in named.items() if some}
    if "preprint" in said or (_mentions(words, "preprint_venues") and "conference" not in said):
        yield {"preprint": _STATED}, said.get("preprint", by_venue)
    if "abstract" in said:
        yield {"abstract": _STATED, "peer-reviewed": 0.4}, said["abstract"]
    if "registration" in said:
        yield {"registration": _STATED}, said["registration"]
    if _mentions(words, "workshop_venues"):
        yield {"workshop": _STATED, "conference": 0.4, "peer-reviewed": _WEAK}, by_venue
    if "conference" in said:
        either = "journal" in said and named["conference"][0] == "proceedings paper"
        in_journal = {"journal": _WEAK} if either else {}
        yield {"conference": _STATED, "peer-reviewed": _REVIEWED, **in_journal}, said["conference"]
    if "journal" in said:
        yield {"journal": _STATED, "peer-reviewed": _REVIEWED}, said["journal"]
    if other := sorted(kinds & _WORDS["unreviewed_types"]):
        yield {"peer-reviewed": 0.1}, f"record type {other[0]}"

    for table, name in _BY_WORDS.items():
        if _mentions(words, table):
            yield {name: _OF_VENUE, "peer-reviewed": _REVIEWED}, by_venue

    # Identifiers of a paper without a venue.
    if venue:
        return
    if "arxiv" in schemes and prefix in ("", "10.48550"):
        yield {"preprint": _BY_IDS}, "it is in arXiv, and no venue is known"
    if "acl" in schemes:
        yield {"conference": _WEAK, "peer-reviewed": _BY_IDS}, "it is in the ACL Anthology"
    if "article" in kinds and not prefix:  # in CSL the type of preprints and working papers
        yield {"preprint": _WEAK}, "record type article, and no venue is known"


def _mentions(words: str, table: str) -> bool:
    named, parts = _WORDS[table], words.split()
    return not named.isdisjoint(parts) or any(" " in one and has_words(words, one) for one in named)


def _scholarly(index: Index, papers: Positions) -> Floats:
    return ATTRIBUTES.get("source").grades("scholarly", index, papers)


class StatusAttribute(ClassAttribute, RecordAttribute):
    """The way in which a paper was published: ``preprint``, ``peer-reviewed``, ``journal`` and others."""

    name = "status"
    classes, synonyms = STATUSES, _SYNONYMS

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) see the module; NaN where nothing is known."""
        named, told = self.named(value), self.told(value, index)
        if told is not None and not told[0] and told[1] <= _HALF * len(index):
            return _scholarly(index, papers)
        return self._recorded(named, index, papers)

    def measure(self, value: str, index: Index) -> tuple[bool, int] | None:
        """(True if any record states a status, number of scholarly papers).

        Scholarly papers are counted only if no record states a status; else 0. None for any value but
        ``peer-reviewed``, and without papers.
        """
        named, papers = self.named(value), np.arange(len(index))
        if named != "peer-reviewed" or not len(papers):
            return None
        recorded = not np.isnan(self._recorded(named, index, papers)).all()
        return recorded, 0 if recorded else int(np.count_nonzero(_scholarly(index, papers) >= _HALF))

    def _recorded(self, named: str, index: Index, papers: Positions) -> Floats:
        """(papers,) what records say."""
        columns = [index.coded(name) for name in ("types", "venues", "origins")]
        key = np.zeros(len(papers), np.int64)
        for codes, names in columns:
            key = key * max(1, len(names)) + codes[papers]
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        texts = ([names[codes[paper]] for codes, names in columns] for paper in papers[first])
        table = np.array([status_of(*some)[0].get(named, np.nan) for some in texts], np.float32)
        return table[which]

    def missing(self, value: str, index: Index) -> str:
        """That no record says of a paper whether it has this status."""
        named = self.named(value)
        if named == "retracted" and index.keeps_records:
            return "no record of this library says which papers were retracted"
        return super().missing(value, index)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The deciding evidence in the record, for people."""
        types = stated(index, paper, "types")
        if self.named(value) != "retracted":
            return status_of(types, paper.venue, stated(index, paper, "origins"))[1]
        gone = "retracted" in types.replace("not retracted", "")
        return "the record or the title says so" if gone else ""


ATTRIBUTES.register("status")(StatusAttribute())
