"""EndNote's XML (``xml/records/record``), as EndNote, Bookends, Mendeley, JabRef and databases write it.

All fields stay in ``metadata["endnote"]`` as (name of the element, value) pairs, except the abstract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from aspectra.papers.bibliography import database_of, names_in
from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.names import names_in_lines
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, XmlFormat, attribute, first, found, leaves, text_of

_TYPES = names_in("endnote").types
_VENUES = ("periodical/full-title", "titles/secondary-title", "secondary-title", "periodical/abbr-1")
_URLS = ("urls/related-urls/url", "urls/web-urls/url", "urls/url")
_PUBMED = re.compile(r"\d{6,9}")


def _confidence(root: str, attributes: str, head: bytes) -> float:
    if root == "records" or (root == "xml" and b"<records" in head):
        return 0.97 if b"<ref-type" in head or b"<contributors" in head or b"<titles" in head else 0.5
    return 0.0


def _people(record: Element, group: str) -> list[str]:
    return names_in_lines(map(text_of, found(record, f"contributors/{group}/author")))


def _first(record: Element, *paths: str) -> str:
    return next((text for path in paths if (text := text_of(first(record, path)))), "")


def _identifiers(record: Element, urls: list[str], database: str) -> Iterator[tuple[str, object]]:
    yield "doi", _first(record, "electronic-resource-num")
    yield from filter(None, map(parse_identifier, urls))
    number = _first(record, "accession-num")
    # Programs keep the PubMed number there, whatever the database is called.
    yield "pmid", number if _PUBMED.fullmatch(number) else ""
    custom = _first(record, "custom2")
    yield "pmcid", custom if custom.upper().startswith("PMC") else ""


def _paper(record: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    kind = first(record, "ref-type")
    urls = [text for path in _URLS for url in found(record, path) if (text := text_of(url))]
    names = ("remote-database-name", "remote-database-provider", "source-app")
    editors = _people(record, "secondary-authors")
    shared: dict[str, Any] = {
        "type": _TYPES.get(attribute(kind, "name") or text_of(kind), "document"),
        "volume": _first(record, "volume"),
        "issue": _first(record, "number", "issue"),
        "pages": _first(record, "pages"),
        "publisher": _first(record, "publisher"),
        "place": _first(record, "pub-location"),
        "edition": _first(record, "edition"),
        "issn": _first(record, "isbn"),
        "date": _first(record, "dates/pub-dates/date"),
        "note": _first(record, "notes"),
        "keywords": [*map(text_of, found(record, "keywords/keyword"))],
        "editors": editors,
    }
    number = _first(record, "accession-num")
    shared["database"] = database_of([_first(record, names[0]), _first(record, names[1])], [number], urls)
    shared["database"] = shared["database"] or _first(record, names[2])
    metadata = {name: value for name, value in shared.items() if value}
    metadata["endnote"] = leaves(record, ("abstract",), whole=("style",))
    yield from assemble(
        place,
        options,
        title=_first(record, "titles/title", "title", "titles/short-title", "titles/alt-title"),
        abstract=_first(record, "abstract"),
        authors=_people(record, "authors") or _people(record, "tertiary-authors"),
        year=(_first(record, "dates/year"), _first(record, "dates/pub-dates/date")),
        venue=_first(record, *_VENUES),
        identifiers=_identifiers(record, urls, shared["database"]),
        url=next(iter(urls), ""),
        language=_first(record, "language"),
        metadata=metadata,
    )


SOURCES.register("endnote-xml")(
    XmlFormat("endnote-xml", "EndNote's XML, also of other programs", "record", _confidence, _paper)
)
