"""Weak matches: signals by hand, what is judged, and how it is said."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aspectra.papers.paper import Paper
from aspectra.search.evidence import hits as weak_match
from aspectra.search.ranking import Fit
from aspectra.search.searcher import Searcher
from fake_encoder import FakeEncoder
from small_library import searcher_over

PAPERS = [
    Paper("owl", "Owls at night", "Owls hunt mice in the dark."),
    Paper("bat", "Bats at night", "Bats hunt moths in the dark."),
    Paper("whale", "Whales at sea", "Whales sing for other whales."),
    Paper("chess", "Chess openings", "The engine reads its book."),
]


def searcher_of(folder, encoders=("fake",)) -> Searcher:
    return searcher_over(folder / "library", PAPERS, FakeEncoder(), encoders=encoders)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory) -> Searcher:
    return searcher_of(tmp_path_factory.mktemp("weak"))


def test_words_are_weighed_by_rarity(searcher):
    fit = searcher.search("owls hunt quarks at night", recipe="hybrid").fit
    # In 1, 2, none and 2 of four papers; the owl has all but the word that is in none.
    owls, hunt, quarks, night = (math.log1p(4 / held) for held in (1, 2, 1, 2))
    assert fit.words == pytest.approx((owls + hunt + night) / (owls + hunt + quarks + night))
    assert fit.likeness is None  # this encoder was not calibrated


def test_long_queries_are_measured_against_their_rarest_words(searcher):
    odd = "quarks gluons leptons bosons muons taus"
    assert searcher.search(f"owls hunt mice {odd}", recipe="bm25").fit.words == pytest.approx(
        (2 * math.log1p(4) + math.log1p(2)) / (8 * math.log1p(4))
    )
    every = "owls bats whales chess night hunt mice dark moths sea sing openings engine"
    assert searcher.search(every, recipe="bm25").fit.words < 1


def test_a_question_on_something_else_is_weak(searcher):
    weak = searcher.search("lattice quantum chromodynamics of quarks")
    assert weak.fit.weak
    assert weak.fit.words == 0
    assert "weak match" in weak.warnings[0]
    assert weak.to_dict()["fit"]["weak"] is True
    good = searcher.search("owls hunt mice")
    assert not good.fit.weak
    assert good.fit.chance > 0.5 > weak.fit.chance
    assert not good.warnings
    assert good.to_dict()["fit"]["weak"] is False


def test_likeness_is_that_of_the_three_best_abstracts(searcher, monkeypatch):
    monkeypatch.setattr(weak_match, "_CALIBRATED", {"fake": (10.0, 0.0, -5.0, 0.0)})
    ranking = searcher.search("owls hunt mice, quarks and gluons", recipe="hybrid")
    dense = [probe.view for probe in ranking.plan.search.probes].index("abstract@fake")
    cosines = sorted(hit.probes[dense].score for hit in ranking)[-3:]
    assert ranking.fit.likeness == pytest.approx(np.mean(cosines))
    assert ranking.fit.chance == pytest.approx(1 / (1 + math.exp(5 - 10 * np.mean(cosines))))
    assert ranking.fit.weak == (np.mean(cosines) < 0.5)
    monkeypatch.setattr(weak_match, "_CALIBRATED", {"fake": (0.0, 0.0, -5.0, 0.0)})
    assert searcher.search("owls hunt mice, quarks", recipe="hybrid").fit.weak
    # One hit holds every word.
    assert not searcher.search("owls hunt mice", recipe="hybrid").fit.weak
    by_words = searcher.search("owls hunt mice", recipe="bm25").fit
    assert by_words.likeness is None


@pytest.mark.parametrize(
    "asked",
    [
        lambda s: s.similar("owl"),
        lambda s: s.similar("owl", text="at night"),
        lambda s: s.search("owls", limit=0),
        lambda s: s.search("the of and", recipe="dense"),
    ],
)
def test_what_cannot_be_told_is_not_judged(searcher, asked):
    ranking = asked(searcher)
    assert ranking.fit is None
    assert "fit" not in ranking.to_dict()
    assert not ranking.warnings


def test_without_vectors_words_decide(tmp_path):
    searcher = searcher_of(tmp_path, encoders=())
    assert not searcher.search("owls hunt mice").fit.weak
    assert searcher.search("owls and lattice quantum chromodynamics of quarks").fit.weak


def test_the_warning_names_what_was_measured():
    said = weak_match.weak_match_warning(Fit(0.21, 0.1234, 0.01, weak=True))[0]
    assert "12 %" in said
    assert "0.21" in said
    assert "cosine" not in weak_match.weak_match_warning(Fit(None, 0.1, 0.01, weak=True))[0]
    assert weak_match.weak_match_warning(Fit(0.7, 0.9, 0.9, weak=False)) == []
    assert weak_match.weak_match_warning(None) == []
