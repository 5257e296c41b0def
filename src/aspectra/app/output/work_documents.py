"""The JSON documents about works, origins and saved searches."""

from __future__ import annotations

from typing import Any

from aspectra.app.ingest.flow import Origin
from aspectra.app.ingest.works import Group
from aspectra.app.output.documents import Document, Hit, Part


class AddedFile(Part, frozen=True):
    """What became of one file; ``error`` and ``passed_over`` are absent where it was read."""

    file: str
    source: str
    added: int
    updated: int
    unchanged: int
    skipped: int
    known: bool
    error: str = ""
    passed_over: str = ""


class Version(Part, frozen=True):
    """A paper that was added, and the ids of the papers that are the same work."""

    id: str
    versions: list[str]


class Added(Document, frozen=True):
    """``add``: what was read; ``to_complete`` counts new papers with nothing but an identifier."""

    files: list[AddedFile]
    added: int
    updated: int
    unchanged: int
    skipped: int
    with_abstract: int
    with_full_text: int
    merged: list[Version]
    to_complete: int


class Duplicates(Document, frozen=True):
    """``duplicates``: groups of records of one work, and groups to be looked at."""

    records: int
    works: int
    groups: list[Group]


class Flow(Document, frozen=True):
    """``status --flow``: the numbers of a PRISMA 2020 flow diagram; ``excluded`` is by reason."""

    origins: list[Origin]
    identified: int
    removed: int
    duplicates: int
    works: int
    waiting: int
    screened: int
    excluded: dict[str, int]
    sought: int
    full_text: int
    undecided: int
    included: int


class Merged(Document, frozen=True):
    """``merge``: ids of the records of one work, the leading one first."""

    records: list[str]


class Split(Document, frozen=True):
    """``split``: pairs of ids that are two works."""

    apart: list[tuple[str, str]]


class SavedSearch(Part, frozen=True):
    """A saved search: ``asked`` holds its words, seeds and options as they were written."""

    name: str
    asked: dict[str, Any]
    at: str
    ran: str


class Saved(Document, frozen=True):
    """``saved``: all saved searches, by name."""

    searches: list[SavedSearch]


class NewHits(Part, frozen=True):
    """What is new in one saved search since it was run last."""

    name: str
    since: str
    hits: list[Hit]


class News(Document, frozen=True):
    """``news``: what is new in saved searches."""

    searches: list[NewHits]
