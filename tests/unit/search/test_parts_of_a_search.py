"""A search over parts of a collection: whatever the parts are, the answer of one index, in bits.

The parts are masks of one open index here.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import numpy as np
import pytest
from test_order_of_papers import PAPERS as WRITTEN
from test_order_of_papers import WORDS

from aspectra.base.errors import AspectraError
from aspectra.base.values import replace
from aspectra.papers.paper import Section
from aspectra.search.conditions.condition import Condition
from aspectra.search.conditions.grading import best_scores, field_mean, lead
from aspectra.search.evidence.hits import unfiltered
from aspectra.search.plan import Fusion, Search
from aspectra.search.planning.planners.protocol import PLANNERS
from aspectra.search.query import Query
from aspectra.search.scoring.engine import Engine
from aspectra.search.scoring.phases import Fused, Part, Rows, join
from aspectra.views.terms import view as heads
from aspectra.views.view import Probe
from small_library import searcher_over
from token_encoder import TokenEncoder, made_up_head

PLANS = int(os.environ.get("ASPECTRA_PLANS", "240"))
COUNTS = (1, 2, 3, 4, 7)
SETTINGS = {
    "encoders": ("token",),
    "chunks": ("20w",),
    "lenses": ("language", "length", "roles", "kind", "style"),
    "late": "bits",
}


def sections(number):
    draw = random.Random(number)
    said = [" ".join(draw.sample(WORDS, 9)) for _ in range(3)]
    return (
        Section("Introduction", f"We ask {said[0]}."),
        Section("Method", f"We propose {said[1]}."),
        Section("Experiments", f"Results show {said[2]}."),
    )


PAPERS = [
    replace(
        paper,
        venue=("", "Birds", "Proceedings of ACL 2020")[number % 3],
        metadata={"cited_by_count": number % 11} if number % 3 else {},
        sections=sections(number) if number % 4 else (),
    )
    for number, paper in enumerate(WRITTEN)
]
FUSIONS = (
    {},
    {"kind": "rrf", "depth": 7},
    {"kind": "rrf"},
    {"kind": "sum"},
    {"contrast": "residual"},
    {"scan_limit": 1, "candidates": 9},
    {"scan_limit": 1, "candidates": 30, "contrast": "residual"},
    {"scan_limit": 1, "kind": "sum"},
)
CONDITIONS = (
    *("require year=>=2003", "exclude year=<1999", "prefer recency=new", "avoid recency=old"),
    *("prefer citations=high", "require citations=low", "require citations=>=1", "prefer access=fulltext"),
    *(
        "require author=Ann Author3",
        "avoid author=Ann Author4",
        "require venue=ACL",
        "exclude status=journal",
    ),
    *(
        "prefer cites=p007",
        "exclude known=p011",
        "prefer known=p100",
        "avoid tag=none",
        "require kind=theory",
    ),
    *(
        "require keyword=network",
        "prefer reports=owls or bees",
        "exclude topic=owls",
        "prefer method=counting",
    ),
    *("prefer topic=forest song", "avoid length=long", "prefer kind=survey", "require boolean=owl* OR bees"),
    *("prefer combination=recency=new and citations=high", "require year=>=1995 unless citations=high"),
    *("prefer decided=none", "require language=en", "prefer source=name:Owl Weekly", "avoid sample=>5"),
)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    encoder = TokenEncoder()
    patch.setattr(heads, "_shipped", lambda: (made_up_head(encoder),))
    with searcher_over(tmp_path_factory.mktemp("parts") / "library", PAPERS, encoder, **SETTINGS) as made:
        yield made
    patch.undo()


def generated(searcher, draw: random.Random):
    """A plan of any planner, with conditions, a fusion, a pool and a stage by chance; None: not possible."""
    rare = draw.choice(["", "", "reviews", "reviews 7"])
    text = " ".join([*draw.sample(WORDS, draw.randint(0 if rare else 1, 4)), rare])
    seeds = tuple(f"p{draw.randrange(120):03}" for _ in range(draw.choice([0, 1, 1, 2])))
    chosen = [Condition.parse(one) for one in draw.sample(CONDITIONS, draw.choice([0, 0, 1, 1, 2, 3]))]
    aspects = {"same": ("method",), "different": draw.choice([(), ("problem",)])} if seeds else {}
    query = Query(
        text if not seeds or draw.random() < 0.3 else "",
        seeds,
        conditions=tuple(chosen),
        direction=draw.choice(["", "", "builds-on", "both"]) if seeds else "",
        limit=draw.choice([3, 10, 150]),
        versions=draw.choice(["best", "all"]),
        **(aspects if draw.random() < 0.4 else {}),
    )
    try:
        plan = searcher.plan(query, draw.choice([*PLANNERS]))
    except AspectraError:
        return None
    fusion = draw.choice(FUSIONS)
    plan = with_fusion(plan, **fusion) if fusion else plan
    within = tuple(paper.id for paper in draw.sample(PAPERS, 40)) if draw.random() < 0.2 else None
    stages = draw.choice([(), (), ("top(20)",), ("citations(seeds=3)",), ("top(30)", *plan.steps[-1:])])
    if plan.search.planner == "prism" and draw.random() < 0.5:
        stages = ("chain(depth=2,keep=20)", *stages)
    return replace(plan, steps=plan.steps + stages, within=within)


def answer(searcher, plan):
    """All that is found and said, and the scores of all candidates by id."""
    try:
        found = searcher.run(plan, explain=True).to_dict(explain=True)
        fused = join(searcher.result(plan).state.rows.parts)
    except AspectraError as error:
        return f"{error.what} ({error.why})"
    order = np.argsort(fused.papers)
    columns = [fused.papers, fused.scores, *fused.raw, *fused.standardised, *fused.grades, *fused.moves]
    bits = [None if one is None else one[order].tobytes() for one in columns]
    for timed in (found, *found.get("steps", ())):
        del timed["seconds"]
    why = [searcher.why_not(plan, paper) for paper in ("p007", "p060", "p111")]
    return found, bits, fused.scales, why


def with_fusion(plan, **fusion):
    return replace(
        plan,
        steps=tuple(
            replace(step, fusion=Fusion(**fusion)) if isinstance(step, Search) else step
            for step in plan.steps
        ),
    )


def compared(searcher, plan, owner, sample):
    """The answer over parts; it is that of one index."""
    first = searcher.engine
    try:
        searcher._engine = Engine(searcher.index)
        searcher._engine.sample = sample
        expected = answer(searcher, plan)
        parts = [owner == part for part in range(owner.max() + 1)]
        searcher._engine = Engine(searcher.index, parts=parts)
        searcher._engine.sample = sample
        assert answer(searcher, plan) == expected, plan
    finally:
        searcher._engine = first
    return expected


def test_parts_answer_as_one_index(searcher):
    index, ran = searcher.index, Counter()
    for number in range(PLANS):
        draw = random.Random(number)
        plan = generated(searcher, draw)
        if plan is None:
            continue
        count = COUNTS[number % len(COUNTS)]
        owner = np.array([draw.randrange(count) for _ in range(len(index))])
        owner[owner == 5] = 6  # one of seven parts holds no paper
        expected = compared(searcher, plan, owner, index.sample[:3] if draw.random() < 0.3 else index.sample)
        ran[plan.search.planner if isinstance(expected, tuple) else "error"] += 1
    assert ran.total() > PLANS * 0.35
    assert len(ran) > 7
    assert ran["error"] < PLANS * 0.1


@pytest.mark.parametrize("count", [2, 3, 7])
def test_what_decides_for_all_parts_is_of_all_parts(searcher, count):
    """The highest score, where no paper of the sample has a word; and how many papers there are."""
    index = searcher.index
    owner = np.arange(len(index)) % count
    rare = searcher.plan(Query("reviews", literal=True), "hybrid")
    scores = index.score(index.look_up(rare.search.probes))[0].scores
    without = np.flatnonzero(scores == 0)[:3]
    for best in range(count):  # wherever the best paper is
        compared(searcher, rare, (owner + best) % count, without)
    alike = searcher.plan(Query(seeds=("p007",), same=("method",), limit=100), "guided")
    compared(searcher, with_fusion(alike, scan_limit=len(index) - 1, candidates=9), owner, index.sample)


@pytest.mark.parametrize("fusion", [{"kind": "rrf", "depth": 3}, {"scan_limit": 1, "candidates": 9}])
def test_papers_that_a_stage_brings_are_scored_by_their_part(searcher, fusion):
    plan = searcher.plan(Query(seeds=("p007",), same=("method",), limit=9), "guided")
    plan = with_fusion(replace(plan, steps=(*plan.steps, "citations(seeds=3)")), **fusion)
    found, (ranked, *_), scales, _ = compared(
        searcher, plan, np.arange(len(PAPERS)) % 3, searcher.index.sample
    )
    known = {searcher.index.ids[at] for at in np.frombuffer(ranked, np.int64)}
    brought = [hit for hit in found["hits"] if hit["id"] not in known]
    assert brought
    for hit in brought:
        assert any(probe["score"] is not None for probe in hit["probes"])
        for probe, scale in zip(hit["probes"], scales, strict=True):
            if scale is not None and probe["score"] is not None:
                assert probe["standardised"] == scale.apply(np.array([probe["score"]], np.float32))[0]


@pytest.mark.parametrize("words", ["owls bees, after 2005", "train a network"])
@pytest.mark.parametrize("planner", ["bm25", "hybrid", "dense"])
def test_a_place_is_counted_over_parts(searcher, words, planner):
    query = Query(words, conditions=(Condition.parse("prefer keyword=network"),))
    plan = unfiltered(searcher.plan(query, planner), "p000", len(PAPERS))
    ranked = searcher.result(plan).ids
    for parts in ([None], [np.arange(len(PAPERS)) % 3 == part for part in range(3)]):
        engine = Engine(searcher.index, parts=parts)
        assert [engine.place(plan, paper) for paper in ranked] == [*range(1, len(ranked) + 1)]
        hidden = replace(plan, exclude=(ranked[4],))
        assert engine.place(hidden, ranked[4]) == 0
        assert engine.place(hidden, ranked[5]) == 5


def test_papers_of_years_that_come_later_have_the_later_places(searcher):
    plan = unfiltered(searcher.plan(Query(seeds=("p007",)), "linked"), "p000", len(PAPERS))
    dated = replace(plan, steps=(replace(plan.search, years="<=2003"),))
    ranked = searcher.result(dated).ids
    years = [searcher.library.get(paper).year > 2003 for paper in ranked]
    assert years == sorted(years)
    assert {True, False} == {*years}
    engine = Engine(searcher.index, parts=[np.arange(len(PAPERS)) % 3 == part for part in range(3)])
    assert [engine.place(dated, paper) for paper in ranked] == [*range(1, len(ranked) + 1)]


def test_of_equal_scores_the_later_id_has_the_earlier_place():
    part = Fused(np.array([0, 1, 2]), np.array([1.0, 1.0, 2.0]), [], [], [])
    other = replace(part, papers=np.array([3]), scores=np.array([1.0]))
    order = np.array([1, 3, 0, 2, 4])
    assert [Rows((part, other)).place(paper, order) for paper in range(5)] == [4, 2, 1, 3, 0]


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize(
    "chain", ["chain(depth=2)", "chain(depth=3,parent=1,keep=8)", "chain(depth=4,keep=3)"]
)
def test_a_chain_goes_on_through_parts(searcher, chain, count):
    owner = np.arange(len(PAPERS)) % count
    for seed, asked in enumerate(
        ("require year=>=1999", "prefer recency=new", "require keyword=network", "")
    ):
        conditions = (Condition.parse(asked),) if asked else ()
        query = Query(seeds=(f"p{41 + 2 * seed:03}",), conditions=conditions, limit=40)
        plan = searcher.plan(query, f"prism | {chain}")
        plan = replace(plan, within=None if seed else tuple(paper.id for paper in PAPERS[::2]))
        found, *_ = compared(searcher, plan, owner, searcher.index.sample)
        assert found["hits"]


def test_a_part_tells_of_its_own_papers(searcher):
    index = searcher.index
    asked = index.look_up([Probe("abstract@bm25", "owls"), Probe("abstract@token", "owls")])
    held = np.arange(len(index)) % 3 == 0
    allowed = np.arange(len(index)) % 2 == 0
    part, sample = Part(index, asked, allowed, held), index.sample
    for one, scored, lowest in zip(
        part.survey([0, 1], sample), index.score(asked), part.lowest([0, 1]), strict=True
    ):
        assert np.array_equal(np.isnan(one.sample), ~held[sample])
        assert np.array_equal(one.sample[held[sample]], scored.scores[sample[held[sample]]])
        assert one.highest == scored.scores[held & allowed].max()
        assert lowest == scored.scores[held].min()
    assert part.kept.tolist() == np.flatnonzero(held & allowed).tolist()
    assert (part.papers, part.ranked) == (40, 20)
    nothing = Part(index, asked, allowed, ~allowed)
    assert nothing.survey([0], sample)[0].highest is None
    assert Part(index, asked, None, np.zeros(len(index), np.bool_)).lowest([0]) == [None]


def test_the_best_of_all_are_among_the_best_of_each_part():
    draw = np.random.default_rng(1)
    scores = draw.normal(size=2000)
    for among in (10, 40_000):
        for count in COUNTS:
            owner = draw.integers(0, count, len(scores))
            best = np.concatenate([best_scores(scores[owner == part], among) for part in range(count)])
            assert len(best) <= 200 * count
            assert lead(best, among) == lead(scores, among)
            assert field_mean(best) == field_mean(scores)


def test_the_best_share_is_of_the_papers_of_all_parts(searcher, monkeypatch):
    plan = searcher.plan(Query("owls", conditions=(Condition.parse("prefer year=>=2003"),)), "hybrid")
    plan = replace(plan, within=tuple(paper.id for paper in PAPERS[:50]))
    counted = []
    monkeypatch.setattr(
        "aspectra.search.scoring.scores.lead", lambda scores, among: counted.append(among) or 1
    )
    compared(searcher, plan, np.arange(len(PAPERS)) % 3, searcher.index.sample)
    assert set(counted) == {50}


def test_rows_are_counted_and_picked_over_all_parts():
    def part(papers, scores):
        raw = [np.array(scores, np.float32), None]
        return Fused(np.array(papers, np.int64), np.nan_to_num(scores), raw, [None, None], [None, None])

    rows = Rows((part([0, 5], [1.0, np.nan]), part([], []), part([3, 2], [1.0, 3.0])))
    order = np.array([0, 9, 1, 2, 9, 3])
    assert len(rows) == 4
    assert rows.best(2, order).papers.tolist() == [2, 3]  # of equal scores the later id
    assert rows.best(2, order[::-1]).papers.tolist() == [2, 0]
    assert rows.above(0, np.array([0.5, 1.0, 3.0])).tolist() == [3, 1, 0]
    assert rows.above(1, np.zeros(1)).tolist() == [0]
    assert rows.of(np.array([2, 1, 0])).papers.tolist() == [0, 2]
