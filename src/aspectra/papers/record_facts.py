"""What a paper's record states beside its own fields, under whatever names the formats have for it.

Sources keep every field of a record in :attr:`Paper.metadata`, each format in its own layout. Here they
are read once: publisher, affiliations, types of publication, the number of citations, and access.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from aspectra.base.expressions import expression
from aspectra.papers.bibliography import shared_text
from aspectra.papers.paper import Paper
from aspectra.papers.text.cleaning import one_line


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
    """What one record states.

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
    """What the record of a paper states.

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
        pairs: Iterable[Any] = inner if isinstance(inner, list) else ()
        if isinstance(inner, dict):
            pairs = inner.items()
        for pair in pairs:
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
    """Whether a paper's record or its title says that it was retracted."""
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
    """Whether only a server of preprints registers DOIs like this one."""
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
            text = (
                str(value).strip("{} ")
                if isinstance(value, str | int) and not isinstance(value, bool)
                else ""
            )
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
