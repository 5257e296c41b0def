"""Whether two records describe one work: what is compared, and the rules, the surest first.

A pair is *one work* or *to be looked at*. Precision goes first, since records of one work are shown as one
hit. Rules: a shared identifier where the titles are alike (a DOI cut at a bracket, or that of a whole issue,
is shared by different works); the same title where years, authors and DOIs do not contradict it; what comes
near these is only reported.
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal, NamedTuple

from aspectra.papers.bibliography import shared_text
from aspectra.papers.paper import normalise_title
from aspectra.papers.record_facts import is_preprint_doi

_SURE_SCHEMES = ("arxiv", "pmid", "pmcid")  # never those of a whole volume
_YEARS_APART = 3  # a journal version follows its preprint within this
_SHORT, _PLAIN = 3, 5  # words: shorter titles ("Introduction") name many works; plain ones need authors
_ALIKE = 0.6  # share of the words of the shorter title that the other one has
_NEAR = 0.85  # the same of both titles, for what is only reported
_SPELLED_ALIKE = 0.94  # share of the letters of two titles that are the same: one or two are misspelt
_VERSION = re.compile(r"[./]v?\d{1,2}+$")  # of a preprint: 10.12688/f1000research.1234.2
_LONGEST_VENUE = 500  # characters that are compared
_LONGEST_SIGNED = 500  # characters of a title whose signs are compared; most titles have fewer
_PAGE = re.compile(r"[a-z]{0,4}+\d++", re.I)
_SIGN = re.compile(r"[-+*#<>=≤≥±↑↓\u2010-\u2015\u2212]")
_DASHES = re.compile(r"[-\u2010-\u2015\u2212]+")
_WORD = re.compile(r"[^\W_]+")


class Compared(NamedTuple):
    """What of a paper decides on its versions.

    Attributes:
        pos, id: its place and its id.
        title: normalised.
        year: or None.
        families: family names of the authors, folded.
        named: (scheme, value) of its identifiers.
        venue: normalised.
        page: the first one, or "".
        signs: such as + around the words of the title, one string for each place.
        names: the words of its authors' whole names, folded.
    """

    pos: int
    id: str
    title: str
    year: int | None
    families: frozenset[str]
    named: frozenset[tuple[str, str]]
    venue: str
    page: str
    signs: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    @property
    def words(self) -> int:
        """Number of words of the title."""
        return self.title.count(" ") + bool(self.title)

    def values(self, scheme: str) -> set[str]:
        """Its identifiers of one scheme."""
        return {value for kind, value in self.named if kind == scheme}


# (position, id, content hash) -> what is compared, 256 at most: in a large group mostly the same records.
_KNOWN: dict[tuple[int, str, str], Compared] = {}


class Verdict(NamedTuple):
    """What a pair of records is: ``one`` work, or only to be looked at (``look``); and why, for people."""

    kind: Literal["one", "look"]
    why: str


def compared_at(db: sqlite3.Connection, positions: Iterable[int]) -> dict[int, Compared]:
    """Position -> what is compared, for papers that exist."""
    wanted = tuple(positions)
    marks = ", ".join("?" * len(wanted))
    keys = db.execute(f"SELECT pos, id, content_hash FROM papers WHERE pos IN ({marks})", wanted).fetchall()
    out = {}
    printed = f"substr(title, 1, {_LONGEST_SIGNED})"
    statement = f"SELECT id, title_key, year, venue, record, {printed} FROM papers WHERE pos = ?"
    for key in keys:
        pos, one = key[0], _KNOWN.get(key)
        if one is None:
            row = db.execute(statement, (pos,)).fetchone()
            people = db.execute("SELECT name, family FROM authors WHERE pos = ?", (pos,)).fetchall()
            named = frozenset(db.execute("SELECT scheme, value FROM identifiers WHERE pos = ?", (pos,)))
            one = compared(pos, row, people, named)
            if len(_KNOWN) >= 256:
                _KNOWN.clear()
            _KNOWN[key] = one
        out[pos] = one
    return out


def compared(
    pos: int,
    row: tuple[str, str, int | None, str, str, str],
    people: Collection[tuple[str, str]],
    named: frozenset[tuple[str, str]],
) -> Compared:
    """What is compared of a row (id, title_key, year, venue, record, title), its authors and identifiers.

    Authors are (whole name, family name), folded.
    """
    paper_id, title, year, venue, record, printed = row
    page = ""
    if '"pages"' in record:
        found = _PAGE.match(shared_text(json.loads(record).get("metadata", {}), "pages").strip())
        page = found[0].lower().lstrip("0") if found else ""
    venue = normalise_title(venue[:_LONGEST_VENUE])
    families = frozenset(family for _, family in people)
    names = frozenset(word for name, _ in people for word in name.split() if len(word) > 1)
    return Compared(
        pos, paper_id, title, year, families, named, venue, page, _signs(printed[:_LONGEST_SIGNED]), names
    )


def compare(one: Compared, other: Compared) -> Verdict | None:
    """Whether two records are one work; None where nothing says so."""
    both = one.named & other.named
    for scheme in _SURE_SCHEMES if both else ():
        if (shared := {value for kind, value in both if kind == scheme}) and _people(one, other) != "other":
            why = f"same {_SPELLED[scheme]} {min(shared)}"
            if scheme != "arxiv" and (_apart_by_doi(one, other) or _elsewhere(one, other)):
                return Verdict("look", f"{why}, but other DOIs, or other titles and pages")
            return Verdict("one", why)
    if shared := {value for kind, value in both if kind == "doi"}:
        alike = not one.title or not other.title or _share(one.title, other.title) >= _ALIKE
        if alike or (one.page and one.page == other.page and _people(one, other) == "same"):
            return Verdict("one", f"same DOI {min(shared)}")
        return Verdict("look", f"same DOI {min(shared)}, but other titles")
    if one.title and one.title == other.title:
        return _same_title(one, other)
    return None


_SPELLED = {"arxiv": "arXiv id", "pmid": "PMID", "pmcid": "PMCID"}


def _same_title(one: Compared, other: Compared) -> Verdict | None:
    """The verdict on two records of one title that share no identifier."""
    people, apart, words = _people(one, other), _apart(one, other), one.words
    if people == "other":
        turned = apart == 0 and words >= _SHORT and (_turned(one, other) or _turned(other, one))
        return Verdict("look", "same title and year, names in another order") if turned else None
    if _other_signs(one, other):
        return Verdict("look", "titles that differ in a sign only")
    elsewhere = bool(one.page and other.page and one.page != other.page)
    if words < _SHORT:
        if people != "same" or apart != 0 or one.families != other.families:
            return None
        sure = one.page and one.page == other.page and one.venue == other.venue
        why = "same title, authors, year, journal and page" if sure else "same short title, authors and year"
        return Verdict("one" if sure else "look", why)
    if apart is not None and apart > _YEARS_APART:
        return Verdict("look", f"same title and authors, {apart} years apart") if people == "same" else None
    if _apart_by_doi(one, other):
        return Verdict("look", "same title, other DOIs")
    if people == "same":
        if words < _PLAIN and (elsewhere or (apart is None and one.families != other.families)):
            return Verdict("look", "same title, shared authors; other pages or no year")
        return Verdict("one", "same title, authors" + (" and year" if apart == 0 else ""))
    venues = not one.venue or not other.venue or one.venue == other.venue
    told = apart == 0 or bool(one.families or other.families)  # passages of a page share its title alone
    if words >= _PLAIN and told and not apart and venues and not elsewhere:
        return Verdict("one", "same title" + (" and year" if apart == 0 else "") + ", no other authors")
    return Verdict("look", "same title; no authors to compare") if not apart else None


def contradict(one: Compared, other: Compared) -> bool:
    """Whether two records cannot be one work, though a third one may be a version of both."""
    if _people(one, other) == "other" or (one.title == other.title and _other_signs(one, other)):
        verdict = compare(one, other)
        return verdict is None or verdict.kind != "one"
    return _apart_by_doi(one, other)


def near(one: Compared, other: Compared) -> Verdict | None:
    """Whether two records of other titles and no shared identifier should be looked at."""
    if not one.title or not other.title or _people(one, other) == "other":
        return None
    if (apart := _apart(one, other)) is not None and apart > 1:
        return None
    if one.title.replace(" ", "") == other.title.replace(" ", ""):
        return Verdict("look", "same title but for spaces")
    if min(one.words, other.words) < _SHORT or _numbers(one.title) != _numbers(other.title):
        return None  # parts of a series differ in their numbers alone
    if _people(one, other) != "same":
        return None
    words, others = set(one.title.split()), set(other.title.split())
    both = len(words & others)
    alike = both / len(words | others) >= _NEAR
    if alike or SequenceMatcher(None, one.title, other.title, autojunk=False).ratio() >= _SPELLED_ALIKE:
        return Verdict("look", "near title, shared authors")
    short, long = sorted((one.title, other.title), key=len)
    if len(short.split()) >= _PLAIN and long.startswith(f"{short} "):
        return Verdict("look", "one title is the beginning of the other, shared authors")
    return None


def _people(one: Compared, other: Compared) -> Literal["same", "other", "unknown"]:
    """Whether the authors are the same: half of those of the shorter list, which may end in "et al."."""
    if not one.families or not other.families:
        return "unknown"
    shorter = min(len(one.families), len(other.families))
    return "same" if 2 * len(one.families & other.families) >= shorter else "other"


def _turned(one: Compared, other: Compared) -> bool:
    """Whether half of the family names of one are words of the other's names: "Wei Li" beside "Li, Wei"."""
    return bool(one.families) and 2 * len(one.families & other.names) >= len(one.families)


def _apart(one: Compared, other: Compared) -> int | None:
    return abs(one.year - other.year) if one.year and other.year else None


def _share(one: str, other: str) -> float:
    """Share of the words of the shorter title that the other one has."""
    words, others = set(one.split()), set(other.split())
    return len(words & others) / max(1, min(len(words), len(others)))


def _elsewhere(one: Compared, other: Compared) -> bool:
    """Whether titles and first pages differ."""
    return one.title != other.title and bool(one.page and other.page and one.page != other.page)


def _apart_by_doi(one: Compared, other: Compared) -> bool:
    """Whether both have DOIs and share none, as two publications have; those of preprints do not count."""
    mine, theirs = one.values("doi"), other.values("doi")
    if not mine or not theirs or mine & theirs or any(map(is_preprint_doi, mine | theirs)):
        return False
    return not {_VERSION.sub("", doi) for doi in mine} & {_VERSION.sub("", doi) for doi in theirs}


@lru_cache(256)  # a record is compared with up to 50 others, mostly the same ones
def _signs(printed: str) -> tuple[str, ...]:
    """Signs before, between and behind the words of a title: as many for all titles of the same words."""
    text = unicodedata.normalize("NFKC", printed)[:_LONGEST_SIGNED]
    between = _WORD.split(text) if _SIGN.search(text) else []
    return tuple(_DASHES.sub("-", "".join(_SIGN.findall(one))) for one in between)


def _other_signs(one: Compared, other: Compared) -> bool:
    """Whether titles of the same words have other signs at one place: C++ and C#, (+)- and (-)-.

    A sign that only one of them has was perhaps lost on the way.
    """
    if len(one.signs) != len(other.signs):
        return False
    return any(a and b and a != b for a, b in zip(one.signs, other.signs, strict=True))


def _numbers(title: str) -> set[str]:
    """Words of a title that number a part: digits and Roman numerals."""
    return {word for word in title.split() if word.isdigit() or word in _ROMAN}


_ROMAN = frozenset("i ii iii iv v vi vii viii ix x".split())
