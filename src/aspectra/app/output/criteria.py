"""The criteria table: papers by criteria, each cell graded and quoted; marks as documents; the map."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aspectra.app.output.documents import Document, DocumentPart
from aspectra.base.errors import UsageError
from aspectra.papers.export.csv import safe_cell
from aspectra.papers.paper import Paper
from aspectra.views.view import Floats

if TYPE_CHECKING:
    from aspectra.search.plan import Fusion
    from aspectra.search.ranking import ConditionResult, Hit, Ranking


@dataclass(frozen=True, slots=True)
class Criterion:
    """A column: a condition of the plan, or an aspect that was compared.

    Attributes:
        name: for people.
        key: the spelling of the condition, or ``same NAME`` or ``different NAME``.
        words: of the query that it was read from, or "".
        condition: whether it is one.
    """

    name: str
    key: str
    words: str = ""
    condition: bool = False


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """The result of one criterion for one paper.

    Attributes:
        grade: 0 to 1: the degree to which a condition holds; for an aspect, the paper's similarity on the
            scale of the page, from its least to its most similar hit. None if unknown.
        value: a number for people: the grade, or the aspect's share of the score in deviations.
        verdict: ``met``, ``not met``, ``unknown`` or ``exempt`` for a condition, "" for an aspect.
        quote: of the paper, or "".
        reason: what in the record decided, or "".
        seed_quote: the seed's sentence that the quote answers, or "".
    """

    grade: float | None
    value: str
    verdict: str = ""
    quote: str = ""
    reason: str = ""
    seed_quote: str = ""


def criteria_of(ranking: Ranking) -> list[Criterion]:
    """The columns: aspects first, then conditions that were applied, in the order of the plan."""
    asked = ranking.requests
    aspects = [Criterion(one, one) for one in asked.aspects]
    return aspects + [Criterion(c.label, c.spelling, c.words, condition=True) for c in asked.applied]


def criteria_table(ranking: Ranking) -> list[list[CriterionResult]]:
    """A row for each hit, a cell for each of :func:`criteria_of`."""
    columns = [
        _condition_cells(ranking, one.key) if one.condition else _aspect_cells(ranking, one.key)
        for one in criteria_of(ranking)
    ]
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in ranking]


def _condition_cells(ranking: Ranking, spelling: str) -> list[CriterionResult]:
    held = [next((r for r in hit.conditions if r.condition.spelling == spelling), None) for hit in ranking]
    return [CriterionResult(None, "–", "unknown") if one is None else _condition_cell(one) for one in held]


def _condition_cell(found: ConditionResult) -> CriterionResult:
    if found.exempt:
        return CriterionResult(found.grade, "exempt", "exempt", found.quote, found.exempt)
    if found.grade is None:
        return CriterionResult(None, "–", "unknown", found.quote, found.reason)
    verdict = "met" if found.met else "not met"
    return CriterionResult(found.grade, f"{found.grade:.2f}", verdict, found.quote, found.reason)


def _aspect_cells(ranking: Ranking, key: str) -> list[CriterionResult]:
    word, _, name = key.partition(" ")
    shares = [_share(hit, name) for hit in ranking]
    known = [share for share in shares if share is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    cells = []
    for hit, share in zip(ranking, shares, strict=True):
        quote = next((e for e in hit.evidence if e.aspect == name), None)
        said = (quote.quote, quote.seed_quote) if quote is not None and word == "same" else ("", "")
        grade = None if share is None else 1.0 if high == low else (share - low) / (high - low)
        value = "–" if share is None else f"{share:+.2f}"
        cells.append(CriterionResult(grade, value, quote=said[0], seed_quote=said[1]))
    return cells


def _share(hit: Hit, aspect: str) -> float | None:
    """The contribution of an aspect to a hit's score, in deviations; None if it was not scored."""
    parts = [
        probe.weight * probe.standardised
        for probe in hit.probes
        if probe.aspect == aspect and probe.standardised is not None
    ]
    return sum(parts) if parts else None


def written_table(ranking: Ranking) -> str:
    """The table as CSV: a row a paper; three columns a criterion: grade, verdict, quote."""
    columns = criteria_of(ranking)
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    head = [part for one in columns for part in (one.name, f"{one.name}: verdict", f"{one.name}: quote")]
    rows.writerow([safe_cell(cell) for cell in ["rank", "id", "title", "year", *head]])
    for hit, cells in zip(ranking, criteria_table(ranking), strict=True):
        year = "" if hit.paper.year is None else str(hit.paper.year)
        row: Iterable[Any] = [str(hit.rank), hit.id, hit.title, year]
        graded = ("" if c.grade is None else f"{c.grade:.4f}" for c in cells)
        told = [part for c, grade in zip(cells, graded, strict=True) for part in (grade, c.verdict, c.quote)]
        rows.writerow([safe_cell(cell) for cell in (*row, *told)])
    return out.getvalue()


class Note(DocumentPart, frozen=True):
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


class Decided(DocumentPart, frozen=True):
    """Whether a paper is included; ``source`` is the file that the decision came with."""

    decision: str
    at: str
    reason: str = ""
    source: str = ""
    under: str = ""


class Origin(DocumentPart, frozen=True):
    """Where a record of the paper was read."""

    file: str
    number: int
    place: str
    database: str
    source: str
    at: str


class Marks(DocumentPart, frozen=True):
    """What is said about a paper; ``edited`` has the file's own values of fields that were edited."""

    tags: list[str] = []
    notes: list[Note] = []
    decision: Decided | None = None
    edited: dict[str, Any] = {}
    origins: list[Origin] = []


class Listed(DocumentPart, frozen=True):
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
        marks: from :meth:`aspectra.app.ingest.works.LibraryMarks.of`.

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


# A map of papers, and what the score of a hit is made of.

_REST = "other parts"
_LEAST = 5e-4  # a smaller rest is rounding


def score_shares(hit: Hit, fusion: Fusion, *, whole: bool = True) -> dict[str, float]:
    """Part -> its share of a score: a view, an aspect (all of its views) or a condition that moves papers.

    Args:
        hit: of a ranking.
        fusion: of the search that gave its score.
        whole: the shares add up to the score; what no part explains is one of them.

    Raises:
        UsageError: the search was fused by rank, and was run without ``explain=True``.
    """
    parts: dict[str, float] = {}
    ranked = [probe for probe in hit.probes if probe.score is not None]
    if fusion.kind == "rrf" and ranked and all(probe.rank is None for probe in ranked):
        raise UsageError(
            "the parts of scores that are fused by rank are not known",
            why="the search was run without the ranks of its probes",
            hint="library.run(plan, explain=True)",
        )
    for probe in hit.probes:
        if fusion.kind == "rrf":
            share = 0.0 if probe.rank is None or probe.rank > fusion.depth else 1 / (fusion.k + probe.rank)
        else:
            share = (probe.standardised if probe.standardised is not None else probe.score) or 0.0
        name = probe.aspect or probe.view
        parts[name] = parts.get(name, 0.0) + probe.weight * share
    for found in hit.conditions:
        if found.moved:
            name = found.condition.label
            parts[name] = parts.get(name, 0.0) + found.moved
    rest = hit.score - sum(parts.values())
    if whole and abs(rest) >= _LEAST:
        parts[_REST] = rest
    return parts


def why_not_higher(hit: Hit, above: Hit, fusion: Fusion) -> list[tuple[str, float]]:
    """Differences in score to the hit above: (part of the score, difference), the largest loss first.

    Args:
        hit: the lower one.
        above: of the same ranking, which was run with ``explain=True``.
        fusion: of its search.
    """
    staged = bool(hit.moves or above.moves)
    own, others = (score_shares(one, fusion, whole=not staged) for one in (hit, above))
    names = dict.fromkeys((*own, *others))
    rows = [(name, own.get(name, 0.0) - others.get(name, 0.0)) for name in names]
    return sorted((row for row in rows if abs(row[1]) >= _LEAST), key=lambda row: row[1])


LEAST_MAPPED = 3  # papers; two always lie on a line
_NEAREST = 3
_SHAPE = (3.0, 2.0)  # width and height of the map


@dataclass(frozen=True, slots=True)
class MapPoint:
    """The position of a paper on a map.

    Attributes:
        paper: the paper.
        across, up: 0 to 1, from the left and from below; one unit across is 1.5 units up.
        nearest: (number of a place, cosine) of the three nearest by their whole vectors, the nearest first.
    """

    paper: Paper
    across: float
    up: float
    nearest: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class PaperMap:
    """Papers in a plane.

    Attributes:
        places: of the papers that have a vector, in the order given.
        share: 0 to 1: how much of the variance of the vectors lies in the plane.
        without: papers without a vector.
    """

    places: list[MapPoint]
    share: float
    without: list[Paper]


def paper_map(papers: Sequence[Paper], vectors: Floats) -> PaperMap:
    """The map of some papers.

    Args:
        papers: of the map.
        vectors: (papers, dimensions) at unit length; zeros for a paper that has nothing to compare.
    """
    known = [bool(row.any()) for row in vectors]
    held = [number for number, there in enumerate(known) if there]
    without = [paper for paper, there in zip(papers, known, strict=True) if not there]
    if len(held) < LEAST_MAPPED:
        return PaperMap([], 0.0, without)
    vectors = vectors[held]
    spots, share = plane(vectors)
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, -np.inf)
    order = np.argsort(-alike, axis=1, kind="stable")[:, : min(_NEAREST, len(held) - 1)]
    places = [
        MapPoint(
            papers[number],
            float(spots[n, 0]),
            float(spots[n, 1]),
            tuple((int(other), float(alike[n, other])) for other in order[n]),
        )
        for n, number in enumerate(held)
    ]
    return PaperMap(places, share, without)


def plane(vectors: Floats) -> tuple[Floats, float]:
    """Places in the plane of the two first principal components, and its share of the variance.

    Args:
        vectors: (papers, dimensions).

    Returns:
        (papers, 2) from 0 to 1, in one scale on a map of 3 to 2, around its middle; and 0 to 1, which is 0
        where all vectors are the same.
    """
    centred = np.asarray(vectors, np.float64) - np.mean(vectors, axis=0, dtype=np.float64)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    variance = float((sizes**2).sum())
    if variance <= 1e-12 * len(vectors):  # rounding alone
        return np.full((len(vectors), 2), 0.5, np.float32), 0.0
    spots = np.zeros((len(vectors), 2))
    spots[:, : min(2, len(sizes))] = (left * sizes)[:, :2]
    # The sign of a component is chance: the paper that is farthest out lies at the right, and above.
    farthest = np.abs(spots).argmax(axis=0)
    spots *= np.where(spots[farthest, [0, 1]] < 0, -1.0, 1.0)
    low, high = spots.min(axis=0), spots.max(axis=0)
    scale = max((high - low) / _SHAPE)
    spots = 0.5 + (spots - (low + high) / 2) / scale / _SHAPE
    return spots.astype(np.float32), float((sizes[:2] ** 2).sum() / variance)
