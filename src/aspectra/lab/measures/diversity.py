"""Distances between the vectors of the documents found.

Comparable within one encoder only: all three depend on the length and spread of its vectors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.measures.protocol import Arity, Measure, Param, measure
from aspectra.lab.runs.files import Array

# The volume of a convex hull in three dimensions, so that no geometry library is needed for it.

_TOLERANCE = 1e-12


def convex_hull_volume(points: Array) -> float:
    """Volume of the convex hull of (n, 3) points; 0 for fewer than four of them, or flat ones.

    Points are added one by one, farthest from the centre first: faces visible from the point are removed, and
    the edges around the hole are joined to it. O(n x faces), made for hundreds of points.

    >>> corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], float)
    >>> round(convex_hull_volume(corners), 9)
    6.0
    >>> convex_hull_volume(np.zeros((9, 3)))
    0.0
    """
    points = np.unique(np.asarray(points, np.float64), axis=0)
    if len(points) < 4:
        return 0.0
    points = points - points.mean(0)
    size = float(np.abs(points).max())
    if size == 0.0:
        return 0.0
    points = points / size
    start = _tetrahedron(points)
    if start is None:
        return 0.0
    inside = points[start].mean(0)
    points = points - inside
    a, b, c, d = start
    faces = np.array([_outward(points, face) for face in ((a, b, c), (a, b, d), (a, c, d), (b, c, d))])
    normals = _normals(points, faces)
    offsets = (normals * points[faces[:, 0]]).sum(1)
    for i in np.argsort(-(points**2).sum(1), kind="stable").tolist():
        visible = normals @ points[i] - offsets > _TOLERANCE
        if not visible.any():
            continue
        edges = {edge for a, b, c in faces[visible].tolist() for edge in ((a, b), (b, c), (c, a))}
        rim = sorted(edge for edge in edges if edge[::-1] not in edges)
        added = np.array([(first, second, i) for first, second in rim])
        fresh = _normals(points, added)
        faces = np.concatenate((faces[~visible], added))
        normals = np.concatenate((normals[~visible], fresh))
        offsets = np.concatenate((offsets[~visible], (fresh * points[added[:, 0]]).sum(1)))
    corners = points[faces]
    volumes = (np.cross(corners[:, 0], corners[:, 1]) * corners[:, 2]).sum(1)
    return float(volumes.sum()) / 6.0 * size**3


def _tetrahedron(points: Array) -> list[int] | None:
    """Four points far apart, or None where all lie in one plane."""
    a = int(np.argmax((points**2).sum(1)))
    b = int(np.argmax(((points - points[a]) ** 2).sum(1)))
    line = points[b] - points[a]
    c = int(np.argmax((np.cross(points - points[a], line) ** 2).sum(1)))
    normal = np.cross(line, points[c] - points[a])
    length = float(np.sqrt((normal**2).sum()))
    if length <= _TOLERANCE:
        return None
    heights = np.abs((points - points[a]) @ (normal / length))
    d = int(np.argmax(heights))
    return None if heights[d] <= _TOLERANCE else [a, b, c, d]


def _outward(points: Array, face: tuple[int, int, int]) -> tuple[int, int, int]:
    """The face turned so that its normal points away from the origin."""
    x, y, z = (points[i] for i in face)
    return face if float(np.cross(y - x, z - x) @ x) > 0 else (face[0], face[2], face[1])


def _normals(points: Array, faces: Array) -> Array:
    a, b, c = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 2]]
    normal = np.cross(b - a, c - a)
    length = np.sqrt((normal**2).sum(1, keepdims=True))
    return normal / np.where(length > 0, length, 1.0)


def _checked(vectors: Array) -> Array:
    out = np.asarray(vectors, np.float64)
    if out.ndim != 2:
        raise BadInput(f"vectors must be a table of (documents, dimensions), not of shape {out.shape}")
    if not np.isfinite(out).all():
        raise BadInput("a vector holds a value that is NaN or infinite")
    return out


_SHARED: Mapping[str, Any] = {"missing": None, "scale": 1.0, "better": ""}


@measure(
    "CosineDistance",
    Arity.VECTORS,
    params=(Param("self", False, "count each document's distance to itself, which is 0"),),
    bounds=(0.0, 2.0),
    **_SHARED,
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
    bounds=(0.0, math.inf),
    **_SHARED,
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
    bounds=(0.0, math.inf),
    **_SHARED,
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
