"""Aspects by terms: what plans show of a seed, and what the person decides."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from test_aspects import PAPERS, SEED, _paper

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper
from aspectra.search.plan import Plan, Search
from aspectra.search.planning.aspects import REST, Aspect, corrected_roles
from aspectra.search.planning.index_views import IndexSeeds, term_warnings
from aspectra.search.planning.planners import guided
from aspectra.search.query import NAMED, Query, Shares
from aspectra.search.scoring.phases import join
from aspectra.search.searcher import Searcher
from aspectra.views.build.generation import FEW
from aspectra.views.build.run import build_index
from aspectra.views.terms import view as heads
from aspectra.views.view import Probe
from small_library import searcher_over
from token_encoder import TokenEncoder, made_up_head


@pytest.fixture
def encoder(monkeypatch) -> TokenEncoder:
    made = TokenEncoder()
    monkeypatch.setattr(heads, "_shipped", lambda: (made_up_head(made),))
    return made


def opened(folder, encoder, papers=PAPERS) -> Searcher:
    return searcher_over(folder, papers, encoder, encoders=("token",))


@pytest.fixture
def searcher(tmp_path, encoder) -> Searcher:
    return opened(tmp_path / "library", encoder)


def views(plan) -> set[str]:
    return {probe.view for probe in plan.search.probes}


def about(plan, aspect: str):
    return [probe for probe in plan.search.probes if probe.aspect == aspect]


# What plans show.


def test_a_plan_says_what_the_seed_names_in_each_aspect(searcher):
    plan = searcher.plan(Query(seeds=("seed",), same=("method",)))
    assert plan.search.terms == ("method: convolutional network, spectrograms",)
    assert "terms of method: convolutional network, spectrograms" in plan.describe()
    assert Plan.loads(plan.to_json()) == plan
    assert Plan.loads(plan.to_toml()) == plan
    plain = searcher.plan(Query(seeds=("seed",)))
    assert [line.partition(":")[0] for line in plain.search.terms] == ["background", "method", "result"]
    assert plain.search.probes == searcher.plan(Query(seeds=("seed",)), "hybrid").search.probes
    assert searcher.plan(Query("birds")).search.terms == ()


def test_a_text_that_holds_an_endless_word_can_be_a_seed(tmp_path, encoder, monkeypatch):
    endless = "spectrograms" * 1000
    monkeypatch.setattr(encoder, "_word", lambda word: TokenEncoder._word(encoder, word[:12]))
    searcher = opened(tmp_path / "library", encoder, [*PAPERS, Paper("long", "Lists", f"We use {endless}.")])
    assert any(p.text == endless for p in IndexSeeds(searcher.index).offers("long")["method"].phrases)
    assert searcher.plan(Query(seeds=("long",), same=("method",))).search.terms == ("method: Lists",)


def test_both_readings_share_the_weight_of_an_aspect(searcher):
    plan = searcher.plan(Query(seeds=("seed",), same=("method",)))
    assert {"terms@bm25", "terms@token", "sentences@token"} <= views(plan)
    for reading, kept in (("terms", {"terms@bm25", "terms@token"}), ("sentences", {"sentences@token"})):
        plan = searcher.plan(Query(seeds=("seed",), same=("method",)), f"guided(reading={reading})")
        asked = {probe.view for probe in about(plan, "method")}
        assert asked == kept
    with pytest.raises(UsageError):
        searcher.plan(Query(seeds=("seed",), same=("method",)), "guided(reading=both)")


def test_a_seed_that_names_nothing_is_compared_by_sentences(searcher):
    sure = IndexSeeds(searcher.index).offers("bare")["method"].sure
    assert sure < 0.1
    plan = searcher.plan(Query(seeds=("bare",), same=("method",)))
    words = sum(probe.weight for probe in plan.search.probes if probe.view == "terms@bm25")
    assert words < 0.1
    assert plan.search.terms == ()


def test_the_aspect_decides_which_paper_is_nearest(searcher):
    for reading in ("terms", "sentences", '""'):
        step = f"guided(reading={reading})"
        assert searcher.similar("seed", same=["method"], recipe=step).ids[0] == "same-method"
        assert searcher.similar("seed", same=["background"], recipe=step).ids[0] == "same-topic"


def test_the_sentence_that_names_the_terms_is_quoted(tmp_path, encoder):
    elsewhere = _paper(
        "elsewhere",
        "Frogs",
        ("background", "Frogs croak in spring."),
        ("method", "Volunteers walk along the shore."),
        ("result", "A convolutional network on spectrograms hears more."),
    )
    both = _paper(
        "both",
        "Toads",
        ("background", "A convolutional network on spectrograms is often used."),
        ("method", "We feed spectrograms to trees."),
    )
    searcher = opened(tmp_path / "library", encoder, [*PAPERS, elsewhere, both])

    def quoted(paper_id, same):
        hit = next(hit for hit in searcher.similar("seed", same=[same]) if hit.id == paper_id)
        return next(one for one in hit.evidence if one.aspect == "method")

    # The result names the terms, and is no method: the method most like the seed's is quoted.
    assert quoted("elsewhere", "method").quote == "Volunteers walk along the shore."
    assert quoted("elsewhere", "method").seed_quote == "We train a convolutional network on spectrograms."
    quote = quoted("both", "method")
    assert quote.quote == "We feed spectrograms to trees."  # of the aspect, with fewer terms
    assert (quote.seed, "spectrograms" in quote.seed_quote) == ("seed", True)
    named = quoted("both", "method: spectrograms")
    assert (named.quote, named.seed, named.seed_quote) == (quote.quote, "", "")


def test_an_aspect_compared_by_terms_alone_is_quoted_by_its_sentences(searcher, monkeypatch):
    monkeypatch.setattr(guided, "aspect_shares", lambda sure: Shares(words=0.3, vectors=0.5))
    ranking = searcher.similar("seed", same=["method"])
    assert "sentences@token" not in views(ranking.plan)
    assert ranking[0].evidence[0].aspect == "method"
    assert ranking[0].evidence[0].quote == "We train a convolutional network on spectrograms."


# What the person decides.


def test_named_terms_take_the_place_of_the_seeds(searcher):
    plan = searcher.plan(Query(seeds=("seed",), same=("method: volunteers, lists",)))
    assert plan.search.terms == ("method: volunteers, lists",)
    probes = about(plan, "method")
    assert {(probe.text, probe.seeds) for probe in probes} == {("volunteers, lists", ())}
    wanted = {"terms@bm25": NAMED.words, "terms@token": NAMED.vectors, "abstract@bm25": NAMED.anywhere}
    assert {p.view: p.weight for p in probes if p.view in wanted} == {k: v for k, v in wanted.items() if v}
    assert searcher.run(plan).ids[0] == "same-topic"
    assert searcher.similar("seed", same=["method"]).ids[0] == "same-method"
    turned = searcher.similar("seed", different=["method: convolutional network, spectrograms"])
    assert turned.ids.index("same-topic") < turned.ids.index("same-method")


def test_terms_are_named_behind_an_aspect_and_a_colon():
    assert Aspect.parse("Approach:  ray  tracing, NeRF") == Aspect(
        "method", ("method",), terms="ray tracing, NeRF"
    )
    assert Aspect.parse("aims: sleep").name == "background"
    assert Aspect.parse("evaluation: protocol").focus == "evaluation: protocol"
    with pytest.raises(UsageError, match="no terms follow"):
        Aspect.parse("method:  ")


def test_named_sentences_are_compared_whatever_their_roles(searcher):
    plan = searcher.plan(Query(seeds=("seed",), same_sentences=(2,)))
    (aspect,) = {probe.aspect for probe in plan.search.probes if probe.aspect}
    assert aspect == "sentences 2"
    assert all(p.sentences == (2,) and not p.roles for p in about(plan, aspect))
    assert "sentences 2" in plan.describe()
    assert Plan.loads(plan.to_json()) == plan
    ranking = searcher.run(plan)
    assert ranking.ids[0] == "same-method"
    assert ranking[0].evidence[0].seed_quote == "We train a convolutional network on spectrograms."
    assert searcher.similar("seed", same_sentences=(1,)).ids[0] == "same-topic"
    with pytest.raises(UsageError, match="no sentence 4"):
        searcher.similar("seed", same_sentences=(4,))


def test_a_corrected_role_moves_a_sentence_to_its_aspect(searcher):
    query = Query(seeds=("seed",), same=("method",), roles=("1=method", "2=background"))
    plan = searcher.plan(query, "guided(reading=sentences)")
    assert {probe.sentences for probe in about(plan, "method")} == {(1,)}
    assert {probe.sentences for probe in about(plan, REST)} == {(2, 3)}
    assert {probe.roles for probe in about(plan, "method")} == {("method",)}  # of the papers' sentences
    with pytest.raises(UsageError, match="no sentence of seed is left for method"):
        searcher.plan(Query(seeds=("seed",), same=("method",), roles=("2=result",)))
    with pytest.raises(UsageError, match="no sentence 9"):
        searcher.plan(Query(seeds=("seed",), same=("method",), roles=("9=result",)))
    with pytest.raises(UsageError, match="changes nothing"):
        searcher.plan(Query(seeds=("seed",), roles=("2=result",)))


@pytest.mark.parametrize("wrong", ["method", "0=method", "two=method", "2=", "2=colour", "²=method"])
def test_roles_that_are_none_are_refused(wrong):
    with pytest.raises(UsageError):
        corrected_roles([wrong])


def test_a_role_is_corrected_once():
    assert corrected_roles(("2=findings", "1=Objective")) == {2: "result", 1: "objective"}
    with pytest.raises(UsageError, match="two roles"):
        corrected_roles(("2=method", "2=result"))


@pytest.mark.parametrize("asked", [{"same_sentences": (2,)}, {"roles": ("2=method",)}])
def test_sentences_are_those_of_one_seed_and_of_a_planner_that_compares_them(searcher, asked):
    for seeds in ((), ("seed", "same-topic")):
        with pytest.raises(UsageError, match="one seed"):
            Query("birds", seeds, **asked)
    with pytest.raises(UsageError, match="bm25 does not use"):
        searcher.plan(Query(seeds=("seed",), **asked), "bm25")
    with pytest.raises(UsageError):
        Query(seeds=("seed",), same_sentences=(0,))


def test_of_several_searches_the_last_compares_the_sentences(searcher):
    plan = searcher.plan(Query(seeds=("seed",), same_sentences=(2,)), "bm25 | top(3) | guided")
    assert not any(probe.sentences for probe in plan.searches[0].probes)
    assert any(probe.sentences for probe in plan.searches[1].probes)


def test_roles_are_shown_as_they_count(searcher):
    assert IndexSeeds(searcher.index).roles("seed") == ["background", "method", "result"]
    assert IndexSeeds(searcher.index).sentences("seed", ("method",)) == (2,)
    assert IndexSeeds(searcher.index).sentences("seed", ()) == (1, 2, 3)
    assert IndexSeeds(searcher.index).roles("bare") == []


# Libraries without terms.


def test_without_terms_aspects_are_compared_by_sentences_and_that_is_said(tmp_path, encoder, monkeypatch):
    papers = [*PAPERS, *(Paper(f"p{n}", f"Owls {n}", "Owls hunt.") for n in range(2 * FEW))]
    with monkeypatch.context() as before:
        before.setattr(heads, "_shipped", tuple)
        searcher = opened(tmp_path / "library", encoder, papers)
        plain = searcher.plan(Query(seeds=("seed",), same=("method",)))
        assert not any("terms" in w for w in searcher.run(plain).warnings)  # there is no head at all
    build_index(searcher.library, load=lambda _: encoder)
    searcher.refresh()
    plan = searcher.plan(Query(seeds=("seed",), same=("method",)))
    assert plan.search.probes == plain.search.probes
    assert plan.search.terms == ()
    assert any("aspectra index --terms" in w for w in searcher.run(plan).warnings)
    assert not any("--terms" in w for w in searcher.similar("seed").warnings)
    named = searcher.plan(Query(seeds=("seed",), same=("method: lists",)))
    assert {p.view for p in about(named, "method")} == {"sentences@token", "abstract@bm25"}
    assert searcher.run(named).ids[0] == "same-topic"
    build_index(searcher.library, terms=True, load=lambda _: encoder)
    searcher.refresh()
    assert "terms@bm25" in views(searcher.plan(Query(seeds=("seed",), same=("method",))))


def test_an_index_with_terms_of_another_encoder_is_not_warned_of():
    class Half:
        manifest: ClassVar = {"views": {}, "lacking_terms": {"one": 9}}

    plan = Plan((Search(probes=(Probe("sentences@one", "x", aspect="method"),)),))
    assert "9 papers" in term_warnings(Half, plan)[0]
    Half.manifest["views"]["terms@bm25"] = {}
    assert term_warnings(Half, plan) == []


# Contrast.


def test_residual_contrast_takes_away_what_the_rest_predicts(tmp_path, encoder):
    draw = np.random.default_rng(0)
    words = "birds whales bees convolutional network spectrograms volunteers lists accuracy song".split()
    papers = [SEED, *(Paper(f"p{n:02}", " ".join(draw.choice(words, 4))) for n in range(40))]
    papers += [PAPERS[1], PAPERS[2]]
    searcher = opened(tmp_path / "library", encoder, papers)
    query = Query(seeds=("seed",), same=("method",))
    plan = searcher.plan(query, "guided(residual=yes,contrast_terms=1)")
    assert plan.search.fusion.contrast == "residual"
    assert "only what it predicts" in plan.describe()
    assert Plan.loads(plan.to_json()) == plan
    found = join(searcher.result(plan).state.rows.parts)
    probes = plan.search.probes
    rest = [n for n, p in enumerate(probes) if p.aspect == REST]
    alike = [n for n, p in enumerate(probes) if p.aspect == "method"]
    plain = [n for n, p in enumerate(probes) if not p.aspect]

    def weighted(numbers):
        return sum(probes[n].weight * found.standardised[n] for n in numbers)

    # All papers are the sample here, but the seed is scored beside them.
    every = join(searcher.engine.find(replace_exclusions(plan), plan.search, 99).rows.parts)
    sample = searcher.index.sample

    def drawn(numbers):
        scales = found.scales
        return sum(probes[n].weight * scales[n].apply(every.raw[n][sample]) for n in numbers)

    wanted, other = drawn(alike), -drawn(rest)
    slope = np.cov(wanted, other, bias=True)[0, 1] / other.var()
    share = -sum(probes[n].weight for n in rest)  # 1 would take away all that the rest predicts
    kept = share * slope * weighted(rest)
    np.testing.assert_allclose(found.scores, weighted(plain) + weighted(alike) + kept)
    assert slope > 0
    assert abs(np.corrcoef(wanted - slope * other, other)[0, 1]) < 1e-6
    assert searcher.plan(query).search.fusion.contrast == "subtract"


def replace_exclusions(plan: Plan) -> Plan:
    return Plan((plan.search,), limit=99)
