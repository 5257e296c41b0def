"""Answers of services in XML: arXiv's Atom feed and Europe PMC's search.

Each record is turned into the JSON that the same service gives elsewhere, and read as that.
Sources: "arXiv API User's Manual" (section 3.3); "Europe PMC RESTful Web Service" (result type core).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from aspectra.papers.paper import Paper
from aspectra.papers.sources.json.arxiv import snapshot_paper
from aspectra.papers.sources.json.generic import papers_in_record
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, XmlFormat, attribute, first, found, text_of

_VERSION = re.compile(r"v\d+$")
_MARKUP = frozenset(["i", "b", "u", "em", "strong", "sub", "sup", "h4"])


def _is_arxiv(root: str, attributes: str, head: bytes) -> float:
    return 0.98 if root == "feed" and b"arxiv.org/" in head else 0.0


def _entry(entry: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    address = text_of(first(entry, "id"))
    if "/api/errors" in address:
        yield Remark(place, f"arXiv answered with an error: {text_of(first(entry, 'summary'))}")
        return
    dates = [text_of(first(entry, name)) for name in ("published", "updated")]
    affiliations = [text_of(one) for one in found(entry, "author/affiliation")]
    record: dict[str, Any] = {
        "id": _VERSION.sub("", address.partition("/abs/")[2] or address),
        "title": text_of(first(entry, "title")),
        "abstract": getattr(first(entry, "summary"), "text", None) or "",
        "authors": [text_of(name) for name in found(entry, "author/name")],
        "versions": [{"created": date} for date in dates if date],
        "journal-ref": text_of(first(entry, "journal_ref")),
        "doi": " ".join(text_of(one) for one in found(entry, "doi")),
        "comments": text_of(first(entry, "comment")),
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
