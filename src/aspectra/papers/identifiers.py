"""Identifiers of papers: recognised and normalised, also as people paste them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from urllib.parse import unquote

from aspectra.base.expressions import expression

ARXIV_DOI = "10.48550/arxiv."
"""How the DOIs of arXiv begin, in lower case."""

# DOIs of before 2000 hold a SICI with angle brackets in it: 10.1002/(SICI)...19:6<335::AID-BEM1>3.0.CO;2-2
_DOI_SIGN = r"[^\s\"<>{}|\\^`]"
_DOI = expression(
    rf"10\.\d{{4,9}}/{_DOI_SIGN}++(?:<{_DOI_SIGN}{{1,60}}+>\d\.\d\.[a-z]{{2}};\d{_DOI_SIGN}*)?", re.I
)
_ISBN = expression(r"(?<!\d)(?:97[89][- ]?)?(?:\d[- ]?){9}[\dx](?![\d-])", re.I)
_ISSN = expression(r"(?<![\w-])(\d{4})-?(\d{3}[\dx])(?![\w-])", re.I)
_UNSEEN = expression("[\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
# EndNote's way to say a record of Web of Science, which leads nowhere outside of it.
_ISI = expression(r"<Go ?to ?ISI>:?//(?:(?:WOS|ISI):)?([\dA-Z]{15})\b", re.I)
_ADDRESS = expression(r"(?:https?|ftp)://(?:(?!;(?:\s|$)|[;,|]https?:)[^\s<>\"|])+", re.I)
_SICI = expression(r"(\(sici\)[^\s<>]{1,80})<([^\s<>]{1,40})>", re.I)  # signs that end an address, in a DOI
_DASH = expression("[\u2010-\u2015\u2212]")
# What follows a DOI in an address, or in MEDLINE.
_BEHIND = expression(r"(?:\?[\w.-]{1,40}=|#).*|\[doi\]$|/(?:full|abstract|e?pdf|meta|summary)?$", re.I)
# A short DOI (shortdoi.org): "10/" or a resolver before letters and digits.
_SHORT_DOI = expression(
    r"(?:(?:https?://)?(?:dx\.)?doi\.org/(?:10/)?|(?:doi:?\s{0,3})?10/)([a-z0-9]{2,12})/?", re.I
)
_ARXIV_NEW = expression(r"(?<![\d.])(\d{4}\.\d{4,5})(v\d+)?(?![\d.]*\d)")
_ARXIV_OLD = expression(r"\b([a-z-]{1,20}(?:\.[A-Z]{2})?/\d{7})(v\d+)?\b")
_ACL = expression(r"\b((?:[A-Z]\d{2}-\d{4,5})|(?:\d{4}\.[a-z0-9_]+-[a-z0-9_]+\.\d+))\b")
_PMC = expression(r"PMC\d{1,9}", re.I)
_HOSTS = (
    ("arxiv", "arxiv.org/"),
    ("acl", "aclanthology.org/"),
    ("openalex", "openalex.org/"),
    ("pmid", "pubmed.ncbi.nlm.nih.gov/"),
    ("pmid", "ncbi.nlm.nih.gov/pubmed/"),
    ("pmcid", "ncbi.nlm.nih.gov/pmc/articles/"),
    ("pmcid", "pmc.ncbi.nlm.nih.gov/articles/"),
)
_SHAPES = {
    "acl": _ACL,
    "openalex": re.compile(r"[Ww]\d+"),
    "pmid": re.compile(r"\d+"),
    "pmcid": re.compile(r"PMC\d+|^\d+$", re.I),
}

SCHEMES = ("doi", "arxiv", "acl", "s2", "openalex", "pmid", "pmcid", "isbn")
# Names of fields and prefixes, in lower case without underscores -> scheme.
_SCHEME_OF = {name: name for name in SCHEMES} | {
    **dict.fromkeys(("corpusid", "s2id"), "s2"),
    **dict.fromkeys(("openalexid", "semopenalexid"), "openalex"),
    **dict.fromkeys(("pubmed", "pubmedid"), "pmid"),
    **dict.fromkeys(("pmc", "pubmedcentral"), "pmcid"),
    **{"arxivid": "arxiv", "aclid": "acl"},
}


def scheme_of(name: str) -> str:
    """The scheme that a field or prefix of this name states, or "".

    >>> scheme_of("arXiv_id"), scheme_of("PubMed"), scheme_of("url")
    ('arxiv', 'pmid', '')
    """
    return _SCHEME_OF.get(name.casefold().replace("_", ""), "")


def named_identifiers(values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """(scheme, raw value) of the fields that are named after a scheme; of a list every value."""
    for name, value in values.items():
        if scheme := scheme_of(name):
            yield from ((scheme, one) for one in (value if isinstance(value, list) else [value]))


def normalise(scheme: str, value: object) -> str:
    """The canonical spelling of an identifier, or "" when the value cannot be one.

    >>> normalise("doi", "https://doi.org/10.18653/V1/2020.acl-main.207.")
    '10.18653/v1/2020.acl-main.207'
    >>> normalise("arxiv", "arXiv:2004.07180v2")
    '2004.07180'

    A short DOI stays short: which DOI it stands for only the resolver knows.

    >>> normalise("doi", "https://doi.org/fqd6hj"), normalise("doi", "doi:10/FQD6HJ")
    ('10/fqd6hj', '10/fqd6hj')
    """
    text = unquote(str(value)) if value is not None else ""
    text = _DASH.sub("-", _UNSEEN.sub("", unescape(text) if ";" in text else text)).strip()
    if not text:
        return ""
    if scheme == "doi":
        found = _DOI.search(text)
        if not found:
            short = _SHORT_DOI.fullmatch(text.rstrip(".,;:"))
            return f"10/{short[1].casefold()}" if short else ""
        doi = _BEHIND.sub("", found.group().rstrip(".,;:'"))
        if doi.endswith(")") and doi.count(")") > doi.count("("):
            doi = doi[:-1]
        return doi.casefold()
    if scheme == "arxiv":
        found = _ARXIV_NEW.search(text) or _ARXIV_OLD.search(text)
        return found.group(1) if found else ""
    if scheme in _SHAPES:
        found = _SHAPES[scheme].search(text)
        value = found.group() if found else ""
        if scheme == "pmcid" and value.isdigit():
            return f"PMC{value}"  # written with and without the letters
        return value if scheme == "acl" else value.upper()
    if scheme == "isbn":
        first = _ISBN.search(text)  # of several in one field, as print and electronic ones
        return re.sub(r"[^0-9Xx]", "", first.group()).upper() if first else ""
    return text


def addresses_in(text: str) -> list[str]:
    """The addresses in a field, or its text where it has none.

    >>> addresses_in("<Go to ISI>://WOS:000327278300005")
    ['https://www.webofscience.com/wos/woscc/full-record/WOS:000327278300005']
    >>> addresses_in("http://doi.org/10.1002/(sici)1097-4571(1990)41:6<391::aid-asi1>3.0.co;2-9")
    ['http://doi.org/10.1002/(sici)1097-4571(1990)41:6%3C391::aid-asi1%3E3.0.co;2-9']
    """
    text = _ISI.sub(r"https://www.webofscience.com/wos/woscc/full-record/WOS:\1", text)
    text = _SICI.sub(r"\1%3C\2%3E", _UNSEEN.sub("", text.replace("&amp;", "&")).strip())
    return [found.rstrip(".,;") for found in _ADDRESS.findall(text)] or [text]


def issns_in(text: str) -> str:
    """The ISSNs in a text, between commas, or "": ``1234-567X, 1234-5679``."""
    found = _ISSN.findall(_DASH.sub("-", text))
    return ", ".join(dict.fromkeys(f"{first}-{last.upper()}" for first, last in found))


def parse_identifier(text: str) -> tuple[str, str] | None:
    """(scheme, canonical value) of what a person typed or pasted as a seed; None for anything else.

    >>> parse_identifier("https://arxiv.org/abs/2004.07180v1")
    ('arxiv', '2004.07180')
    >>> parse_identifier("doi:10.1/x") is None
    True
    """
    text = text.strip()
    prefix, _, rest = text.partition(":")
    if rest and (scheme := scheme_of(prefix)):
        value = normalise(scheme, rest)
        return (scheme, value) if value else None
    lowered = text.casefold()
    for scheme, host in _HOSTS:
        if host in lowered:
            value = normalise(scheme, text[lowered.index(host) + len(host) :])
            return (scheme, value) if value else None
    if (found := _DOI.search(text)) and (found.start() == 0 or "doi.org/" in lowered):
        return ("doi", normalise("doi", text))
    # Bare digits are a date or a score rather than a short DOI.
    if (found := _SHORT_DOI.fullmatch(text)) and not (found[1].isdigit() and text.startswith("10/")):
        return ("doi", normalise("doi", text))
    if found := _ARXIV_NEW.fullmatch(text) or _ARXIV_OLD.fullmatch(text):
        return ("arxiv", found.group(1))
    if found := _ACL.fullmatch(text):
        return ("acl", found.group(1))
    if _PMC.fullmatch(text):
        return ("pmcid", text.upper())
    return None


def identifiers_in(text: str) -> dict[str, str]:
    """Identifiers named inside a printed reference: DOI and arXiv id, where they are unmistakable.

    >>> identifiers_in("A. Author. Title. arXiv preprint arXiv:2004.07180, 2020.")
    {'arxiv': '2004.07180'}
    >>> identifiers_in("https://doi.org/10.48550/arXiv.2004.07180v2")["arxiv"]
    '2004.07180'
    """
    doi = normalise("doi", text)
    if doi.startswith(ARXIV_DOI):
        named = doi.removeprefix(ARXIV_DOI)
    else:
        at = text.casefold().find("arxiv")
        named = text[at:] if at >= 0 else ""
    found = {"doi": doi, "arxiv": normalise("arxiv", named)}
    return {scheme: value for scheme, value in found.items() if value}
