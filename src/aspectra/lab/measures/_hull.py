"""The volume of a convex hull in three dimensions, so that no geometry library is needed for it."""

from __future__ import annotations

import numpy as np

from aspectra.lab.runs.judged import Array

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
        edges = {tuple(edge) for face in faces[visible].tolist() for edge in _edges(face)}
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


def _edges(face: list[int]) -> tuple[tuple[int, int], ...]:
    a, b, c = face
    return (a, b), (b, c), (c, a)


def _normals(points: Array, faces: Array) -> Array:
    a, b, c = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 2]]
    normal = np.cross(b - a, c - a)
    length = np.sqrt((normal**2).sum(1, keepdims=True))
    return normal / np.where(length > 0, length, 1.0)
