"""The parts that a search is made of, and plans made by chance, which shards answer as one library does."""

from __future__ import annotations

import random

import numpy as np
import pytest
from test_order_of_papers import PAPERS as WRITTEN
from test_order_of_papers import WORDS

from aspectra.base.errors import AspectraError
from aspectra.base.values import replace
from aspectra.papers.paper import Section
from aspectra.search.conditions.condition import Condition
from aspectra.search.conditions.grading import best_scores, field_mean, lead
from aspectra.search.plan import Fusion, Search
from aspectra.search.planning.planners.protocol import PLANNERS
from aspectra.search.query import Query
from aspectra.search.scoring.phases import Fused, Part, Rows
from aspectra.views.terms import view as heads
from aspectra.views.view import Probe
from small_library import searcher_over
from token_encoder import TokenEncoder, made_up_head

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


def with_fusion(plan, **fusion):
    return replace(
        plan,
        steps=tuple(
            replace(step, fusion=Fusion(**fusion)) if isinstance(step, Search) else step
            for step in plan.steps
        ),
    )


def test_of_equal_scores_the_later_id_has_the_earlier_place():
    part = Fused(np.array([0, 1, 2]), np.array([1.0, 1.0, 2.0]), [], [], [])
    other = replace(part, papers=np.array([3]), scores=np.array([1.0]))
    order = np.array([1, 3, 0, 2, 4])
    assert [Rows((part, other)).place(paper, order) for paper in range(5)] == [4, 2, 1, 3, 0]


def test_a_part_tells_of_papers_that_may_be_ranked(searcher):
    index = searcher.index
    asked = index.look_up([Probe("abstract@bm25", "owls"), Probe("abstract@token", "owls")])
    allowed = np.arange(len(index)) % 2 == 0
    part, sample = Part(index, asked, allowed), index.sample
    for one, scored, lowest in zip(
        part.survey([0, 1], sample), index.score(asked), part.lowest([0, 1]), strict=True
    ):
        assert np.array_equal(one.sample, scored.scores[sample])
        assert one.highest == scored.scores[allowed].max()
        assert lowest == scored.scores.min()
    assert part.kept.tolist() == np.flatnonzero(allowed).tolist()
    assert (part.papers, part.ranked) == (120, 60)
    assert Part(index, asked, np.zeros(len(index), np.bool_)).survey([0], sample)[0].highest is None


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
