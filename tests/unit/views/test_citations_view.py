"""The view of citations: coupling, co-citation and direct links, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import NoSuchPaper, ViewMismatch
from aspectra.papers.paper import Paper, Reference
from aspectra.search.searcher import Searcher
from aspectra.testing.views import ViewConformance
from aspectra.views.index.opened import GRAPH_VIEW
from aspectra.views.view import Probe
from small_library import searcher_over

# Who cites whom.
CITES = {"a": "xy", "b": "xyz", "c": "z", "x": "", "y": "", "z": "", "late": "ab", "alone": ""}


def opened(folder, cites=CITES) -> Searcher:
    papers = (
        Paper(one, f"Paper called {one}", references=tuple(Reference(identifiers={"id": i}) for i in to))
        for one, to in cites.items()
    )
    return searcher_over(folder, papers, lenses=())


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    return opened(tmp_path_factory.mktemp("graph") / "library")


class TestCitations(ViewConformance):
    @pytest.fixture
    def index(self, searcher):
        return searcher.index

    @pytest.fixture
    def probe(self):
        return Probe(GRAPH_VIEW, seeds=("a",))


def scores(searcher, *seeds):
    found = searcher.index.view(GRAPH_VIEW).score(Probe(GRAPH_VIEW, seeds=seeds))
    return dict(zip(searcher.index.ids, found.scores.tolist(), strict=True))


def test_scores_by_hand(searcher):
    found = scores(searcher, "a")
    # a cites x and y, and is cited by late; so does and is b, which also cites z.
    assert found["b"] == pytest.approx(2 / np.sqrt(2 * 3) + 1)
    assert found["c"] == 0
    assert found["x"] == found["y"] == found["late"] == 1
    assert found["a"] == pytest.approx(2)
    assert np.isnan(found["alone"])
    assert scores(searcher, "x")["y"] == pytest.approx(1)
    assert scores(searcher, "x")["z"] == pytest.approx(1 / np.sqrt(2 * 2))


def test_several_seeds_have_the_mean_score(searcher):
    one, two, both = scores(searcher, "a"), scores(searcher, "c"), scores(searcher, "a", "c")
    for paper in "abcxyz":
        assert both[paper] == pytest.approx((one[paper] + two[paper]) / 2)


def test_a_paper_without_citations_is_like_no_other(searcher):
    found = scores(searcher, "alone")
    assert np.isnan(found.pop("alone"))
    assert set(found.values()) == {0.0}


def test_what_it_cannot_compare_is_refused(searcher):
    view = searcher.index.view(GRAPH_VIEW)
    with pytest.raises(ViewMismatch, match="seeds alone"):
        view.look_up(Probe(GRAPH_VIEW, text="owls"))
    with pytest.raises(NoSuchPaper):
        view.look_up(Probe(GRAPH_VIEW, seeds=("nobody",)))


def test_a_recipe_searches_it(searcher):
    assert searcher.similar("a", recipe="linked").ids[0] == "b"
    assert searcher.similar("a", recipe="bm25 | top(5) | linked").ids[0] == "b"
    assert searcher.similar("a", recipe="linked", text="paper called late").ids[0] in ("b", "late")


def test_a_library_without_citations_has_no_such_view(tmp_path):
    searcher = opened(tmp_path / "library", {"a": "", "b": ""})
    assert GRAPH_VIEW not in searcher.index.view_names
    with pytest.raises(ViewMismatch, match="needs the view"):
        searcher.similar("a", recipe="linked")
