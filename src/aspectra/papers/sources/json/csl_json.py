"""CSL-JSON, as Zotero, Pandoc and Crossref give it: an array, ``{"items": [...]}``, or one item a line.

The whole item stays in ``metadata["csl"]``. What Zotero itself does not put into CSL-JSON (collections,
rich notes, attachments) cannot be read from it. The writer shares :func:`item_paper`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from aspectra.papers.bibliography import csl_types, database_of, names_in
from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.names import people
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble, year_in
from aspectra.papers.sources.json.records import JsonFormat, as_list
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, one_line, storable, unmarked

NAMES = names_in("csl-json")
VARIABLES_OF = NAMES.attributes
"""Attribute of :class:`Paper` -> the CSL variables it is read from."""

_TELLING = frozenset(("container-title", "issued", "citation-key", "event-title", "container-title-short"))
_TYPE = re.compile(rb'"type"\s{0,3}:\s{0,3}"([a-z_-]{3,30})"')
_INSIDE = re.compile(rb'"(?:container-title|issued|date-parts)"\s*:')
_NOTE = re.compile(r"^[^\S\n]*+(citation key|arxiv|pmid|pmcid|doi|isbn)\s*+:\s*+(\S.*)$", re.I | re.M)


def _one(value: Any) -> Any:
    """The value, or the first of a list: Crossref gives titles as lists."""
    if isinstance(value, list):
        return value[0] if value else ""
    return value


def in_one_text(value: Any) -> Any:
    """The value; of a list its entries, between commas."""
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _text(value: Any) -> str:
    value = _one(value)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    return one_line(unmarked(clean(value)))


def _names(value: Any) -> list[str]:
    # Literal names are not turned round: "Department of X, University of Y".
    return people(as_list(value), turn=False)


def _year(value: Any) -> int | None:
    value = _one(value)  # older programs give dates as lists
    if not isinstance(value, Mapping):
        return year_in(value) if isinstance(value, str | int) else None
    parts = value.get("date-parts")
    first = _one(_one(parts)) or value.get("year")
    if isinstance(first, str | int | float) and (year := year_in(first)):
        return year
    return next(filter(None, map(year_in, map(value.get, ("raw", "literal", "date-time", "edtf")))), None)


def _identifiers(item: Mapping[str, Any], notes: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    for scheme in ("doi", "pmid", "pmcid"):
        yield scheme, item.get(scheme.upper())
        yield scheme, notes.get(scheme)
    yield "isbn", _one(item.get("ISBN"))
    yield "arxiv", notes.get("arxiv")
    for name in ("URL", "number"):
        value = item.get(name)
        if isinstance(value, str) and (found := parse_identifier(value)):
            yield found


def _shared(item: Mapping[str, Any]) -> dict[str, Any]:
    texts = NAMES.shared_texts(
        lambda name: _text(in_one_text(item.get(name)) if name == "ISSN" else item.get(name))
    )
    return {
        "type": NAMES.types.get(kind := _text(item.get("type")), kind),
        **texts,
        "note": clean(item["note"]) if isinstance(item.get("note"), str) else "",
        "keywords": item.get("keyword") or item.get("subject"),
        "editors": _names(item.get("editor")),
        "database": database_of([texts["database"]], [], [_text(item.get("URL"))]),
    }


def item_paper(item: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    """The paper of one item, with remarks.

    Raises:
        ValueError: the item is nested too deeply to be one.
    """
    note = item.get("note")
    notes = {k.casefold(): v.strip() for k, v in _NOTE.findall(note)} if isinstance(note, str) else {}
    own = item.get("citation-key") or item.get("citekey") or notes.get("citation key") or item.get("id")
    abstract = clean(unmarked(clean(item["abstract"]))) if isinstance(item.get("abstract"), str) else ""
    metadata = _shared(item)
    # An abstract without markup is written back from the paper; keeping it twice would double the library.
    plain = isinstance(item.get("abstract"), str) and clean(item["abstract"]) == abstract
    metadata["csl"] = storable({k: v for k, v in item.items() if not (plain and k == "abstract")})
    title, subtitle = _text(item.get("title")), _text(item.get("subtitle"))
    yield from assemble(
        place,
        options,
        own_id=own if isinstance(own, str | int | float) else "",
        title=f"{title}: {subtitle}" if title and subtitle else title,
        abstract=abstract,
        authors=_names(item.get("author")),
        year=(_year(item.get("issued")), _year(item.get("published"))),
        venue=next((v for name in VARIABLES_OF["venue"] if (v := _text(item.get(name)))), ""),
        identifiers=_identifiers(item, notes),
        url=_text(item.get("URL")),
        language=item["language"] if isinstance(item.get("language"), str) else "",
        metadata=metadata,
    )


def _confidence(keys: frozenset[str], head: bytes) -> float:
    if "type" in keys and keys & _TELLING:
        return 0.9
    if {"type", "title"} <= keys and not keys & {"authors", "year"}:
        typed = any(kind.decode() in csl_types() for kind in _TYPE.findall(head))
        return 0.7 if typed or keys & {"DOI", "URL", "author"} else 0.0
    return 0.8 if keys & {"items", "message"} and _INSIDE.search(head) else 0.0


SOURCES.register("csl-json")(
    JsonFormat(
        "csl-json",
        "CSL-JSON, also Zotero's; `citation-key` is the id where there is one",
        _confidence,
        item_paper,
        (".json",),
    )
)
