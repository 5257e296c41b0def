"""How far apart the found documents lie, as vectors.

Comparable within one encoder only: all three depend on the length and spread of its vectors.
"""

from __future__ import annotations

import math

import numpy as np

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.measures._hull import convex_hull_volume
from aspectra.lab.measures.protocol import Arity, Measure, Param, measure
from aspectra.lab.runs.judged import Array


def _checked(vectors: Array) -> Array:
    out = np.asarray(vectors, np.float64)
    if out.ndim != 2:
        raise BadInput(f"vectors must be a table of (documents, dimensions), not of shape {out.shape}")
    if not np.isfinite(out).all():
        raise BadInput("a vector holds a value that is NaN or infinite")
    return out


@measure(
    "CosineDistance",
    Arity.VECTORS,
    params=(Param("self", False, "count each document's distance to itself, which is 0"),),
    missing=None,
    bounds=(0.0, 2.0),
    scale=1.0,
    better="",
)
def cosine_distance(measure: Measure, vectors: Array) -> float | None:
    """Mean cosine distance of all pairs of documents: 1 - mean cosine.

    Range [0, 2] (in (0, n / (n - 1)] for pairs); undefined for fewer than two documents. Source: PRISM,
    appendix C.

    >>> cosine_distance().score(np.array([[1.0, 0.0], [0.0, 2.0]]))
    1.0
    """
    table = _checked(vectors)
    n = len(table)
    if n < 2:
        return None
    lengths = np.sqrt((table**2).sum(1, keepdims=True))
    if (lengths == 0).any():
        raise BadInput("a vector is zero, and has no direction", hint="leave documents without text out")
    table = table / lengths
    total = float((table.sum(0) ** 2).sum())
    if measure["self"]:
        return 1.0 - total / n**2
    return 1.0 - (total - float((table**2).sum())) / (n * (n - 1))


@measure(
    "CentroidDistance",
    Arity.VECTORS,
    params=(Param("mean", "plain", "mean of the distances, or root of the mean square", ("plain", "rms")),),
    missing=None,
    bounds=(0.0, math.inf),
    scale=1.0,
    better="",
)
def centroid_distance(measure: Measure, vectors: Array) -> float | None:
    """Mean Euclidean distance of the documents to their centroid.

    At least 0; undefined without documents. Source: PRISM, appendix C.

    >>> centroid_distance().score(np.array([[0.0, 0.0], [2.0, 0.0]]))
    1.0
    """
    table = _checked(vectors)
    if not len(table):
        return None
    squares = ((table - table.mean(0)) ** 2).sum(1)
    return float(np.sqrt(squares.mean()) if measure["mean"] == "rms" else np.sqrt(squares).mean())


@measure(
    "HullVolume",
    Arity.VECTORS,
    params=(Param("projection", "pca", "three principal axes of the same vectors, or none", ("pca", "raw")),),
    missing=None,
    bounds=(0.0, math.inf),
    scale=1.0,
    better="",
)
def hull_volume(measure: Measure, vectors: Array) -> float | None:
    """Volume of the convex hull of the documents, in three dimensions.

    At least 0; 0 for fewer than four documents or flat ones. Source: PRISM, appendix C, which does not name
    its projection; here the principal axes of each topic's own vectors (``projection=raw`` takes vectors
    that have three dimensions already).
    """
    table = _checked(vectors)
    if measure["projection"] == "raw":
        if table.shape[1] != 3:
            raise UsageError(f"{measure} takes vectors of three dimensions, not {table.shape[1]}")
        return convex_hull_volume(table)
    if len(table) < 4 or table.shape[1] < 3:
        return 0.0
    centred = table - table.mean(0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:3]
    return convex_hull_volume(centred @ axes.T)
