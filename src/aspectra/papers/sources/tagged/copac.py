"""Records of the library catalogue Copac as text: ``TI- ``, ``AU- `` ..., values continued on indented lines.

All tags stay in ``metadata["copac"]`` as (tag, value) pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from aspectra.papers.bibliography import names_in
from aspectra.papers.names import given_first
from aspectra.papers.paper import Paper
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord, tagged_paper
from aspectra.papers.text.cleaning import one_line

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
    shared = {
        "type": "book",
        **{name: one_line(" ".join(record.all(*tags))) for name, tags in _NAMES.shared.items()},
        "keywords": record.all("KW"),
        "editors": _people(record, "ED"),
        "database": "Copac",
    }
    yield from tagged_paper(
        "copac",
        record,
        place,
        options,
        shared,
        authors=_people(record, "AU"),
        identifiers=[("isbn", number.group() if number else "")],
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
