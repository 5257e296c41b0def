"""Aspects: words for roles, the plan they become, sentences that match, and quotes from both sides."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import NoSuchPaper, UsageError, ViewMismatch
from aspectra.papers.paper import Paper, Sentence, field_text
from aspectra.search.plan import Plan, Search
from aspectra.search.planning.aspects import (
    REST,
    Aspect,
    define_aspect,
    other_roles,
    own_aspects,
    remove_aspect,
)
from aspectra.search.query import CONTRAST_WEIGHT, Query
from aspectra.search.recipe import ProbeRecipe, Recipe
from aspectra.search.searcher import Searcher
from aspectra.views.dense.reverse import centroids, mean_query, score_means
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder
from small_library import searcher_over


def _paper(paper_id: str, title: str, *parts: tuple[str, str]) -> Paper:
    text, sentences = "", []
    for role, sentence in parts:
        start = len(text) + bool(text)
        text = f"{text} {sentence}" if text else sentence
        sentences.append(Sentence(start, start + len(sentence), role))
    return Paper(paper_id, title, text, sentences=tuple(sentences))


SEED = _paper(
    "seed",
    "Counting birds",
    ("background", "Birds migrate in autumn."),
    ("method", "We train a convolutional network on spectrograms."),
    ("result", "Accuracy rises by ten points."),
)

PAPERS = [
    SEED,
    _paper(
        "same-method",
        "Whales at sea",
        ("background", "Whales sing in winter."),
        ("method", "We train a convolutional network on spectrograms."),
        ("result", "Nothing could be heard."),
    ),
    _paper(
        "same-topic",
        "Birds again",
        ("background", "Birds migrate in autumn."),
        ("method", "Volunteers walk along the shore and write lists."),
        ("result", "Fewer came than before."),
    ),
    Paper("bare", "Nothing but a title"),
]


@pytest.fixture
def searcher(tmp_path) -> Searcher:
    return searcher_over(tmp_path / "library", PAPERS, FakeEncoder())


def test_words_become_roles_or_stay_free():
    assert Aspect.parse("Methods").roles == ("method",)
    assert Aspect.parse("research question").roles == ("background", "objective")
    assert Aspect.parse("findings").name == "result"
    assert [Aspect.parse(said).name for said in ("way", "manner", "issue")] == ["method"] * 2 + ["background"]
    assert Aspect.parse("evaluation  protocol") == Aspect("evaluation protocol", (), "evaluation protocol")
    assert other_roles((Aspect.parse("method"),)) == ("background", "objective", "result")
    assert other_roles((Aspect.parse("evaluation protocol"),)) == ()
    with pytest.raises(UsageError):
        Aspect.parse("  ")


@pytest.mark.parametrize("matching", ["single", "maxsim", "transport", "centroid"])
def test_the_aspect_decides_which_paper_is_nearest(searcher, matching):
    for aspect, nearest in (("method", "same-method"), ("background", "same-topic")):
        plan = searcher.plan(Query(seeds=("seed",), same=(aspect,)))
        probes = tuple(
            Probe.from_dict({**p.to_dict(), "matching": matching}) if p.matching else p
            for p in plan.search.probes
        )
        assert (
            searcher.run(Plan((Search(plan.search.planner, tuple(probes)),), exclude=plan.exclude)).ids[0]
            == nearest
        )


class RawEncoder(FakeEncoder):
    """Its vectors have lengths of their own."""

    def _mean(self, words: list[str]) -> np.ndarray:
        return super()._mean(words) * np.float32(1 + len(words))


def test_a_probe_of_a_recipe_compares_sentences_of_the_aspect_and_nothing_else(tmp_path):
    searcher = searcher_over(tmp_path / "library", PAPERS, RawEncoder())
    probe = {"view": "sentences@{encoder}", "matching": "transport", "aspect": True}
    steps = [{"probes": [probe], "fusion": {"kind": "sum"}}]
    recipe = Recipe.from_dict({"name": "transport", "steps": steps, "instruction": "ignore"})
    held = {p.id: searcher.index.view("sentences@fake").vectors_of(p.id).astype(float) for p in PAPERS[:3]}
    assert np.linalg.norm(held["seed"][1]) == pytest.approx(5, abs=0.01)  # row 0 is the title
    for aspect, number in (("background", 1), ("method", 2), ("result", 3)):
        ranking = searcher.similar("seed", recipe=recipe, same=(aspect,))
        assert ranking.ids[-1] == "bare"  # without such sentences
        assert ranking[-1].score < ranking[-2].score
        for hit in (hit for hit in ranking if hit.id in held):
            cost = np.linalg.norm(held["seed"][number] - held[hit.id][number])
            assert hit.score == pytest.approx(-cost, abs=1e-3)  # one sentence is carried to one
    both = searcher.plan(Query(seeds=("seed",), same=("method", "result")), recipe).search.probes
    assert [(one.aspect, one.roles, one.weight) for one in both] == [
        ("method", ("method",), 0.5),
        ("result", ("result",), 0.5),
    ]
    corrected = Query(seeds=("seed",), same=("method",), roles=("1=method",), same_sentences=(3,))
    assert [one.sentences for one in searcher.plan(corrected, recipe).search.probes] == [(1, 2), (3,)]
    assert [one.roles for one in searcher.plan(Query(seeds=("seed",)), recipe).search.probes] == [()]
    with pytest.raises(UsageError, match="has no matching"):
        ProbeRecipe("sentences@{encoder}", aspect=True)


def test_the_transport_judge_is_refused_with_an_aspect(searcher):
    with pytest.raises(UsageError, match="does not compare aspects"):
        searcher.similar("seed", recipe="hybrid | rerank(method=transport)", same=("method",))


def test_different_turns_away(searcher):
    assert searcher.similar("seed", different=["background"]).ids[0] == "same-method"
    assert searcher.similar("seed", different=["method"]).ids[0] == "same-topic"


def test_the_plan_shows_roles_weights_and_reads_back(searcher):
    plan = searcher.plan(Query(seeds=("seed",), same=("method",), different=("result",)))
    rest = [p for p in plan.search.probes if p.aspect == REST]
    assert sum(p.weight for p in rest) == pytest.approx(-CONTRAST_WEIGHT)
    assert rest[0].roles == ("background", "objective")  # result has a probe of its own
    assert "roles method" in plan.describe()
    assert Plan.loads(plan.to_json()) == plan
    assert Plan.loads(plan.to_toml()) == plan


def test_without_aspects_the_default_is_the_hybrid(searcher):
    query = Query("birds in autumn")
    assert searcher.plan(query).search.probes == searcher.plan(query, "hybrid").search.probes


def test_quotes_come_from_the_seed_and_from_the_hit(searcher):
    ranking = searcher.similar("seed", same=["method"])
    hit = ranking[0]
    quote = hit.evidence[0]
    assert (quote.aspect, quote.seed) == ("method", "seed")
    assert [e.aspect for e in hit.evidence] == ["method"]
    assert quote.quote == quote.seed_quote == "We train a convolutional network on spectrograms."
    assert field_text(searcher.library.get(hit.id), quote.field)[quote.start : quote.end] == quote.quote
    assert not next(h for h in ranking if h.id == "bare").evidence  # it has a title alone


def test_free_words_pick_sentences_about_them(searcher):
    ranking = searcher.similar("seed", same=["convolutional network on spectrograms"])
    assert ranking.ids[0] == "same-method"
    assert "spectrograms" in ranking[0].evidence[0].quote


def test_an_aspect_that_the_seed_lacks_is_said(searcher):
    ranking = searcher.similar("bare", same=["method"])
    assert any("no sentence of bare" in w for w in ranking.warnings)
    assert len(ranking) == 3


def test_two_seeds_may_both_answer(searcher):
    ranking = searcher.similar("same-method", "same-topic", same=["method"], evidence=1)
    assert ranking.ids[0] == "seed"
    assert ranking[0].evidence[0].seed == "same-method"


def test_without_the_lens_roles_cannot_be_asked(tmp_path):
    searcher = searcher_over(tmp_path / "library", PAPERS, FakeEncoder(), lenses=())
    with pytest.raises(ViewMismatch, match="no roles of sentences"):
        searcher.similar("seed", same=["method"])


def test_probes_refuse_what_makes_no_sense():
    with pytest.raises(UsageError, match="matching"):
        Probe("sentences@fake", text="x", roles=("method",))
    with pytest.raises(UsageError, match="unknown role"):
        Probe("sentences@fake", text="x", roles=("methods",), matching="single")
    with pytest.raises(UsageError, match="unknown matching"):
        Probe("sentences@fake", text="x", matching="best")  # type: ignore[arg-type]


@pytest.mark.parametrize("aspect", ["method", "background", "lists of birds"])
def test_vectors_of_an_aspect_are_compared_as_a_search_by_centroids_does(searcher, aspect):
    ids = ["seed", "same-method", "same-topic"]
    vectors = searcher.aspect_vectors(ids, aspect)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    read, index = Aspect.parse(aspect), searcher.index
    probe = Probe("sentences@fake", seeds=("seed",), roles=read.roles, focus=read.focus, matching="centroid")
    (scored,) = index.score(index.look_up([probe]), np.array([index.position(one) for one in ids]))
    assert vectors @ vectors[0] == pytest.approx(scored.scores, abs=1e-4)


def test_a_defined_aspect_is_compared_by_its_definition_and_examples(searcher):
    with searcher.library.writing("test") as writer:
        name = define_aspect(searcher.library, writer, "Walks-of  people", "lists of birds", ["They walk."])
    assert own_aspects(searcher.library) == {"walks of people": "lists of birds\nThey walk."}
    plan = searcher.plan(Query(seeds=("seed",), same=("walks-of people",)))
    probes = [probe for probe in plan.search.probes if probe.aspect == name]
    assert [(p.focus, p.weight) for p in probes] == [("lists of birds\nThey walk.", 0.25)] * 2
    view = searcher.index.vector_view("sentences@fake")
    (asked, _) = searcher.index.look_up(probes)
    mean = view.query("lists of birds").vector + view.query("They walk.").vector
    assert asked.focus == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert "· They walk." in plan.describe()
    judged = searcher.plan(Query(seeds=("seed",), same=(name,)), "guided | shuffle")
    assert judged.same == ("walks of people: lists of birds",)
    with searcher.library.writing("test") as writer:
        remove_aspect(searcher.library, writer, "Walks of people")
    assert searcher.plan(Query(seeds=("seed",), same=(name,))).search.probes[-1].focus == name


@pytest.mark.parametrize(
    ("name", "definition", "why"),
    [
        ("methods", "how", "built in"),
        ("a: b", "how", "without a colon"),
        ("one two three four five", "how", "one to 4 words"),
        ("", "how", "one to 4 words"),
        ("people", " ", "empty"),
        ("people", "x" * 2001, "2,000"),
    ],
)
def test_an_aspect_that_cannot_be_defined_is_refused(searcher, name, definition, why):
    with searcher.library.writing("test") as writer, pytest.raises(UsageError) as raised:
        define_aspect(searcher.library, writer, name, definition, ())
    assert why in f"{raised.value} {raised.value.why}"
    assert not own_aspects(searcher.library)


def test_vectors_of_whole_abstracts_are_those_stored(searcher):
    (vector,) = searcher.aspect_vectors(["seed"])
    stored = searcher.index.vector_view("abstract@fake").vectors_of("seed")[0]
    assert vector == pytest.approx(np.asarray(stored, np.float32), abs=1e-3)
    assert not searcher.aspect_vectors(["bare"], "method").any()  # no sentence
    with pytest.raises(NoSuchPaper):
        searcher.aspect_vectors(["nobody"])
    with pytest.raises(UsageError):
        searcher.aspect_vectors(["seed"], "metod")


def test_centroid_is_the_cosine_of_means():
    rows = np.eye(4, dtype=np.float32)
    found = score_means(mean_query(rows[:2]), centroids(rows, np.array([0, 2, 3, 3, 4])))
    assert found[0] == pytest.approx(1.0)
    assert found[1] == pytest.approx(0.0)
    assert found[2] == -np.inf
    means = centroids(rows, np.array([0, 2]), np.array([1, 0.5, 0, 0], np.float32))
    assert score_means(mean_query(rows[:1]), means)[0] == pytest.approx(1 / np.sqrt(1.25))


def test_a_question_is_answered_beside_its_aspects(searcher):
    hit = searcher.search("birds in autumn", same=["method"])[0]
    assert [(e.aspect, e.quote) for e in hit.evidence] == [
        ("", "Birds migrate in autumn."),
        ("method", "We train a convolutional network on spectrograms."),
    ]
    hit = next(h for h in searcher.search("a network on spectrograms", same=["method"]) if h.id == "seed")
    assert [(e.aspect, e.quote) for e in hit.evidence] == [
        ("method", "We train a convolutional network on spectrograms."),
    ]
