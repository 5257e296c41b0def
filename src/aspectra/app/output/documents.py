"""The JSON documents of a search, and what all documents are made of."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from aspectra.search.ranking import ProbeScore

Grade = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON object with exactly these fields."""


class Document(Part, frozen=True):
    """Base of the documents."""

    schema: str


class Quote(Part, frozen=True):
    """A sentence that supports a hit: ``quote`` is the text of ``field`` from ``start`` to ``end``."""

    quote: str
    field: str
    start: int
    end: int
    aspect: str
    seed: str = ""
    seed_quote: str = ""
    matched: list[tuple[str, str, float]] = []


class ConditionMet(Part, frozen=True):
    """What one condition found in a paper; ``moved`` is what it added to the score."""

    condition: str
    met: bool
    grade: Grade | None
    moved: float
    quote: str
    reason: str = ""
    exempt: str = ""


class Move(Part, frozen=True, rename={"before": "from", "after": "to"}):
    """How one step moved a paper; ``from`` is null where the step brought it."""

    stage: str
    before: int | None
    after: int


class Hit(Part, frozen=True):
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


class Requests(Part, frozen=True):
    """What became of the words of a query: ``request`` and ``words``; ``words`` and ``why``; texts."""

    applied: list[dict[str, str]]
    not_applied: list[dict[str, str]]
    searched: list[str]


class Page(Part, frozen=True):
    """Which of the papers that were found these are: page ``number`` of ``of``, in the order ``sort``."""

    number: int
    of: int
    size: int
    found: int
    sort: str


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
