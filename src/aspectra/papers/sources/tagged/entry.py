"""Read the fields of a BibTeX or BibLaTeX entry as the parts of a paper.

Reader and writer share this: a writer may keep a raw field as long as it still reads as the value in the
paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from bibtexparser.middlewares.names import parse_single_name_into_parts, split_multiple_persons_names

from aspectra.base.expressions import expression
from aspectra.papers.bibliography import csl_types, database_of, date_parts, language_of, names_in
from aspectra.papers.identifiers import named_identifiers, parse_identifier
from aspectra.papers.names import (
    given_first,
    is_others,
    is_suffix,
    names_in_commas,
    people,
    printed,
    spelt_out,
)
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble, year_in
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.sources.tables.columns import screening_of
from aspectra.papers.text.cleaning import clean, latex_to_text, one_line, storable

NAMES = names_in("bibtex")
_YEARS = ("issued", "year", "date", "earlyaccessdate")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_EXTENDED = re.compile(r"\b(family|given|prefix|suffix)\s*=\s*(\{[^{}]*\}|\"[^\"]*\"|[^,]*)", re.I)
_BRACED_COMMA = re.compile(r"\{[^{},]*,")
_PUBLISHED = re.compile(r"(?:\\(?:url|href)\s?\{)?https?://\S+$")
_TAGGED_REST = re.compile(r"\s[A-Z][A-Z0-9]  - .*", re.DOTALL)  # Rayyan appends the fields it does not know
_NEXT_DOI = re.compile(r"\s(?=10\.\d{4}|\[|https?:|doi\b)", re.I)
_ARXIV_VENUE = re.compile(r"arxiv[:\s]", re.I)


def names_of(raw: str) -> list[str]:
    r"""Authors of a raw ``author`` field, as printed; ``and others`` is left out.

    >>> names_of(r"Knuth, Donald E. and G{\"o}del, Kurt and {ACME, Inc.} and others")
    ['Donald E. Knuth', 'Kurt Gödel', 'ACME, Inc.']
    """
    line = " ".join(raw.split())
    if "&" in line:
        line = spelt_out(line.replace("\\&", "&")).replace("&", "\\&")
    if not line:
        return []
    if ";" in line and " and " not in line and "\\" not in line:
        pieces = [piece.strip() for piece in line.split(";")]
    else:
        pieces = split_multiple_persons_names(line)
    names = [name for piece in pieces for name in _names(piece) if name and not is_others(name)]
    return names if "," in line or "{" in line else people(names)


_INSIDE_ADDRESS = expression(r" (?!(?:https?|ftp)://)", re.I)


def _names(raw: str) -> list[str]:
    """One name, or those of a list that a database or a person put between commas instead of *and*."""
    if raw.count(",") < 2 or _BRACED_COMMA.search(raw) or _EXTENDED.search(raw):
        return [_name(raw)]
    text = latex_to_text(raw)
    # BibTeX gives three commas no meaning: such a text stays as it stands.
    return names_in_commas(text) or [one_line(text) if raw.count(",") > 2 else _name(raw)]


@lru_cache(maxsize=50_000)
def _name(raw: str) -> str:
    if extended := {k.casefold(): v.strip('{}" ') for k, v in _EXTENDED.findall(raw)}:
        parts = [extended.get(part, "") for part in ("given", "prefix", "family", "suffix")]
        return one_line(latex_to_text(" ".join(part for part in parts if part)))
    # BibTeX would take the suffix, or the "Inc." of a company, for a given name, and space Chinese names.
    whole = given_first(raw) if raw.count(",") == 1 else " "
    if is_suffix(raw.rpartition(",")[2]) or whole == one_line(raw) or " " not in whole:
        return one_line(latex_to_text(given_first(raw)))
    try:
        name = parse_single_name_into_parts(raw, strict=False)
        parts = [" ".join(some) for some in (name.first, [*name.von, *name.last], name.jr)]
    except (ValueError, LookupError):
        return given_first(latex_to_text(raw))
    return one_line(latex_to_text(printed(*parts)))


def _text(raw: str | None) -> str:
    return one_line(latex_to_text(raw)) if raw else ""


def _long_text(raw: str | None) -> str:
    """Line ends are layout in a .bib file; blank lines part paragraphs."""
    return clean("\n\n".join(_text(part) for part in _PARAGRAPH.split(clean(raw))))


def _address(raw: str | None) -> str:
    """A URL or identifier: escapes undone, but nothing taken for LaTeX markup."""
    if not raw:
        return ""
    text = raw.strip().replace("$\\sim$", "~")
    wrapped = re.match(r"\\(?:url|href)\s*\{([^{}]*)\}", text)
    if wrapped:
        text = wrapped.group(1)
    text = re.sub(r"\\(?:textunderscore|_)(?:\{\})?\s?", "_", text) if "\\" in text else text
    text = re.sub(r"\{?\\(?:textasciitilde|~)(?:\{\})?\}?", "~", text) if "\\" in text else text
    text = re.sub(r"\\([%&#$])", r"\1", text)
    # A long address is wrapped, and another one may follow it.
    return _INSIDE_ADDRESS.sub("", one_line(text.replace("{", "").replace("}", "")))


def _identifiers(fields: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    stated = _TAGGED_REST.sub("", fields.get("doi") or "")
    yield from (("doi", _address(one)) for one in _NEXT_DOI.split(stated))
    eprint = _address(fields.get("eprint"))
    kind = (fields.get("eprinttype") or fields.get("archiveprefix") or "").strip("{} ").casefold()
    if kind == "arxiv":
        yield "arxiv", eprint
    elif not kind and (found := parse_identifier(eprint)) and found[0] == "arxiv":
        yield found  # publishers put the address of their PDF there
    elif kind in ("pubmed", "pmid"):
        yield "pmid", eprint
    for scheme, value in named_identifiers(fields):
        yield scheme, _text(str(value)) if scheme == "isbn" else _address(str(value))  # of several the first
    for name in ("url", "link", "howpublished", "ee"):
        if (address := _address(fields.get(name))) and (found := parse_identifier(address)):
            yield found
    for name in ("journal", "journaltitle", "note", "howpublished", "number"):
        if _ARXIV_VENUE.search(value := fields.get(name, "")):
            yield "arxiv", _text(value)


def _title(fields: Mapping[str, str], kind: str) -> str:
    title, subtitle = _text(fields.get("title")), _text(fields.get("subtitle"))
    if title and subtitle:
        return f"{title}{'' if title.endswith(('?', '!', ':')) else ':'} {subtitle}"
    if not title and kind in ("proceedings", "collection", "book"):
        return _text(fields.get("booktitle"))
    return title or subtitle


def _date(year: str, month: str, day: str) -> str:
    """The date that BibTeX parts into fields, in numbers; "" for a year alone."""
    written = "-".join(filter(None, (year, month, day))) if month.isdecimal() else f"{month} {day}"
    parts = date_parts(written, year_in(year)) if month else ()
    return "-".join(f"{part:02}" for part in parts) if len(parts) > 1 else ""


def _shared(kind: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """Metadata under the names that all bibliographic formats share."""
    texts = NAMES.shared_texts(lambda name: _text(fields.get(name)))
    # BibLaTeX's field for what its types do not tell apart: "magazine", or a CSL type.
    told = _text(fields.get("entrysubtype")).casefold()
    told = next((name for name in (f"article-{told}", told) if name in csl_types()), "")
    stated = _text(fields.get("database")), _text(fields.get("unique-id")), _address(fields.get("url"))
    # A field "source" may hold anything: only the name of a database counts.
    source = database_of([_text(fields.get("source"))], known=True)
    found = {
        "type": told or NAMES.types.get(kind, "document"),
        **texts,
        "date": texts["date"] or _date(*(_text(fields.get(name)) for name in ("year", "month", "day"))),
        "note": _long_text(fields.get("note")).replace("\n\n", "\n"),
        "editors": names_of(fields.get("editor", "")),
        "database": database_of(*([one] for one in stated)) or source,
    }
    # A decision is written there, see carrying.py; a note of the record is metadata of its own.
    if "RAYYAN-INCLUSION" in (annotation := fields.get("annote", "")):
        found["screening"] = screening_of("", notes=_text(annotation))
    return found


def entry_paper(
    key: str,
    kind: str,
    fields: Mapping[str, str],
    place: str,
    options: ReadOptions,
    *,
    inherited: Mapping[str, str] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Iterator[Paper | Remark]:
    """The paper of one entry, with remarks.

    Args:
        key: citation key, never taken for LaTeX.
        kind: entry type, lower case.
        fields: the entry's own fields, names in lower case, values raw but without enclosing.
        place: for remarks.
        options: limits.
        inherited: fields from ``crossref`` and ``xdata`` parents, for what the entry lacks itself.
        extra: more to keep beside type and fields in ``metadata["bibtex"]``.
    """
    every = {**(inherited or {}), **fields}
    metadata = _shared(kind, every)
    abstract = _long_text(every.get("abstract"))
    # An abstract without markup is written back from the paper; keeping it twice would double the library.
    plain = one_line(fields.get("abstract")) == one_line(abstract)
    raw = {name: value for name, value in fields.items() if not (plain and name == "abstract")}
    metadata["bibtex"] = storable({"type": kind, "fields": raw, **(extra or {})})
    addresses = [_address(every.get(name)) for name in NAMES.attributes["url"]]
    if _PUBLISHED.match(published := every.get("howpublished", "").strip()):
        addresses.append(_address(published))
    url = next(filter(None, addresses), "")
    yield from assemble(
        place,
        options,
        own_id=key,
        title=_title(every, kind),
        abstract=abstract,
        authors=names_of(every.get("author", "")),
        year=(*map(fields.get, ("year", "date")), *map(every.get, _YEARS)),
        venue=next((v for name in NAMES.attributes["venue"] if (v := _text(every.get(name)))), ""),
        identifiers=_identifiers(every),
        url=url,
        language=language_of(every.get("langid")) or language_of(every.get("language")),
        metadata=metadata,
    )
