"""Conditions in free words: phrases, their forms, mentions against subjects, and what vectors add."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aspectra.base.errors import UsageError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section, field_text
from aspectra.search.conditions.attributes.content.keyword import Phrase, alternatives
from aspectra.search.conditions.attributes.content.subjects import WEIGHTS, PhraseFeatures, features, prepare
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import Condition
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.index.opened import Index
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

PASSING = "We train trees. Unlike random forest models, trees can be read. They are quick."
LATER = "We heard so many calls at night that none of us slept well at all. A random forest. Random forests."
PAPERS = [
    Paper("title", "Random forests for owl calls", "We record calls at night. Ten sites were used."),
    Paper("twice", "Calls at night", "A random forest is trained. The random forest finds owls. Good."),
    Paper("passing", "Trees for owl calls", PASSING),
    Paper("apart", "Calls in a forest", "We walk. Sites are random. Nothing else."),
    Paper("short", "RFM in practice", "RFM is tried twice. RFM wins over others."),
    Paper("defines", "Owls", "A random forest model (RFM) is used. It works. Fine."),
    Paper("defines2", "Mice", "We use a random forest model (RFM). It works. Fine."),
    Paper("disease", "Heart disease of owls", "Diseases are rare."),
    Paper("lead", "Long", "", sections=(Section("A", "Random forests grow. Random forests win. Yes."),)),
    Paper("nothing"),
]


def made(folder: Path, *, vectors: bool = True, papers: list[Paper] | None = None) -> Searcher:
    library = Store.create(folder)
    with library.writing("add") as writer:
        writer.add(PAPERS if papers is None else papers)
    encoder = FakeEncoder()
    encoders = ("fake",) if vectors else ()
    build_index(library, IndexSettings(encoders=encoders, chunks=()), load=lambda _: encoder)
    return Searcher(library, load=lambda _: encoder)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return made(tmp_path_factory.mktemp("words") / "library", vectors=False)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return made(tmp_path_factory.mktemp("vectors") / "library")


def graded(searcher: Searcher, attribute: str, value: str) -> dict[str, float]:
    index = searcher.index
    grades = ATTRIBUTES.get(attribute).grades(value, index, np.arange(len(index)))
    return dict(zip(index.ids, map(float, grades), strict=True))


def features_of(text: str, index: Index, papers: np.ndarray) -> PhraseFeatures:
    return features(prepare(text, index), index, papers, {})


def test_alternatives():
    assert alternatives("the deep learning or any CNNs; trees") == ["deep learning", "CNNs", "trees"]
    assert alternatives("2,4-D, or atrazine and/or zinc") == ["2,4-D", "atrazine", "zinc"]
    assert alternatives("theory") == ["theory"]
    assert alternatives("老鼠或猫") == ["老鼠", "猫"]


@pytest.mark.parametrize("value", ["", " ", "++", " or ".join("bcdefghij"), "zinc or ++"])
@pytest.mark.parametrize("name", ["topic", "method", "population", "reports"])
def test_values_without_words_are_refused(name, value):
    with pytest.raises(UsageError):
        Condition(name, value, "exclude")


def test_a_subject_is_named_in_the_title_or_twice(words):
    found = graded(words, "topic", "random forests")
    assert {i for i, grade in found.items() if grade >= 0.5} == {"title", "twice", "lead"}
    assert 0 < found["passing"] < 0.5
    assert found["apart"] == 0.0
    assert np.isnan(found["nothing"])


def test_words_of_one_sentence_count_less_than_the_phrase(words):
    index = words.index
    found = features_of("owl calls", index, np.array([index.positions[i] for i in ("title", "twice")]))
    assert found.names.tolist() == [True, False]
    papers = [Paper("a", "x", "Calls of an owl."), Paper("b", "x", "Owl calls are heard.")]
    phrase = Phrase.of("owl calls")
    names = [phrase.named(p.title, p.abstract, [(0, len(p.abstract))]) for p in papers]
    assert [(n.units, n.intact) for n in names if n] == [((1,), False), ((1,), True)]


def test_words_of_two_sentences_name_nothing():
    text = "Sites are random. A forest grows."
    assert Phrase.of("random forest").named("", text, [(0, 17), (18, len(text))]) is None
    named = Phrase.of("random forest").named("A forest of random owls", text, [(0, 17), (18, len(text))])
    assert named is not None
    assert (named.title, named.units, named.intact) == (True, (0,), False)


def test_short_forms_come_from_other_papers(words):
    found = graded(words, "method", "random forest models")
    assert found["short"] >= 0.5
    assert graded(words, "method", "RFMs")["short"] >= 0.5


def test_long_forms_need_two_papers(words):
    texts = [f"{paper.title}. {paper.abstract}" for paper in PAPERS]
    assert Phrase.of("RFM").known_as(texts).text == "random forest model"
    assert Phrase.of("RFM").known_as(texts[:6]).text == "RFM"
    assert len(Phrase.of("random forest model").known_as(texts).terms) == 2
    assert len(Phrase.of("random forest model").known_as(["Random forest models (RF-Ms) win."]).terms) == 2
    assert len(Phrase.of("random fir model").known_as(texts).terms) == 1
    assert len(Phrase.of("big owl").known_as(["A big owl (BO) is."]).terms) == 1, "two letters mean much"


def test_any_alternative_will_do(words):
    alone = graded(words, "topic", "random forests")["title"]
    for value in ("zebras or random forests", "random forests or zebras"):
        assert graded(words, "topic", value)["title"] == alone


def test_vectors_find_what_is_not_named(tmp_path):
    near = Paper("near", "zinc gold", "zinc gold.")
    others = [Paper(f"p{n}", f"word{n} thing{n}", f"Other{n} text{n} here{n}.") for n in range(200)]
    searcher = made(tmp_path / "library", papers=[near, *others])
    found = graded(searcher, "topic", "zinc gold mouse")
    assert found["near"] >= 0.5
    assert max(grade for i, grade in found.items() if i != "near") < 0.5
    plain = made(tmp_path / "plain", vectors=False, papers=[near, *others])
    assert graded(plain, "topic", "zinc gold mouse")["near"] == 0.0


def test_weights_are_of_the_evidence(words, vectors):
    everyone = np.arange(len(PAPERS))
    for searcher, columns in ((words, 0), (vectors, len(WEIGHTS.other))):
        found = features_of("random forest", searcher.index, everyone)
        assert found.named.shape == (len(PAPERS), len(WEIGHTS.named))
        assert found.other.shape == (len(PAPERS), columns)
    assert min(*WEIGHTS.named, *WEIGHTS.other) >= 0.0


def test_sentences_are_counted_without_the_title(words):
    at = np.array([words.index.positions["title"]])
    assert features_of("random forests", words.index, at).named[0].tolist() == [1.0, 0.0, 1.0]


def test_the_words_of_a_short_form_are_those_of_the_long_one(vectors):
    at = np.array([vectors.index.positions[i] for i in ("apart", "disease")])
    shares = features_of("RFM", vectors.index, at).other[:, 0]
    assert shares[0] > 0.3
    assert shares[1] == 0.0


def test_what_is_required_bounds_the_search(words, vectors):
    for searcher in (words, vectors):
        mask = ATTRIBUTES.get("topic").possible("random forests", searcher.index)
        assert mask is not None
        assert mask[[searcher.index.positions[i] for i in ("title", "twice", "passing", "apart")]].all()
        assert not mask.all()


def test_vectors_change_nothing_where_a_paper_names_it(words, vectors):
    plain, with_vectors = (graded(s, "topic", "random forests") for s in (words, vectors))
    for named in ("title", "twice", "passing"):
        assert plain[named] == with_vectors[named]


def test_the_quote_is_the_sentence_that_decided(words, vectors):
    for searcher in (words, vectors):
        said = {}
        for paper in PAPERS[:3]:
            span = ATTRIBUTES.get("topic").span("random forests", paper, searcher.index)
            assert span is not None
            said[paper.id] = field_text(paper, span.field)[span.start : span.end]
        assert said["title"] == "Random forests for owl calls"
        assert said["twice"] == "A random forest is trained."
        assert said["passing"] == "Unlike random forest models, trees can be read."
    far = PAPERS[7]
    assert ATTRIBUTES.get("topic").span("random forests", far, words.index) is None
    assert ATTRIBUTES.get("topic").span("random forests", far, vectors.index) is not None


def test_a_text_that_changed_is_read_as_it_is_now(tmp_path):
    searcher = made(tmp_path / "library", vectors=False)
    with searcher.library.writing("add") as writer:
        writer.add([Paper("twice", "Calls at night", LATER)])
    found = graded(searcher, "topic", "random forest")
    assert found["twice"] >= 0.5
    with searcher.library.writing("add") as writer:
        writer.add([Paper("twice", "Calls at night", "Nothing of the kind.")])
    assert graded(searcher, "topic", "random forest")["twice"] == 0.0


def test_exclusion_drops_the_subject_and_keeps_the_mention(words):
    asked = Condition("method", "random forests", "exclude")
    ids = {h.id for h in words.search("owl calls", "bm25", conditions=(asked,), literal=True).hits}
    assert {"passing", "apart"} <= ids
    assert not ids & {"title", "twice"}


def test_what_an_exclusion_leaves_is_lowered_by_its_grade(words):
    text = "trees for owl calls"
    plain = words.search(text, "bm25", literal=True)
    asked = Condition("method", "random forests", "exclude")
    found = words.search(text, "bm25", conditions=(asked,), literal=True)
    before, after = ({h.id: h.score for h in ranking.hits} for ranking in (plain, found))
    assert plain.ids[0] == "passing"
    assert 0 < after["passing"] < before["passing"]
    assert after["apart"] == before["apart"]
    moved = {h.id: h.conditions[0] for h in found.hits}
    assert moved["passing"].moved == pytest.approx(after["passing"] - before["passing"])
    assert f"{moved['passing'].moved:+.3f}" in str(moved["passing"])
    assert str(moved["apart"]).endswith("grade 0.00")
    assert "[exclude method=random forests], lowers what it leaves" in found.plan.describe()


def test_one_mention_reports(words):
    found = graded(words, "reports", "zebras or random forests")
    assert {i for i, grade in found.items() if grade >= 0.5} >= {"title", "twice", "passing", "lead"}
    mask = ATTRIBUTES.get("reports").possible("zebras or random forests", words.index)
    assert mask is not None
    assert not mask[words.index.positions["disease"]]
    assert ATTRIBUTES.get("reports").span("zebras or trees", PAPERS[2], words.index) is not None


@pytest.mark.parametrize("value", ["disease", "heart disease", "owl calls"])
def test_words_whose_stems_have_other_stems_are_possible(words, value):
    index = words.index
    keyword = ATTRIBUTES.get("keyword")
    grades = keyword.grades(value, index, np.arange(len(index)))
    mask = keyword.possible(value, index)
    assert mask is not None
    assert (grades > 0).any()
    assert mask[np.nan_to_num(grades) > 0].all()
