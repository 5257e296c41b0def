"""What every view owes, of whatever kind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from aspectra.base.values import replace
from aspectra.papers.paper import Paper
from aspectra.views.index.opened import VIEW_KINDS, Index
from aspectra.views.protocol import UnitView, VectorView, View, WordView
from aspectra.views.view import Floats, Probe

_K1, _B = 1.5, 0.75


@dataclass(frozen=True)
class Limit:
    """A filter that a dictionary can apply.

    Attributes:
        since, until: bounds of the year, both included; papers without a year do not pass one.
        venue: the only venue, or "".

    A bound of which no paper states anything is not applied: see :meth:`applied`.
    """

    since: int | None = None
    until: int | None = None
    venue: str = ""

    def applied(self, papers: Iterable[Paper]) -> Limit:
        """The limit without what none of the papers states: no year, or no venue."""
        known = list(papers)
        dated, placed = any(p.year is not None for p in known), any(p.venue for p in known)
        return Limit(*((self.since, self.until) if dated else (None, None)), self.venue if placed else "")

    def passes(self, paper: Paper) -> bool:
        """Whether a search with this limit may show a paper."""
        if self.since is not None and (paper.year is None or paper.year < self.since):
            return False
        if self.until is not None and (paper.year is None or paper.year > self.until):
            return False
        return not self.venue or paper.venue == self.venue


def after_adding(held: Mapping[str, Paper], new: Paper) -> Paper:
    """The paper that a library holds once ``new`` was added: a record without abstract takes none away."""
    old = held.get(new.id)
    if old is not None and old.abstract.strip() and not new.abstract.strip():
        return replace(new, abstract=old.abstract)
    return new


def bm25_scores(query: str, papers: Mapping[str, Paper]) -> dict[str, float]:
    """Id -> BM25 of titles and abstracts, for papers that share a word with the query.

    The variant is that of Lucene as Kamphuis et al. give it ("Which BM25 Do You Mean?", 2020, table 1), with
    k1 = 1.5 and b = 0.75. Words are what spaces separate: texts must be of words that no stemmer changes.

    >>> papers = {"a": Paper("a", "owl"), "b": Paper("b", "fox")}
    >>> {paper: round(score, 4) for paper, score in bm25_scores("owl", papers).items()}
    {'a': 0.2773}
    """
    documents = {i: f"{paper.title} {paper.abstract}".split() for i, paper in papers.items()}
    mean = sum(map(len, documents.values())) / max(len(documents), 1)
    scores: dict[str, float] = {}
    for word in query.split():
        holding = {i: words.count(word) for i, words in documents.items() if word in words}
        rarity = math.log(1 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
        for paper_id, count in holding.items():
            length = len(documents[paper_id]) / mean
            gain = rarity * count / (count + _K1 * (1 - _B + _B * length))
            scores[paper_id] = scores.get(paper_id, 0.0) + gain
    return scores


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
