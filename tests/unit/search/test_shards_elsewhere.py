"""Shards that are called by messages answer as one library, whatever happens to their processes between."""

from __future__ import annotations

import os
import random
from collections import Counter

import msgspec
import numpy as np
import pytest
from test_parts_of_a_search import PAPERS, generated, with_fusion
from test_shards import answer, both

from aspectra.base.errors import AspectraError
from aspectra.base.values import replace
from aspectra.cluster.parts import Shards
from aspectra.cluster.shard import (
    Call,
    CallAnswer,
    ScoringJob,
    ShardSearch,
    array_of,
    blob,
    decode_answer,
    decode_call,
    encode,
)
from aspectra.search.conditions.condition import Condition
from aspectra.search.evidence.hits import unfiltered
from aspectra.search.query import Query
from aspectra.search.scoring.chain import Scale
from aspectra.search.scoring.engine import Engine
from aspectra.views.terms import view as heads
from token_encoder import TokenEncoder, made_up_head

PLANS = int(os.environ.get("ASPECTRA_PLANS", "240")) // 8
COUNTS = (1, 3, 4) if PLANS < 100 else (1, 2, 3, 4, 7)


@pytest.fixture(scope="module")
def load():
    patch = pytest.MonkeyPatch()
    encoder = TokenEncoder()
    patch.setattr(heads, "_shipped", lambda: (made_up_head(encoder),))
    yield lambda _: encoder
    patch.undo()


class Sides:
    """The sides of the shards, in this process."""

    def __init__(self, searcher, load):
        self.index, self._load = searcher.index, load
        self._folder = searcher.library.folder
        self.shards = {name: self._started(name) for name in self.index.manifest["shards"]}

    def _started(self, name):
        return ShardSearch(self._folder, name, self._load)

    def restart(self, name):
        self.shards[name].close()
        self.shards[name] = self._started(name)

    @property
    def wires(self):
        return {name: lambda data, name=name: self.shards[name].call(data) for name in self.shards}

    def close(self):
        for shard in self.shards.values():
            shard.close()


@pytest.fixture(scope="module", params=COUNTS)
def searchers(request, tmp_path_factory, load):
    """One library; a collection with all shards elsewhere, and their sides."""
    one, many = both(tmp_path_factory.mktemp("wires"), PAPERS, request.param, load)
    sides = Sides(many, load)
    with one, many:
        shards = Shards(many.index, sides.wires)
        many._engine = Engine(many.index, parted=shards.parted)
        yield one, many, sides, shards
        sides.close()


def test_shards_elsewhere_answer_as_one_library(searchers):
    one, many, _, shards = searchers
    ran = Counter[str]()
    for number in range(PLANS):
        plan = generated(one, random.Random(number + 50_000 * len(shards.places)))
        if plan is None:
            continue
        expected = answer(one, plan)
        assert answer(many, plan) == expected, plan
        ran["found" if isinstance(expected, tuple) else "error"] += 1
    assert ran["found"] > PLANS / 4
    assert shards.calls


@pytest.mark.parametrize("planner", ["bm25", "hybrid", "guided"])
def test_a_search_takes_few_rounds(searchers, planner):
    one, many, _, shards = searchers
    question = Query("owls train a network") if planner != "guided" else Query(seeds=("p007",))
    plan = many.plan(question, planner)
    before = shards.calls
    assert many.run(plan).ids == one.run(plan).ids
    assert shards.calls - before <= 3 * len(shards.places)


def same(searchers, plan, sample=None):
    """The answer of one library; shards give the same, by a sample of papers where one is given."""
    one, many, _, _ = searchers
    engines = one.engine, many.engine
    kept = [engine.sample for engine in engines]
    try:
        for engine in engines if sample else ():
            engine.sample = engine.positions(sample)
        expected = answer(one, plan)
        assert answer(many, plan) == expected, plan
    finally:
        for engine, before in zip(engines, kept, strict=True):
            engine.sample = before
    return expected


def test_what_decides_for_all_shards_is_of_all(searchers):
    """The highest score, where no paper of the sample has a word; and how many papers there are."""
    one = searchers[0]
    rare = one.plan(Query("reviews", literal=True), "hybrid")
    scores = one.index.score(one.index.look_up(rare.search.probes))[0].scores
    same(searchers, rare, [one.index.ids[at] for at in np.flatnonzero(scores == 0)[:3]])
    alike = one.plan(Query(seeds=("p007",), same=("method",), limit=100), "guided")
    same(searchers, with_fusion(alike, scan_limit=len(one.index) - 1, candidates=9))


@pytest.mark.parametrize("fusion", [{"kind": "rrf", "depth": 3}, {"scan_limit": 1, "candidates": 9}])
def test_papers_that_a_stage_brings_are_scored_by_their_shard(searchers, fusion):
    plan = searchers[0].plan(Query(seeds=("p007",), same=("method",), limit=9), "guided")
    plan = with_fusion(replace(plan, steps=(*plan.steps, "citations(seeds=3)")), **fusion)
    found, known, _, scales, _ = same(searchers, plan)
    brought = [hit for hit in found["hits"] if hit["id"] not in known]
    assert brought
    for hit in brought:
        assert any(probe["score"] is not None for probe in hit["probes"])
        for probe, scale in zip(hit["probes"], scales, strict=True):
            if scale is not None and probe["score"] is not None:
                assert probe["standardised"] == scale.apply(np.array([probe["score"]], np.float32))[0]


@pytest.mark.parametrize("words", ["owls bees, after 2005", "train a network"])
@pytest.mark.parametrize("planner", ["bm25", "hybrid", "dense"])
def test_a_place_is_counted_over_shards(searchers, words, planner):
    one, many, _, _ = searchers
    query = Query(words, conditions=(Condition.parse("prefer keyword=network"),))
    plan = unfiltered(one.plan(query, planner), "p000", len(PAPERS))
    ranked = one.result(plan).ids
    hidden = replace(plan, exclude=(ranked[4],))
    for engine in (one.engine, many.engine):
        assert [engine.place(plan, paper) for paper in ranked] == [*range(1, len(ranked) + 1)]
        assert engine.place(hidden, ranked[4]) == 0
        assert engine.place(hidden, ranked[5]) == 5


def test_papers_of_years_that_come_later_have_the_later_places(searchers):
    one, many, _, _ = searchers
    plan = unfiltered(one.plan(Query(seeds=("p007",)), "linked"), "p000", len(PAPERS))
    dated = replace(plan, steps=(replace(plan.search, years="<=2003"),))
    ranked = one.result(dated).ids
    years = [one.library.get(paper).year > 2003 for paper in ranked]
    assert years == sorted(years)
    assert {True, False} == {*years}
    assert [many.engine.place(dated, paper) for paper in ranked] == [*range(1, len(ranked) + 1)]


@pytest.mark.parametrize(
    "chain", ["chain(depth=2)", "chain(depth=3,parent=1,keep=8)", "chain(depth=4,keep=3)"]
)
def test_a_chain_goes_on_through_shards(searchers, chain):
    for seed, asked in enumerate(
        ("require year=>=1999", "prefer recency=new", "require keyword=network", "")
    ):
        conditions = (Condition.parse(asked),) if asked else ()
        query = Query(seeds=(f"p{41 + 2 * seed:03}",), conditions=conditions, limit=40)
        plan = searchers[0].plan(query, f"prism | {chain}")
        plan = replace(plan, within=None if seed else tuple(paper.id for paper in PAPERS[::2]))
        assert same(searchers, plan)[0]["hits"]


def test_the_best_share_is_of_the_papers_of_all_shards(searchers, monkeypatch):
    plan = searchers[0].plan(Query("owls", conditions=(Condition.parse("prefer year=>=2003"),)), "hybrid")
    plan = replace(plan, within=tuple(paper.id for paper in PAPERS[:50]))
    counted = []
    monkeypatch.setattr(
        "aspectra.search.scoring.phases.lead", lambda scores, among: counted.append(among) or 1
    )
    same(searchers, plan)
    assert {*counted} == {50}


def test_a_shard_that_was_started_again_is_sent_what_it_lacks(searchers):
    one, many, sides, shards = searchers
    query = Query(
        "owls bees",
        conditions=(Condition.parse("prefer recency=new"), Condition.parse("require year=>=1995")),
    )
    plan = many.plan(query, "hybrid")
    expected = answer(one, plan)
    assert answer(many, plan) == expected
    for name in sides.shards:
        sides.restart(name)
    assert answer(many, plan) == expected
    whole, names = shards.call, [*sides.shards]

    def interrupted(number, call, blobs):
        sides.restart(names[number])  # between any two of its calls in one search
        return whole(number, call, blobs)

    shards.call = interrupted
    try:
        assert answer(many, plan) == expected
    finally:
        shards.call = whole


def test_an_error_of_a_shard_is_the_caller_s(searchers):
    _, many, sides, _ = searchers
    plan = many.plan(Query("owls"), "bm25")
    refused = AspectraError("the disk is gone", why="it was pulled out", hint="put it back")

    def broken(_):
        return encode(CallAnswer(error=(refused.what, refused.why, refused.hint)))

    engine = many._engine
    many._engine = Engine(many.index, parted=Shards(many.index, dict.fromkeys(sides.shards, broken)).parted)
    try:
        with pytest.raises(AspectraError, match="the disk is gone"):
            many.run(plan)
    finally:
        many._engine = engine
    call = Call(encode(ScoringJob("nowhere", ())), b"", [], "lowest", [[]], {})
    answered = decode_answer(sides.shards["shards/0"].call(encode(call)))
    assert "nowhere" in " ".join(answered.error)
    for damaged in (b"", b"junk", encode(replace(call, job=b"junk"))):
        answered = decode_answer(sides.shards["shards/0"].call(damaged))
        assert answered.error[0] == "the shard shards/0 cannot answer"
        with pytest.raises(AspectraError, match="shards/0"):
            answered.checked()


def test_arrays_of_anything_but_numbers_are_not_read():
    for array in (np.zeros((2, 3), np.float32), np.arange(5), np.zeros(0, np.bool_)):
        key, data = blob(array)
        back = array_of(data)
        assert back.dtype == array.dtype
        assert np.array_equal(back, array)
        assert blob(back)[0] == key
    for kind, shape, content in (("|O", [1], b"12345678"), ("<f4", [-1], b"1234"), ("<f4", [1 << 40], b"")):
        packed = msgspec.msgpack.encode(
            msgspec.msgpack.Ext(1, msgspec.msgpack.encode([kind, shape, content]))
        )
        with pytest.raises(ValueError):  # noqa: PT011 - of numpy, of msgspec, or ours
            array_of(packed)
    with pytest.raises(ValueError, match="extension"):
        array_of(msgspec.msgpack.encode(msgspec.msgpack.Ext(2, b"")))
    with pytest.raises(ValueError, match="no array"):
        array_of(msgspec.msgpack.encode([1]))
    with pytest.raises(msgspec.ValidationError):
        decode_call(msgspec.msgpack.encode({"job": 1}))


def test_rows_graded_by_one_condition_are_not_those_of_another(searchers):
    """Searches at the same time, alike but for a condition: each gets its own rows."""
    one, many, _, shards = searchers
    plan = one.plan(Query("owls bees"), "hybrid")
    asked = many.index.look_up(plan.search.probes)
    weights = {number: probe.weight for number, probe in enumerate(plan.search.probes)}
    scales = dict.fromkeys(weights, Scale(0.1, 0.5))
    found = []
    for value in ("new", "old"):
        conditions = (Condition.parse(f"prefer recency={value}"),)
        (part, *_) = shards.parted(asked, None)
        rows = part.graded(many.engine.grader, conditions, [0], part.rows(weights, scales), 1.0, 0.0)
        found.append((rows, rows.fused()))
    assert found[0][1].moves[0].tolist() != found[1][1].moves[0].tolist()
    for rows, expected in found:
        again = rows.fused()
        assert again.moves[0].tolist() == expected.moves[0].tolist()
        assert again.scores.tolist() == expected.scores.tolist()
