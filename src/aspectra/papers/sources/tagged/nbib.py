"""PubMed exports in MEDLINE format (``.nbib``, or "PubMed" text files).

All fields stay in ``metadata["nbib"]`` as (tag, value) pairs, except the abstract, which is the paper's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from aspectra.papers.bibliography import names_in
from aspectra.papers.names import names_in_lines
from aspectra.papers.paper import Paper
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord, tagged_paper
from aspectra.papers.text.cleaning import one_line

_RULES = Rules(
    start="PMID",
    begins=re.compile(r"^PMID {0,2}-"),
    tag=re.compile(r"^([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)$"),
    headless=True,
    fresh=frozenset(("TI", "OWN", "PMC")),  # PMC's own export begins with its id
    titles=("TI", "BTI"),
)
_SNIFF = re.compile(r"^PMID *- *\d+", re.M)
_OTHER = re.compile(r"^(?:OWN |STAT|DCOM|LR  |DP  |FAU |TI  )- ", re.M)
# Lines of a record without its PMID: tags that are padded to four letters.
_TAGS = re.compile(
    r"^(PMCR?|OWN|STAT|DCOM|FAU|TI|BTI|AB|AU|DP|PT|JT|TA|AID|LID|MH|OT|PG|VI|IP|PL|LA) {0,2}- ?\S", re.M
)
_OURS = frozenset(("PMC", "PMCR", "OWN", "STAT", "DCOM", "FAU", "BTI", "JT", "AID", "LID", "MH"))
_NOT_OURS = re.compile(r"^(?:TY|ER)  - ?", re.M)
_NAMES = names_in("nbib")


def _confidence(text: str) -> float:
    if _NOT_OURS.search(text):
        return 0.0
    if _SNIFF.search(text):
        return 0.95 if _OTHER.search(text) else 0.6
    tags = {found[1] for found in _TAGS.finditer(text)}
    return 0.9 if len(tags) >= 3 and tags & _OURS else 0.0


def _identifiers(record: TaggedRecord) -> Iterator[tuple[str, object]]:
    yield "pmid", record.first("PMID")
    yield "pmcid", record.first("PMC").lstrip("-")
    yield "pmcid", record.first("PMCR")
    yield from (("doi", value) for value in (*record.all("LID"), *record.all("AID")))
    yield "isbn", record.first("ISBN")


def _paper(record: TaggedRecord, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    title = one_line(" ".join(record.all(*_NAMES.attributes["title"])))  # a title may go over several tags
    if title.startswith("[") and title.rstrip(".").endswith("]"):
        title = title.rstrip(".").strip("[]")  # a translated title
    others = [value.removeprefix("Publisher: ") for value in record.paragraphs("OAB")[:1]]
    abstract = record.paragraphs("AB") or others or [""]  # others are in another language
    kind = next((t for name in record.all("PT") if (t := _NAMES.types.get(name))), "article-journal")
    shared = {
        "type": "book" if record.first("BTI") and not record.first("TI") else kind,
        "issn": "; ".join(record.all("IS")),
        "keywords": [*record.all("OT"), *record.all("MH")],
        "database": "PubMed",
        "editors": names_in_lines(record.all("FED", "ED")),
    }
    yield from tagged_paper(
        "nbib",
        record,
        place,
        options,
        shared,
        kept=[
            pair for pair in record.tags if pair[0] not in ("AB", "OAB") or one_line(pair[1]) not in abstract
        ],
        title=title,
        abstract="\n\n".join(abstract),
        authors=[*names_in_lines(record.all(*_NAMES.attributes["authors"])), *record.all("CN")],
        year=(record.first("DP"), record.first("DEP", "EDAT", "DA")),
        identifiers=_identifiers(record),
    )


SOURCES.register("nbib")(
    TaggedFormat(
        "nbib", "PubMed exports in MEDLINE format", (".nbib",), "PubMed record", _RULES, _confidence, _paper
    )
)
