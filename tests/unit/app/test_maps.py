"""The map of papers: true distances where a plane holds them, and the nearest in all dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aspectra.app.output.criteria import paper_map, plane
from aspectra.papers.paper import Paper

VECTORS = st.integers(3, 12).flatmap(
    lambda n: arrays(np.float32, (n, 6), elements=st.floats(-1, 1, width=32).map(lambda x: round(x, 2)))
)


def _apart(spots):
    return np.linalg.norm(spots[:, None] - spots[None], axis=2)


@given(st.integers(0, 2**32 - 1))
def test_points_of_a_plane_keep_their_distances(seed):
    draw = np.random.default_rng(seed)
    flat = draw.normal(size=(9, 2))
    turned = np.linalg.qr(draw.normal(size=(6, 6)))[0][:2]
    spots, share = plane((flat @ turned + 3.0).astype(np.float32))
    assert share == pytest.approx(1.0)
    true, drawn = _apart(flat), _apart(spots * [3.0, 2.0])
    assert drawn / drawn.max() == pytest.approx(true / true.max(), abs=1e-4)


@given(VECTORS)
def test_every_place_is_on_the_map(vectors):
    spots, share = plane(vectors)
    assert spots.min() >= -1e-5
    assert spots.max() <= 1 + 1e-5
    assert 0 <= share <= 1 + 1e-6
    if share:
        assert max(np.ptp(spots, axis=0)) == pytest.approx(1.0, abs=1e-5)


def test_the_same_vectors_lie_in_the_middle():
    spots, share = plane(np.ones((4, 5), np.float32))
    assert share == 0
    assert (spots == 0.5).all()


def test_the_farthest_paper_lies_at_the_right():
    line = np.array([[0, 0], [1, 0], [5, 0]], np.float32)
    for sign in (1, -1):
        spots, _ = plane(sign * line)
        assert spots[:, 0].argmax() == 2


def test_nearest_are_by_all_dimensions_and_who_has_no_vector_is_named():
    papers = [Paper(f"p{n}", f"Paper {n}") for n in range(5)]
    vectors = np.zeros((5, 4), np.float32)
    for n, angle in {0: 0, 2: 10, 3: 30, 4: 90}.items():
        vectors[n, :2] = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    made = paper_map(papers, vectors)
    ids = [place.paper.id for place in made.places]
    assert ids == ["p0", "p2", "p3", "p4"]
    assert [[ids[other] for other, _ in place.nearest] for place in made.places] == [
        ["p2", "p3", "p4"],
        ["p0", "p3", "p4"],
        ["p2", "p0", "p4"],
        ["p3", "p2", "p0"],
    ]
    assert made.places[0].nearest[0][1] == pytest.approx(np.cos(np.radians(10)))
    assert [paper.id for paper in made.without] == ["p1"]
    assert paper_map(papers[:3], vectors[:3]).places == []  # two lie on a line
    assert paper_map([], np.zeros((0, 0), np.float32)).without == []
