"""RIS files, as databases and reference managers really export them; shared by the reader and the writer.

All tags stay in ``metadata["ris"]``, unknown ones too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from aspectra.papers.bibliography import database_of, names_in, page_range
from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.names import names_in_lines
from aspectra.papers.paper import Paper
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord, tagged_paper
from aspectra.papers.text.cleaning import one_line

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
    urls = record.addresses("UR")
    names = (names_in_lines(record.all(tag)) for tag in ("A2", "ED"))
    shared = {
        "type": NAMES.types.get(kind, "document"),
        "pages": page_range(one_line(record.first("SP")), one_line(record.first("EP")))
        or one_line(record.first("C7")),
        "issn": "; ".join(map(one_line, record.all("SN"))),
        "note": "\n".join(map(one_line, record.all("N1"))),
        "keywords": record.all("KW"),
        "editors": list(dict.fromkeys(chain(*names))),
        "database": _database(record, urls),
    }
    tags = TAGS_OF["abstract"]
    abstract = record.paragraphs(*tags) or [""]
    fields = [
        [tag, value]
        for tag, value in record.tags
        if tag != "TY" and not (tag in tags and one_line(value) in abstract)
    ]
    yield from tagged_paper(
        "ris",
        record,
        place,
        options,
        shared,
        kept={"type": kind, "fields": fields},
        own_id=record.first("ID"),
        identifiers=_identifiers(record, urls),
    )


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
    yield from (("pmid", value[5:]) for value in record.all("M2") if value.upper().startswith("PMID:"))
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
