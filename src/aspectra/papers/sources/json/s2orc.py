"""Parsed papers as JSON: S2ORC (and CORD-19) parses, and Science-Parse.

S2ORC's parser writes ``pdf_parse`` or ``latex_parse`` around ``body_text`` and ``bib_entries``; the release
of 2019 has ``grobid_parse``, and CORD-19 has those two at the top. Science-Parse writes ``{"name",
"metadata": {"sections", "abstractText", "references", ...}}``. Paragraphs of one section are joined by a
blank line; :attr:`Reference.key` is the entry's key (``BIBREF3``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aspectra.papers.identifiers import identifiers_in, named_identifiers
from aspectra.papers.names import person
from aspectra.papers.paper import Paper, Reference, Section
from aspectra.papers.sources.assembly import assemble, reference_of
from aspectra.papers.sources.json.records import JsonFormat, as_dict, as_list, rest
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, one_line

_SCIENCE_PARSE = {"metadata.abstractText", "metadata.referenceMentions"}
_NOT_OURS = {"_source_hash", "_source_name", "discipline"}
_PARSES = ("latex_parse", "pdf_parse", "grobid_parse")  # LaTeX gives the cleanest text
_USED = (
    *("paper_id", "title", "authors", "year", "venue", "identifiers", "abstract", *_PARSES),
    *("body_text", "body", "bib_entries", "back_matter", "metadata"),
)
_USED_PARSE = ("paper_id", "abstract", "body_text", "body", "back_matter", "bib_entries")
_USED_SCIENCE = ("title", "authors", "year", "abstractText", "sections", "references", "venue")


def _confidence(keys: frozenset[str], head: bytes) -> float:
    if keys & set(_PARSES):
        return 0.96
    if keys & _SCIENCE_PARSE or {"name", "metadata.sections"} <= keys:
        return 0.96
    # Long paragraphs may push the body out of the head: a list of paragraphs as abstract is telling enough.
    parsed = (
        "paper_id" in keys
        and keys & {"body_text", "abstract.text", "body.text"}
        and "body_text.sec_number" not in keys
    )
    return 0.96 if parsed and not keys & _NOT_OURS else 0.0


def _paper(record: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    metadata = as_dict(record.get("metadata"))
    if metadata.keys() & {"abstractText", "sections", "referenceMentions", "references"}:
        yield from _science_parse(record, metadata, place, options)
    else:
        yield from _s2orc(record, metadata, place, options)


def _s2orc(
    record: Mapping[str, Any], inner: Mapping[str, Any], place: str, options: ReadOptions
) -> Iterator[Paper | Remark]:
    parses = [parse for name in _PARSES if (parse := as_dict(record.get(name)))]
    parse = next((parse for parse in parses if _body(parse)), next(iter(parses), record))
    abstracts = (_abstract(holder.get("abstract")) for holder in (record, parse, inner, *parses))
    sections, numbers = sections_of([*_body(parse), *as_list(parse.get("back_matter"))])
    kept = rest(inner, ("title", "authors", "year", "venue", "abstract")) | rest(record, _USED)
    if parse is not record:
        kept |= rest(parse, _USED_PARSE)
    kept["section_numbers"] = numbers if any(numbers) else []
    yield from assemble(
        place,
        options,
        own_id=record.get("paper_id"),
        title=record.get("title") or inner.get("title"),
        abstract=next(filter(None, abstracts), ""),
        authors=_authors(record.get("authors") or inner.get("authors")),
        year=record.get("year") or inner.get("year"),
        venue=record.get("venue") or inner.get("venue"),
        identifiers=named_identifiers(as_dict(record.get("identifiers")) or inner),
        sections=sections,
        references=_references(as_dict(parse.get("bib_entries"))),
        metadata=kept,
    )


def _abstract(value: object) -> str:
    """The text of an abstract that is one, or a list of paragraphs or texts."""
    if isinstance(value, str):
        return value
    parts = (part if isinstance(part, str) else as_dict(part).get("text") for part in as_list(value))
    return "\n\n".join(text for part in parts if (text := clean(part)))


def _body(parse: Mapping[str, Any]) -> list[Any]:
    """The paragraphs of a parse."""
    return as_list(parse.get("body_text")) or as_list(parse.get("body"))


def _science_parse(
    record: Mapping[str, Any], inner: Mapping[str, Any], place: str, options: ReadOptions
) -> Iterator[Paper | Remark]:
    name = one_line(record.get("name"))
    sections = [
        Section(clean(as_dict(part).get("heading")), clean(as_dict(part).get("text")))
        for part in as_list(inner.get("sections"))
    ]
    references = [
        Reference(raw, title=one_line(entry.get("title")), identifiers=identifiers_in(raw))
        for entry in map(as_dict, as_list(inner.get("references")))
        if (raw := _printed(entry, entry.get("author")))
    ]
    yield from assemble(
        place,
        options,
        own_id=name.removesuffix(".pdf").rpartition("/")[2],
        title=inner.get("title"),
        abstract=inner.get("abstractText"),
        authors=_authors(inner.get("authors")),
        year=inner.get("year"),
        venue=inner.get("venue"),
        sections=[section for section in sections if section.heading or section.text],
        references=references,
        metadata=rest(inner, _USED_SCIENCE) | rest(record, ("metadata",)),
    )


def _authors(value: object) -> list[str]:
    return [name for name in map(person, as_list(value)) if name]


def _printed(entry: Mapping[str, Any], authors: object) -> str:
    """A reference put together out of its fields."""
    people = ", ".join(_authors(authors))
    parts = [people, *(one_line(entry.get(name)) for name in ("year", "title", "venue"))]
    return ". ".join(part for part in parts if part)


def sections_of(
    paragraphs: list[Any], text_of: Callable[[object], str] = clean
) -> tuple[list[Section], list[str]]:
    """Consecutive paragraphs under one heading as one section, and the sections' numbers beside them."""
    names: list[tuple[str, str]] = []
    texts: list[list[str]] = []
    for entry in map(as_dict, paragraphs):
        here = (one_line(entry.get("section")), one_line(entry.get("sec_num") or entry.get("sec_number")))
        if not names or here != names[-1]:
            names.append(here)
            texts.append([])
        if text := text_of(entry.get("text")):
            texts[-1].append(text)
    sections = [
        Section(heading, "\n\n".join(parts)) for (heading, _), parts in zip(names, texts, strict=True)
    ]
    return sections, [number for _, number in names]


def _references(entries: Mapping[str, Any]) -> Iterator[Reference]:
    for key, value in entries.items():
        entry = as_dict(value)
        title = one_line(entry.get("title"))
        raw = one_line(entry.get("raw_text")) or _printed(entry, entry.get("authors"))
        stated = [*named_identifiers(as_dict(entry.get("other_ids"))), ("s2", entry.get("link"))]
        yield reference_of(raw, key, title, stated)


SOURCES.register("s2orc")(JsonFormat("s2orc", "S2ORC, CORD-19 and Science-Parse", _confidence, _paper))
