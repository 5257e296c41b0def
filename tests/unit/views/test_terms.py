"""Terms of aspects: the head, what is kept of a paper, the two views, and older libraries."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import LibraryCorrupt, UsageError, ViewMismatch
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.testing.views import ViewConformance
from aspectra.views.build.generation import FEW
from aspectra.views.build.run import build_index
from aspectra.views.dense.matching import narrowed, widen
from aspectra.views.index.opened import Index
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import paper_spans
from aspectra.views.terms import view as heads
from aspectra.views.terms.view import (
    ASPECTS,
    PaperTerms,
    TokenHead,
    encode_with_terms,
    head_of,
    offers_of,
    stem_counts,
    term_values,
    word_stems,
)
from aspectra.views.text.tokens import LexicalSettings, Tokeniser, plain_words
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder
from token_encoder import TokenEncoder, made_up_head

PAPERS = [
    Paper("seed", "Birds at night", "We train a convolutional network on spectrograms. Accuracy rises."),
    Paper("alike", "Whales at sea", "A convolutional network reads spectrograms, spectrograms. Fewer came."),
    Paper("topic", "Birds again", "Volunteers walk along and write lists. Birds came before."),
    Paper("bare", "Nothing of the kind"),
]


@pytest.fixture
def encoder(monkeypatch) -> TokenEncoder:
    made = TokenEncoder()
    monkeypatch.setattr(heads, "_shipped", lambda: (made_up_head(made),))
    return made


def library_of(folder, papers) -> Store:
    library = Store.create(folder)
    with library.writing("add") as writer:
        writer.add(papers)
    return library


def build(library, encoder, **more):
    settings = IndexSettings(encoders=("token",), chunks=())
    return build_index(library, settings, load=lambda _: encoder, **more)


def opened(library, encoder) -> Index:
    return Index(library, library.generations.current(), load=lambda _: encoder)


@pytest.fixture
def index(tmp_path, encoder) -> Index:
    library = library_of(tmp_path / "library", PAPERS)
    build(library, encoder)
    return opened(library, encoder)


def terms_of(encoder, text: str) -> PaperTerms:
    paper = Paper("x", "", text)
    return PaperTerms.of(paper, encode_with_terms(encoder, [paper_spans(paper)[0]])[1][0])


# The head.


def test_chances_are_the_softmax_of_a_linear_layer():
    head = TokenHead(np.eye(4, dtype=np.float32), np.zeros(4, np.float32), (*ASPECTS, "none"), "x")
    states = np.log(np.array([[2, 1, 1, 4], [1, 1, 1, 1]], np.float32))
    np.testing.assert_allclose(head.chances(states), [[0.25, 0.125, 0.125], [0.25] * 3], rtol=1e-6)
    # Classes in another order are the same head.
    turned = TokenHead(head.weights[:, ::-1], head.bias, head.labels[::-1], "x")
    np.testing.assert_allclose(turned.chances(states), head.chances(states))
    assert turned.hash != head.hash
    # An aspect may have several classes.
    several = TokenHead(head.weights, head.bias, ("method", "background", "method", "none"), "x")
    np.testing.assert_allclose(several.chances(states[:1]), [[0.125, 0.375, 0.0]], rtol=1e-6)


def test_a_head_fits_one_encoder_only(encoder):
    assert head_of(encoder) is not None
    assert head_of(TokenEncoder("other")) is None
    assert head_of(FakeEncoder()) is None  # gives no token states
    assert term_values(FakeEncoder()) is None
    assert encode_with_terms(FakeEncoder(), ["owls"])[1] == []


# What is kept of a paper.


def test_words_have_the_mean_chance_of_their_tokens_and_aspects_a_pooled_vector(encoder):
    terms = terms_of(encoder, "Whales: a convolutional network.")
    assert terms.words == ["Whales", "a", "convolutional", "network"]
    assert [terms.text[a:b] for a, b in terms.spans] == terms.words
    assert terms.chances.argmax(axis=1).tolist()[0] == 0
    assert terms.chances[2:, 1].min() > 0.8
    assert terms.chances[1].max() < 0.1
    head = made_up_head(encoder)
    states = np.array([encoder._word(w) for w in terms.words], np.float32)
    wanted = head.chances(states)[:, 1] @ states
    np.testing.assert_allclose(terms.vectors[1], wanted / np.linalg.norm(wanted), atol=1e-3)
    assert not terms.vectors[2].any()  # no outcome is named


def test_words_beyond_what_the_encoder_reads_have_no_chance(monkeypatch):
    short = TokenEncoder(max_tokens=2)
    monkeypatch.setattr(heads, "_shipped", lambda: (made_up_head(short),))
    terms = terms_of(short, "Owls and whales")
    assert terms.chances[0, 0] > 0.5
    assert not terms.chances[2].any()


def test_an_empty_text_has_no_words_and_no_vectors(encoder):
    terms = terms_of(encoder, "")
    assert terms.words == []
    assert not terms.vectors.any()
    assert offers_of(terms, lambda word: (word,), lambda stems: 1.0)["method"].phrases == ()


def test_values_that_do_not_fit_the_text_are_refused(encoder):
    value = encode_with_terms(encoder, ["owls"])[1][0]
    with pytest.raises(LibraryCorrupt, match="do not fit"):
        PaperTerms.of(Paper("x", "two words"), value)


# Phrases.


def test_phrases_are_runs_of_likely_words_strongest_first(encoder):
    text = "Birds: a convolutional network, not lists. The convolutional network on spectrograms. Network."
    stems = word_stems(Tokeniser())
    offer = offers_of(terms_of(encoder, text), stems, lambda found: 1.0)
    # Twice in the text, so before the others; the single word within it is not repeated.
    assert [p.text for p in offer["method"].phrases] == ["convolutional network", "lists", "spectrograms"]
    assert text[offer["method"].phrases[1].start :].startswith("lists")
    assert offer["method"].sure > 0.8
    assert offer["result"].phrases == ()
    assert offer["background"].sure < 0.5  # one word of three
    rare = offers_of(terms_of(encoder, text), stems, lambda found: 9.0 if "spectrogram" in found else 1.0)
    assert rare["method"].phrases[0].text == "spectrograms"


def made_up_terms(text: str, chances: list[float]) -> PaperTerms:
    """Every word names a method with its chance."""
    words = plain_words(text)
    table = np.zeros((len(words), 3), np.float32)
    table[:, 1] = chances
    return PaperTerms(text, words, table, np.zeros((3, 4), np.float32))


@pytest.mark.parametrize(
    ("text", "chances", "phrases"),
    [
        ("ray tracing, splatting", [0.9, 0.9, 0.9], {"ray tracing", "splatting"}),
        ("ray-tracing of light", [0.9, 0.9, 0.9, 0.9], {"ray-tracing of light"}),
        ("the splatting of the", [0.9, 0.9, 0.9, 0.9], {"splatting"}),
        ("tracing then splatting", [0.9, 0.05, 0.9], {"tracing", "splatting"}),
        ("margin softmax loss", [0.2, 0.9, 0.05], {"margin softmax"}),  # doubtful words beside a likely one
        ("margin then softmax", [0.2, 0.05, 0.9], {"softmax"}),
        ("the state-of-the-art tagging", [0, 0, 0, 0, 0.2, 0.9], {"state-of-the-art tagging"}),
        ("some-thing softmax", [0, 0, 0.9], {"softmax"}),  # a blank joins likely words alone
        ("a part-of tracing", [0.0, 0.9, 0.0, 0.0], {"part-of"}),
        ("in 2020, 84 tracing", [0.0, 0.9, 0.9, 0.9], {"84 tracing"}),
        ("ray   tracing", [0.9, 0.9], {"ray", "tracing"}),
        ("one two three four five six", [0.9] * 6, {"one two three four five", "six"}),
        ("the of", [0.9, 0.9], set()),
    ],
)
def test_phrases_end_where_the_text_or_the_chance_breaks(text, chances, phrases):
    found = offers_of(
        made_up_terms(text, chances), lambda word: () if word in {"the", "of"} else (word,), lambda _: 1.0
    )
    assert {phrase.text for phrase in found["method"].phrases} == phrases
    assert found["method"].sure == pytest.approx(
        sum(
            sorted(
                (c for w, c in zip(plain_words(text), chances, strict=True) if w not in {"the", "of"}),
                reverse=True,
            )[:3]
        )
        / 3
    )


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("tracing maps, tracing", ["tracing maps"]),  # said already, in more words
        ("tracing, tracing, tracing maps, tracing maps", ["tracing maps"]),  # as heavy as its part
        ("tracing, tracing, tracing, tracing maps", ["tracing", "tracing maps"]),  # its part is what is said
    ],
)
def test_a_phrase_takes_the_place_of_its_part_unless_that_weighs_twice_as_much(text, phrases):
    terms = made_up_terms(text, [0.9] * len(plain_words(text)))
    found = offers_of(terms, lambda word: (word,), lambda _: 1.0)
    assert [phrase.text for phrase in found["method"].phrases] == phrases


def test_what_is_weak_beside_the_strongest_is_not_shown():
    text = "stroke, stroke, stroke, neck, chest pain, motor loss, motor loss, motor loss"
    terms = made_up_terms(text, [0.9] * len(plain_words(text)))
    rarity = {"chest": 0.8, "pain": 0.8, "neck": 1.4}  # a third, and half, of three times one
    found = offers_of(terms, lambda word: (word,), lambda stems: rarity.get(stems[0], 1.0))
    assert [phrase.text for phrase in found["method"].phrases] == ["stroke", "motor loss"]
    rarity = {"chest": 1.0, "pain": 1.0, "neck": 1.6}
    found = offers_of(terms, lambda word: (word,), lambda stems: rarity.get(stems[0], 1.0))
    assert {phrase.text for phrase in found["method"].phrases} == {
        "stroke",
        "motor loss",
        "neck",
        "chest pain",
    }


def test_a_common_word_alone_and_a_doubtful_outcome_are_not_shown():
    terms = made_up_terms("learning, splatting", [0.9, 0.9])
    rarity = {"learning": 1.0, "splatting": 5.0}
    found = offers_of(terms, lambda word: (word,), lambda stems: rarity[stems[0]])
    assert [phrase.text for phrase in found["method"].phrases] == ["splatting"]
    terms.chances[:] = [[0.0, 0.0, 0.45]] * 2
    assert offers_of(terms, lambda word: (word,), lambda _: 1.0)["result"].phrases == ()
    terms.chances[:] = [[0.45, 0.0, 0.0]] * 2
    assert len(offers_of(terms, lambda word: (word,), lambda _: 1.0)["background"].phrases) == 2


# The views.


class TestViews(ViewConformance):
    @pytest.fixture
    def index(self, tmp_path, encoder):
        library = library_of(tmp_path / "library", PAPERS)
        build(library, encoder)
        return opened(library, encoder)

    @pytest.fixture(params=["terms@bm25", "terms@token"])
    def probe(self, request):
        return Probe(request.param, seeds=("seed",), roles=("method",), matching="single")


def _scores(index, view, roles, **asked):
    asked = asked or {"seeds": ("seed",)}
    found = index.view(view).score(Probe(view, roles=roles, matching="single", **asked))
    return dict(zip(index.ids, found.scores.tolist(), strict=True))


def test_the_aspect_decides_what_is_shared(index):
    method = _scores(index, "terms@bm25", ("method",))
    assert method["alike"] > 0
    assert method["topic"] == method["bare"] == 0
    topic = _scores(index, "terms@bm25", ("background", "objective"))
    assert topic["topic"] > 0
    assert topic["alike"] == 0
    method = _scores(index, "terms@token", ("method",))
    assert method["alike"] > method["topic"]
    assert np.isnan(method["bare"])  # names none


def test_words_score_as_worked_out_by_hand(index):
    """BM25 with fractional counts on both sides."""
    stems = word_stems(Tokeniser())
    view = index.view("terms@bm25")
    tables = {p: dict(zip(*stem_counts(view.terms_of(p), stems), strict=True)) for p in index.ids}
    counts = {
        p: {w: float(row[1]) for w, row in table.items() if row[1] >= 0.05} for p, table in tables.items()
    }
    lengths = {p: sum(held.values()) for p, held in counts.items()}
    mean = np.mean([length for length in lengths.values() if length])
    expected = 0.0
    k1, b = LexicalSettings().k1, LexicalSettings().b
    for word, asked in counts["seed"].items():
        count = counts["alike"].get(word, 0.0)
        holders = sum(word in table for table in tables.values())
        rarity = np.log1p((4 - holders + 0.5) / (holders + 0.5))
        expected += asked * rarity * count * (k1 + 1) / (count + k1 * (1 - b + b * lengths["alike"] / mean))
    assert expected > 0
    assert _scores(index, "terms@bm25", ("method",))["alike"] == pytest.approx(expected, rel=1e-4)


def test_named_words_count_one_each(index):
    named = _scores(index, "terms@bm25", ("method",), text="lists")
    assert max(named, key=named.get) == "topic"
    assert named["alike"] == 0
    both = _scores(index, "terms@bm25", ("method",), text="lists lists")
    assert both["topic"] == pytest.approx(2 * named["topic"])


def test_directions_in_a_byte_keep_their_cosines():
    rows = np.random.default_rng(0).standard_normal((50, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[3] = 0.0
    back = widen(narrowed(rows))
    assert not back[3].any()
    np.testing.assert_allclose(back @ back.T, rows @ rows.T, atol=3e-3)


def test_several_seeds_are_averaged(index):
    one, other, both = (
        _scores(index, "terms@bm25", ("method",), seeds=seeds)["alike"]
        for seeds in (("seed",), ("topic",), ("seed", "topic"))
    )
    assert both == pytest.approx((one + other) / 2, rel=1e-5)


def test_vectors_are_centred(index):
    words, view = index.view("terms@bm25"), index.vector_view("terms@token")
    rows = widen(view.vectors.whole()[1::3])
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1, 0])
    whole = np.stack([words.terms_of(paper).vectors[1] for paper in index.ids[:3]])
    centred = whole - whole.sum(axis=0) / 13  # as if ten more papers named no method
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    assert (rows[:3] * centred).sum(axis=1) == pytest.approx(1, abs=1e-3)


def test_a_view_of_terms_is_not_asked_in_reverse(index):
    with pytest.raises(ViewMismatch, match="reverse"):
        index.view("terms@bm25").look_up(Probe("terms@bm25", seeds=("seed",), reverse=True))


# Older libraries.


def old_library(tmp_path, encoder, monkeypatch, count: int) -> Store:
    """Encoded when there was no head."""
    papers = [*PAPERS, *(Paper(f"p{n}", f"Owls {n}", "Owls hunt.") for n in range(count - len(PAPERS)))]
    library = library_of(tmp_path / "old", papers)
    with monkeypatch.context() as before:
        before.setattr(heads, "_shipped", tuple)
        build(library, encoder)
    assert "terms@bm25" not in opened(library, encoder).view_names
    encoder.encoded.clear()
    return library


def test_an_older_library_is_told_what_terms_cost_and_works_as_before(tmp_path, encoder, monkeypatch):
    library = old_library(tmp_path, encoder, monkeypatch, 3 * FEW)
    report = build(library, encoder)
    assert report.lacking_terms == {"token": 2 * FEW}
    assert report.seconds_for_terms["token"] > 0
    assert len(encoder.encoded) == FEW
    index = opened(library, encoder)
    assert "terms@bm25" not in index.view_names
    assert index.manifest["lacking_terms"] == {"token": 2 * FEW}
    assert not build(library, encoder).changed


def test_terms_are_made_on_demand_and_vectors_stay(tmp_path, encoder, monkeypatch):
    library = old_library(tmp_path, encoder, monkeypatch, 3 * FEW)
    before = np.asarray(opened(library, encoder).vector_view("abstract@token").vectors.whole()).copy()
    written = library.derived.state(_abstracts(encoder))
    report = build(library, encoder, terms=True)
    assert report.changed
    assert report.lacking_terms == {}
    assert report.encoded == 0
    assert library.derived.state(_abstracts(encoder)) == written
    index = opened(library, encoder)
    assert {"terms@bm25", "terms@token"} <= set(index.view_names)
    np.testing.assert_array_equal(index.vector_view("abstract@token").vectors.whole(), before)
    assert not build(library, encoder).changed
    assert not build(library, encoder, terms=True).changed


def test_a_few_papers_get_their_terms_unasked(tmp_path, encoder, monkeypatch):
    library = old_library(tmp_path, encoder, monkeypatch, 10)
    assert build(library, encoder).lacking_terms == {}
    assert "terms@bm25" in opened(library, encoder).view_names


def test_new_papers_are_encoded_once_for_vectors_and_terms(tmp_path, encoder):
    library = library_of(tmp_path / "library", PAPERS)
    report = build(library, encoder)
    whole = [paper_spans(paper)[0] for paper in PAPERS]
    assert report.encoded == len(PAPERS)
    assert all(encoder.encoded.count(text) == 1 for text in whole[:3])
    assert build(library, encoder, rebuild=True).encoded == 0


def test_another_head_makes_other_values(tmp_path, encoder, monkeypatch):
    library = library_of(tmp_path / "library", PAPERS)
    build(library, encoder)
    first = term_values(encoder)
    monkeypatch.setattr(heads, "_shipped", lambda: (made_up_head(encoder, 0.5),))
    assert term_values(encoder) != first
    assert build(library, encoder).changed
    index = opened(library, encoder)
    assert index.manifest["views"]["terms@bm25"]["values"] == term_values(encoder).version


def _abstracts(encoder):
    from aspectra.views.build.values import abstract_vectors

    return abstract_vectors(encoder)


def test_sentences_of_a_seed_are_named_by_number(index):
    view = index.vector_view("sentences@token")
    named = view.look_up(Probe("sentences@token", seeds=("seed",), sentences=(2,), matching="single"))
    assert named.units.tolist() == [2]  # behind the title and the first sentence
    with pytest.raises(UsageError, match="no sentence 9"):
        view.look_up(Probe("sentences@token", seeds=("seed",), sentences=(9,), matching="single"))
    with pytest.raises(ViewMismatch, match="no sentences"):
        index.view("terms@token").look_up(
            Probe("terms@token", seeds=("seed",), sentences=(1,), matching="single")
        )
    with pytest.raises(UsageError, match="one seed"):
        Probe("sentences@token", seeds=("seed", "alike"), sentences=(1,), matching="single")
