"""What one CSL-JSON item says about a paper; shared by the reader and the writer."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.paper import Paper
from aspectra.papers.sources.fields import (
    assemble,
    given_first,
    identifiers_of,
    json_value,
    language_of,
    one_line,
    year_in,
)
from aspectra.papers.sources.files import clean
from aspectra.papers.sources.protocol import ReadOptions, Remark

__all__ = ["VARIABLES_OF", "item_paper"]

VARIABLES_OF = {
    "title": ("title",),
    "abstract": ("abstract",),
    "authors": ("author",),
    "year": ("issued",),
    "venue": ("container-title", "event-title", "event"),
    "url": ("URL",),
    "language": ("language",),
}
"""Attribute of :class:`Paper` -> the CSL variables it is read from."""

_MARKUP = re.compile(r"</?(?:i|b|em|strong|sub|sup|sc|span|p|jats:[a-z-]+|title|sec)(?:\s[^<>]*)?/?>", re.I)
_NOTE = re.compile(r"^\s*(citation key|arxiv|pmid|pmcid|doi|isbn)\s*:\s*(\S.*)$", re.I | re.M)


def _one(value: Any) -> Any:
    """Crossref gives titles as lists."""
    if isinstance(value, list):
        return value[0] if value else ""
    return value


def _text(value: Any) -> str:
    value = _one(value)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    return one_line(html.unescape(_MARKUP.sub("", clean(value))))


def _long_text(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    text = re.sub(r"</(?:jats:)?(?:p|title|sec)>\s*", "\n\n", clean(value))
    text = html.unescape(_MARKUP.sub("", text))
    return re.sub(r"\n\s*\n\s*", "\n\n", clean(text))


def _name(value: Any) -> str:
    if isinstance(value, str):
        return given_first(value)
    if not isinstance(value, Mapping):
        return ""
    if literal := value.get("literal") or value.get("name"):
        return one_line(literal)
    parts = ("given", "dropping-particle", "non-dropping-particle", "family", "suffix")
    return one_line(" ".join(str(value[part]) for part in parts if value.get(part)))


def _names(value: Any) -> list[str]:
    return [name for name in map(_name, value) if name] if isinstance(value, list) else []


def _year(value: Any) -> int | None:
    if not isinstance(value, Mapping):
        return year_in(value) if isinstance(value, str | int) else None
    parts = value.get("date-parts")
    if isinstance(parts, list) and parts and isinstance(parts[0], list) and parts[0]:
        first = parts[0][0]
        if isinstance(first, str | int | float) and (year := year_in(first)):
            return year
    return next((y for name in ("raw", "literal") if (y := year_in(value.get(name)))), None)


def _identifiers(item: Mapping[str, Any], notes: Mapping[str, str]) -> dict[str, str]:
    pairs: list[tuple[str, object]] = [("doi", item.get("DOI")), ("doi", notes.get("doi"))]
    pairs += [("pmid", item.get("PMID")), ("pmid", notes.get("pmid"))]
    pairs += [("pmcid", item.get("PMCID")), ("pmcid", notes.get("pmcid"))]
    pairs += [("isbn", _one(item.get("ISBN"))), ("arxiv", notes.get("arxiv"))]
    for name in ("URL", "number"):
        value = item.get(name)
        if isinstance(value, str) and (found := parse_identifier(value)):
            pairs.append(found)
    return identifiers_of(pairs)


def _shared(item: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "type", _text(item.get("type"))
    yield "volume", _text(item.get("volume"))
    yield "issue", _text(item.get("issue"))
    yield "pages", _text(item.get("page")).replace("–", "-")
    yield "publisher", _text(item.get("publisher"))
    yield "issn", _text(item.get("ISSN"))
    yield "note", clean(item["note"]) if isinstance(item.get("note"), str) else ""
    words = item.get("keyword") or item.get("subject") or ""
    pieces = re.split(r"[;,]", words) if isinstance(words, str) else words
    yield "keywords", [w for w in map(_text, pieces) if w] if isinstance(pieces, list) else []
    yield "editors", _names(item.get("editor"))


def item_paper(item: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    """The paper of one item, with remarks.

    Raises:
        ValueError: the item is nested too deeply to be one.
    """
    note = item.get("note")
    notes = {k.casefold(): v.strip() for k, v in _NOTE.findall(note)} if isinstance(note, str) else {}
    own = item.get("citation-key") or item.get("citekey") or notes.get("citation key") or item.get("id")
    abstract = _long_text(item.get("abstract"))
    metadata: dict[str, Any] = {name: value for name, value in _shared(item) if value}
    # An abstract without markup is written back from the paper; keeping it twice would double the library.
    plain = isinstance(item.get("abstract"), str) and clean(item["abstract"]) == abstract
    metadata["csl"] = json_value({k: v for k, v in item.items() if not (plain and k == "abstract")})
    title, subtitle = _text(item.get("title")), _text(item.get("subtitle"))
    yield from assemble(
        place,
        options,
        own_id=own if isinstance(own, str | int | float) else "",
        title=f"{title}: {subtitle}" if title and subtitle else title,
        abstract=abstract,
        authors=_names(item.get("author")),
        year=_year(item.get("issued")) or _year(item.get("published")),
        venue=next((v for name in VARIABLES_OF["venue"] if (v := _text(item.get(name)))), ""),
        identifiers=_identifiers(item, notes),
        url=_text(item.get("URL")),
        language=language_of(item["language"]) if isinstance(item.get("language"), str) else "",
        metadata=metadata,
    )
