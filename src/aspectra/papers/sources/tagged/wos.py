"""Tagged text of Web of Science (``FN``, ``PT`` ... ``ER``), and formats that a table of tags describes.

All tags stay in ``metadata["wos"]`` as (tag, value) pairs, except the abstract, which is the paper's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from aspectra.base.values import replace
from aspectra.papers.bibliography import database_of, names_in, page_range
from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.names import names_in_lines
from aspectra.papers.paper import Paper
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord, tagged_paper
from aspectra.papers.text.cleaning import one_line

_NAMES = names_in("wos")
# The lines around the records are not fields of one: name and version of the format, end of the file.
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
    shared = {
        "type": kind or ("book" if record.first("PT").startswith("B") else "article-journal"),
        "pages": _pages(record),
        "keywords": [one_line(words) for tag in ("DE", "ID") if (words := record.first(tag))],
        "editors": names_in_lines(record.all("BE", "ED")),
        # The platform has other databases too; their numbers name them.
        "database": database_of([], [record.first("UT")]) or "Web of Science",
    }
    inside = [(tag, value) for tag, value in record.tags if tag or not _LINES_AROUND.fullmatch(value)]
    yield from tagged_paper(
        "wos", replace(record, tags=inside), place, options, shared, identifiers=_identifiers(record)
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


# Tagged formats of which a table of tags says all: EndNote's import format, RefWorks' and NoteExpress's.
#
# All fields stay in ``metadata`` under the format's name as (tag, value) pairs, except the abstract, which
# is the paper's. Sources: the tables of tags in EndNote's and RefWorks' manuals; for NoteExpress what the
# Chinese databases CNKI, Wanfang and VIP export.

_TYPES = names_in("endnote").types


def _tabled(form: str, record: TaggedRecord, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    """The paper of one record of a format whose table in ``bibliography.toml`` says all.

    The table's attributes are those of a paper and ``kind``, ``id``, ``doi``, ``pmid``, ``pmcid``,
    ``accession``, ``serial``, ``editors``, ``keywords`` and ``last``, the last page.
    """
    names = names_in(form)

    def every(name: str) -> list[str]:
        return record.all(*names.attributes.get(name, ()))

    def first(name: str) -> str:
        return next(map(one_line, every(name)), "")

    urls = record.addresses(*names.attributes["url"])
    stated = names.shared.get("database", ())
    database = database_of(map(record.first, stated), every("accession"), urls)
    number, pmcid = first("accession"), first("pmcid")
    pmid = number if number.isdigit() and database in ("PubMed", "MEDLINE") else ""
    pages = one_line(record.first(*names.shared["pages"]))
    shared = {
        "type": _TYPES.get(first("kind"), "document"),
        "pages": page_range(pages, first("last")),
        "issn": "; ".join(map(one_line, every("serial"))),
        "keywords": every("keywords"),
        "editors": names_in_lines(every("editors")),
        "database": database,
    }
    identifiers = [
        ("doi", first("doi")),
        *filter(None, map(parse_identifier, urls)),
        ("pmid", first("pmid") or pmid),
        ("pmcid", pmcid if pmcid.upper().startswith("PMC") else ""),
    ]
    yield from tagged_paper(form, record, place, options, shared, identifiers=identifiers)


def _sure(start: str, tag: str, least: tuple[str, ...] = ()) -> Callable[[str], float]:
    """The confidence of a format whose records begin with ``start`` and have tags; without the start, 0.8.

    Args:
        start: pattern of a line.
        tag: pattern of a line; its group is the tag.
        least: tags of which two tell the format without a start.
    """
    begins, tagged = re.compile(start, re.M), re.compile(tag, re.M)

    def confidence(text: str) -> float:
        tags = {found[1] for found in tagged.finditer(text)}
        if begins.search(text) and tags:
            return 0.95
        return 0.8 if len(tags.intersection(least)) > 1 and least[0] in tags else 0.0

    return confidence


_ENDNOTE = Rules(
    start="0",
    begins=re.compile(r"^%0(?: |$)"),
    tag=re.compile(r"^%([0-9A-Z@!+^$&()*<>\[=~?#-])(?:\s(.*)|)$"),
    headless=True,
    fresh=frozenset("TADJ"),
    titles=("T",),
    listed=frozenset("AKE"),
)
# A line of an abstract may begin with two capitals, so tags are listed.
_REFWORKS_TAGS = (
    "RT|SR|ID|A[1-6]|T[1-3]|JF|JO|YR|FD|VO|vo|IS|SP|OP|K1|AB|NO|PB|PP|ED|SN|AN|LA|SF|DB|DS|IP|RD|ST"
    "|U[1-9]|U1[0-5]|UL|SL|LL|CR|WT|WV|WP|OL|PMID|PMCID|CA|CL|AD|AV|CN|DO|LK|RP|ER"
)
_REFWORKS = Rules(
    start="RT",
    begins=re.compile(r"^RT \S"),
    tag=re.compile(rf"^({_REFWORKS_TAGS})(?: (.*)|\s*)$"),
    titles=("T1",),
    listed=frozenset(("A1", "A2", "K1")),
)
_NOTEEXPRESS = Rules(
    start="Reference Type",
    begins=re.compile(r"^\{Reference Type\} ?:"),
    tag=re.compile(r"^\{([A-Z][A-Za-z /]{1,40})\} ?:(.*)$"),
    titles=("Title",),
    listed=frozenset(("Author", "Keywords")),
)
for form in (
    TaggedFormat(
        "enw",
        "EndNote's import format and Refer (`%T title`, `%A author`)",
        (".enw", ".refer"),
        "EndNote record",
        _ENDNOTE,
        _sure(r"^%0 \S", r"^%([TADJVNPXIKBEU@]) \S", ("T", "A", "D")),
        partial(_tabled, "enw"),
    ),
    TaggedFormat(
        "refworks",
        "RefWorks' tagged format (`RT Journal Article`, `A1 author`), also of Chinese databases",
        (),
        "RefWorks record",
        _REFWORKS,
        _sure(r"^RT \S", r"^(T1|A1|JF|YR) \S"),
        partial(_tabled, "refworks"),
    ),
    TaggedFormat(
        "noteexpress",
        "NoteExpress (`{Reference Type}: Journal Article`), as CNKI, Wanfang and VIP export it",
        (".net",),
        "NoteExpress record",
        _NOTEEXPRESS,
        _sure(r"^\{Reference Type\} ?:", r"^\{(Title|Author|Year)\} ?:"),
        partial(_tabled, "noteexpress"),
    ),
):
    SOURCES.register(form.name)(form)
