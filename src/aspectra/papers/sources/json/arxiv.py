"""arXiv metadata as JSON Lines (the snapshot that arXiv publishes on Kaggle).

Fields: ``id``, ``title``, ``abstract``, ``authors``, ``authors_parsed``, ``versions``, ``journal-ref``,
``doi``, ``categories`` and others, which stay in ``metadata`` beside ``v1_date`` and ``latest_date``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from aspectra.papers.names import people, printed, split_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble, identifiers_of
from aspectra.papers.sources.json.records import JsonFormat, as_dict, as_list, rest
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, one_line, unwrap

_OWN = {"authors_parsed", "journal-ref", "report-no", "versions", "update_date", "submitter"}
_USED = ("id", "title", "abstract", "authors", "authors_parsed", "journal-ref", "doi")
_ID = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d\d)(\d\d)[.\d]")


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


def authors_of(whole: object, parsed: object) -> list[str]:
    """Names from arXiv's parsed form ([family, given, suffix, ...]), else from the printed list."""
    found = []
    for entry in as_list(parsed):
        parts = [one_line(part) for part in as_list(entry)[:3] if isinstance(part, str)]
        family, given, suffix = [*parts, "", "", ""][:3]
        if name := printed(given, family, suffix):
            found.append(name)
    if found:
        return found
    return people(whole) if isinstance(whole, list) else split_names(whole)


def _confidence(keys: frozenset[str], head: bytes) -> float:
    ours = {"id", "title", "abstract", "categories"} <= keys and len(keys & _OWN) >= 2
    return 0.97 if ours else 0.0


def snapshot_paper(record: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    """The paper of one record of the snapshot."""
    # Several DOIs are in one field, separated by blanks: the first is the paper's.
    dois = one_line(record.get("doi")).split()
    identifiers = identifiers_of([("arxiv", record.get("id")), *(("doi", one) for one in dois)])
    metadata = rest(record, _USED)
    if len(dois) > 1:
        metadata["doi"] = " ".join(dois)
    dates = [_date(as_dict(version).get("created")) for version in as_list(record.get("versions"))]
    if dates and dates[0]:
        metadata["v1_date"] = dates[0]
    latest = dates[-1] if dates and dates[-1] else one_line(record.get("update_date"))
    if latest:
        metadata["latest_date"] = latest
    arxiv = identifiers.get("arxiv", "")
    yield from assemble(
        place,
        options,
        own_id=record.get("id"),
        title=record.get("title"),
        abstract=unwrap(clean(record.get("abstract"))),
        authors=authors_of(record.get("authors"), record.get("authors_parsed")),
        year=(dates[0] if dates else None, arxiv_year(arxiv), record.get("update_date")),
        venue=record.get("journal-ref"),
        identifiers=identifiers,
        url=f"https://arxiv.org/abs/{arxiv}" if arxiv else "",
        metadata=metadata,
    )


def _date(created: object) -> str:
    """``Mon, 2 Apr 2007 19:18:42 GMT`` as ``2007-04-02``; "" when it is no date."""
    text = one_line(created)
    try:
        when: datetime = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return text[:10] if re.match(r"\d{4}-\d\d-\d\d", text) else ""
    return when.date().isoformat()


SOURCES.register("arxiv")(
    JsonFormat(
        "arxiv", "arXiv metadata; dates of the first and latest version are kept", _confidence, snapshot_paper
    )
)
