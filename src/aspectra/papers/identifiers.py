"""Identifiers of papers: recognise, normalise, and look like what people paste."""

from __future__ import annotations

import re
from urllib.parse import unquote

__all__ = ["ARXIV_DOI", "identifiers_in", "normalise", "parse_identifier"]

ARXIV_DOI = "10.48550/arxiv."
"""How the DOIs of arXiv begin, in lower case."""

_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>{}|\\^`]+", re.I)
_ARXIV_NEW = re.compile(r"(?<![\d.])(\d{4}\.\d{4,5})(v\d+)?(?![\d.]*\d)")
_ARXIV_OLD = re.compile(r"\b([a-z-]+(?:\.[A-Z]{2})?/\d{7})(v\d+)?\b")
_ACL = re.compile(r"\b((?:[A-Z]\d{2}-\d{4,5})|(?:\d{4}\.[a-z0-9_]+-[a-z0-9_]+\.\d+))\b")
_SHAPES = {
    "acl": _ACL,
    "openalex": re.compile(r"[Ww]\d+"),
    "pmid": re.compile(r"\d+"),
    "pmcid": re.compile(r"PMC\d+|^\d+$", re.I),
}

_PREFIXES = {
    "doi": "doi",
    "arxiv": "arxiv",
    "acl": "acl",
    "s2": "s2",
    "corpusid": "s2",
    "openalex": "openalex",
    "pmid": "pmid",
    "pmcid": "pmcid",
    "isbn": "isbn",
}


def normalise(scheme: str, value: object) -> str:
    """The canonical spelling of an identifier, or "" when the value cannot be one.

    >>> normalise("doi", "https://doi.org/10.18653/V1/2020.acl-main.207.")
    '10.18653/v1/2020.acl-main.207'
    >>> normalise("arxiv", "arXiv:2004.07180v2")
    '2004.07180'
    """
    text = unquote(str(value)).strip() if value is not None else ""
    if not text:
        return ""
    if scheme == "doi":
        found = _DOI.search(text)
        if not found:
            return ""
        doi = found.group().rstrip(".,;:'")
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
        return re.sub(r"[^0-9Xx]", "", text).upper()
    return text


def parse_identifier(text: str) -> tuple[str, str] | None:
    """(scheme, canonical value) of what a person typed or pasted as a seed; None for anything else.

    >>> parse_identifier("https://arxiv.org/abs/2004.07180v1")
    ('arxiv', '2004.07180')
    >>> parse_identifier("doi:10.1/x") is None
    True
    """
    text = text.strip()
    prefix, _, rest = text.partition(":")
    scheme = _PREFIXES.get(prefix.casefold())
    if scheme and rest:
        value = normalise(scheme, rest)
        return (scheme, value) if value else None
    lowered = text.casefold()
    if "arxiv.org/" in lowered:
        value = normalise("arxiv", text.split("arxiv.org/", 1)[-1])
        return ("arxiv", value) if value else None
    if "aclanthology.org/" in lowered:
        value = normalise("acl", text.split("aclanthology.org/", 1)[-1])
        return ("acl", value) if value else None
    if "openalex.org/" in lowered:
        value = normalise("openalex", text)
        return ("openalex", value) if value else None
    if (found := _DOI.search(text)) and (found.start() == 0 or "doi.org/" in lowered):
        return ("doi", normalise("doi", text))
    if found := _ARXIV_NEW.fullmatch(text) or _ARXIV_OLD.fullmatch(text):
        return ("arxiv", found.group(1))
    if found := _ACL.fullmatch(text):
        return ("acl", found.group(1))
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
