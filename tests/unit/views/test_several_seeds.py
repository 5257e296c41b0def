"""Scores of several seeds, on vectors of two dimensions that are checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.papers.paper import Paper
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder
from small_library import searcher_over

# Two seeds at right angles, one paper between them and one beside the first.
VECTORS = {"east": (1.0, 0.0), "north": (0.0, 1.0), "between": (0.6, 0.8), "beside": (0.96, -0.28)}


class Compass(FakeEncoder):
    """A text has the vector of the first direction that it names."""

    def __init__(self):
        super().__init__(dimensions=2)

    def _mean(self, words):
        return np.array(next((VECTORS[w] for w in words if w in VECTORS), (0.0, 0.0)), np.float32)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    papers = [Paper(name, f"{name} one", f"The {name} again.") for name in VECTORS]
    return searcher_over(tmp_path_factory.mktemp("seeds") / "library", papers, Compass()).index


def scores(index, **probe):
    found = index.score([index.look_up([Probe("abstract@fake", **probe)])[0]])[0].scores
    return dict(zip(index.ids, (float(value) for value in found), strict=True))


def test_several_seeds_are_one_query_in_their_middle(index):
    """The middle of (1, 0) and (0, 1) is (1, 1) / sqrt(2): 1.4 / sqrt(2) for (0.6, 0.8), not 0.8 or 0.7."""
    found = scores(index, seeds=("east", "north"))
    root = 2**0.5
    assert found == pytest.approx(
        {"east": 1 / root, "north": 1 / root, "between": 1.4 / root, "beside": 0.68 / root}, abs=1e-3
    )


def test_a_text_is_one_more_of_them(index):
    """(2, 1) / sqrt(5): the seed and the text both point east."""
    found = scores(index, seeds=("east", "north"), text="east")
    root = 5**0.5
    assert found["between"] == pytest.approx(2.0 / root, abs=1e-3)
    assert found["beside"] == pytest.approx((2 * 0.96 - 0.28) / root, abs=1e-3)


def test_by_inner_product_the_middle_keeps_its_length(index):
    """(0.5, 0.5): half of the length of the sum."""
    found = scores(index, seeds=("east", "north"), metric="dot")
    assert found["between"] == pytest.approx(0.7, abs=1e-3)


def test_in_reverse_it_is_the_mean_over_the_seeds(index):
    one, other, both = (
        scores(index, seeds=s, reverse=True) for s in (("east",), ("north",), ("east", "north"))
    )
    for paper in VECTORS:
        assert both[paper] == pytest.approx((one[paper] + other[paper]) / 2, abs=1e-4)
    assert len({one["between"], other["between"]}) == 2
