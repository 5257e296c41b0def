"""The JSON documents of searches, works and saved searches, and the parts that all documents share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from aspectra.app.ingest.saved import SavedSearch
from aspectra.app.output.papers import Page
from aspectra.app.terminal.screen import count
from aspectra.papers.bibliography import is_retracted, shared_list, shared_text
from aspectra.papers.text.cleaning import one_line
from aspectra.search.ranking import ProbeScore

if TYPE_CHECKING:
    from aspectra.papers.paper import Paper


VIEW_COLUMNS = ("view", "encoder", "fingerprint", "texts cut", "bytes/paper")


def record_rows(paper: Paper) -> list[tuple[str, str]]:
    """Label and text of each field of a record but its title and abstract; what is empty is left out.

    >>> from aspectra.papers.paper import Paper
    >>> record_rows(Paper("owl", "Owls hunt at night", year=2019, metadata={"note": "Ask Ada."}))
    [('id', 'owl'), ('year', '2019'), ('note in its file', 'Ask Ada.')]
    """
    rows = [("id", paper.id), ("retracted", "yes, says its record or title" if is_retracted(paper) else "")]
    editors = "" if paper.authors else ", ".join(shared_list(paper.metadata, "editors"))
    rows += [("authors", ", ".join(paper.authors)), ("editors", editors), ("year", str(paper.year or ""))]
    rows += [("venue", paper.venue), *((scheme, value) for scheme, value in paper.identifiers.items())]
    rows += [("url", paper.url), ("language", paper.language)]
    if paper.sections:
        size = sum(len(section.text) for section in paper.sections)
        rows.append(("full text", f"{count(len(paper.sections), 'section')}, {size:,} characters"))
    if paper.references:
        rows.append(("references", f"{len(paper.references):,}"))
    rows.append(("note in its file", one_line(shared_text(paper.metadata, "note"))))
    return [(label, text) for label, text in rows if text]


def _share(part: int, whole: int) -> str:
    return f"{part:,}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def library_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Label and text of what a library holds; parts of the papers are indented.

    Args:
        facts: from :meth:`aspectra.app.library.Library.status`.
    """
    from rich.filesize import decimal

    papers, index = facts["papers"], facts["index"]
    skipped = f"{facts['records_skipped']:,} skipped, {facts['records_noted']:,} noted"
    if facts["records_skipped"] or facts["records_noted"]:
        skipped += " (aspectra status --skips)"
    rows = [
        ("library", facts["folder"]),
        ("papers", f"{papers:,}"),
        ("  by shard", ", ".join(f"{each:,}" for each in facts.get("shards", {}).values())),
        ("  with abstract", _share(facts["with_abstract"], papers)),
        ("  with full text", _share(facts["with_full_text"], papers)),
        ("  title only", _share(facts["title_only"], papers)),
        ("  to be completed", _share(facts["to_complete"], papers) if facts["to_complete"] else ""),
        ("version groups", f"{facts['version_groups']:,} ({count(facts['papers_in_groups'], 'paper')})"),
        ("citations", f"{facts['citations']:,}, {facts['citations_resolved']:,} to papers in the library"),
        ("records", skipped),
        ("on disk", decimal(facts["bytes"])),
    ]
    rows = [row for row in rows if row[1]]
    if index is None:
        return [*rows, ("index", "none yet" + (": aspectra index" if papers else ""))]
    words = {"waiting": "new", "changed": "changed", "gone": "removed"}
    counts = [f"{index[name]:,} {word}" for name, word in words.items() if index[name]]
    waiting = ", ".join([*counts, *filter(None, [index.get("unfinished", "")])])
    return [
        *rows,
        ("index", f"generation {index['generation']} of {index['created']}, {index['papers']:,} papers"),
        ("waiting", f"{waiting}: aspectra index" if waiting else "nothing: the index is up to date"),
        ("BM25", ", ".join(f"{name} {value}" for name, value in index["bm25"].items())),
    ]


def view_rows(facts: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The views of the index, a cell for each of :data:`VIEW_COLUMNS`; [] without an index."""
    index = facts["index"]
    rows: list[tuple[str, ...]] = []
    for name, view in index["views"].items() if index else ():
        cut = "–" if view["truncated"] is None else f"{view['truncated']:,}"
        each = f"{view['bytes'] / index['papers']:,.0f}" if view["bytes"] and index["papers"] else "–"
        rows.append((name, view["encoder"] or "–", view["fingerprint"][:12] or "–", cut, each))
    return rows


Grade = Annotated[float, msgspec.Meta(ge=0, le=1)]


class DocumentPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON object with exactly these fields."""


class Document(DocumentPart, frozen=True):
    """Base of the documents."""

    schema: str


class Quote(DocumentPart, frozen=True):
    """A sentence that supports a hit: ``quote`` is the text of ``field`` from ``start`` to ``end``."""

    quote: str
    field: str
    start: int
    end: int
    aspect: str
    seed: str = ""
    seed_quote: str = ""
    matched: list[tuple[str, str, float]] = []


class ConditionMet(DocumentPart, frozen=True):
    """What one condition found in a paper; ``moved`` is what it added to the score."""

    condition: str
    met: bool
    grade: Grade | None
    moved: float
    quote: str
    reason: str = ""
    exempt: str = ""


class Move(DocumentPart, frozen=True, rename={"before": "from", "after": "to"}):
    """How one step moved a paper; ``from`` is null where the step brought it."""

    stage: str
    before: int | None
    after: int


class Hit(DocumentPart, frozen=True):
    """A paper at its place; a line of ``--jsonl``."""

    id: str
    rank: int
    title: str
    authors: list[str]
    year: int | None
    venue: str
    score: float
    evidence: list[Quote]
    retracted: bool = False
    versions: list[str] = []
    conditions: list[ConditionMet] = []
    moves: list[Move] = []
    probes: list[ProbeScore] = []


class Requests(DocumentPart, frozen=True):
    """What became of the words of a query: ``request`` and ``words``; ``words`` and ``why``; texts."""

    applied: list[dict[str, str]]
    not_applied: list[dict[str, str]]
    searched: list[str]


class Search(Document, frozen=True):
    """``search``, ``similar``: a ranking. ``plan`` can be run again with ``--plan-file``."""

    plan: dict[str, Any]
    hits: list[Hit]
    requests: Requests
    warnings: list[str]
    seconds: float
    fit: dict[str, bool | float | None] = {}  # how well the best hits fit the words
    left_by_filters: int | None = None
    steps: list[dict[str, Any]] = []
    simulated: bool = False
    page: Page | None = None


# The JSON documents about works, origins and saved searches.


class AddedFile(DocumentPart, frozen=True):
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


class Version(DocumentPart, frozen=True):
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


class Merged(Document, frozen=True):
    """``merge``: ids of the records of one work, the leading one first."""

    records: list[str]


class Split(Document, frozen=True):
    """``split``: pairs of ids that are two works."""

    apart: list[tuple[str, str]]


class Saved(Document, frozen=True):
    """``saved``: all saved searches, by name."""

    searches: list[SavedSearch]


class NewHits(DocumentPart, frozen=True):
    """What is new in one saved search since it was run last."""

    name: str
    since: str
    hits: list[Hit]


class News(Document, frozen=True):
    """``news``: what is new in saved searches."""

    searches: list[NewHits]
