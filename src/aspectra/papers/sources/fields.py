"""Small readings that many formats share: years, names, JSON values, the final assembly of a paper."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aspectra.papers.identifiers import normalise
from aspectra.papers.ids import choose_id
from aspectra.papers.paper import Paper, Reference, Section, Sentence
from aspectra.papers.sources.files import clean, cut
from aspectra.papers.sources.protocol import ReadOptions, Remark

__all__ = [
    "assemble",
    "given_first",
    "identifiers_of",
    "json_value",
    "language_of",
    "one_line",
    "role_of",
    "split_names",
    "year_in",
]

_SPACES = re.compile(r"\s+")
_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d)(?!\d)")
_SUFFIX = re.compile(r"(?:jr|sr|ii|iii|iv|v|ph\.?d|m\.?d|esq)\.?", re.I)
_COMPANY = re.compile(r"(?:inc|ltd|llc|corp|co|gmbh|plc|s\.?a|jr|sr)\.?", re.I)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\r\ud800-\udfff]")
_MAX_DEPTH = 50

_ROLES = {
    "background": "background",
    "introduction": "background",
    "context": "background",
    "objective": "objective",
    "objectives": "objective",
    "aim": "objective",
    "aims": "objective",
    "purpose": "objective",
    "method": "method",
    "methods": "method",
    "methodology": "method",
    "result": "result",
    "results": "result",
    "finding": "result",
    "findings": "result",
    "conclusion": "result",
    "conclusions": "result",
}

_LANGUAGES = {
    "english": "en",
    "eng": "en",
    "american": "en",
    "british": "en",
    "german": "de",
    "ger": "de",
    "deu": "de",
    "ngerman": "de",
    "french": "fr",
    "fre": "fr",
    "fra": "fr",
    "spanish": "es",
    "spa": "es",
    "italian": "it",
    "ita": "it",
    "portuguese": "pt",
    "por": "pt",
    "chinese": "zh",
    "chi": "zh",
    "zho": "zh",
    "japanese": "ja",
    "jpn": "ja",
    "korean": "ko",
    "kor": "ko",
    "russian": "ru",
    "rus": "ru",
    "dutch": "nl",
    "dut": "nl",
    "nld": "nl",
    "polish": "pl",
    "pol": "pl",
    "turkish": "tr",
    "tur": "tr",
}


def one_line(text: object) -> str:
    """Cleaned text on one line: every run of white space is a single blank."""
    return _SPACES.sub(" ", clean(text))


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
    found = _YEAR.search(str(value)[:200])
    if found:
        return int(found.group())
    # Compact dates such as 20240425 have no word boundary after the year.
    compact = re.match(r"\s*(1[4-9]\d\d|20\d\d)(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\b", str(value)[:40])
    return int(compact.group(1)) if compact else None


def given_first(name: object) -> str:
    """A personal name as printed: "Family, Given" is turned round, suffixes stay last.

    >>> given_first("Knuth, Donald E."), given_first("King, Jr., Martin Luther")
    ('Donald E. Knuth', 'Martin Luther King Jr.')
    >>> given_first("van der Berg, Anna, III"), given_first("ACME, Inc.")
    ('Anna van der Berg III', 'ACME, Inc.')
    """
    text = one_line(name)
    parts = [part for part in (p.strip() for p in text.split(",")) if part]
    if len(parts) == 2 and not _COMPANY.fullmatch(parts[1]):
        return f"{parts[1]} {parts[0]}"
    if len(parts) == 3:
        if _SUFFIX.fullmatch(parts[1]):
            return f"{parts[2]} {parts[0]} {parts[1]}"
        if _SUFFIX.fullmatch(parts[2]):
            return f"{parts[1]} {parts[0]} {parts[2]}"
    return text.rstrip(", ") if len(parts) == 1 else text


def split_names(text: object) -> list[str]:
    """Names out of one string: separated by semicolons, `` and ``, or commas between full names.

    >>> split_names("Ada Lovelace, Alan Turing"), split_names("Lovelace, Ada; Turing, Alan")
    (['Ada Lovelace', 'Alan Turing'], ['Ada Lovelace', 'Alan Turing'])
    """
    line = one_line(text)
    if ";" in line:
        pieces = line.split(";")
    elif " and " in line or " & " in line:
        pieces = re.split(r",? (?:and|&) ", line)
        if len(pieces) == 2 and "," in pieces[0]:
            first = [piece.strip() for piece in pieces[0].split(",")]
            if all(" " in piece for piece in first):
                pieces = [*first, pieces[1]]
    else:
        pieces = [piece.strip() for piece in line.split(",")]
        if not all(" " in piece for piece in pieces):
            pieces = [line]
    return [name for name in map(given_first, pieces) if name]


def role_of(label: object) -> str:
    """One of our five sentence roles for a label such as ``background_label`` or ``METHODS``; "" for none."""
    text = one_line(label).casefold().removesuffix("_label").strip(" :.")
    if not text:
        return ""
    return _ROLES.get(text, "other")


def language_of(value: object) -> str:
    """BCP 47 primary tag of a stated language, or "" where it is not recognised."""
    text = one_line(value).casefold()
    if text in _LANGUAGES:
        return _LANGUAGES[text]
    tag = re.split(r"[-_]", text)[0]
    return tag if re.fullmatch(r"[a-z]{2}", tag) else ""


def json_value(value: Any, depth: int = 0) -> Any:
    """The same JSON value with finite numbers and storable text (no control characters or surrogates).

    Raises:
        ValueError: nested deeper than any real record.
    """
    if isinstance(value, str):
        if _CONTROL.search(value) is None:
            return value
        return _CONTROL.sub("", value.replace("\r\n", "\n").replace("\r", "\n"))
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= _MAX_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {str(json_value(str(k))): json_value(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(v, depth + 1) for v in value]
    return json_value(str(value))


_SCHEMES = ("doi", "arxiv", "acl", "s2", "openalex", "pmid", "pmcid", "isbn")


def identifiers_of(found: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Canonical identifiers out of (scheme, raw value) pairs; the first good one of a scheme wins.

    An arXiv DOI also gives the arXiv id.
    """
    out: dict[str, str] = {}
    for scheme, raw in found:
        if scheme in out or raw is None or raw == "":
            continue
        if isinstance(raw, float) and raw.is_integer():
            raw = int(raw)  # noqa: PLW2901
        if not isinstance(raw, str | int) or isinstance(raw, bool):
            continue
        if value := clean(normalise(scheme, raw)):
            out[scheme] = value
    doi = out.get("doi", "")
    named = normalise("arxiv", doi[14:]) if doi.startswith("10.48550/arxiv.") else ""
    if named:
        out.setdefault("arxiv", named)
    return {scheme: out[scheme] for scheme in _SCHEMES if scheme in out} | {
        scheme: value for scheme, value in out.items() if scheme not in _SCHEMES
    }


def assemble(
    place: str,
    options: ReadOptions,
    *,
    own_id: object = "",
    title: str = "",
    abstract: str = "",
    authors: Sequence[str] = (),
    year: int | None = None,
    venue: str = "",
    identifiers: Mapping[str, str] | None = None,
    url: str = "",
    language: str = "",
    sections: Sequence[Section] = (),
    references: Sequence[Reference] = (),
    sentences: Sequence[Sentence] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Iterator[Paper | Remark]:
    """Put cleaned fields together: apply the limits, skip empty records, choose the id.

    Args:
        place: where the record stands, for remarks.
        options: limits; a text longer than ``max_text_chars`` is cut and remarked.
        own_id: the record's id or key, or "".
        title: and the other fields as in :class:`Paper`, already cleaned.
        abstract: see :class:`Paper`.
        authors: see :class:`Paper`.
        year: see :class:`Paper`.
        venue: see :class:`Paper`.
        identifiers: see :class:`Paper`.
        url: see :class:`Paper`.
        language: see :class:`Paper`.
        sections: see :class:`Paper`.
        references: see :class:`Paper`.
        sentences: see :class:`Paper`.
        metadata: JSON values only.

    Yields:
        Remarks about this record, then the paper unless it was skipped.
    """
    limit = options.max_text_chars
    if not (title or abstract or any(section.text.strip() for section in sections)):
        yield Remark(place, "neither title nor text: skipped")
        return
    title, note = cut(title, limit, place, "title")
    if note:
        yield note
    abstract, note = cut(abstract, limit, place, "abstract")
    if note:
        sentences = [s for s in sentences if s.end <= limit]
        yield note
    if any(len(section.text) > limit for section in sections):
        kept = []
        for number, section in enumerate(sections):
            text, note = cut(section.text, limit, place, f"section {number + 1}")
            if note:
                yield note
            kept.append(Section(section.heading, text))
        sections = kept
    identifiers = identifiers or {}
    yield Paper(
        id=choose_id(
            own_id,
            identifiers=identifiers,
            title=title or abstract[:200] or " ".join(s.text[:200] for s in sections)[:200],
            year=year,
            authors=authors,
        ),
        title=title,
        abstract=abstract,
        authors=tuple(authors),
        year=year,
        venue=venue,
        identifiers=identifiers,
        url=url,
        language=language,
        sections=tuple(sections),
        references=tuple(references),
        sentences=tuple(sentences),
        metadata=metadata or {},
    )
