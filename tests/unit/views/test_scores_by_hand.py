"""Scores of views against a few lines that compute the same plainly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Sentence
from aspectra.search.searcher import Searcher
from aspectra.testing.views import bm25_scores
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder
from small_library import searcher_over

WORDS = ("owl", "fox", "bear", "wolf", "lynx", "crab", "moth")
draw = np.random.default_rng(4)
PAPERS = {
    f"p{n:02}": Paper(f"p{n:02}", f"{WORDS[n % 7]} t{n}x{n}", " ".join(draw.choice(WORDS, 1 + 3 * (n % 5))))
    for n in range(14)
}
ROLED = "We need owls. Owls are the aim. We weigh owls. Owls are light. See the map."
ROLES = ("background", "objective", "method", "result", "other")


def roled(name, abstract):
    """A paper whose source gives each sentence a role, in the order above."""
    spans, at = [], 0
    for sentence, role in zip(abstract.split(". "), ROLES, strict=True):
        start = abstract.index(sentence, at)
        at = start + len(sentence.rstrip(".")) + 1
        spans.append(Sentence(start, at, role))
    return Paper(name, f"The title of {name}", abstract, sentences=tuple(spans))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with Store.create(tmp_path_factory.mktemp("hand") / "library") as store:
        with store.writing("add") as writer:
            writer.add([*PAPERS.values(), roled("zz", ROLED)])
        settings = IndexSettings(encoders=("fake",), chunks=(), lenses=("roles",))
        build_index(store, settings, load=lambda _: FakeEncoder())
        with Searcher(store, lambda _: FakeEncoder()) as searcher:
            yield searcher.index


@pytest.mark.parametrize("query", ["owl", "owl fox", "moth moth crab", "wolf bear lynx owl"])
def test_bm25_is_the_formula(index, query):
    # The one real text has stop words and endings: four owls, and as many words as were counted.
    lengths = np.load(index.folder / "abstract@bm25" / "lengths.npy")
    papers = {**PAPERS, "zz": Paper("zz", "", " ".join(["owl"] * 4 + ["pad"] * int(lengths[-1] - 4)))}
    assert all(len(f"{p.title} {p.abstract}".split()) == lengths[n] for n, p in enumerate(papers.values()))
    expected = bm25_scores(query, papers)
    found = index.view("abstract@bm25").score(Probe("abstract@bm25", query)).scores
    for position, paper_id in enumerate(index.ids[:-1]):
        assert math.isclose(found[position], expected.get(paper_id, 0.0), rel_tol=1e-5, abs_tol=1e-7)


def test_weights_that_are_kept_are_those_of_before(index, monkeypatch):
    monkeypatch.setattr("aspectra.views.lexical.collection._MANY", 1)
    view = index.word_view()
    first, again = (view.score(Probe(view.name, "owl fox")).scores.tolist() for _ in range(2))
    assert first == again


RANK_BM25 = {  # of BM25Okapi(texts split at spaces), package rank-bm25 0.2.2
    "the owl": [0.340676029, 0.0, 0.389824305, 0.229934275, 0.456172132],
    "a mouse at night": [0.556492721, 1.295859219, 0.159890029, 0.657375064, 0.193459476],
    "fox fox :": [0.0, 0.0, 4.159868606, 0.0, 0.0],
    "owls 7 whale": [0.0, 1.213583342, 0.0, 0.0, 1.298515302],
}


def test_okapi_scores_as_the_package_does(tmp_path):
    texts = ["The owl hunts a mouse , and the mouse hides .", "A mouse counts owls at night"]
    texts += ["The fox : a fox , the owl", "Night falls on the mill at the river", "the the a owl 7"]
    papers = [Paper(f"p{n}", text, "") for n, text in enumerate(texts)]
    words = {"method": "okapi", "stemmer": "", "stopwords": False, "split": "spaces"}
    lexical = IndexSettings().changed(**words).lexical
    index = searcher_over(tmp_path / "library", papers, lexical=lexical).index
    for query, scores in RANK_BM25.items():
        found = index.view("abstract@bm25").score(Probe("abstract@bm25", query)).scores
        np.testing.assert_allclose(found, scores, atol=1e-6)
    assert "split" not in IndexSettings().dumps()  # libraries of before keep their index


def test_rarity_is_the_formula(index):
    view = index.word_view()
    holding = {
        word: sum(word in f"{p.title} {p.abstract}".split() for p in PAPERS.values()) for word in WORDS
    }
    holding["owl"] += 1  # owls
    for word, count in holding.items():
        (stem,) = view.words(word)
        rarity = view.statistics([stem]).rarity([stem])[stem]
        assert math.isclose(rarity, math.log1p(len(index) / count), rel_tol=1e-6)


def test_several_seeds_score_as_the_direction_of_their_mean(index):
    view = index.vector_view("abstract@fake")
    seeds = ("p01", "p09", "p05")
    mean = np.mean([view.vectors_of(seed)[0] for seed in seeds], axis=0)
    expected = [float(np.asarray(view.vectors_of(i)[0]) @ mean) / np.linalg.norm(mean) for i in index.ids]
    np.testing.assert_allclose(view.score(Probe(view.name, seeds=seeds)).scores, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (("method",), [0, 0, 0, 1, 0, 0]),
        (("background", "objective"), [0, 1, 1, 0, 0, 0]),
        (("objective",), [0, 0, 1, 0, 0, 0]),
        (("method", "result"), [0, 0, 0, 1, 1, 0]),
        (ROLES, [0, 1, 1, 1, 1, 1]),  # a title has no role
    ],
)
def test_only_sentences_with_the_roles_take_part(index, roles, expected):
    units = index.units("sentences")
    low, high = units.offsets[-2], units.offsets[-1]
    assert index.role_weights(roles)[low:high].tolist() == expected


def test_the_group_of_roles_is_decided_first(index, monkeypatch):
    from aspectra.views.lenses.protocol import LensValues

    # Most likely alone is method; background and objective together are likelier.
    table = np.array([[0.3, 0.3, 0.35, 0.05, 0.0]], dtype=np.float16)
    monkeypatch.setattr(type(index), "lens", lambda self, name: LensValues(ROLES, table))
    monkeypatch.setattr(index, "_roles", {})
    assert index.role_weights(("method",)).tolist() == [0]
    assert index.role_weights(("background", "objective")).tolist() == [1]
    assert index.role_weights(("background",)).tolist() == [0]
