"""EndNote's XML (``xml/records/record``), as EndNote, Bookends, Mendeley, JabRef and databases write it.

All fields stay in ``metadata["endnote"]`` as (name of the element, value) pairs, except the abstract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from aspectra.papers.bibliography import database_of, names_in
from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.names import names_in_lines
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, XmlFormat, attribute, first, found, leaves, text_of

_NAMES = names_in("endnote")
_PUBMED = re.compile(r"\d{6,9}")


def _confidence(root: str, attributes: str, head: bytes) -> float:
    if root == "records" or (root == "xml" and b"<records" in head):
        return 0.97 if b"<ref-type" in head or b"<contributors" in head or b"<titles" in head else 0.5
    return 0.0


def _people(record: Element, group: str) -> list[str]:
    return names_in_lines(map(text_of, found(record, f"contributors/{group}/author")))


def _identifiers(record: Element, urls: list[str]) -> Iterator[tuple[str, object]]:
    yield "doi", text_of(record, "electronic-resource-num")
    yield from filter(None, map(parse_identifier, urls))
    number = text_of(record, "accession-num")
    # Programs keep the PubMed number there, whatever the database is called.
    yield "pmid", number if _PUBMED.fullmatch(number) else ""
    custom = text_of(record, "custom2")
    yield "pmcid", custom if custom.upper().startswith("PMC") else ""


def _paper(record: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    kind = first(record, "ref-type")
    urls = [
        text for path in _NAMES.attributes["url"] for url in found(record, path) if (text := text_of(url))
    ]
    stated = [text_of(record, f"remote-database-{name}") for name in ("name", "provider")]
    database = database_of(stated, [text_of(record, "accession-num")], urls) or text_of(record, "source-app")
    yield from assemble(
        place,
        options,
        title=text_of(record, *_NAMES.attributes["title"]),
        abstract=text_of(record, "abstract"),
        authors=_people(record, "authors") or _people(record, "tertiary-authors"),
        year=tuple(text_of(record, path) for path in _NAMES.attributes["year"]),
        venue=text_of(record, *_NAMES.attributes["venue"]),
        identifiers=_identifiers(record, urls),
        url=next(iter(urls), ""),
        language=text_of(record, "language"),
        metadata={
            "type": _NAMES.types.get(attribute(kind, "name") or text_of(kind), "document"),
            **_NAMES.shared_texts(lambda path: text_of(record, path)),
            "keywords": [*map(text_of, found(record, "keywords/keyword"))],
            "editors": _people(record, "secondary-authors"),
            "database": database,
            "endnote": leaves(record, ("abstract",), whole=("style",)),
        },
    )


SOURCES.register("endnote-xml")(
    XmlFormat("endnote-xml", "EndNote's XML, also of other programs", "record", _confidence, _paper)
)
