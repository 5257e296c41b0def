"""Names of the parts of a paper in each format (``bibliography.toml``), and the shared metadata names.

Sources of bibliographies store values without a field in :class:`Paper` under these metadata names, so
that a record read from one format can be written in another: ``type`` (a CSL type), ``volume``, ``issue``,
``pages``, ``publisher``, ``place``, ``edition``, ``series``, ``issn``, ``date``, ``note``, ``database``
(text), ``keywords`` and ``editors`` (lists). ``database`` names the database in which a search found the
record, for counts by database; see :func:`database_of`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from aspectra.base.expressions import expression
from aspectra.papers.paper import Paper
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
        known: leave out ``names`` other than those of well-known databases.

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
        if (host := _host(url.strip())) in _RECORD_HOSTS:
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
        One to three numbers; only the year if the date names a season or a span of months; none without
        ``year``, or if the date is of another year.

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


# What a paper's record states beside its own fields, under whatever names the formats have for it.
#
# Sources keep every field of a record in :attr:`Paper.metadata`, each format in its own layout. Here they
# are read once: publisher, affiliations, types of publication, the number of citations, and access.


@cache
def _codes() -> dict[str, str]:
    """ISO 639-2 codes and English names, in lower case -> ISO 639-1 code (``data/languages.tsv``).

    A table, because langcodes knows names only with language_data, which take 31 MB and 80 ms.
    """
    lines = (resources.files("aspectra") / "data" / "languages.tsv").read_text("utf-8").splitlines()
    return {word: line.split("\t")[0] for line in lines for word in line.split("\t")}


def language_of(value: object) -> str:
    """BCP 47 primary tag of a stated language, or "" where it is not recognised; of several the first.

    >>> language_of("cze"), language_of("Swedish"), language_of("pt-BR"), language_of("Chinese (simplified)")
    ('cs', 'sv', 'pt', 'zh')
    """
    first = re.split(r"[;,/|(]", one_line(value).casefold())[0].strip()
    tag = re.split(r"[-_]", first)[0]
    return _codes().get(first) or _codes().get(tag) or (tag if re.fullmatch(r"[a-z]{2}", tag) else "")


def language_name(code: str) -> str:
    """The English name of a language, or its code where that is all that is known.

    >>> language_name("zh"), language_name("qq")
    ('Chinese', 'qq')
    """
    return next((word.title() for word, of in _codes().items() if of == code and len(word) > 3), code)


FACTS_VERSION = 2  # another one rebuilds the columns of an index

_MOST_AFFILIATIONS, _LONGEST = 40, 300
_CITED = (
    *("cited_by_count", "citationcount", "citation_count", "n_citation", "n_citations", "numcitedby"),
    *("citedby_count", "citedbycount", "cited_by", "citedby", "times-cited", "times_cited", "timescited"),
    *("is-referenced-by-count", "z9", "tc"),
)
_CITED_NOTE = expression(
    r"(?:cited by|times cited)\s{0,3}+:?\s{0,3}+(\d{1,7}+)\b|\bcited (\d{1,7}+) times", re.IGNORECASE
)
_NOTES = ("note", "n1", "notes", "m1")
_TYPES = (
    *("type", "openalex_type", "pt", "document_type", "document-type", "documenttype", "m3", "article_type"),
    *("genre", "subtype", "publicationtypes", "publication_types", "publication_type", "publicationtype"),
    *("itemtype", "dt"),
)
_AFFILIATED = ("affiliation", "affiliations", "ad", "c1", "c3", "institutions")
_PUBLISHERS = ("publisher", "pb", "publisher_name", "publishername")
# Prefixes of DOIs that only servers of preprints register: arXiv, SSRN, OSF and its servers, Preprints.org,
# Research Square, ChemRxiv, TechRxiv, Authorea, JMIR Preprints, SocArXiv.
_PREPRINT_DOI = expression(
    r"10\.(?:48550|2139|31219|31234|31235|31222|31223|35542|20944|21203|26434|36227|22541|2196/preprints\.)\b"
    r"|10\.1101/(?:\d{4}\.\d\d\.\d\d\.)?\d{6,8}$"  # bioRxiv and medRxiv, but no journal of that press
)
_RETRACTED = expression(  # at the head of a title, or in brackets at its end
    r"\W{0,3}retracted(?: article| paper| publication)?(?:\s{0,2}[:\])]|\s?[–—]|\s-)"
    r"|.{1,2000}[(\[](?:retracted (?:article|paper)|(?:article|paper) (?:has been |was )?retracted)\b"
    r"[^()]{0,150}[)\]]\W{0,2}$",
    re.I,
)
_SAID_RETRACTED = expression(  # in types, keywords and notes; what is about retractions says other words
    r"(?:^|[;.,|])\W{0,5}retracted(?: article| paper| publication)?"
    r"(?:\W{0,2}$|\W{0,2}[;.,:()|–-]|\s(?:in|on|by|at|from|due|because|see)\b)"
    r"|\bthis (?:article|paper|publication|study|work) (?:has been|was|is) retracted\b|\bretraction in\b",
    re.I,
)
_FREE_IDENTIFIERS = {"arxiv": "arXiv", "pmcid": "PubMed Central", "acl": "ACL Anthology"}
_FREE_HOSTS = expression(
    r"(?:^|\.)(?:arxiv\.org|biorxiv\.org|medrxiv\.org|aclanthology\.org|plos\.org|mdpi\.com|frontiersin\.org"
    r"|biomedcentral\.com|elifesciences\.org|openreview\.net|jmlr\.org|mlr\.press|zenodo\.org|hal\.science)$"
)
_FREE_DOI = expression(r"10\.(?:48550|1371|3390|3389|7554|1186|18653|7717|31234|20944|21203|26434)\b")
_FREE_LICENCE = expression(r"creative ?commons|\bcc[- ]?(?:by|0|zero)\b|open access", re.I)


class RecordFacts(Struct, frozen=True):
    """The publication facts of one record.

    Attributes:
        publisher: as printed, or "".
        affiliations: of the authors, as printed, each once; institutions of OpenAlex with kind and country:
            ``Owl Labs (company, GB)``.
        types: kinds of publication in lower case, CSL's first: ``article-journal``, ``preprint``, ``review``,
            ``retracted`` or ``not retracted`` where the record or its title says so.
        origin: schemes of its identifiers, the prefix of its DOI, and the host of its address, as text.
        cited_by: how often it is cited, or None where the record does not say.
        access: ``open: `` or ``closed: `` and what says so, or "".
    """

    publisher: str = ""
    affiliations: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    origin: str = ""
    cited_by: int | None = None
    access: str = ""


def facts_of(paper: Paper) -> RecordFacts:
    """Read the publication facts of a paper from its record.

    >>> facts_of(Paper("a", metadata={"publisher": "Owl Press", "cited_by_count": 12})).cited_by
    12
    """
    fields = _fields(paper.metadata)
    doi = paper.identifiers.get("doi", "")
    host = _host(paper.url)
    types = [*_types(fields, doi), *_retraction(paper, fields)]
    return RecordFacts(
        next(_publishers(fields), shared_text(paper.metadata, "publisher")),
        tuple(dict.fromkeys(_affiliations(fields)))[:_MOST_AFFILIATIONS],
        tuple(dict.fromkeys(types)),
        "|".join((" ".join(sorted(paper.identifiers)), doi.partition("/")[0], host))
        if doi or host or paper.identifiers
        else "",
        _cited_by(fields),
        _access(fields, paper.identifiers, doi, host),
    )


_FORMS = tuple("csl bibtex ris nbib wos ovid enw refworks noteexpress endnote pubmed".split())


def _fields(metadata: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Name of a field in lower case -> its values, over all layouts."""
    out: dict[str, list[Any]] = {}
    for name, value in metadata.items():
        out.setdefault(name.casefold(), []).append(value)
    for form in _FORMS:
        held = metadata.get(form)
        inner = held.get("fields", held) if isinstance(held, dict) else held
        pairs = [*inner.items()] if isinstance(inner, dict) else inner
        for pair in pairs if isinstance(pairs, list) else ():
            if isinstance(pair, list | tuple) and len(pair) == 2:
                out.setdefault(str(pair[0]).casefold(), []).append(pair[1])
    return out


def _texts(fields: Mapping[str, list[Any]], names: Iterable[str]) -> Iterator[str]:
    """The texts under these names; of lists their texts, of objects their names."""
    for name in names:
        for value in fields.get(name, ()):
            for one in value if isinstance(value, list) else (value,):
                found = one.get("name") or one.get("display_name") if isinstance(one, dict) else one
                text = one_line(found).replace("{", "").replace("}", "") if isinstance(found, str) else ""
                if text:
                    yield text[: 20 * _LONGEST]


def _publishers(fields: Mapping[str, list[Any]]) -> Iterator[str]:
    yield from _texts(fields, _PUBLISHERS)
    for place in _dicts([*fields.get("primary_location", ()), *fields.get("host_venue", ())]):
        for held in _dicts([place.get("source"), place]):
            yield from _texts(
                {"name": [held.get("host_organization_name"), held.get("publisher")]}, ("name",)
            )


def _types(fields: Mapping[str, list[Any]], doi: str) -> Iterator[str]:
    for text in _texts(fields, _TYPES):
        parts = (part.strip()[:60].casefold() for part in text.split(";"))
        yield from (part for part in parts if part and not part.startswith(("doi", "10.")))
    if is_preprint_doi(doi):
        yield "preprint doi"


def is_retracted(paper: Paper) -> bool:
    """True if a paper's record or title says that it was retracted."""
    return "retracted" in _retraction(paper, _fields(paper.metadata))


def _retraction(paper: Paper, fields: Mapping[str, list[Any]]) -> list[str]:
    """``retracted`` or ``not retracted``, or nothing; of a notice of retraction nothing."""
    table = paper.metadata.get("table")
    cells = {name.casefold(): [cell] for name, cell in table.items()} if isinstance(table, dict) else {}
    names = ("is_retracted", "is retracted", "isretracted", "retracted")
    flags = {str(value).casefold() for name in names for value in fields.get(name, cells.get(name, ()))}
    texts = _texts(fields, (*_TYPES, *_NOTES, "keywords", "keyword", "pubstate", "status"))
    updates = [one.get("type") for held in fields.get("updated-by", ()) for one in _dicts(held)]  # Crossref
    if flags & {"true", "yes", "1"} or "retraction" in updates or "rin" in fields:  # PubMed: retraction in
        return ["retracted"]
    if _RETRACTED.match(paper.title) or any(map(_SAID_RETRACTED.search, texts)):
        return ["retracted"]
    return ["not retracted"] if flags & {"false", "no", "0"} else []


def is_preprint_doi(doi: str) -> bool:
    """True if the DOI is one that only a preprint server registers."""
    return _PREPRINT_DOI.match(doi) is not None


def _affiliations(fields: Mapping[str, list[Any]]) -> Iterator[str]:
    for text in _texts(fields, _AFFILIATED):
        yield from (part.strip()[:_LONGEST] for part in text.split(";") if part.strip())
    for people in (*fields.get("authorships", ()), *fields.get("author", ()), *fields.get("authors", ())):
        for person in people if isinstance(people, list) else ():
            if not isinstance(person, dict):
                continue
            found = False
            for place in _dicts(person.get("institutions")):
                kind = ", ".join(
                    filter(None, (one_line(place.get("type")), one_line(place.get("country_code"))))
                )
                if name := one_line(place.get("display_name")):
                    found = True
                    yield f"{name[:_LONGEST]} ({kind})" if kind else name[:_LONGEST]
            stated = {name: [person[name]] for name in ("affiliation", "affiliations") if name in person}
            if not found:
                stated["raw"] = [person.get("raw_affiliation_strings")]
            yield from (text[:_LONGEST] for text in _texts(stated, stated))


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _cited_by(fields: Mapping[str, list[Any]]) -> int | None:
    for name in _CITED:
        for value in fields.get(name, ()):
            counted = isinstance(value, str | int) and not isinstance(value, bool)
            text = str(value).strip("{} ") if counted else ""
            if text.isdecimal() and len(text) < 9:
                return int(text)
    for text in _texts(fields, _NOTES):
        if found := _CITED_NOTE.search(text[:2000]):
            return int(found[1] or found[2])
    return None


def _access(fields: Mapping[str, list[Any]], identifiers: Mapping[str, str], doi: str, host: str) -> str:
    """``open: `` or ``closed: ``, and what says so."""
    stated: bool | None = None
    status = ""
    for name in ("open_access", "is_oa", "isopenaccess", "best_oa_location", "primary_location"):
        for value in fields.get(name, ()):
            said = value.get("is_oa") if isinstance(value, dict) else value
            if isinstance(said, bool):
                stated = said or bool(stated)
            if isinstance(value, dict):
                status = status or one_line(value.get("oa_status"))
    if any(isinstance(v, dict) and v.get("url") for v in fields.get("openaccesspdf", ())):
        stated, status = True, status or "a free PDF"
    colour = next(_texts(fields, ("oa", "oa_status")), "")
    if stated or colour:
        return f"open: {status or colour or 'open access'}, says the record"
    for scheme, name in _FREE_IDENTIFIERS.items():
        if identifiers.get(scheme):
            return f"open: it is in {name}"
    if _FREE_HOSTS.search(host) or _FREE_DOI.match(doi):
        return f"open: {host if _FREE_HOSTS.search(host) else doi.partition('/')[0]} is free to read"
    if licence := next((t for t in _texts(fields, ("license", "licence")) if _FREE_LICENCE.search(t)), ""):
        return f"open: licence {licence[:60]}"
    return "closed: says the record" if stated is False else ""


def _host(url: str) -> str:
    """Name of the host of an address, in lower case."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
