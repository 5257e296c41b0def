"""Web of Science's tagged text: ``.ciw``, ``.isi`` and "plain text" (``FN``, ``VR``, ``PT`` ... ``ER``).

All tags stay in ``metadata["wos"]`` as (tag, value) pairs, except the abstract, which is the paper's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from aspectra.papers.bibliography import database_of, names_in
from aspectra.papers.names import names_in_lines
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord
from aspectra.papers.text.cleaning import clean, one_line, storable
from aspectra.papers.text.references import read_reference

_NAMES = names_in("wos")
# The lines around the records are no fields of one: name and version of the format, end of the file.
_RULES = Rules(
    start="PT",
    begins=re.compile(r"^PT(?: [A-Z]{0,2})?\s*+$"),
    tag=re.compile(r"^(?!E[RF]\s*+$|FN |VR )([A-Z][A-Z0-9])(?: (.*)|)$"),
    stop="ER",
    end=re.compile(r"^ER\s*+()$"),
    headless=True,
    listed=frozenset(("AU", "AF", "BA", "BF", "BE", "ED", "CA", "GP", "C1", "C3", "CR")),
)
_HEAD = re.compile(r"^FN \S[^\n]*\nVR ", re.M)
_START = re.compile(r"^PT [A-Z]{1,2}[ \t]*$", re.M)
_TAG = re.compile(r"^(AU|TI|SO|PY|UT|J9|DT|AB) \S", re.M)
_NOT_OURS = re.compile(r"^TY  - ", re.M)
_LINES_AROUND = re.compile(r"EF|(?:FN|VR) .*")


def _confidence(text: str) -> float:
    if _NOT_OURS.search(text):
        return 0.0
    tags = {found[1] for found in _TAG.finditer(text)}
    if _HEAD.search(text[:4000]) and tags:
        return 0.95
    return 0.9 if _START.search(text) and len(tags) >= 2 else 0.0


def _pages(record: TaggedRecord) -> str:
    start, end = (one_line(record.first(*tags)) for tags in (("BP", "SP", "BR"), ("EP",)))
    return f"{start}-{end}" if start and end else start or one_line(record.first("PS", "AR"))


def _identifiers(record: TaggedRecord) -> Iterator[tuple[str, object]]:
    yield "doi", record.first("DI")
    yield "doi", record.first("D2")  # of the book
    yield "pmid", record.first("PM")
    number = record.first("UT")
    if number.upper().startswith("MEDLINE:"):
        yield "pmid", number.partition(":")[2]
    yield "isbn", record.first("BN")


def _paper(record: TaggedRecord, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    kinds = [part.strip() for part in record.first("DT").split(";")]
    kind = next((t for name in kinds if (t := _NAMES.types.get(name))), "")
    references = [line for value in record.all("CR") for line in value.split("\n")]
    shared: dict[str, Any] = {
        "type": kind or ("book" if record.first("PT").startswith("B") else "article-journal"),
        **_NAMES.shared_texts(lambda tag: one_line(record.first(tag))),
        "pages": _pages(record),
        "keywords": [one_line(words) for tag in ("DE", "ID") if (words := record.first(tag))],
        "editors": names_in_lines(record.all("BE", "ED")),
        # The platform has other databases too; their numbers name them.
        "database": database_of([], [record.first("UT")]) or "Web of Science",
    }
    metadata = {name: value for name, value in shared.items() if value}
    fields = [
        [tag, value]
        for tag, value in record.tags
        if value and tag not in ("AB", "CR") and (tag or not _LINES_AROUND.fullmatch(value))
    ]
    metadata["wos"] = storable(fields)
    yield from assemble(
        place,
        options,
        title=record.first(*_NAMES.attributes["title"]),
        abstract="\n\n".join(dict.fromkeys(map(clean, record.all("AB")))),
        authors=names_in_lines(record.all(*_NAMES.attributes["authors"])),
        year=tuple(record.first(tag) for tag in _NAMES.attributes["year"]),
        venue=record.first(*_NAMES.attributes["venue"]),
        identifiers=_identifiers(record),
        language=record.first("LA"),
        references=[read_reference(line) for line in references if line.strip()],
        metadata=metadata,
    )


SOURCES.register("wos")(
    TaggedFormat(
        "wos",
        "Web of Science as tagged text (`.ciw`, `.isi`, plain text), with the cited references",
        (".ciw", ".isi"),
        "Web of Science record",
        _RULES,
        _confidence,
        _paper,
    )
)
