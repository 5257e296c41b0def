"""Papers as rows of ``library.db`` and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from aspectra.base.hashing import canonical_json, digest_texts
from aspectra.papers.paper import Paper, Reference, normalise_title
from aspectra.papers.text.sentences import SPLITTER_VERSION, lead_field

__all__ = ["PAPER_COLUMNS", "author_keys", "full_hash", "paper_from_row", "paper_row", "text_hash"]

_COLUMNS = ("title", "abstract", "year", "venue", "language")
PAPER_COLUMNS = "pos, id, title, abstract, year, venue, language, record"


def text_hash(paper: Paper) -> str:
    """Hash of what the abstract views see: title, lead text and the sentence boundaries in it."""
    marks = canonical_json([[s.start, s.end] for s in paper.sentences]) if paper.sentences else ""
    return digest_texts([paper.title, lead_field(paper)[1], marks, str(SPLITTER_VERSION)])


def full_hash(paper: Paper) -> str:
    """Hash of what the full-text views see; "" without full text."""
    if not paper.has_full_text:
        return ""
    return digest_texts(part for s in paper.sections for part in (s.heading, s.text))


def author_keys(name: str) -> tuple[str, str]:
    """(whole name, family name), folded, for the author filter; the family name is the last word.

    >>> author_keys("Ada B. Lovelace")
    ('ada b lovelace', 'lovelace')
    """
    key = normalise_title(name)
    return key, key.rsplit(" ", 1)[-1]


def paper_row(paper: Paper) -> tuple[Any, ...]:
    """A paper's values for ``id`` to ``language``, ``title_key`` and ``record`` of the papers table."""
    whole = paper.to_dict(with_id=False)
    rest = {k: v for k, v in whole.items() if k not in (*_COLUMNS, "sections", "references")}
    return (
        paper.id,
        paper.content_hash,
        text_hash(paper),
        full_hash(paper),
        paper.title,
        paper.abstract,
        paper.year,
        paper.venue,
        paper.language,
        normalise_title(paper.title),
        json.dumps(rest, ensure_ascii=False, separators=(",", ":")),
    )


def paper_from_row(
    row: Sequence[Any],
    sections: Sequence[tuple[str, str]] = (),
    references: Sequence[str] = (),
) -> Paper:
    """A paper from :data:`PAPER_COLUMNS`, its section rows and its citation records."""
    _, paper_id, title, abstract, year, venue, language, record = row
    rest = json.loads(record)
    return Paper.from_dict(
        {
            **rest,
            "id": paper_id,
            "title": title,
            "abstract": abstract,
            "year": year,
            "venue": venue,
            "language": language,
            "sections": [{"heading": heading, "text": text} for heading, text in sections],
            "references": [reference_dict(r) for r in references],
        }
    )


def reference_dict(record: str) -> dict[str, Any]:
    """The stored JSON of one citation."""
    loaded: dict[str, Any] = json.loads(record)
    return loaded


def reference_record(reference: Reference) -> str:
    """JSON of one citation as stored."""
    parts: dict[str, Any] = {
        name: value for name in ("raw", "key", "title") if (value := getattr(reference, name))
    }
    if reference.identifiers:
        parts["identifiers"] = dict(reference.identifiers)
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
