"""A map of papers: the plane in which their vectors differ most, and which are near in all dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.views.view import Floats

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
