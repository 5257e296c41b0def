"""arXiv metadata as JSON Lines (the snapshot that arXiv publishes on Kaggle).

Fields: ``id``, ``title``, ``abstract``, ``authors``, ``authors_parsed``, ``versions``, ``journal-ref``,
``doi``, ``categories`` and others, which stay in ``metadata`` beside ``v1_date`` and ``latest_date``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from aspectra.papers.names import people, printed, split_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble, identifiers_of
from aspectra.papers.sources.json.generic import papers_in_record
from aspectra.papers.sources.json.records import JsonFormat, as_dict, as_list, rest
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, XmlFormat, attribute, first, found, text_of
from aspectra.papers.text.cleaning import clean, one_line, unwrap

_OWN = {"authors_parsed", "journal-ref", "report-no", "versions", "update_date", "submitter"}
_USED = ("id", "title", "abstract", "authors", "authors_parsed", "journal-ref", "doi")
_ID = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d\d)(\d\d)[.\d]")


def arxiv_year(identifier: str) -> int | None:
    """The year in which an arXiv id was given, which is that of its first version.

    >>> arxiv_year("2004.07180"), arxiv_year("math/9912012"), arxiv_year("hep-th/0601001")
    (2020, 1999, 2006)
    """
    found = _ID.match(identifier)
    if not found or not 1 <= int(found.group(2)) <= 12:
        return None
    year = int(found.group(1))
    return 1900 + year if year >= 91 else 2000 + year


def authors_of(whole: object, parsed: object) -> list[str]:
    """Names from arXiv's parsed form ([family, given, suffix, ...]), else from the printed list."""
    found = []
    for entry in as_list(parsed):
        parts = [one_line(part) for part in as_list(entry)[:3] if isinstance(part, str)]
        family, given, suffix = [*parts, "", "", ""][:3]
        if name := printed(given, family, suffix):
            found.append(name)
    if found:
        return found
    return people(whole) if isinstance(whole, list) else split_names(whole)


def _confidence(keys: frozenset[str], head: bytes) -> float:
    ours = {"id", "title", "abstract", "categories"} <= keys and len(keys & _OWN) >= 2
    return 0.97 if ours else 0.0


def snapshot_paper(record: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    """The paper of one record of the snapshot."""
    # Several DOIs are in one field, separated by blanks: the first is the paper's.
    dois = one_line(record.get("doi")).split()
    identifiers = identifiers_of([("arxiv", record.get("id")), *(("doi", one) for one in dois)])
    dates = [_date(as_dict(version).get("created")) for version in as_list(record.get("versions"))]
    first_date, last_date = (dates[0], dates[-1]) if dates else ("", "")
    metadata = {
        **rest(record, _USED),
        "doi": " ".join(dois) if len(dois) > 1 else "",
        "v1_date": first_date,
        "latest_date": last_date or one_line(record.get("update_date")),
    }
    arxiv = identifiers.get("arxiv", "")
    yield from assemble(
        place,
        options,
        own_id=record.get("id"),
        title=record.get("title"),
        abstract=unwrap(clean(record.get("abstract"))),
        authors=authors_of(record.get("authors"), record.get("authors_parsed")),
        year=(first_date, arxiv_year(arxiv), record.get("update_date")),
        venue=record.get("journal-ref"),
        identifiers=identifiers,
        url=f"https://arxiv.org/abs/{arxiv}" if arxiv else "",
        metadata=metadata,
    )


def _date(created: object) -> str:
    """``Mon, 2 Apr 2007 19:18:42 GMT`` as ``2007-04-02``; "" if it is not a date."""
    text = one_line(created)
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError, IndexError):
        return text[:10] if re.match(r"\d{4}-\d\d-\d\d", text) else ""


SOURCES.register("arxiv")(
    JsonFormat(
        "arxiv", "arXiv metadata; dates of the first and latest version are kept", _confidence, snapshot_paper
    )
)


# Answers of services in XML: arXiv's Atom feed and Europe PMC's search.
#
# Each record is turned into the JSON that the same service gives elsewhere, and read as that.
# Sources: "arXiv API User's Manual" (section 3.3); "Europe PMC RESTful Web Service" (result type core).

_VERSION = re.compile(r"v\d+$")
_MARKUP = frozenset(["i", "b", "u", "em", "strong", "sub", "sup", "h4"])


def _is_arxiv(root: str, attributes: str, head: bytes) -> float:
    return 0.98 if root == "feed" and b"arxiv.org/" in head else 0.0


def _entry(entry: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    address = text_of(entry, "id")
    if "/api/errors" in address:
        yield Remark(place, f"arXiv answered with an error: {text_of(entry, 'summary')}")
        return
    dates = [text_of(entry, name) for name in ("published", "updated")]
    affiliations = [text_of(one) for one in found(entry, "author/affiliation")]
    record: dict[str, Any] = {
        "id": _VERSION.sub("", address.partition("/abs/")[2] or address),
        "title": text_of(entry, "title"),
        "abstract": getattr(first(entry, "summary"), "text", None) or "",
        "authors": [text_of(name) for name in found(entry, "author/name")],
        "versions": [{"created": date} for date in dates if date],
        "journal-ref": text_of(entry, "journal_ref"),
        "doi": " ".join(text_of(one) for one in found(entry, "doi")),
        "comments": text_of(entry, "comment"),
        "categories": " ".join(attribute(one, "term") for one in found(entry, "category")),
        "affiliations": list(dict.fromkeys(filter(None, affiliations))),
    }
    yield from snapshot_paper({name: value for name, value in record.items() if value}, place, options)


def _is_europe_pmc(root: str, attributes: str, head: bytes) -> float:
    return 0.98 if root == "responseWrapper" else 0.0


def _as_json(element: Element, depth: int = 0) -> Any:
    """An element as Europe PMC's JSON has it: a text, or an object; a ``...List`` holds lists."""
    inner = [child for child in element if isinstance(child.tag, str)]
    if depth > 8 or all(child.tag in _MARKUP for child in inner):
        return text_of(element)
    out: dict[str, Any] = {}
    for child in inner:
        name, value = str(child.tag), _as_json(child, depth + 1)
        if str(element.tag).endswith("List"):
            out.setdefault(name, []).append(value)
        elif value:
            out[name] = value
    return out


def _result(result: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    record = _as_json(result)
    if not isinstance(record, dict):
        yield Remark(place, "the result is empty: skipped")
        return
    yield from papers_in_record(record, place, options)


SOURCES.register("arxiv-atom")(
    XmlFormat("arxiv-atom", "arXiv's answers (Atom)", "entry", _is_arxiv, _entry, endings=(".xml", ".atom"))
)
SOURCES.register("europe-pmc-xml")(
    XmlFormat("europe-pmc-xml", "Europe PMC's answers as XML", "result", _is_europe_pmc, _result)
)
