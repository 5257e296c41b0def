"""RIS files, as databases and reference managers really export them; shared by the reader and the writer.

All tags stay in ``metadata["ris"]``, unknown ones too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from aspectra.papers.bibliography import database_of, names_in, page_range
from aspectra.papers.identifiers import addresses_in, parse_identifier
from aspectra.papers.names import names_in_lines
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord
from aspectra.papers.text.cleaning import clean, one_line, storable

NAMES = names_in("ris")
TAGS_OF = NAMES.attributes
"""Attribute of :class:`Paper` -> the tags it is read from."""

_RULES = Rules(
    start="TY",
    begins=re.compile(r"^\s{0,4}TY\s{0,4}-\s*+(?:[A-Za-z][A-Za-z0-9]{1,9})?\s*+$"),
    tag=re.compile(r"^([A-Z][A-Z0-9])  -(?:\s(.*)|)$"),
    loose=re.compile(r"^\s{0,4}([A-Z][A-Z0-9])\s{0,4}-\s*(.*)$"),
    stop="ER",
    end=re.compile(r"^(?:\s{0,4}ER\s{0,4}-?\s*|ER\s{1,3}-\s*(\S.*))$"),
    headless=True,
    listed=frozenset(("KW",)),
)
_SNIFF = re.compile(r"^[ \t]{0,4}TY[ \t]{0,4}-[ \t]*[A-Z]", re.M)
# A record without its first line: tags of two letters, and the end that only RIS has.
_TAGGED = re.compile(r"^(?:AU|A1|TI|T1|PY|Y1|JO|JF|T2|AB|N2|KW|SP|UR|DO)  - \S", re.M)
_END = re.compile(r"^ER  -[ \t]*$", re.M)
_CODE = re.compile(r"[a-z0-9]{2,5}")
_DOI_LABEL = re.compile(r"\s*(?:doi\b|https?://(?:dx\.)?doi\.org/)", re.I)


def _confidence(text: str) -> float:
    found = _SNIFF.search(text)
    if not found:
        return 0.8 if _TAGGED.search(text) and _END.search(text) else 0.0
    return 0.95 if found.start() < 4000 else 0.6


def ris_paper(record: TaggedRecord, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    """The paper of one record, with remarks.

    Args:
        record: its tags; the lines of a ``KW`` are values of their own.
        place: for remarks.
        options: limits.

    Raises:
        ValueError: the record cannot be stored.
    """
    kind = record.first("TY").upper() or "GEN"
    abstract = "\n\n".join(dict.fromkeys(map(clean, _squeezed(record, *TAGS_OF["abstract"]))))
    urls = [url for value in _squeezed(record, "UR") for url in addresses_in(value)]
    metadata = _shared(kind, record, urls)
    plain = {one_line(part) for part in abstract.split("\n\n")}
    fields = [
        [tag, value]
        for tag, value in record.tags
        if tag != "TY" and not (tag in TAGS_OF["abstract"] and one_line(value) in plain)
    ]
    metadata["ris"] = storable({"type": kind, "fields": fields})
    yield from assemble(
        place,
        options,
        own_id=record.first("ID"),
        title=record.first(*TAGS_OF["title"]),
        abstract=abstract,
        authors=_names(record, *TAGS_OF["authors"]),
        year=tuple(record.first(tag) for tag in TAGS_OF["year"]),
        venue=record.first(*TAGS_OF["venue"]),
        identifiers=_identifiers(record, urls),
        url=next(iter(urls), ""),
        language=record.first("LA"),
        metadata=metadata,
    )


def _squeezed(record: TaggedRecord, *tags: str) -> list[str]:
    return [one_line(value) for value in record.all(*tags)]


def _names(record: TaggedRecord, *tags: str) -> list[str]:
    # R writes BibTeX's "and" along.
    return names_in_lines(value.removesuffix(" and") for value in record.all(*tags))


def _shared(kind: str, record: TaggedRecord, urls: list[str]) -> dict[str, Any]:
    found = {
        "type": NAMES.types.get(kind, "document"),
        **NAMES.shared_texts(lambda tag: one_line(record.first(tag))),
        "pages": page_range(one_line(record.first("SP")), one_line(record.first("EP"))),
        "issn": "; ".join(_squeezed(record, "SN")),
        "note": "\n".join(_squeezed(record, "N1")),
        "keywords": record.all("KW"),
        "editors": list(dict.fromkeys((*_names(record, "A2"), *_names(record, "ED")))),
        "database": _database(record, urls),
    }
    return {name: value for name, value in found.items() if value}


def _database(record: TaggedRecord, urls: list[str]) -> str:
    name, platform = one_line(record.first("DB")), one_line(record.first("DP"))
    if _CODE.fullmatch(name) and platform:
        name = f"{platform} {name}"  # EBSCO's codes say little alone
    return database_of([name, platform], [record.first(tag) for tag in ("AN", "UT", "ID")], urls)


def _identifiers(record: TaggedRecord, urls: list[str]) -> Iterator[tuple[str, object]]:
    yield "doi", record.first("DO")
    for tag in ("M3", "N1", "M1"):
        yield from (("doi", value) for value in record.all(tag) if _DOI_LABEL.match(value))
    yield "doi", record.first("L3")
    yield from filter(None, map(parse_identifier, urls))
    database = f"{record.first('DB')} {record.first('DP')}".casefold()
    accession = record.first("AN")
    if accession.isdigit() and any(name in database for name in ("pubmed", "medline", "nlm")):
        yield "pmid", accession
    if record.first("C2").upper().startswith("PMC"):
        yield "pmcid", record.first("C2")


SOURCES.register("ris")(
    TaggedFormat(
        "ris",
        "RIS of any vendor; stray lines, missing ends and repeated tags are accepted",
        (".ris",),
        "RIS record",
        _RULES,
        _confidence,
        ris_paper,
    )
)
