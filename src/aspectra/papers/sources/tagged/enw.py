"""EndNote's import format (``.enw``), also Refer: ``%T title``, ``%A author`` ...

All fields stay in ``metadata["enw"]`` as (sign, value) pairs, except the abstract, which is the paper's.
Source: the table of tags in EndNote's manual, "Tagged 'EndNote Import' format".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from aspectra.papers.bibliography import database_of, names_in
from aspectra.papers.identifiers import addresses_in, parse_identifier
from aspectra.papers.names import names_in_lines
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord
from aspectra.papers.text.cleaning import clean, one_line, storable

__all__: list[str] = []

_NAMES = names_in("enw")
_TYPES = names_in("endnote").types
_RULES = Rules(
    start="0",
    begins=re.compile(r"^%0(?: |$)"),
    tag=re.compile(r"^%([0-9A-Z@!+^$&()*<>\[=~?#-])(?:\s(.*)|)$"),
    headless=True,
    fresh=frozenset("TADJ"),
    titles=("T",),
    listed=frozenset("AKE"),
)
_START = re.compile(r"^%0 \S", re.M)
_TAG = re.compile(r"^%([TADJVNPXIKBEU@]) \S", re.M)


def _confidence(text: str) -> float:
    tags = {found[1] for found in _TAG.finditer(text)}
    if _START.search(text) and tags:
        return 0.95
    return 0.8 if {"T", "D"} <= tags or {"T", "A"} <= tags else 0.0


def _identifiers(record: TaggedRecord, urls: list[str], database: str) -> Iterator[tuple[str, object]]:
    yield "doi", record.first("R")
    yield from filter(None, map(parse_identifier, urls))
    number = record.first("M")
    if number.isdigit() and database in ("PubMed", "MEDLINE"):
        yield "pmid", number
    yield "pmcid", record.first("2") if record.first("2").upper().startswith("PMC") else ""


def _paper(record: TaggedRecord, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    urls = [url for value in record.all("U") for url in addresses_in(one_line(value))]
    shared: dict[str, Any] = {
        "type": _TYPES.get(one_line(record.first("0")), "document"),
        **_NAMES.shared_texts(lambda tag: one_line(record.first(tag))),
        "issn": "; ".join(map(one_line, record.all("@"))),
        "keywords": record.all("K"),
        "editors": names_in_lines(record.all("E")),
        "database": database_of([record.first("~"), record.first("W")], [record.first("M")], urls),
    }
    metadata = {name: value for name, value in shared.items() if value}
    metadata["enw"] = storable([[tag, value] for tag, value in record.tags if value and tag != "X"])
    yield from assemble(
        place,
        options,
        own_id=record.first("F"),
        title=record.first("T"),
        abstract="\n\n".join(dict.fromkeys(map(clean, record.all("X")))),
        authors=names_in_lines(record.all("A")),
        year=tuple(record.first(tag) for tag in _NAMES.attributes["year"]),
        venue=record.first(*_NAMES.attributes["venue"]),
        identifiers=_identifiers(record, urls, shared["database"]),
        url=next(iter(urls), ""),
        language=record.first("G"),
        metadata=metadata,
    )


SOURCES.register("enw")(
    TaggedFormat(
        "enw",
        "EndNote's import format and Refer (`%T title`, `%A author`)",
        (".enw", ".refer"),
        "EndNote record",
        _RULES,
        _confidence,
        _paper,
    )
)
