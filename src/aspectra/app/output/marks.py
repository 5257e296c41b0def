"""What a searcher says about papers, in words and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aspectra.app.output.documents import Document, Part


class Note(Part, frozen=True):
    """A note; ``number`` removes it (``aspectra note --remove``)."""

    number: int
    kind: str
    text: str = ""
    quote: str = ""
    page: str = ""
    colour: str = ""
    source: str = ""
    key: str = ""
    created: str = ""
    modified: str = ""


class Decided(Part, frozen=True):
    """Whether a paper is included; ``source`` is the file that the decision came with."""

    decision: str
    at: str
    reason: str = ""
    source: str = ""
    under: str = ""


class Origin(Part, frozen=True):
    """Where a record of the paper was read."""

    file: str
    number: int
    place: str
    database: str
    source: str
    at: str


class Marks(Part, frozen=True):
    """What is said about a paper; ``edited`` has the file's own values of fields that were edited."""

    tags: list[str] = []
    notes: list[Note] = []
    decision: Decided | None = None
    edited: dict[str, Any] = {}
    origins: list[Origin] = []


class Listed(Part, frozen=True):
    """A paper of a listing."""

    id: str
    title: str
    authors: list[str] = []
    year: int | None = None
    venue: str = ""
    retracted: bool = False
    decision: str = ""
    reason: str = ""
    tags: list[str] = []


class Listing(Document, frozen=True):
    """``list``: one page of ``papers`` papers."""

    papers: int
    page: int
    pages: int
    hits: list[Listed]


def mark_rows(marks: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Label and text of each mark, for ``show``.

    Args:
        marks: from :meth:`aspectra.app.ingest.marks.LibraryMarks.of`.

    >>> mark_rows({"tags": ["a", "b"], "decision": {"decision": "exclude", "reason": "no owls"}})
    [('tags', 'a, b'), ('decision', 'exclude: no owls')]
    """
    rows = [("tags", ", ".join(marks["tags"]))] if "tags" in marks else []
    if decision := marks.get("decision"):
        parts = [decision["decision"], decision.get("reason", "")]
        source = f" (from {decision['source']})" if "source" in decision else ""
        rows.append(("decision", ": ".join(part for part in parts if part) + source))
    for note in marks.get("notes", ()):
        said = [f"“{note['quote']}”" if "quote" in note else "", note.get("text", "")]
        place = [f"p. {note['page']}" if "page" in note else "", note.get("source", "")]
        where = ", ".join(part for part in place if part)
        text = " ".join(part for part in said if part) + (f" ({where})" if where else "")
        rows.append((f"note {note['number']}", text))
    if edited := marks.get("edited"):
        was = ", ".join(f"{name}: {_short(value)}" for name, value in edited.items())
        rows.append(("in its file", was))
    for origin in marks.get("origins", ()):
        database = f", {origin['database']}" if origin["database"] else ""
        rows.append(("from", f"{origin['file']}, record {origin['number']}{database}"))
    return rows


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
