"""Token vectors of late interaction: which there are, how they are stored, the view that compares them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from aspectra.base.errors import NoSuchPaper, UsageError, ViewMismatch
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.query import Query
from aspectra.search.recipe import ProbeRecipe, Recipe, SearchRecipe
from aspectra.search.searcher import Searcher
from aspectra.testing.views import ViewConformance
from aspectra.views.build.run import build_index
from aspectra.views.dense.late.view import TokenVectors, narrow, row_bytes, wide
from aspectra.views.settings import IndexSettings
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder
from token_encoder import TokenEncoder

PAPERS = [
    Paper("a", "Owls hunt at night", "Owls find mice by ear. The night is dark for people."),
    Paper("b", "Bees dance", "The dance of bees tells where flowers are."),
    Paper("c", "Whales sing", "Songs of whales travel far. Owls are not heard there."),
    Paper("d", "Rare words", "Xylophones accompany owls, and nobody knows why."),
    Paper("e", "", ""),
]


def opened(folder, encoder, papers=PAPERS, late="bits") -> Searcher:
    library = Store.create(folder)
    with library.writing("add") as writer:
        writer.add(papers)
    chosen = IndexSettings(encoders=("token",), chunks=(), lenses=(), late=late)
    build_index(library, chosen, load=lambda _: encoder)
    return Searcher(library, load=lambda _: encoder)


@pytest.fixture(scope="module")
def encoder() -> TokenEncoder:
    return TokenEncoder()


@pytest.fixture(scope="module")
def searcher(tmp_path_factory, encoder) -> Searcher:
    return opened(tmp_path_factory.mktemp("late") / "library", encoder, late="int8")


class TestTheView(ViewConformance):
    @pytest.fixture
    def index(self, searcher):
        return searcher.index

    @pytest.fixture(
        params=[{"text": "owls at night"}, {"seeds": ("a",)}, {"text": "bees", "seeds": ("c", "d")}]
    )
    def probe(self, request) -> Probe:
        return Probe("tokens@token", **request.param)


def test_words_but_stop_words_have_a_vector(encoder):
    found = TokenVectors.of(encoder, *states(encoder, "The owls, of the night!"))
    assert [(int(a), int(b)) for a, b in found.spans] == [(4, 8), (17, 22)]
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1.0, rtol=1e-5)


def test_a_text_of_stop_words_alone_keeps_them(encoder):
    assert len(TokenVectors.of(encoder, *states(encoder, "to be or not to be")).spans) == 6


def test_characters_of_scripts_without_spaces_are_words():
    encoder = TokenEncoder()
    found = TokenVectors.of(encoder, *states(encoder, "检索 owls"))
    assert [(int(a), int(b)) for a, b in found.spans] == [(0, 1), (1, 2), (3, 7)]


def states(encoder, text):
    held = []
    encoder.encode_tokens([text], lambda _, rows, offsets: held.append((text, rows, offsets)))
    return held[0]


def test_words_beyond_what_the_encoder_reads_have_none():
    short = TokenEncoder(max_tokens=2)
    assert len(TokenVectors.of(short, *states(short, "owls hunt mice")).spans) == 2


@pytest.mark.parametrize("kind", ["bits", "int8"])
def test_stored_vectors_have_length_1_and_keep_their_direction(kind):
    draw = np.random.default_rng(0).standard_normal((50, 20)).astype(np.float32)
    draw /= np.linalg.norm(draw, axis=1, keepdims=True)
    rows = narrow(draw, kind)
    assert rows.dtype == np.uint8
    assert rows.shape == (50, row_bytes(20, kind))
    again = wide(rows, 20, kind)
    np.testing.assert_allclose(np.linalg.norm(again, axis=1), 1.0, rtol=1e-5)
    cosines = np.einsum("ij,ij->i", draw, again)
    assert cosines.min() > (0.6 if kind == "bits" else 0.999)
    if kind == "bits":
        assert ((again > 0) == (draw > 0)).all()


def test_scores_are_the_weighted_mean_of_the_nearest_cosines(searcher, encoder):
    view = searcher.index.view("tokens@token")
    scored = view.score(Probe("tokens@token", text="owls dance"))
    asked = TokenVectors.of(encoder, *states(encoder, "owls dance"))
    # Owls stand in three of five papers, dance in one: ln(1 + 5 / 3) and ln(1 + 5), as shares of their sum.
    weights = np.array([np.log1p(5 / 3), np.log1p(5)])
    weights /= weights.sum()
    for number, paper in enumerate(PAPERS[:4]):
        own = TokenVectors.of(encoder, *states(encoder, f"{paper.title}. {paper.abstract}")).vectors
        by_hand = weights @ (asked.vectors @ own.T).max(axis=1)
        assert scored.scores[number] == pytest.approx(by_hand, abs=2e-3)  # int8
    assert np.isnan(scored.scores[4])  # it has no words


def test_a_paper_without_words_is_not_found(searcher):
    found = searcher.index.view("tokens@token").top(Probe("tokens@token", text="owls"), 10)
    assert 4 not in found.papers.tolist()


def test_seeds_count_alike_however_long_they_are(searcher):
    view = searcher.index.view("tokens@token")
    asked = view.look_up(Probe("tokens@token", text="bees", seeds=("a", "c")))
    sums = [asked.weights[asked.owners == owner].sum() for owner in (-1, 0, 1)]
    np.testing.assert_allclose(sums, 1.0, rtol=1e-5)


def test_what_tokens_cannot_be_compared_by_is_refused(searcher):
    view = searcher.index.view("tokens@token")
    for wrong in ({"metric": "dot"}, {"focus": "bees", "matching": "maxsim"}, {"instruction": "surveys"}):
        with pytest.raises(ViewMismatch, match="MaxSim alone"):
            view.look_up(Probe("tokens@token", text="owls", **wrong))
    with pytest.raises(NoSuchPaper):
        view.look_up(Probe("tokens@token", seeds=("z",)))


def test_tokens_are_encoded_once_and_kept_while_the_text_stays(tmp_path):
    encoder = TokenEncoder()
    searcher = opened(tmp_path / "library", encoder)
    before = searcher.index.files.folder("tokens@token").whole("codes")
    encoder.encoded.clear()
    with searcher.library.writing("add") as writer:
        writer.add([Paper("f", "Foxes", "Foxes eat mice.")])
    build_index(searcher.library, load=lambda _: encoder)
    assert all("Foxes" in text for text in encoder.encoded)
    searcher.refresh()
    after = searcher.index.files.folder("tokens@token").whole("codes")
    np.testing.assert_array_equal(after[: len(before)], before)


def test_turned_on_later_it_encodes_again_and_gives_the_same(tmp_path):
    encoder = TokenEncoder()
    searcher = opened(tmp_path / "one", encoder)
    other = opened(tmp_path / "other", encoder, papers=PAPERS[:0])
    plain = IndexSettings(encoders=("token",), chunks=(), lenses=())
    with other.library.writing("add") as writer:
        writer.add(PAPERS)
    build_index(other.library, plain, load=lambda _: encoder)
    other.refresh()
    assert "tokens@token" not in other.index.view_names
    build_index(other.library, plain.changed(late="bits"), load=lambda _: encoder)
    other.refresh()
    for name in ("codes", "spans", "offsets"):
        np.testing.assert_array_equal(
            other.index.files.folder("tokens@token").whole(name),
            searcher.index.files.folder("tokens@token").whole(name),
        )


def test_an_encoder_without_token_states_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no token states"):
        opened(tmp_path / "library", FakeEncoder("token"))


def test_the_planner_adds_maxsim_to_the_hybrid(searcher):
    plan = searcher.plan(Query("owls at night"), "late(weight=2,candidates=3)")
    assert [(p.view, p.weight) for p in plan.search.probes] == [
        ("abstract@token", 1.0),
        ("abstract@bm25", 0.3),
        ("tokens@token", 2.0),
    ]
    assert plan.search.fusion.candidates == 3
    assert searcher.search(Query("owls at night"), "late").hits[0].id == "a"
    assert searcher.search(Query(seeds=("a",)), "late").hits


def test_the_planner_says_how_to_get_token_vectors(tmp_path, encoder):
    library = Store.create(tmp_path / "library")
    with library.writing("add") as writer:
        writer.add(PAPERS)
    build_index(library, IndexSettings(encoders=("token",), chunks=(), lenses=()), load=lambda _: encoder)
    with pytest.raises(ViewMismatch) as refused:
        Searcher(library, load=lambda _: encoder).plan(Query("owls"), "late")
    assert refused.value.hint == "aspectra index --late"


def test_the_sample_is_scored_in_part_and_candidates_as_among_all(tmp_path, encoder):
    words = "owls bees whales mice night dance songs flowers".split()
    draw = np.random.default_rng(3)
    papers = [Paper(f"p{n:03d}", " ".join(draw.choice(words, 4)), "") for n in range(400)]
    searcher = opened(tmp_path / "library", encoder, papers=papers)
    view, sample = searcher.index.view("tokens@token"), searcher.index.sample
    probe = Probe("tokens@token", text="owls dance")
    whole = view.score(probe).scores
    part = view.score(probe, sample).scores
    known = ~np.isnan(part)
    assert 100 <= known.sum() <= 200 < len(sample)
    np.testing.assert_allclose(part[known], whole[sample[known]], rtol=1e-5)


def test_quotes_name_the_words_that_matched(searcher):
    from_hybrid = searcher.search(Query("owls at night"), "late").hits[0].evidence[0]
    assert from_hybrid.field == "abstract"
    alone = Recipe(
        "maxsim", ("hybrid", "top(5)", SearchRecipe((ProbeRecipe("tokens@{encoder}"),))), instruction="ignore"
    )
    ranking = searcher.search(Query("mice dance", evidence=1), alone)
    quotes = {hit.id: hit.evidence[0] for hit in ranking.hits if hit.evidence}
    assert quotes["a"].quote == "Owls find mice by ear."
    assert ("mice", "mice") in [pair[:2] for pair in quotes["a"].matched]
    assert quotes["a"].matched[0][2] == pytest.approx(1.0, abs=1e-2)
    assert quotes["b"].quote == "The dance of bees tells where flowers are."
    assert ("dance", "dance") in [pair[:2] for pair in quotes["b"].matched]
    for paper in PAPERS:
        if paper.id in quotes:
            found = quotes[paper.id]
            assert paper.abstract[found.start : found.end] == found.quote


def test_a_paper_changed_since_it_was_indexed_is_not_quoted_and_is_still_a_seed(tmp_path, encoder):
    searcher = opened(tmp_path / "library", encoder)
    with searcher.library.writing("add") as writer:
        writer.add([Paper("a", "Owls hunt at night", "Other words altogether.")])
    ranking = searcher.search(Query("owls hunt"), "late")
    assert {hit.id: hit.evidence for hit in ranking.hits}["a"] in ((), None)
    asked = searcher.index.view("tokens@token").look_up(Probe("tokens@token", seeds=("a",)))
    assert set(asked.words) == {""}
    assert len(set(asked.weights.tolist())) == 1


def test_one_costly_probe_scores_the_papers_before_it_alone(searcher, monkeypatch):
    view = searcher.index.view("tokens@token")
    scored = []
    whole = type(view).score_many
    monkeypatch.setattr(
        type(view),
        "score_many",
        lambda self, asked, papers=None: scored.append(papers) or whole(self, asked, papers),
    )
    alone = Recipe("maxsim", ("bm25", "top(2)", SearchRecipe((ProbeRecipe("tokens@{encoder}"),))))
    assert len(searcher.search(Query("owls", evidence=0), alone).hits) == 2
    assert [len(papers) for papers in scored] == [2]


def test_settings_are_those_of_before_where_no_tokens_are_kept():
    assert "late" not in IndexSettings().to_dict()
    chosen = IndexSettings(encoders=("token",), lenses=("style",))
    assert chosen.to_dict() == json.loads(chosen.dumps())  # as in a manifest, to be compared
    assert IndexSettings.from_dict(chosen.to_dict()) == chosen
    assert IndexSettings.loads(IndexSettings(late="int8").dumps()).late == "int8"
    with pytest.raises(UsageError, match=r"index\.late"):
        IndexSettings(late="float")


def test_a_query_is_encoded_once_for_all_views_and_quotes(tmp_path):
    encoder = TokenEncoder(max_tokens=3)
    searcher = opened(tmp_path / "library", encoder)
    encoder.encoded.clear()
    ranking = searcher.search(Query("owls hunt mice at night"), "late")
    assert encoder.encoded == ["owls hunt mice at night"]
    assert any("cut" in warning or "longer" in warning or "end" in warning for warning in ranking.warnings)
