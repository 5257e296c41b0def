"""View kinds, looked-up probes, and views whose papers are a part of a larger collection."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.base.values import replace
from aspectra.base.values import replace as changed
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.search.searcher import Searcher
from aspectra.testing.views import ViewConformance
from aspectra.views.build.run import build_index
from aspectra.views.dense import view as dense
from aspectra.views.dense.reverse import dense_moments
from aspectra.views.index.opened import VIEW_KINDS, Index
from aspectra.views.lexical.bm25 import build_lexical
from aspectra.views.lexical.collection import WordIndex
from aspectra.views.lexical.reverse import Moments, WordPairs, build_moments
from aspectra.views.protocol import ViewFacts
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import StoredFolder, Units, places_of, sample_ids
from aspectra.views.text.tokens import METHODS, LexicalSettings, Tokeniser
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder

WORDS = (
    "owls hunt mice at night while ranking documents with language models needs judgements of people".split()
)

PUBLISHED = tuple(method for method in METHODS if method != "okapi")  # of bm25s


def texts(count: int, seed: int = 0) -> list[str]:
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, draw.integers(3, 12))) + "." for _ in range(count)]


VIEWS = (
    *("abstract@bm25", "abstract@fake", "chunks-20w@bm25", "chunks-20w@fake", "experiment@fake"),
    *("full@bm25", "full@fake", "method@fake", "question@fake", "sentences@fake"),
)
PAPERS = [
    Paper(f"p{n:02d}", title, f"We ask about {text} We find {title}", sections=(Section("Body", text * 8),))
    for n, (title, text) in enumerate(zip(texts(12), texts(12, 1), strict=True))
]


def opened(folder, papers, encoder=None) -> Searcher:
    encoder = encoder or FakeEncoder()
    library = Store.create(folder)
    with library.writing("add") as writer:
        writer.add(papers)
    build_index(library, IndexSettings(encoders=("fake",), chunks=("20w",)), load=lambda _: encoder)
    return Searcher(library, load=lambda _: encoder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return opened(tmp_path_factory.mktemp("kinds") / "whole", PAPERS)


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    """The last papers alone; the first ones, which are the seeds below, lie elsewhere."""
    return opened(tmp_path_factory.mktemp("kinds") / "part", PAPERS[4:])


# Kinds and facts.


def test_every_view_of_an_index_is_tested(whole):
    assert set(whole.index.manifest["views"]) == set(VIEWS)


class TestViews(ViewConformance):
    @pytest.fixture
    def index(self, whole):
        return whole.index

    @pytest.fixture(params=VIEWS)
    def probe(self, request):
        return Probe(request.param, "owls ranking mice")


def test_a_kind_is_one_registered_function(whole, monkeypatch):
    class Length:
        """Scores papers by the length of their ids."""

        cheap, units = True, None

        def __init__(self, generation, facts, other):
            self.name, self.facts, self.count = facts.name, facts, len(generation.ids)

    registered = dict(VIEW_KINDS._members)
    try:
        VIEW_KINDS.register("made up")(Length)
        index = Index(whole.library, whole.index.folder)
        monkeypatch.setitem(index.manifest["views"], "abstract@length", {"kind": "made up"})
        assert index.view("abstract@length").count == 12
        assert index.facts("abstract@length").scorer == "length"
    finally:
        VIEW_KINDS._members = registered


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("abstract@bm25", {"lexical": True, "full_text": False, "chunks": "", "lens": ""}),
        ("chunks-250w@minilm", {"lexical": False, "full_text": True, "chunks": "250w"}),
        ("full@bm25", {"lexical": True, "full_text": True}),
        ("method@minilm", {"full_text": True, "base": "method", "scorer": "minilm"}),
        ("lens-style@delta", {"lens": "style", "full_text": False, "fallback": ""}),
        ("chunks-250w@x", {"fallback": "abstract@x", "remedy": "aspectra index --chunks 250w"}),
    ],
)
def test_facts_of_a_name(name, facts):
    found = ViewFacts.of(name)
    assert {key: getattr(found, key) for key in facts} == facts
    assert found.name == name


def test_a_view_that_is_not_there_is_refused_with_what_makes_it(whole):
    with pytest.raises(ViewMismatch, match="chunks-70w") as raised:
        whole.index.view("chunks-70w@bm25")
    assert raised.value.hint == "aspectra index --chunks 70w"
    with pytest.raises(ViewMismatch, match="no vectors"):
        whole.index.vector_view("abstract@bm25")


# A probe that was looked up where its seeds are is scored where they are not.


def _asked_at_home(whole, part, probe):
    """Scores of the part's papers: by the whole, and by the part from what the whole looked up."""
    asked = whole.index.look_up([probe])[0]
    here = np.arange(4, 12)
    return whole.index.score([asked], here)[0].scores, part.index.score([asked])[0].scores


@pytest.mark.parametrize(
    "probe",
    [
        Probe("abstract@fake", seeds=("p00", "p01"), text="owls"),
        Probe("sentences@fake", seeds=("p00",), matching="maxsim"),
        Probe("sentences@fake", seeds=("p00", "p02"), text="mice", matching="centroid"),
        Probe("sentences@fake", seeds=("p01",), matching="single", focus="ranking documents"),
        Probe("chunks-20w@fake", seeds=("p03",)),
        Probe("chunks-20w@fake", seeds=("p03",), asking="abstract@fake", pooling="mean3"),
        Probe("method@fake", seeds=("p02",)),
    ],
    ids=lambda probe: f"{probe.view} {probe.matching or probe.pooling}",
)
def test_vectors_of_seeds_elsewhere_score_as_in_one_library(whole, part, probe):
    ours, theirs = _asked_at_home(whole, part, probe)
    np.testing.assert_allclose(theirs, ours, atol=1e-3)
    assert theirs.std() > 0


@pytest.mark.parametrize(
    "probe",
    [
        Probe("abstract@bm25", seeds=("p00",), text="owls"),
        Probe("full@bm25", seeds=("p00",)),
        Probe("chunks-20w@bm25", seeds=("p00", "p01")),
    ],
    ids=lambda probe: probe.view,
)
def test_words_of_seeds_elsewhere_are_all_looked_up(whole, part, probe):
    asked = whole.index.look_up([probe])[0]
    view = part.index.view(probe.view)
    alone = part.index.score([asked])[0].scores
    assert alone.max() > 0
    spelled = replace(asked, words=tuple(reversed(asked.words)))
    np.testing.assert_allclose(view.score_many([spelled])[0].scores, alone, rtol=1e-5)


@pytest.mark.parametrize("view", ["abstract@bm25", "full@bm25", "chunks-20w@bm25", "abstract@fake"])
def test_reverse_probes_carry_the_seeds_documents(whole, part, view):
    probe = Probe(view, seeds=("p00", "p01"), reverse=True)
    asked = whole.index.look_up([probe])[0]
    found = part.index.score([asked])[0].scores
    assert found.shape == (8,)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(
        whole.index.score([asked])[0].scores, whole.index.view(view).score(probe).scores
    )


def test_quotes_of_the_seeds_travel_with_the_probe(whole):
    probe = Probe("sentences@fake", seeds=("p00", "p01"), text="owls", matching="maxsim")
    asked = whole.index.with_quotes(whole.index.look_up([probe])[0])
    assert len(asked.quotes) == len(asked.vectors)
    assert asked.quotes[0] == ("", "")  # the text's
    assert {seed for seed, _ in asked.quotes[1:]} == {"p00", "p01"}
    assert all(
        text in f"{PAPERS[0].title} {PAPERS[0].abstract}" for seed, text in asked.quotes if seed == "p00"
    )


def test_probes_that_match_alike_are_looked_up_once(whole, monkeypatch):
    view, calls = whole.index.view("sentences@fake"), []
    plain = view.look_up
    monkeypatch.setattr(view, "look_up", lambda probe: calls.append(probe) or plain(probe))
    one = Probe(view.name, seeds=("p00",), matching="maxsim", weight=0.5, aspect="method")
    both = whole.index.look_up([one, changed(one, matching="centroid")])
    assert len(calls) == 1
    assert [asked.probe.matching for asked in both] == ["maxsim", "centroid"]


def test_units_that_take_part_are_read_once_and_no_others(whole, monkeypatch):
    view, here, read = whole.index.view("sentences@fake"), np.arange(4, 12), []
    rows = view.units.rows(here)[0]
    likely = int(np.count_nonzero(whole.index.role_weights(("background",))[rows]))
    assert 0 < likely < len(rows)
    plain = dense.widen
    monkeypatch.setattr(dense, "widen", lambda vectors: [read.append(len(vectors)), plain(vectors)][1])

    def scores(*kinds):
        ways = [{"matching": how, **kind} for kind in kinds for how in ("maxsim", "centroid")]
        asked = whole.index.look_up([Probe(view.name, text="owls", **way) for way in ways])
        read.clear()
        return [found.scores.tolist() for found in view.score_many(asked, here)]

    focus, other, role = {"focus": "owls hunt"}, {"focus": "ranking"}, {"roles": ("background",)}
    together = scores({}, focus, other)
    assert read == [len(rows)]
    assert together == scores({}) + scores(focus) + scores(other)
    together = scores(role, {})
    assert read == [likely, len(rows)]
    assert together == scores(role) + scores({})


# Whether a query was cut belongs to the query.


def test_a_cut_query_is_reported_each_time_and_to_no_other_query(tmp_path):
    searcher = opened(tmp_path / "library", PAPERS[:4], FakeEncoder(max_tokens=5))
    long, short = "owls hunt mice at night while ranking documents", "owls hunt mice"
    cut = [any("its end was cut" in w for w in searcher.search(q).warnings) for q in (long, short, long)]
    assert cut == [True, False, True]
    first = searcher.index.look_up([Probe("abstract@fake", long)])[0]
    assert first.truncated == "fake"
    assert searcher.index.look_up([Probe("abstract@fake", short)])[0].truncated == ""


# Statistics of a collection in parts.


WORDS = ("owl", "hunt", "rank", "owl")


def _scores(folder, settings):
    return WordIndex(StoredFolder(folder), settings).scores(WORDS)


@pytest.mark.parametrize("method", PUBLISHED)
def test_weights_are_those_of_the_published_library(tmp_path, method):
    import bm25s

    settings = LexicalSettings(method=method)
    held = [*texts(30, 5), ""]
    build_lexical(held, settings, tmp_path / "ours")
    tokeniser = Tokeniser(settings.tokens)
    numbers: dict[str, int] = {}
    documents = [[numbers.setdefault(w, len(numbers)) for w in tokeniser.words(text)] for text in held]
    engine = bm25s.BM25(k1=settings.k1, b=settings.b, method=method, backend="numpy")
    engine.index((documents, numbers), show_progress=False)
    theirs = engine.get_scores_from_ids([numbers[word] for word in WORDS])
    np.testing.assert_allclose(_scores(tmp_path / "ours", settings), theirs, rtol=2e-6, atol=2e-6)


def test_moments_over_a_sample_that_lies_elsewhere_in_part(tmp_path):
    held = texts(9, 8)
    settings, sample = LexicalSettings(), np.array([0, 2, 5, 7])
    build_lexical(held, settings, tmp_path / "whole", pairs=True)
    build_moments(tmp_path / "whole", sample)
    whole = WordPairs(StoredFolder(tmp_path / "whole"))
    statistics = WordIndex(StoredFolder(tmp_path / "whole"), settings).statistics
    build_lexical(held[:4], settings, tmp_path / "part", pairs=True, standard=statistics)
    names, known = (
        WordIndex(StoredFolder(tmp_path / name), settings).vocabulary for name in ("whole", "part")
    )
    names = list(names)
    given = []
    for document in sample:
        ((numbers, weights),) = whole.documents(document)
        here = np.array([known.get(names[n], -1) for n in numbers])
        given.append([(here[here >= 0], weights[here >= 0])])
    build_moments(tmp_path / "part", np.array([0, 2, -1, -1]), given=given)
    ours, theirs = (
        Moments.load(StoredFolder(tmp_path / "part")),
        Moments.load(StoredFolder(tmp_path / "whole")),
    )
    np.testing.assert_allclose(ours.mean, theirs.mean[:4], rtol=1e-5)
    np.testing.assert_allclose(ours.deviation, theirs.deviation[:4], rtol=1e-4)


def test_moments_of_vectors_over_a_sample_that_lies_elsewhere_in_part():
    draw = np.random.default_rng(3)
    rows = draw.standard_normal((12, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    units = Units(np.arange(0, 13, 2), np.zeros((12, 3), np.int32))
    first = Units(np.arange(0, 7, 2), np.zeros((6, 3), np.int32))
    whole = dense_moments(rows, units, np.array([1, 4, 5]))
    part = dense_moments(rows[:6], first, np.array([1, -1, -1]), [rows[2:4], rows[8:10], rows[10:12]])
    np.testing.assert_allclose(part.mean, whole.mean[:3], rtol=1e-5)
    np.testing.assert_allclose(part.deviation, whole.deviation[:3], rtol=1e-4)


def test_the_sample_of_parts_is_that_of_the_whole():
    ids = [f"paper {n}" for n in range(3000)]
    sample = sample_ids(ids)
    assert sorted(sample_ids([*sample_ids(ids[:1700]), *sample_ids(ids[1700:])])) == sorted(sample)
    given = places_of(["paper 8", "paper 2999", "paper 3"], ids[:10])
    assert given.tolist() == [8, 3]  # in the order of the sample


def test_a_second_member_of_a_name_is_refused():
    with pytest.raises(UsageError, match="view kind"):
        VIEW_KINDS.register("dense")(lambda generation, facts, other: None)
