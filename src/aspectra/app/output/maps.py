"""A map of papers, and what the score of a hit is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper
from aspectra.views.view import Floats

if TYPE_CHECKING:
    from aspectra.search.plan import Fusion
    from aspectra.search.ranking import Hit


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
    """What parts a hit from the one above it: (part of the score, difference), the largest loss first.

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
class Place:
    """Where a paper lies.

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

    places: list[Place]
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
        Place(
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
