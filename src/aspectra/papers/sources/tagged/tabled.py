"""Tagged formats of which a table of tags says all: EndNote's import format, RefWorks' and NoteExpress's.

All fields stay in ``metadata`` under the format's name as (tag, value) pairs, except the abstract, which is
the paper's. Sources: the tables of tags in EndNote's and RefWorks' manuals; for NoteExpress what the Chinese
databases CNKI, Wanfang and VIP export.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from aspectra.papers.bibliography import database_of, names_in, page_range
from aspectra.papers.identifiers import addresses_in, parse_identifier
from aspectra.papers.names import names_in_lines
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord
from aspectra.papers.text.cleaning import clean, one_line, storable

_TYPES = names_in("endnote").types


@dataclass(frozen=True)
class _Tabled:
    """Makes papers of the records of one format.

    Attributes:
        form: its name, whose table is in ``bibliography.toml``. The table's attributes are those of a paper
            and ``kind``, ``id``, ``doi``, ``pmid``, ``pmcid``, ``accession``, ``serial``, ``editors``,
            ``keywords`` and ``last``, the last page.
    """

    form: str

    def __call__(self, record: TaggedRecord, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
        names = names_in(self.form)

        def every(name: str) -> list[str]:
            return record.all(*names.attributes.get(name, ()))

        def first(name: str) -> str:
            return next(map(one_line, every(name)), "")

        urls = [url for value in every("url") for url in addresses_in(one_line(value))]
        stated = names.shared.get("database", ())
        database = database_of(map(record.first, stated), every("accession"), urls)
        number, pmcid = first("accession"), first("pmcid")
        pmid = number if number.isdigit() and database in ("PubMed", "MEDLINE") else ""
        shared: dict[str, Any] = {
            "type": _TYPES.get(first("kind"), "document"),
            **names.shared_texts(lambda tag: one_line(record.first(tag))),
            "issn": "; ".join(map(one_line, every("serial"))),
            "keywords": every("keywords"),
            "editors": names_in_lines(every("editors")),
            "database": database,
        }
        shared["pages"] = page_range(shared["pages"], first("last"))
        metadata = {name: value for name, value in shared.items() if value}
        abstract = names.attributes["abstract"]
        kept = [[tag, value] for tag, value in record.tags if value and tag not in abstract]
        metadata[self.form] = storable(kept)
        yield from assemble(
            place,
            options,
            own_id=first("id"),
            title=first("title"),
            abstract="\n\n".join(dict.fromkeys(map(clean, every("abstract")))),
            authors=names_in_lines(every("authors")),
            year=tuple(record.first(tag) for tag in names.attributes["year"]),
            venue=first("venue"),
            identifiers=[
                ("doi", first("doi")),
                *filter(None, map(parse_identifier, urls)),
                ("pmid", first("pmid") or pmid),
                ("pmcid", pmcid if pmcid.upper().startswith("PMC") else ""),
            ],
            url=next(iter(urls), ""),
            language=first("language"),
            metadata=metadata,
        )


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
        _Tabled("enw"),
    ),
    TaggedFormat(
        "refworks",
        "RefWorks' tagged format (`RT Journal Article`, `A1 author`), also of Chinese databases",
        (),
        "RefWorks record",
        _REFWORKS,
        _sure(r"^RT \S", r"^(T1|A1|JF|YR) \S"),
        _Tabled("refworks"),
    ),
    TaggedFormat(
        "noteexpress",
        "NoteExpress (`{Reference Type}: Journal Article`), as CNKI, Wanfang and VIP export it",
        (".net",),
        "NoteExpress record",
        _NOTEEXPRESS,
        _sure(r"^\{Reference Type\} ?:", r"^\{(Title|Author|Year)\} ?:"),
        _Tabled("noteexpress"),
    ),
):
    SOURCES.register(form.name)(form)
