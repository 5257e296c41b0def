"""Citations that Ovid saves as text: ``<1>``, then names of fields, their values indented on the next lines.

All fields stay in ``metadata["ovid"]`` as (name, value) pairs, except the abstract and the cited references.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from aspectra.papers.bibliography import database_of, names_in
from aspectra.papers.identifiers import scheme_of
from aspectra.papers.names import given_first
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import year_in
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.records import Rules, TaggedFormat, TaggedRecord, tagged_paper
from aspectra.papers.text.cleaning import one_line

_NAMES = names_in("ovid")
_PEOPLE = _NAMES.attributes["authors"]
_WORDS = ("Author Keywords", "Keywords", "Keyword Heading", "MeSH Subject Headings", "Subject Headings")
_RULES = Rules(
    start="<number>",
    begins=re.compile(r"^\s{0,4}<\d{1,7}>\s*+$"),
    tag=re.compile(r"^([A-Z](?:[A-Za-z()/&,-]| (?=\S)){1,60}+)\s*+()$"),
    listed=frozenset((*_PEOPLE, *_WORDS, "References", "Institution", "Publication Type", "Document Type")),
)
_SNIFF = re.compile(r"^[ \t]{0,4}<\d{1,7}>[ \t]*$", re.M)
_FIELD = re.compile(
    r"^(?:Title|Authors?|Source|Accession Number|Abstract|Publication Type)[ \t]*\n[ \t]+\S", re.M
)
_KIND = re.compile(
    r"\.?\s?\[[^\[\]]{0,40}(?:Article|Review|Editorial|Letter|Report|Abstract|Erratum|Comment|Miscellaneous)"
    r"[^\[\]]{0,40}\]$"
)
_MARKS = " 0123456789,*"  # numbers of affiliations behind a name
_EDITOR = re.compile(r"\[Eds?\.?\]|\(Eds?\.?\)", re.I)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Spring|Summer|Fall|Autumn|Winter)[a-z]{0,7}\.?"
_DATES = (
    re.compile(rf"\b{_MONTH}(?:[ -]{_MONTH})?(?: \d{{1,2}},?)? ((?:1[4-9]|20)\d\d)\b"),
    re.compile(r"\(((?:1[4-9]|20)\d\d)\)"),
    re.compile(r"\b((?:1[4-9]|20)\d\d)\.?$"),
)
_IN_JOURNAL = re.compile(
    r"(?P<venue>[^.]{2,250}(?:\.[^\s.][^.]{0,100}){0,3})\.\s+(?:Vol\.?\s?)?(?P<volume>\d{1,5})?"
    r"(?:\s?\((?P<issue>[^()]{1,30})\))?(?::\s?(?P<pages>[A-Za-z]?\d[\w-]{0,20}))?"
)
_IN_BOOK = re.compile(
    r"[^()]{0,300}\((?:1[4-9]|20)\d\d\)\.\s+(?P<title>[^.]{2,300}?)(?:\.|\s\d{1,5} pp\b|\s\(pp)"
)
_PARTED = re.compile(r"[;\n]")


def _confidence(text: str) -> float:
    return 0.95 if _SNIFF.search(text[:8000]) and _FIELD.search(text) else 0.0


def _people(record: TaggedRecord) -> tuple[list[str], list[str]]:
    """(authors, editors): editors are marked behind their names."""
    found: tuple[list[str], list[str]] = ([], [])
    for value in record.all(*_PEOPLE):
        for part in _PARTED.split(value):
            name = _EDITOR.sub("", part[:300]).strip().rstrip(_MARKS)
            family, blanks, given = name.partition("  ")
            if blanks and "," not in name:
                name = f"{family}, {given.strip()}"
            if name:
                found[_EDITOR.search(part[:300]) is not None].append(given_first(name))
    return found


def _year(record: TaggedRecord) -> int | None:
    for name in _NAMES.attributes["year"]:
        text = one_line(record.first(name))[-500:]
        for pattern in _DATES:
            if years := pattern.findall(text):
                return int(years[-1])
        if name not in ("Source", "Status") and (year := year_in(text)):
            return year
    return None


def _identifiers(record: TaggedRecord) -> Iterator[tuple[str, object]]:
    for name, value in record.tags:
        plain = name.removesuffix(" Number").removesuffix(" Identifier")
        if name.startswith("Digital Object Identifier"):
            plain = "DOI"
        if scheme := scheme_of(plain.replace(" ", "_")):
            yield scheme, value


def _paper(record: TaggedRecord, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    source = one_line(record.first("Source"))[:1000]
    title = _KIND.sub("", one_line(record.first(*_NAMES.attributes["title"])))
    printed = _IN_BOOK.match(source) if not title else None
    title = title or (printed["title"] if printed else "")
    in_journal = None if printed else _IN_JOURNAL.match(source)
    place_in = in_journal.groupdict() if in_journal else {}
    authors, editors = _people(record)
    kinds = [
        kind.strip(" :.")
        for value in record.all("Publication Type", "Document Type")
        for kind in _PARTED.split(value)
    ]
    named, number = record.all("Database", "Database Name"), record.first("Accession Number")
    shared = {
        "type": next((t for k in kinds if (t := _NAMES.types.get(k))), "article-journal"),
        **{name: place_in.get(name) or "" for name in ("volume", "issue", "pages")},
        "keywords": [part.strip(" .") for value in record.all(*_WORDS) for part in _PARTED.split(value)],
        "editors": editors,
        "database": database_of(named, [number]) or "Ovid",
    }
    yield from tagged_paper(
        "ovid",
        record,
        place,
        options,
        shared,
        title=title,
        authors=authors,
        year=_year(record),
        venue=record.first(*_NAMES.attributes["venue"]) or place_in.get("venue"),
        identifiers=_identifiers(record),
        language=record.first("Language").rstrip("."),
    )


SOURCES.register("ovid")(
    TaggedFormat(
        "ovid",
        "citations saved by Ovid as text (`<1>`, names of fields, indented values)",
        (),
        "Ovid citation",
        _RULES,
        _confidence,
        _paper,
    )
)
