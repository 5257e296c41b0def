"""The last step of every source: a :class:`Paper` out of the values a record states."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from aspectra.base.values import replace
from aspectra.papers.bibliography import keywords_in, language_of, pages_in
from aspectra.papers.identifiers import ARXIV_DOI, SCHEMES, addresses_in, identifiers_in, issns_in, normalise
from aspectra.papers.ids import choose_id
from aspectra.papers.names import is_others, only_name
from aspectra.papers.paper import Paper, Reference, Section, Sentence
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, one_line, unmarked
from aspectra.papers.text.references import cited_title

T = TypeVar("T")

_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d)(?!\d)")
_COMPACT_DATE = re.compile(r"\s*(1[4-9]\d\d|20\d\d)(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])?\b")
# What databases and R write where there is no abstract.
_NO_ABSTRACT = re.compile(
    r"\W*+(?:(?:n/?a|nan|null|none|no abstract(?: is| was)?(?: available)?"
    r"|abstract (?:not available|available from the publisher))\W*+)?",
    re.I,
)
_LONGEST_EMPTY = 60
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_HEADING = re.compile(  # which some programs copy with the text; "Abstract algebra" is a text
    r"[\W_]{0,3}(?i:abstract|a b s t r a c t)(?:[\])*]{0,2}\s{0,3}(?:[:.\u2013\u2014]|\s-|\n)\s{0,3}"
    r"|[\])*]{1,2}\s{1,3}|\s{1,3}(?=(?:We|The|This|These|In|It|Here|Our|Background|Objectives?|Aims?"
    r"|Introduction|Purpose|Methods?|Motivation|Context)\b|[A-Z]{5,12}:))"
)
# EBSCO ends its abstracts with such a notice; ProQuest and others give one as a paragraph of its own.
_OWNED = " is the property of "
_NOTICE = re.compile(rf"\bCopyright of [^\n]{{1,200}}?{_OWNED}")
_FROM = "ABSTRACT FROM "  # EBSCO's note on who wrote the abstract: AUTHOR, PUBLISHER
_NOTICE_ALONE = re.compile(r"(?:copyright|\(c\)|©)(?:\s|\d)", re.I)
_LONGEST_NOTICE = 1000
_ROLES = {
    "background": ("background", "introduction", "context"),
    "objective": ("objective", "objectives", "aim", "aims", "purpose"),
    "method": ("method", "methods", "methodology"),
    "result": ("result", "results", "finding", "findings", "conclusion", "conclusions"),
}
_ROLE_OF = {word: role for role, words in _ROLES.items() for word in words}


def each(
    records: Iterable[tuple[str, T | Remark]],
    convert: Callable[[T, str, ReadOptions], Iterator[Paper | Remark]],
    options: ReadOptions,
    *,
    titles: bool = False,
) -> Iterator[Paper | Remark]:
    """Convert each record and pass remarks on; a record that ``convert`` refuses becomes a remark.

    Args:
        records: (place, record or remark) in file order.
        convert: (record, place, options) -> papers and remarks; ValueError refuses the record, and another
            error may be a fault of the reader, which its remark says.
        options: limits.
        titles: records should have titles, so that one without gets a remark.
    """
    for place, record in records:
        if isinstance(record, Remark):
            yield record
            continue
        try:
            made = list(convert(record, place, options))
        except (ValueError, RecursionError, AttributeError, TypeError, LookupError) as error:
            why = f"another layout, or a fault of the reader, then please report it: {error!r:.200}"
            said = isinstance(error, ValueError | RecursionError)
            yield Remark(place, f"record cannot be kept: {error if said else why}")
            continue
        for item in made:
            if titles and isinstance(item, Paper) and not item.title and item.has_text:
                yield Remark(place, "no title: kept by its text", skipped=False)
            yield item


def year_in(value: object) -> int | None:
    """The year in a number or a date of any spelling, or None.

    >>> year_in("2020-04-15"), year_in(1999.0), year_in("in press")
    (2020, 1999, None)
    """
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, float):
        value = int(value) if math.isfinite(value) else ""
    if isinstance(value, int):
        return value if 1400 <= value < 2100 else None
    # Compact dates such as 20240425 have no word boundary after the year.
    text = unicodedata.normalize("NFKC", str(value)[:200])
    found = _YEAR.search(text) or _COMPACT_DATE.match(text[:40])
    return int(found.group(1)) if found else None


def role_of(label: object) -> str:
    """One of our five sentence roles for a label such as ``background_label`` or ``METHODS``; "" for none."""
    text = one_line(label).casefold().removesuffix("_label").strip(" :.")
    return _ROLE_OF.get(text, "other") if text else ""


def identifiers_of(found: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Canonical identifiers out of (scheme, raw value) pairs; the first good one of a scheme wins.

    An arXiv DOI also gives the arXiv id.
    """
    out: dict[str, str] = {}
    for scheme, raw in found:
        # A short DOI names its paper only to the resolver: a long one beside it is worth more.
        if (scheme in out and not out[scheme].startswith("10/")) or raw is None or raw == "":
            continue
        if isinstance(raw, float) and raw.is_integer():
            raw = int(raw)  # noqa: PLW2901
        if not isinstance(raw, str | int) or isinstance(raw, bool):
            continue
        if value := clean(normalise(scheme, raw)):
            out[scheme] = value if scheme not in out or not value.startswith("10/") else out[scheme]
    doi = out.get("doi", "")
    named = normalise("arxiv", doi.removeprefix(ARXIV_DOI)) if doi.startswith(ARXIV_DOI) else ""
    if named:
        out.setdefault("arxiv", named)
    return {scheme: out[scheme] for scheme in SCHEMES if scheme in out} | out


def reference_of(
    raw: str, key: object = "", title: str = "", stated: Iterable[tuple[str, object]] = ()
) -> Reference:
    """A reference whose printed text tells what the record does not state: title and identifiers."""
    found = identifiers_in(raw) | identifiers_of(stated)
    return Reference(raw, clean(key), title or cited_title(raw), found)


def without_notice(abstract: str) -> tuple[str, str]:
    r"""The abstract, and the copyright notice that a database put behind it, or "".

    >>> without_notice("Owls hunt.\n\nCopyright of Owls is the property of Owl Press.")
    ('Owls hunt.', 'Copyright of Owls is the property of Owl Press.')
    """
    if _OWNED in abstract and (found := _NOTICE.search(abstract)):
        start = found.start()
        note = abstract.rfind(_FROM, max(0, start - 40), start)
        start = start if note < 0 else note - (abstract[note - 1 : note] == "[")
        return abstract[:start].strip(), abstract[start:].strip()
    text, _, last = abstract.rpartition("\n\n")
    if text and len(last) <= _LONGEST_NOTICE and _NOTICE_ALONE.match(last):
        return text.strip(), last.strip()
    return abstract, ""


def assemble(
    place: str,
    options: ReadOptions,
    *,
    own_id: object = "",
    title: object = "",
    abstract: object = "",
    authors: Iterable[str] = (),
    year: object = None,
    venue: object = "",
    identifiers: Mapping[str, object] | Iterable[tuple[str, object]] = (),
    url: object = "",
    language: object = "",
    sections: Iterable[Section] = (),
    references: Iterable[Reference] = (),
    sentences: Sequence[Sentence] = (),
    metadata: Mapping[str, Any] | None = None,
    unread: Mapping[str, Any] | None = None,
) -> Iterator[Paper | Remark]:
    """The paper of one record: values cleaned, read, cut to the limits, and an id chosen.

    Args:
        place: position of the record in its file, for remarks.
        options: limits, see :func:`within_limits`.
        own_id: the record's id or key, or "".
        title: of any JSON type; it is put on one line, as are venue and URL.
        abstract: its paragraphs stay; "NA" and the like count as none, a copyright notice behind it goes to
            ``metadata["copyright"]``, tags are undone (all without ``sentences`` only: offsets would move).
        authors: names as printed; *et al.* and those without a letter (``* †``) are left out.
        year: a number or a date, or a tuple of them of which the first readable one counts.
        venue: see ``title``.
        identifiers: (scheme, raw value) pairs or a mapping, see :func:`identifiers_of`.
        url: see ``title``.
        language: as stated, see :func:`language_of`.
        sections: see :class:`Paper`; headings and texts are cleaned.
        references: see :class:`Paper`.
        sentences: offsets into the cleaned abstract.
        metadata: storable JSON values only; empty texts, lists and objects are left out.
        unread: more metadata, fields of the record as they are, empty ones too.

    Yields:
        Remarks about this record, then the paper unless it was skipped.
    """
    years = map(year_in, year if isinstance(year, tuple) else (year,))
    pairs = [*(identifiers.items() if isinstance(identifiers, Mapping) else identifiers)]
    undo = unmarked if options.markup else str
    whole = unread or {}
    more = {**(metadata or {}), **whole}
    # Some formats have one field for ISBN and ISSN, and programs take either for the other.
    serial = more.pop("issn", "")
    named = identifiers_of([*pairs, ("isbn", serial)])
    numbers = [serial, *(raw for scheme, raw in pairs if scheme == "isbn")]
    if issn := issns_in("; ".join(map(str, numbers))) or ("" if "isbn" in named else serial):
        more["issn"] = issn
    for field, read in (("pages", pages_in), ("publisher", lambda name: one_line(undo(name)))):
        if isinstance(more.get(field), str):
            more[field] = read(more[field])
    words = more.get("keywords")
    if isinstance(words, str) or (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        more["keywords"] = keywords_in(words)
    if isinstance(editors := more.get("editors"), list):
        more["editors"] = _people(editors, undo)
    text, notice = clean(abstract), ""
    if not sentences:
        undone = undo(text)
        text, notice = without_notice(text if undone == text else clean(undone))
        text = text[found.end() :] if (found := _HEADING.match(text)) else text
        if len(text) <= _LONGEST_EMPTY and _NO_ABSTRACT.fullmatch(text):
            text = ""
    more["copyright"] = notice or more.get("copyright")
    paper = Paper(
        id=clean(own_id),
        title=one_line(undo(clean(title))),
        abstract=text,
        authors=tuple(_people(authors, undo)),
        year=next((y for y in years if y is not None), None),
        venue=one_line(undo(clean(venue))),
        identifiers=named,
        url=addresses_in(one_line(url))[0],
        language=language_of(language) if language else "",
        sections=tuple(Section(one_line(s.heading), clean(s.text)) for s in sections),
        references=tuple(references),
        sentences=tuple(sentences),
        metadata={name: value for name, value in more.items() if value not in _NOTHING or name in whole},
    )
    yield from within_limits(paper, place, options, own_id)


def _people(names: Iterable[Any], undo: Callable[[str], str]) -> list[str]:
    shown = (only_name(undo(name)) for name in names if isinstance(name, str))
    return [name for name in shown if any(map(str.isalnum, name)) and not is_others(name)]


def within_limits(
    paper: Paper, place: str, options: ReadOptions, own_id: object = ""
) -> Iterator[Paper | Remark]:
    """The paper under its id (see :func:`choose_id`), its texts cut at ``options.max_text_chars``.

    A record without text is kept where an identifier says which paper it is, so that it can be completed.

    Yields:
        A remark for every text that was cut, then the paper; or only a remark when it has neither text nor
        identifier.
    """
    if not paper.has_text:
        if not paper.identifiers:
            yield Remark(place, "neither title nor text: skipped")
            return
        named = ", ".join(f"{scheme} {value}" for scheme, value in paper.identifiers.items())[:200]
        reason = f"neither title nor text: kept by its identifier ({named}), to be completed"
        yield Remark(place, reason, skipped=False)
    limit = options.max_text_chars
    changed: dict[str, Any] = {}
    for name in ("title", "abstract"):
        if len(text := getattr(paper, name)) > limit:
            yield _cut(place, name, text, limit)
            changed[name] = text[:limit]
    if "abstract" in changed:
        changed["sentences"] = tuple(s for s in paper.sentences if s.end <= limit)
    if any(len(section.text) > limit for section in paper.sections):
        for number, section in enumerate(paper.sections, 1):
            if len(section.text) > limit:
                yield _cut(place, f"section {number}", section.text, limit)
        changed["sections"] = tuple(Section(s.heading, s.text[:limit]) for s in paper.sections)
    title = paper.title or paper.abstract[:200] or " ".join(s.text[:200] for s in paper.sections)[:200]
    changed["id"] = choose_id(
        own_id, identifiers=paper.identifiers, title=title, year=paper.year, authors=paper.authors
    )
    yield replace(paper, **changed)


def _cut(place: str, what: str, text: str, limit: int) -> Remark:
    return Remark(place, f"{what} of {len(text):,} characters cut at {limit:,}", skipped=False)
