"""Plans and queries that hold too much, or anything at all, are refused at once and say why."""

from __future__ import annotations

import json
import math

import pytest

from aspectra.base.errors import UsageError
from aspectra.search.conditions.condition import Condition
from aspectra.search.plan import MOST_PROBES, Plan
from aspectra.search.query import Query
from aspectra.search.recipe import Recipe

PROBE = {"view": "abstract@bm25", "text": "owls"}
LONG = "x" * 1_000_000


def plan_of(probe=None, **more):
    return {"steps": [{"probes": [{**PROBE, **(probe or {})}]}], **more}


def nested(kind, depth=50_000):
    whole = inner = kind()
    for _ in range(depth):
        below = kind()
        if isinstance(inner, dict):
            inner["text"] = below
        else:
            inner.append(below)
        inner = below
    return whole


def condition(attribute="kind", value="survey", **more):
    return {"attribute": attribute, "value": value, **more}


HOSTILE = {
    "weight NaN": plan_of({"weight": math.nan}),
    "weight infinite": plan_of({"weight": -math.inf}),
    "weight huge": plan_of({"weight": 1e300}),
    "weight true": plan_of({"weight": True}),
    **{f"limit {x!r}": plan_of(limit=x) for x in (1.5, True, 1e30, 10**30, -1, None, "10", math.nan, [])},
    **{f"evidence {x!r}": plan_of(evidence=x) for x in (1.5, True, 10**12, -1)},
    **{f"compliance {x!r}": plan_of(compliance=x) for x in (math.nan, math.inf, 1e308, "much")},
    "4,000 probes": {"steps": [{"probes": [PROBE] * 4000}]},
    "4,000 searches": {"steps": [{"probes": [PROBE]}] * 4000},
    "many probes in a few searches": {"steps": [{"probes": [PROBE] * 20}] * 4},
    "5,000 stages": {"steps": [{"probes": [PROBE]}, *["top(5)"] * 5000]},
    "10,000 seeds": plan_of({"seeds": ["owl"] * 10_000}),
    "5,000 conditions": plan_of(conditions=[condition("keyword", f"w{n}") for n in range(5000)]),
    "nested objects": nested(dict),
    "nested in a field": plan_of(text=nested(dict)),
    "nested lists": plan_of(within=nested(list)),
    "no object": [1],
    "a text": "x",
    "nothing": None,
    "long text": plan_of(text=LONG),
    "long instruction": plan_of(instruction=LONG),
    "long probe": plan_of({"text": LONG}),
    "long view": plan_of({"view": LONG}),
    "long focus": plan_of({"focus": LONG, "matching": "maxsim"}),
    "long pooling": plan_of({"pooling": LONG}),
    "long role": plan_of({"roles": [LONG], "matching": "maxsim"}),
    "long stage": {"steps": [{"probes": [PROBE]}, LONG]},
    "long attribute": plan_of(conditions=[condition(LONG)]),
    "long value": plan_of(conditions=[condition(value=LONG)]),
    "long relation": plan_of(conditions=[condition(relation=LONG)]),
    "long pattern": plan_of(conditions=[condition("venue", "*a" * 500_000)]),
    "long field": {LONG: 1},
    "fusion": {"steps": [{"probes": [PROBE], "fusion": {"k": 10**30}}]},
    "fusion candidates": {"steps": [{"probes": [PROBE], "fusion": {"candidates": 0}}]},
}


@pytest.mark.parametrize("plan", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_plan_is_refused_with_a_short_reason(plan):
    def refused(read, given):
        with pytest.raises(UsageError) as error:
            read(given)
        assert error.value.what
        assert error.value.why or error.value.hint
        assert len(str(error.value)) < 12_000

    refused(Plan.from_dict, plan)
    try:
        text = json.dumps(plan)
    except RecursionError:
        text = '{"steps":' * 100_000
    refused(Plan.loads, text)


def test_deeply_nested_toml_is_refused():
    for text in ("a = " + "[" * 100_000, "a = " + "{a = " * 100_000, "a." * 100_000 + "a = 1"):
        with pytest.raises(UsageError):
            Plan.loads(text)


@pytest.mark.parametrize(
    "fields",
    [
        {"text": LONG},
        {"text": "owls", "instruction": LONG},
        {"seeds": ("owl",) * 10_000},
        {"text": "owls", "same": tuple(f"aspect {n}" for n in range(9))},
        {"text": "owls", "same": (LONG,)},
        {"text": "owls", "lenses": tuple(f"lens{n}" for n in range(17))},
        {"text": "owls", "limit": 1.5},
        {"text": "owls", "limit": True},
        {"text": "owls", "limit": 10**30},
        {"text": "owls", "evidence": math.nan},
        {"text": "owls", "conditions": tuple(Condition("keyword", f"w{n}") for n in range(65))},
    ],
    ids=lambda fields: " ".join(f"{name} {value!r}"[:30] for name, value in fields.items()),
)
def test_a_query_has_bounds_that_it_names(fields):
    with pytest.raises(UsageError) as error:
        Query(**fields)
    assert error.value.why
    assert error.value.hint
    assert len(str(error.value)) < 1000


def test_spellings_of_any_length_are_refused_at_once():
    for spelling in (LONG, "kind=" + LONG, "a" + " " * 1_000_000, "keyword=a" + " " * 1_000_000 + "b"):
        with pytest.raises(UsageError):
            Condition.parse(spelling)
    with pytest.raises(UsageError, match="steps in a recipe"):
        Recipe.parse(" | ".join(["bm25"] * 100))
    with pytest.raises(UsageError):
        Recipe.parse(LONG)


def test_the_largest_query_becomes_a_plan_within_bounds(searcher):
    seeds = tuple(searcher.index.ids)[:100]
    query = Query(
        "owls " * 20_000,
        seeds,
        same=("method", "result", "a b", "c d"),
        different=("background", "e f", "g h", "i j"),
        conditions=tuple(Condition("keyword", f"w{n}", "prefer") for n in range(64)),
        literal=True,
    )
    plan = searcher.plan(query, "guided")
    assert len(plan.search.probes) <= MOST_PROBES
    assert isinstance(searcher.run(plan).ids, list)
