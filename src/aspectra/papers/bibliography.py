"""What formats call the parts of a paper (``bibliography.toml``), and the metadata names that they share.

Sources of bibliographies put what a :class:`Paper` has no field for under these metadata names, so that
a record read from one format can be written in another: ``type`` (a CSL type), ``volume``, ``issue``,
``pages``, ``publisher``, ``place``, ``edition``, ``series``, ``issn``, ``date``, ``note``, ``database``
(text), ``keywords`` and ``editors`` (lists). ``database`` is where a search found the record, for counts by
database; see :func:`database_of`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from aspectra.base.expressions import expression
from aspectra.papers.text.cleaning import one_line, unmarked

SHARED = (
    *("type", "volume", "issue", "pages", "publisher", "issn", "date", "note", "keywords", "editors"),
    *("database", "edition", "place", "series"),
)
# Words in the names of databases -> the name to count by; the first that occurs counts.
_DATABASES = (
    ("pubmed", "PubMed"),
    ("embase", "Embase"),
    ("medline", "MEDLINE"),
    ("web of science", "Web of Science"),
    ("web of knowledge", "Web of Science"),
    ("isi export format", "Web of Science"),
    ("scopus", "Scopus"),
    ("psycinfo", "PsycINFO"),
    ("cinahl", "CINAHL"),
    ("cochrane", "Cochrane Library"),
    ("xplore", "IEEE Xplore"),
    ("acm digital", "ACM Digital Library"),
    ("openalex", "OpenAlex"),
    ("arxiv", "arXiv"),
    ("google scholar", "Google Scholar"),
    ("proquest", "ProQuest"),
    ("zotero", "Zotero"),
)
_ACCESSIONS = (
    (re.compile(r"(?:WOS|ISI):", re.I), "Web of Science"),
    (re.compile(r"MEDLINE:", re.I), "MEDLINE"),
    (re.compile(r"2-s2\.0-\d", re.I), "Scopus"),
    (re.compile(r"INSPEC:", re.I), "Inspec"),
    (re.compile(r"BIOSIS:|BCI:|PREV\d", re.I), "BIOSIS"),
)
# Hosts that only records of the database link to.
_RECORD_HOSTS = {
    "scopus.com": "Scopus",
    "embase.com": "Embase",
    "webofscience.com": "Web of Science",
    "cochranelibrary.com": "Cochrane Library",
    "search.ebscohost.com": "EBSCO",
}
_LONGEST_NAME = 100
_PARTED = expression("[;\uff1b\n]")
_CUT = expression(r"&#\w{2,6}$")
_BETWEEN_COMMAS = expression(r"(?:\([^()]{0,80}\)|[^,])+")
_DASHES = expression(" ?[-\u2010-\u2015\u2212]{1,3} ?")
_PP = expression(r"^pp?\.? {0,2}(?=\d)", re.I)


class Names(msgspec.Struct, frozen=True):
    """The names of one format.

    Attributes:
        attributes: attribute of :class:`Paper` -> the fields it is read from.
        shared: shared metadata name -> the fields it is read from; the first is the one to write.
        types: type of publication in the format -> CSL type.
        written_types: CSL type -> the type to write.
    """

    attributes: dict[str, tuple[str, ...]] = {}
    shared: dict[str, tuple[str, ...]] = {}
    types: dict[str, str] = {}
    written_types: dict[str, str] = {}

    def shared_texts(self, text_of: Callable[[str], str]) -> dict[str, Any]:
        """Shared metadata name -> text of the first of its fields that has any, or ""; in our order."""
        return {
            name: next((text for text in map(text_of, fields) if text and text != "nan"), "")
            for name, fields in self.shared.items()
        }


@cache
def _formats() -> dict[str, Names]:
    table = Path(__file__).with_suffix(".toml").read_bytes()
    return msgspec.toml.decode(table, type=dict[str, Names])


def names_in(form: str) -> Names:
    """The names of a format: ``bibtex``, ``csl-json``, ``jsonl``, ``nbib``, ``ris`` ..."""
    return _formats()[form]


@cache
def csl_types() -> frozenset[str]:
    """Every CSL type that some format has a name for."""
    return frozenset(kind for names in _formats().values() for kind in names.types.values())


def shared_text(metadata: Mapping[str, Any], name: str) -> str:
    """The text or number under a shared metadata name; "" when it is absent or of another kind."""
    value = metadata.get(name)
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def shared_list(metadata: Mapping[str, Any], name: str) -> list[str]:
    """The texts under a shared metadata name, whether it holds a list, one text, or objects with names."""
    value = metadata.get(name)
    listed = value if isinstance(value, list) else [value]
    named = (one.get("display_name") or one.get("name") if isinstance(one, dict) else one for one in listed)
    return [text for text in named if isinstance(text, str) and text]


def database_of(
    names: Iterable[str] = (),
    accessions: Iterable[str] = (),
    urls: Iterable[str] = (),
    *,
    known: bool = False,
) -> str:
    """The database that a record comes from, or "" where it does not state one.

    Args:
        names: what the record calls it, the most telling first; a well-known one is given its usual name.
        accessions: numbers of the record, some of which begin with the name of a database (``WOS:``).
        urls: addresses of the record, some of which are the database's own.
        known: whether ``names`` that are no well-known database are left out.

    >>> database_of(["Ovid MEDLINE(R) ALL"]), database_of([], ["WOS:000123"]), database_of(["Owl Base"])
    ('MEDLINE', 'Web of Science', 'Owl Base')
    """
    stated = [name for name in (" ".join(name.split()) for name in names) if name]
    for name in stated:
        if found := next((shown for word, shown in _DATABASES if word in name.casefold()), ""):
            return found
    if stated and not known:
        return stated[0][:_LONGEST_NAME]
    for number in accessions:
        if found := next((shown for begins, shown in _ACCESSIONS if begins.match(number.strip())), ""):
            return found
    for url in urls:
        try:
            host = (urlsplit(url.strip()).hostname or "").removeprefix("www.")
        except ValueError:
            continue
        if host in _RECORD_HOSTS:
            return _RECORD_HOSTS[host]
    return ""


def pages_in(text: str) -> str:
    """Pages with a plain hyphen between two of them and without *pp.* in front.

    >>> pages_in("pp. 12--19"), pages_in("12-12"), pages_in("589-")
    ('12-19', '12', '589')
    """
    plain = _DASHES.sub("-", _PP.sub("", text.strip())).strip("-")
    first, _, last = plain.partition("-")
    return first if first == last else plain


def page_range(first: str, last: str) -> str:
    """Pages out of two fields, of which the first may hold both.

    >>> page_range("12", "19"), page_range("12-19", "19"), page_range("", "12-19")
    ('12-19', '12-19', '12-19')
    """
    whole = first == last or pages_in(first).endswith(f"-{last}")
    return f"{first}-{last}" if first and last and not whole else first or last


def keywords_in(stated: str | list[str]) -> list[str]:
    """Keywords out of a field, or out of the fields of a record that has one for each; none is there twice.

    The sign between them is the semicolon or the line end, else the bar, else, in a single field, the comma
    outside of brackets. A star marks the main ones in MEDLINE.

    >>> keywords_in("bogs; Models, Animal"), keywords_in("bogs, peat (cut, dried)")
    (['bogs', 'Models, Animal'], ['bogs', 'peat (cut, dried)'])
    >>> keywords_in(["*Models, Animal", "R&amp;D; bogs", "owls&#8208"])
    ['Models, Animal', 'R&D', 'bogs', 'owls‐']
    """
    fields = [unmarked(one) for one in ([stated] if isinstance(stated, str) else stated)]
    pieces = [piece for one in fields for piece in _PARTED.split(one)]
    if len(pieces) == 1 and isinstance(stated, str):
        pieces = pieces[0].split("|") if "|" in pieces[0] else _BETWEEN_COMMAS.findall(pieces[0])
    # Some program cut the list, entities too: "white&#8208", "sided dolphins".
    whole = (unmarked(piece + ";") if _CUT.search(piece) else piece for piece in pieces)
    return list(dict.fromkeys(word for piece in whole if (word := one_line(piece).lstrip("* "))))


def keywords_text(words: Iterable[str], joint: str = ", ") -> str:
    """Keywords as one field that :func:`keywords_in` reads back.

    >>> keywords_text(["bogs", "peat"]), keywords_text(["Models, Animal"])
    ('bogs, peat', 'Models, Animal;')
    """
    plain = [_PARTED.sub(" ", word) for word in words]
    if any("," in word or "|" in word for word in plain):
        joint = "; "
    return joint.join(plain) + ";" * (joint == "; " and len(plain) == 1)


MONTHS = "January February March April May June July August September October November December".split()
SHORT_MONTHS = [month[:3].lower() for month in MONTHS]
"""As BibTeX abbreviates them."""
_NAME = rf"\b({'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in MONTHS)}|sept)\b"
_NAMED = expression(rf"(?:(?<![-–\d])(\d{{1,2}})\.?\s)?{_NAME}\.?(?:\s(\d{{1,2}})\b(?![-–]\d))?", re.I)
_NUMBERS = expression(r"\d{4}(?:[-/. ](\d{1,2})(?![\w.])(?:[-/. ](\d{1,2})(?![\d.]))?|(\d\d)(\d\d)?\b)?")
_TURNED = expression(r"(\d{1,2})[-/. ]\d{4}(?!\d)")
_YEAR = expression(r"(?<!\d)\d{4}")


def date_parts(text: str, year: int | None) -> tuple[int, ...]:
    """Year, month and day of a date, as far as it states them.

    Args:
        text: a date in any usual spelling, without a year too (*NOV 20*).
        year: of the record.

    Returns:
        One to three numbers; only the year where the date names a season or a span of months; nothing where
        there is no year, or the date is of another one.

    >>> date_parts("2019///", 2019), date_parts("2021-03", 2021), date_parts("NOV 20", 2023)
    ((2019,), (2021, 3), (2023, 11, 20))
    >>> date_parts("MAY-JUN", 2015), date_parts("April 2014", 2014), date_parts("2014-11-02", 2015)
    ((2015,), (2014, 4), ())
    """
    if year is None or not 0 < year <= 9999:
        return ()
    found = _YEAR.findall(text)
    if found and int(found[0]) != year:
        return ()
    named = _NAMED.findall(text)
    if len(named) > 1:
        return (year,)
    if named:
        ((before, month, after),) = named
        return _valid(year, SHORT_MONTHS.index(month[:3].lower()) + 1, before or after)
    plain = text.strip()
    if numbers := _TURNED.match(plain) or _NUMBERS.match(plain):
        return _valid(year, *filter(None, numbers.groups()))
    return (year,)


def fullest_date(texts: Iterable[str], year: int | None) -> tuple[int, ...]:
    """The longest of what several fields say, see :func:`date_parts`; the first of those as long."""
    return max((date_parts(text, year) for text in texts), key=len, default=())


def _valid(year: int, *rest: int | str) -> tuple[int, ...]:
    """As many parts as a calendar has."""
    out = [year]
    for part, most in zip(rest, (12, 31), strict=False):
        if not part or not 1 <= int(part) <= most:
            break
        out.append(int(part))
    return tuple(out)
