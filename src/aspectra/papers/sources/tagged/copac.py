"""Records of the library catalogue Copac as text: ``TI- ``, ``AU- `` ..., values continued on indented lines.

All tags stay in ``metadata["copac"]`` as (tag, value) pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from aspectra.papers.bibliography import names_in
from aspectra.papers.names import given_first
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord
from aspectra.papers.text.cleaning import clean, one_line, storable

_NAMES = names_in("copac")
_RULES = Rules(
    start="TI",
    begins=re.compile(r"^\s{0,4}TI-(?: |$)"),
    tag=re.compile(r"^\s{0,4}([A-Z][A-Z0-9])-(?: (.*)|\s*+)$"),
    titles=("TI",),
)
_TAG = re.compile(r"^[ \t]{0,4}(TI|AU|PU|PY|ED|SE|IS|NT|KW|HL|PD|DT|LN|LA|MT|UR|AB)- \S", re.M)
_NOT_OURS = re.compile(r"^(?:TY  -|ER  -|PMID|PMC|JT  -|FAU -)", re.M)
_LIFE = re.compile(r",\s?(?:active |born |b\. )?\d{4}\??-?(?:\d{4})?\.?$")  # years behind a catalogue's names
_BOOK_NUMBER = re.compile(r"[0-9][0-9Xx -]{8,16}")


def _confidence(text: str) -> float:
    tags = {found[1] for found in _TAG.finditer(text)}
    return 0.85 if len(tags) >= 3 and "TI" in tags and not _NOT_OURS.search(text) else 0.0


def _people(record: TaggedRecord, tag: str) -> list[str]:
    values = [part.strip(" .,") for value in record.all(tag) for part in value.split(";")]
    return [given_first(_LIFE.sub("", part)) for part in values if part]


def _paper(record: TaggedRecord, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    number = _BOOK_NUMBER.search(record.first("IS")[:300])
    shared: dict[str, Any] = {
        "type": "book",
        **_NAMES.shared_texts(lambda tag: one_line(" ".join(record.all(tag)))),
        "keywords": record.all("KW"),
        "editors": _people(record, "ED"),
        "database": "Copac",
    }
    metadata = {name: value for name, value in shared.items() if value}
    metadata["copac"] = storable([[tag, value] for tag, value in record.tags if value and tag != "AB"])
    yield from assemble(
        place,
        options,
        title=record.first("TI"),
        abstract="\n\n".join(map(clean, record.all("AB"))),
        authors=_people(record, "AU"),
        year=record.first("PY"),
        identifiers=[("isbn", number.group() if number else "")],
        url=record.first("UR"),
        language=record.first(*_NAMES.attributes["language"]),
        metadata=metadata,
    )


SOURCES.register("copac")(
    TaggedFormat(
        "copac",
        "records of the library catalogue Copac as text (`TI- `, `AU- `)",
        (),
        "Copac record",
        _RULES,
        _confidence,
        _paper,
    )
)
