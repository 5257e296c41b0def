"""arXiv metadata as JSON Lines (the snapshot that arXiv publishes on Kaggle).

Fields: ``id``, ``title``, ``abstract``, ``authors``, ``authors_parsed``, ``versions``, ``journal-ref``,
``doi``, ``categories`` and others, which stay in ``metadata`` beside ``v1_date`` and ``latest_date``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from aspectra.papers.paper import Paper
from aspectra.papers.sources.fields import (
    assemble,
    given_first,
    identifiers_of,
    one_line,
    split_names,
    year_in,
)
from aspectra.papers.sources.files import clean
from aspectra.papers.sources.json._records import as_dict, as_list, first_keys, read_records, rest
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark

__all__ = ["ArXiv", "arxiv_year", "authors_of"]

_OWN = {"authors_parsed", "journal-ref", "report-no", "versions", "update_date", "submitter"}
_USED = ("id", "title", "abstract", "authors", "authors_parsed", "journal-ref", "doi")
_ID = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d\d)(\d\d)[.\d]")
_WRAP = re.compile(r"[ \t]*\n[ \t]*(?=\S)")


def arxiv_year(identifier: str) -> int | None:
    """The year in which an arXiv id was given, which is that of its first version.

    >>> arxiv_year("2004.07180"), arxiv_year("math/9912012"), arxiv_year("hep-th/0601001")
    (2020, 1999, 2006)
    """
    found = _ID.match(identifier)
    if not found or not 1 <= int(found.group(2)) <= 12:
        return None
    year = int(found.group(1))
    return 1900 + year if year >= 91 else 2000 + year


def authors_of(printed: object, parsed: object) -> list[str]:
    """Names from arXiv's parsed form ([family, given, suffix, ...]), else from the printed list."""
    found = []
    for entry in as_list(parsed):
        parts = [one_line(part) for part in as_list(entry)[:3] if isinstance(part, str)]
        family, given, suffix = [*parts, "", "", ""][:3]
        if name := one_line(f"{given} {family} {suffix}"):
            found.append(name)
    if found:
        return found
    if isinstance(printed, list):
        return [name for name in map(given_first, printed) if name]
    return split_names(printed)


class ArXiv:
    """The arXiv metadata snapshot."""

    name = "arxiv"

    def sniff(self, path: Path, head: bytes) -> float:
        """0.97 for records with arXiv's own fields, else 0."""
        keys = first_keys(head, depth=1)
        ours = {"id", "title", "abstract", "categories"} <= keys and len(keys & _OWN) >= 2
        return 0.97 if ours else 0.0

    def read(self, path: Path, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers in file order.

        Raises:
            BadInput: the file holds no JSON record.
        """
        yield from read_records(path, options, _paper)


def _paper(record: dict[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    # Several DOIs stand in one field, separated by blanks: the first is the paper's.
    doi = (one_line(record.get("doi")).split() or [""])[0]
    identifiers = identifiers_of([("arxiv", record.get("id")), ("doi", doi)])
    metadata = rest(record, _USED)
    if len(one_line(record.get("doi")).split()) > 1:
        metadata["doi"] = one_line(record.get("doi"))
    dates = [_date(as_dict(version).get("created")) for version in as_list(record.get("versions"))]
    if dates and dates[0]:
        metadata["v1_date"] = dates[0]
    latest = dates[-1] if dates and dates[-1] else one_line(record.get("update_date"))
    if latest:
        metadata["latest_date"] = latest
    year = year_in(dates[0]) if dates and dates[0] else None
    arxiv = identifiers.get("arxiv", "")
    yield from assemble(
        place,
        options,
        own_id=record.get("id"),
        title=one_line(record.get("title")),
        abstract=unwrap(clean(record.get("abstract"))),
        authors=authors_of(record.get("authors"), record.get("authors_parsed")),
        year=year or arxiv_year(arxiv) or year_in(record.get("update_date")),
        venue=one_line(record.get("journal-ref")),
        identifiers=identifiers,
        url=f"https://arxiv.org/abs/{arxiv}" if arxiv else "",
        metadata=metadata,
    )


def unwrap(text: str) -> str:
    """Lines broken at a fixed width put together; an indented line begins a paragraph."""
    paragraphs = re.split(r"\n[ \t]{2,}(?=\S)|\n[ \t]*\n", text)
    return "\n\n".join(_WRAP.sub(" ", paragraph).strip() for paragraph in paragraphs if paragraph.strip())


def _date(created: object) -> str:
    """``Mon, 2 Apr 2007 19:18:42 GMT`` as ``2007-04-02``; "" when it is no date."""
    text = one_line(created)
    try:
        when: datetime = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return text[:10] if re.match(r"\d{4}-\d\d-\d\d", text) else ""
    return when.date().isoformat()


SOURCES.register("arxiv")(ArXiv())
