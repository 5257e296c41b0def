"""A query paper is encoded as a query where its encoder has a prompt for one or gets an instruction."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import MissingExtra, UsageError, ViewMismatch
from aspectra.base.values import LRUCache, replace
from aspectra.papers.paper import Paper
from aspectra.search.query import Query
from aspectra.search.recipe import Recipe
from aspectra.views.encoders.minilm import find_model
from aspectra.views.encoders.protocol import TEMPLATES, Prompts, load_encoder, permit_encoder
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder
from small_library import searcher_over

PAPERS = [
    Paper("seed", "Owls and radar", "Owls are counted by radar."),
    Paper("owls", "Owls at night", "Owls hunt at night and sleep by day."),
    Paper("radar", "Radar for ships", "Radar shows ships in fog."),
    Paper("counts", "Counts of bats", "Bats are counted by ear."),
]
TEXT = "Owls and radar. Owls are counted by radar."
OWLS, SHIPS = "night owls hunt and sleep", "radar for ships shows ships in fog"
PLAIN, INSTRUCTED, ASYMMETRIC = Prompts(), TEMPLATES["e5-instruct"], TEMPLATES["e5"]


@pytest.fixture(scope="module")
def searchers(tmp_path_factory):
    made = {}
    for prompts in (PLAIN, INSTRUCTED, ASYMMETRIC):
        folder = tmp_path_factory.mktemp("seeds") / "library"
        made[prompts] = searcher_over(folder, PAPERS, FakeEncoder(prompts=prompts))
    return made


def searched(searcher, how="ignore", instruction="", **fields):
    """(plan, ids, what the encoder was given) of a search with the seed."""
    plan = searcher.plan(
        Query(seeds=("seed",), instruction=instruction, **fields), Recipe.parse("dense", how)
    )
    encoder = searcher.index.query_encoder(searcher.index.facts("abstract@fake"))
    encoder._recent = LRUCache(1)
    encoder.encoder.encoded.clear()
    ranking = searcher.run(plan)
    return plan, [hit.paper.id for hit in ranking.hits], list(encoder.encoder.encoded), ranking.warnings


@pytest.mark.parametrize(
    ("prompts", "how", "instruction", "encoded", "said"),
    [
        (PLAIN, "ignore", "", [], "for paper seed\n"),
        (PLAIN, "concat", "", [], "for paper seed\n"),
        (
            PLAIN,
            "encoder",
            OWLS,
            [],
            f"not applied: “{OWLS}” (fake does not read it; stored vectors are used)",
        ),
        (PLAIN, "concat", OWLS, [f"{TEXT} {OWLS}"], "paper seed with it, encoded as one query"),
        (INSTRUCTED, "ignore", "", [], "for paper seed\n"),
        (
            INSTRUCTED,
            "encoder",
            OWLS,
            [f"Instruct: {OWLS}\nQuery: {TEXT}"],
            f"as a query, instruction {OWLS}",
        ),
        (ASYMMETRIC, "ignore", "", [f"query: {TEXT}"], "paper seed encoded as a query\n"),
        (
            ASYMMETRIC,
            "encoder",
            OWLS,
            [f"query: {TEXT}"],
            f"not applied: “{OWLS}” (fake does not read it)",
        ),
    ],
)
def test_what_the_encoder_is_given(searchers, prompts, how, instruction, encoded, said):
    plan, _, given, warnings = searched(searchers[prompts], how, instruction)
    assert given == encoded
    assert said in plan.describe() + "\n"
    assert any("does not read it" in one for one in warnings) == ("does not read it" in plan.describe())


@pytest.mark.parametrize(("prompts", "how"), [(INSTRUCTED, "encoder"), (PLAIN, "concat")])
def test_two_instructions_rank_a_seed_differently(searchers, prompts, how):
    ranked = [searched(searchers[prompts], how, words)[1] for words in (OWLS, SHIPS)]
    assert [ids[0] for ids in ranked] == ["owls", "radar"]


def test_a_further_text_without_an_instruction_has_a_vector_of_its_own(searchers):
    _, _, given, _ = searched(searchers[PLAIN], "concat", text="ships")
    assert given == ["ships"]


def test_units_cannot_be_encoded_as_a_query(searchers):
    view = searchers[PLAIN].index.view("sentences@fake")
    with pytest.raises(ViewMismatch, match="cannot encode a seed"):
        view.look_up(Probe("sentences@fake", seeds=("seed",), seeds_as="query"))


def test_the_stored_vector_serves_where_nothing_is_encoded(searchers):
    index = searchers[PLAIN].index
    view = index.view("abstract@fake")
    asked = view.look_up(Probe("abstract@fake", seeds=("seed",)))
    np.testing.assert_array_equal(asked.vectors, np.asarray(view.vectors_of("seed")))
    assert replace(index.facts("abstract@fake"), stored={}).seed_prompts is None


def test_a_seed_has_its_stored_vector_where_the_encoder_is_not_permitted(searchers, monkeypatch):
    searcher = searchers[ASYMMETRIC]
    refused = UsageError("the encoder is not permitted")
    monkeypatch.setattr(searcher.index, "refusal", lambda spec: refused if spec == "fake" else None)
    plan, ids, given, _ = searched(searcher)
    assert (plan.search.probes[0].view, plan.search.probes[0].seeds_as, given) == ("abstract@fake", "", [])
    assert ids


def test_real_weights_with_a_template_rank_a_seed_by_the_instruction(tmp_path, home):
    """As an instructed encoder does; its own prompts are those of the template."""
    try:
        spec = f"local:{find_model()}?template=e5-instruct"
    except MissingExtra as error:
        pytest.skip(str(error))
    permit_encoder(spec)
    searcher = searcher_over(tmp_path / "library", PAPERS, load_encoder(spec))
    query = Query(seeds=("seed",))
    made = {
        words: searcher.search(replace(query, instruction=words), Recipe.parse("dense", "encoder"))
        for words in ("", "Find papers about owls.", "Find papers about radar and ships.")
    }
    assert len({tuple((hit.paper.id, hit.score) for hit in found.hits) for found in made.values()}) == 3
    assert [found.hits[0].paper.id for found in made.values()][1:] == ["owls", "radar"]
