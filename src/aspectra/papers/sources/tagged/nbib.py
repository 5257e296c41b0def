"""PubMed exports in MEDLINE format (``.nbib``, or "PubMed" text files).

All fields stay in ``metadata["nbib"]`` as (tag, value) pairs, except the abstract, which is the paper's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from aspectra.papers.bibliography import names_in
from aspectra.papers.names import given_first
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord
from aspectra.papers.text.cleaning import one_line

__all__: list[str] = []

_RULES = Rules(
    start="PMID",
    begins=re.compile(r"^PMID {0,2}-"),
    tag=re.compile(r"^([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)$"),
    headless=True,
    fresh=frozenset(("TI", "OWN")),
    titles=("TI", "BTI"),
)
_SNIFF = re.compile(r"^PMID *- *\d+", re.M)
_OTHER = re.compile(r"^(?:OWN |STAT|DCOM|LR  |DP  |FAU |TI  )- ", re.M)
_RIS = re.compile(r"^TY  - ", re.M)
_DOI = re.compile(r"^(\S+)\s*\[doi\]$", re.I)
_NAMES = names_in("nbib")


def _confidence(text: str) -> float:
    if not _SNIFF.search(text) or _RIS.search(text):
        return 0.0
    return 0.95 if _OTHER.search(text) else 0.6


def _identifiers(record: TaggedRecord) -> Iterator[tuple[str, object]]:
    yield "pmid", record.first("PMID")
    yield "pmcid", record.first("PMC")
    for value in (*record.all("LID"), *record.all("AID")):
        if found := _DOI.match(value):
            yield "doi", found.group(1)
    yield "isbn", record.first("ISBN").partition(" ")[0]


def _paper(record: TaggedRecord, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    title = one_line(record.first("TI", "BTI", "TT"))
    if title.startswith("[") and title.rstrip(".").endswith("]"):
        title = title.rstrip(".").strip("[]")  # a translated title
    abstract = record.first("AB")
    kind = next((t for name in record.all("PT") if (t := _NAMES.types.get(name))), "article-journal")
    shared = {
        "type": "book" if record.first("BTI") and not record.first("TI") else kind,
        **_NAMES.shared_texts(record.first),
        "issn": record.first("IS").split(" ")[0],
        "keywords": list(dict.fromkeys(w.lstrip("*") for w in (*record.all("OT"), *record.all("MH")))),
        "editors": [given_first(name) for name in record.all("FED", "ED")],
    }
    metadata = {name: value for name, value in shared.items() if value}
    metadata["nbib"] = [[tag, value] for tag, value in record.tags if tag != "AB" or value != abstract]
    yield from assemble(
        place,
        options,
        own_id=record.first("PMID"),
        title=title,
        abstract=abstract,
        authors=[*map(given_first, record.all("FAU", "AU")), *record.all("CN")],
        year=(record.first("DP"), record.first("DEP", "EDAT", "DA")),
        venue=record.first("JT", "TA", "BTI"),
        identifiers=_identifiers(record),
        language=record.first("LA"),
        metadata=metadata,
    )


SOURCES.register("nbib")(
    TaggedFormat(
        "nbib", "PubMed exports in MEDLINE format", (".nbib",), "PubMed record", _RULES, _confidence, _paper
    )
)
