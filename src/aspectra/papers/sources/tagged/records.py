"""The one reader of tagged formats (RIS, MEDLINE ...), and of the fields of a BibTeX or BibLaTeX entry.

A tagged format declares its rules and what its tags mean. The fields of entries are read by one function for
reader and writer: a writer may keep a raw field as long as it still reads as the value in the paper.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from bibtexparser.middlewares.names import parse_single_name_into_parts, split_multiple_persons_names

from aspectra.base.errors import BadInput
from aspectra.base.expressions import expression
from aspectra.papers.bibliography import csl_types, database_of, date_parts, language_of, names_in
from aspectra.papers.identifiers import addresses_in, named_identifiers, parse_identifier
from aspectra.papers.names import (
    given_first,
    is_others,
    is_suffix,
    names_in_commas,
    names_in_lines,
    people,
    printed,
    spelt_out,
)
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble, each, year_in
from aspectra.papers.sources.files import LIMITS, InputFile
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.sources.tables.columns import screening_of
from aspectra.papers.text.cleaning import clean, latex_to_text, one_line, storable
from aspectra.papers.text.references import read_reference

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
        url=next(filter(None, addresses), ""),
        language=language_of(every.get("langid")) or language_of(every.get("language")),
        metadata=metadata,
    )


Tags = list[tuple[str, str]]
_LINE_COST = 64  # bytes that a line needs beside its characters


@dataclass(frozen=True)
class Rules:
    """Rules that split the text of a format into records.

    Attributes:
        start: name of the tag that begins a record.
        begins: a line with that tag.
        tag: a line with any tag; its groups are the tag and its value.
        loose: the same in records whose first line does not match ``tag``; None where all lines must.
        stop: name of the tag that ends a record, or "" where there is none.
        end: a line that ends a record. If its group 1 is not empty, the line counts only if a record follows.
        headless: True if a record may lack its start tag: at the beginning of the file, and for ``fresh``.
        fresh: tags that begin a record behind a blank line when the one before has a title; a start tag among
            the lines of a record without one is then its own.
        titles: the tags of titles.
        listed: tags whose continuation lines are values of their own: they keep their line ends.
    """

    start: str
    begins: re.Pattern[str]
    tag: re.Pattern[str]
    loose: re.Pattern[str] | None = None
    stop: str = ""
    end: re.Pattern[str] | None = None
    headless: bool = False
    fresh: frozenset[str] = frozenset()
    titles: tuple[str, ...] = ()
    listed: frozenset[str] = frozenset()


@dataclass(slots=True)
class TaggedRecord:
    """One record.

    Attributes:
        tags: (tag, value) in file order; tag "" holds lines after the end of the record.
        line: number of its first line.
        ended: whether its end was marked.
        cut: lines left out because there were too many.
    """

    tags: Tags = field(default_factory=list)
    line: int = 0
    ended: bool = False
    cut: int = 0

    def all(self, *tags: str) -> list[str]:
        """The values of the first of these tags that has any."""
        found = ([value for name, value in self.tags if name == tag and value.strip()] for tag in tags)
        return next((values for values in found if values), [])

    def first(self, *tags: str) -> str:
        """The first value of the first of these tags that has one, else ""."""
        return next(iter(self.all(*tags)), "")

    def paragraphs(self, *tags: str) -> list[str]:
        """:meth:`all` of them, each on one line and none twice."""
        return list(dict.fromkeys(map(one_line, self.all(*tags))))

    def addresses(self, *tags: str) -> list[str]:
        """The addresses under the first of these tags that has any."""
        return [url for value in self.all(*tags) for url in addresses_in(one_line(value))]


def tagged_paper(
    form: str,
    record: TaggedRecord,
    place: str,
    options: ReadOptions,
    shared: Mapping[str, Any],
    *,
    kept: Any = None,
    **parts: Any,
) -> Iterator[Paper | Remark]:
    """The paper of one record: what its tags mean is in the format's table in ``bibliography.toml``.

    Args:
        form: the format, under whose name the record's fields stay in the metadata.
        record: its tags; the table's attributes are those of a paper, ``id`` and ``references``.
        place: for remarks.
        options: limits.
        shared: metadata under shared names, beside or instead of what the table names.
        kept: the fields that stay; by default all but the abstract and the references.
        parts: arguments of :func:`assemble` that are read in another way than the table states.

    Raises:
        ValueError: the record cannot be stored.
    """
    names = names_in(form)
    tags = {"id": (), "url": (), "language": (), "references": (), **names.attributes}
    cited = [line for value in record.all(*tags["references"]) for line in value.split("\n")]
    if kept is None:
        left_out = (*tags["abstract"], *tags["references"])
        kept = [[tag, value] for tag, value in record.tags if value and tag not in left_out]
    texts = names.shared_texts(lambda tag: one_line(record.first(tag)))
    read = {
        "own_id": record.first(*tags["id"]),
        "title": record.first(*tags["title"]),
        "abstract": "\n\n".join(record.paragraphs(*tags["abstract"])),
        "authors": names_in_lines(record.all(*tags["authors"])),
        "year": tuple(record.first(tag) for tag in tags["year"]),
        "venue": record.first(*tags["venue"]),
        "url": next(iter(record.addresses(*tags["url"])), ""),
        "language": record.first(*tags["language"]),
        "references": [read_reference(line) for line in cited if line.strip()],
        "metadata": {"type": "", **texts, **shared, form: storable(kept)},
    }
    yield from assemble(place, options, **{**read, **parts})


@dataclass(frozen=True)
class TaggedFormat:
    """A source of tagged records; each format fills in these fields.

    Attributes:
        name: see :class:`~aspectra.papers.sources.protocol.Source`, as for ``description`` and ``endings``.
        noun: what a record is called in messages.
        rules: how records are cut out.
        confidence: the beginning of the text, with plain line ends -> 0 to 1.
        convert: (record, place, options) -> papers and remarks; ValueError refuses the record.
    """

    name: str
    description: str
    endings: tuple[str, ...]
    noun: str
    rules: Rules
    confidence: Callable[[str], float]
    convert: Callable[[TaggedRecord, str, ReadOptions], Iterator[Paper | Remark]]

    def sniff(self, path: Path, head: bytes) -> float:
        """``confidence`` of the text, or 0.2 for the ending of the name alone."""
        text = head.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        named = path.suffix.casefold() in self.endings and text.strip()
        return self.confidence(text) or (0.2 if named else 0.0)

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers in file order.

        Raises:
            BadInput: the file is empty or holds no record.
        """
        return each(self._records(file), self.convert, options, titles=True)

    def _records(self, file: InputFile) -> Iterator[tuple[str, TaggedRecord | Remark]]:
        rules, count = self.rules, 0
        for record in _cut_records(file.text_lines(), rules):
            if isinstance(record, Remark):
                yield record.place, record
                continue
            count += 1
            place = f"record {count} (line {record.line})"
            if rules.stop and record.tags[0][0] != rules.start:
                yield place, Remark(place, f"{rules.start} missing: read as a generic record", skipped=False)
            elif rules.stop and not record.ended:
                reason = f"{rules.stop} missing: the record was ended at the next one"
                yield place, Remark(place, reason, skipped=False)
            if record.cut:
                reason = f"longer than any record is: {record.cut:,} lines of it left out"
                yield place, Remark(place, reason, skipped=False)
            yield place, record
        if not count:
            raise BadInput(
                f"{file.path} holds no {self.noun}",
                why=f"no line begins with the tag {rules.start}",
                hint="if it is another format, name it with --as NAME",
            )


@dataclass(slots=True)
class _Open:
    """A record that is being put together; ``strict``: whether its lines must match ``Rules.tag``."""

    rules: Rules
    line: int
    strict: bool
    ended: bool = False
    titled: bool = False
    cut: int = 0
    fields: list[tuple[str, list[str]]] = field(default_factory=list)
    size: int = 0

    def add(self, tag: str, value: str, *, begin: bool = True) -> None:
        """Begin a field, or else continue the last one."""
        self.size += len(value) + _LINE_COST
        if self.size > LIMITS.entry_chars or (begin and len(self.fields) >= LIMITS.fields):
            self.cut += 1
            return
        if begin:
            self.fields.append((tag, []))
        name, parts = self.fields[-1]
        parts.append(value)
        self.titled = self.titled or bool(value and name in self.rules.titles)

    def done(self) -> TaggedRecord:
        """The record."""
        tags = [
            (tag, ("\n" if tag in self.rules.listed else " ").join(filter(None, parts)))
            for tag, parts in self.fields
        ]
        return TaggedRecord(tags, self.line, self.ended, self.cut)


def _cut_records(lines: Iterable[tuple[int, str] | Remark], rules: Rules) -> Iterator[TaggedRecord | Remark]:
    """Records cut out of (line number, line), with continuation lines attached to their tags.

    Real files have wrong spacing, no end of record, blank lines, links behind the end, and lines of text that
    begin like a tag. Remarks are passed on.
    """
    current: _Open | None = None
    last = 0
    for line, following in pairwise(chain(_filled(lines), (None,))):
        if not isinstance(line, tuple):
            yield from (line,) if line else ()
            continue
        number, text = line
        blank, last = number > last + 1, number
        begins = rules.begins.match(text) is not None
        if begins and current and rules.fresh and not blank:
            begins = any(name == rules.start for name, _ in current.fields)
        loose = rules.loose if rules.loose and (begins or (current and not current.strict)) else None
        end = rules.end.match(text) if rules.end and not begins else None
        tag = None if end else (loose or rules.tag).match(text)
        if begins or (tag and _headless(tag[1], current, rules, blank)):
            if current:
                yield current.done()
            strict = rules.tag.match(text) is not None if begins or not current else current.strict
            current = _Open(rules, number, strict)
        if current is None:
            continue  # headers that some databases put before the first record
        if end and (not end[1] or not isinstance(following, tuple) or rules.begins.match(following[1])):
            current.ended = True
        elif tag:
            current.add(tag[1], (tag[2] or "").strip())
        elif current.ended:
            current.add("", text.strip())  # "Link to full text" lines of Ovid and Embase
        elif current.fields:
            current.add("", text.strip(), begin=False)
    if current:
        yield current.done()


def _filled(lines: Iterable[tuple[int, str] | Remark]) -> Iterator[tuple[int, str] | Remark]:
    """The lines that are not blank, without control characters."""
    for line in lines:
        if isinstance(line, Remark):
            yield line
        elif (text := storable(line[1])).strip():
            yield line[0], text


def _headless(tag: str, current: _Open | None, rules: Rules, blank: bool) -> bool:
    """True if a record begins at a tag other than the start tag."""
    if current is None:
        return rules.headless
    return current.ended or (blank and tag in rules.fresh and current.titled)
