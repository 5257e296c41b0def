"""What the tags of one RIS record say about a paper; shared by the reader and the writer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import rispy

from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.kinds import RIS_TYPES
from aspectra.papers.paper import Paper
from aspectra.papers.sources.fields import (
    assemble,
    given_first,
    identifiers_of,
    json_value,
    language_of,
    one_line,
    split_names,
    year_in,
)
from aspectra.papers.sources.files import clean
from aspectra.papers.sources.protocol import ReadOptions, Remark

__all__ = ["TAGS_OF", "tagged_paper"]

TAGS_OF = {
    "title": ("TI", "T1", "CT"),
    "abstract": ("AB", "N2"),
    "authors": ("AU", "A1"),
    "year": ("PY", "Y1", "DA"),
    "venue": ("JO", "JF", "T2", "BT", "J2", "JA"),
    "url": ("UR",),
    "language": ("LA",),
}
"""Attribute of :class:`Paper` -> the tags it is read from."""

_DOI_LABEL = re.compile(r"\s*(?:doi\b|https?://(?:dx\.)?doi\.org/)", re.I)


def tagged_paper(
    kind: str, tags: Sequence[tuple[str, str]], place: str, options: ReadOptions
) -> Iterator[Paper | Remark]:
    """The paper of one record, with remarks.

    Args:
        kind: the value of ``TY``.
        tags: (tag, value) in file order, values on one line except keywords; tag "" holds lines that
            stood after the end of the record.
        place: for remarks.
        options: limits.

    Raises:
        ValueError: rispy cannot make anything of the tags.
    """
    data = _mapped(kind, tags)
    authors = _names(data, "authors") or _names(data, "first_authors")
    title = one_line(_first(data, "title", "primary_title") or _unknown(data, "CT"))
    abstract = _all(data, "abstract") or _all(data, "notes_abstract")
    venue = _first(data, "journal_name", "alternate_title3", "secondary_title") or _unknown(data, "BT")
    year = next(
        (y for name in ("year", "publication_year", "date") if (y := year_in(_first(data, name)))), None
    )
    urls = [one_line(url) for url in _list(data, "urls")]
    metadata: dict[str, Any] = {name: value for name, value in _shared(kind, data) if value}
    plain = {one_line(part) for part in abstract.split("\n\n")}
    raw = [[t, v] for t, v in tags if not (t in TAGS_OF["abstract"] and one_line(v) in plain)]
    metadata["ris"] = json_value({"type": kind, "fields": raw})
    yield from assemble(
        place,
        options,
        own_id=_first(data, "id"),
        title=title,
        abstract=abstract,
        authors=authors,
        year=year,
        venue=one_line(venue or _first(data, "alternate_title1", "alternate_title2")),
        identifiers=_identifiers(data, urls),
        url=next((url for url in urls if url), ""),
        language=language_of(_first(data, "language")),
        metadata=metadata,
    )


def _mapped(kind: str, tags: Sequence[tuple[str, str]]) -> dict[str, Any]:
    lines = [f"TY  - {kind}"]
    lines += [f"{tag}  - {' '.join(value.split())}" for tag, value in tags if tag and tag != "KW"]
    words = [part for tag, value in tags if tag == "KW" for part in re.split(r"[;\n]", value)]
    lines += [f"KW  - {one_line(word)}" for word in words if word.strip()]
    lines.append("ER  - ")
    records = rispy.loads("\n".join(lines), enforce_list_tags=False)
    if len(records) != 1:
        raise ValueError("not one record")
    found: dict[str, Any] = records[0]
    return found


def _list(data: dict[str, Any], name: str) -> list[str]:
    value = data.get(name)
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, str) and v.strip()]


def _first(data: dict[str, Any], *names: str) -> str:
    return next((value for name in names for value in _list(data, name)), "")


def _all(data: dict[str, Any], name: str) -> str:
    return "\n\n".join(dict.fromkeys(clean(value) for value in _list(data, name)))


def _unknown(data: dict[str, Any], tag: str) -> str:
    values = data.get("unknown_tag", {}).get(tag, [])
    return next((value for value in values if value), "")


def _names(data: dict[str, Any], name: str) -> list[str]:
    out: list[str] = []
    for value in _list(data, name):
        out += split_names(value) if ";" in value else [given_first(value)]
    return [author for author in out if author]


def _shared(kind: str, data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    start, end = one_line(_first(data, "start_page")), one_line(_first(data, "end_page"))
    yield "type", RIS_TYPES.get(kind, "document")
    yield "volume", one_line(_first(data, "volume"))
    yield "issue", one_line(_first(data, "number"))
    yield "pages", f"{start}-{end}" if start and end and end not in start else start or end
    yield "publisher", one_line(_first(data, "publisher"))
    yield "issn", one_line(_first(data, "issn"))
    yield "date", one_line(_first(data, "date"))
    yield "note", "\n".join(map(one_line, _list(data, "notes")))
    yield "keywords", [one_line(word) for word in _list(data, "keywords")]
    yield "editors", _names(data, "secondary_authors")


def _identifiers(data: dict[str, Any], urls: list[str]) -> dict[str, str]:
    pairs: list[tuple[str, object]] = [("doi", one_line(_first(data, "doi")))]
    for name in ("type_of_work", "notes", "note"):
        pairs += [("doi", value) for value in _list(data, name) if _DOI_LABEL.match(value)]
    pairs.append(("doi", _unknown(data, "L3")))
    for url in urls:
        if found := parse_identifier(url):
            pairs.append(found)
    database = f"{_first(data, 'name_of_database')} {_first(data, 'database_provider')}".casefold()
    accession = _first(data, "accession_number")
    if accession.isdigit() and ("pubmed" in database or "medline" in database or "nlm" in database):
        pairs.append(("pmid", accession))
    if (custom := _first(data, "custom2")).upper().startswith("PMC"):
        pairs.append(("pmcid", custom))
    serial = re.sub(r"[^0-9Xx]", "", _first(data, "issn"))
    if len(serial) in (10, 13):
        pairs.append(("isbn", serial))
    return identifiers_of(pairs)
