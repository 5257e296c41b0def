"""What every view owes, of whatever kind."""

from __future__ import annotations

import numpy as np

from aspectra.views.index.kinds.protocol import VIEW_KINDS
from aspectra.views.index.opened import Index
from aspectra.views.protocol import UnitView, VectorView, View, WordView
from aspectra.views.view import Floats, Probe


class ViewConformance:
    """Tests of the views of an index. A subclass, or its module, has fixtures ``index`` and ``probe``.

    The probe is on the view that is tested; two of the index's papers, at least, match it.
    """

    def test_the_view_is_what_its_name_says(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        assert view.facts.kind in VIEW_KINDS
        assert isinstance(view, View)
        assert view.name == view.facts.name == probe.view
        assert isinstance(view, WordView) == view.facts.lexical
        assert isinstance(view, VectorView) != (view.facts.lexical or view.facts.kind in ("graph", "late"))
        assert isinstance(view, UnitView) <= isinstance(view, VectorView)
        assert (view.units is None) == (not view.facts.units)

    def test_all_papers_are_scored_in_their_order(self, index: Index, probe: Probe) -> None:
        scored = index.view(probe.view).score(probe)
        assert scored.papers.tolist() == list(range(len(index)))
        assert scored.scores.shape == (len(index),)
        assert scored.scores.dtype == np.float32
        assert np.isfinite(scored.scores[~np.isnan(scored.scores)]).any()

    def test_some_papers_have_the_scores_they_have_among_all(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        some = np.arange(len(index))[::-2]
        alone = view.score(probe, some)
        assert alone.papers.tolist() == some.tolist()
        np.testing.assert_allclose(alone.scores, view.score(probe).scores[some], rtol=1e-5, atol=1e-6)

    def test_several_probes_score_as_each_alone(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        asked = view.look_up(probe)
        for one in view.score_many([asked, asked, asked]):
            np.testing.assert_allclose(one.scores, view.score(probe).scores, rtol=1e-5, atol=1e-6)

    def test_the_best_are_the_head_of_the_one_order(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        found = view.score(probe).scores
        scores: Floats = np.where(np.isnan(found), np.float32(-np.inf), found)
        order = sorted(range(len(index)), key=lambda at: (scores[at], index.ids[at]), reverse=True)
        most = view.top(probe, len(index) + 5).papers.tolist()
        assert len(most) >= 2
        assert most == order[: len(most)]
        for k in (0, 1, 2):
            assert view.top(probe, k).papers.tolist() == order[:k]

    def test_papers_that_are_not_allowed_do_not_appear(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        best = view.top(probe, len(index)).papers
        allowed = np.ones(len(index), dtype=np.bool_)
        allowed[best[0]] = False
        assert view.top(probe, len(index), allowed).papers.tolist() == best[1:].tolist()

    def test_units_that_decided_belong_to_their_papers(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        scored = view.score(probe)
        if view.units is None or scored.units is None:
            return
        for paper, unit in zip(scored.papers, scored.units, strict=True):
            assert unit == -1 or view.units.offsets[paper] <= unit < view.units.offsets[paper + 1]
