"""The gap, its bounds and the test of obliqueness, on values small enough to check by hand."""

from __future__ import annotations

import pytest

from aspectra.lab.measures.rankings import gap
from aspectra.lab.reports.gap import (
    GapTask,
    ObliquenessCondition,
    PoolScore,
    gap_of,
    gap_table,
    growth_table,
    limits,
    obliqueness_table,
    verdict,
)
from aspectra.lab.reports.published import tables as published
from aspectra.lab.reports.scores import interval_of
from aspectra.lab.statistics.significance import Interval, bootstrap_interval, mean_interval

TASKS = {"twitter": True, "wildchat": True, "math": True, "writing": False, "congress": False}


def spread(mean, units=40, width=0.02):
    """So many values of a mean, half of them above it and half below."""
    return {f"q{n}": mean + (width if n % 2 else -width) for n in range(units)}


def system(ndcg, recall=0.3, **more):
    return {"nDCG@10": spread(ndcg, **more), "R@100": spread(recall, **more)}


def task(retrievers=(0.1, 0.2), agents=(), upper=(0.8,), lower=(0.4,), recall=0.3, sizes=(10, 100), **more):
    given = {"simulated": frozenset(), **more.pop("fields", {})}
    pools = [
        PoolScore(f"v{n}", size, bound, {"nDCG@10": spread(value, **more)}, calls=size / 10)
        for bound, values in (("lower", lower), ("upper", upper))
        for n, value in enumerate(values)
        for size in sizes
    ]
    return GapTask(
        "owls",
        "gold",
        {f"r{n}": system(value, recall, **more) for n, value in enumerate(retrievers)},
        {f"a{n}": system(value, recall, **more) for n, value in enumerate(agents)},
        tuple(pools),
        {size: spread(size / 200) for size in sizes},
        **given,
    )


def rows_of(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_the_gap_is_the_best_of_each_side():
    (row,) = rows_of(gap_table([task(agents=(0.3,))], "nDCG@10"))
    assert (row["best retriever"], row["best with agents"]) == ("r1", "a0")
    assert row["K"] == 100
    assert row["gap, lower"].value == pytest.approx(20.0)
    assert row["gap, upper"].value == pytest.approx(60.0)
    assert row["gap with agents, upper"].value == pytest.approx(50.0)
    # The same units lie above the mean on both sides, so that the paired difference does not vary.
    assert row["gap, upper"].low == pytest.approx(60.0)
    assert row["upper"].low < 80.0


def test_without_agents_there_is_no_column_for_them():
    assert "best with agents" not in gap_table([task()], "nDCG@10").columns


def test_the_best_verifier_gives_the_gap_unless_all_are_assumed():
    made = gap_table([task(upper=(0.5, 0.9), lower=(0.4, 0.3))], "nDCG@10")
    assert made.best == {(1, made.columns.index("gap, upper"))}
    assumed = task(upper=(0.5, 0.9), lower=(0.4, 0.3), fields={"simulated": frozenset({"v0", "v1"})})
    made = gap_table([assumed], "nDCG@10")
    assert made.best == frozenset()
    assert "v1 [simulated]" in made.rows[1]
    assert any("assumed, not measured" in note for note in made.notes)


def test_a_verifier_with_one_bound_only():
    (row,) = rows_of(gap_table([task(upper=())], "nDCG@10"))
    assert (row["upper"], row["gap, upper"]) == (None, None)
    assert row["gap, lower"].value == pytest.approx(20.0)


def test_growth_is_plain_numbers_by_size():
    first, second = rows_of(growth_table(task(), "nDCG@10"))
    assert (first["K"], second["K"]) == (10, 100)
    assert second["recall of the pool"].value == pytest.approx(50.0)
    assert first["v0, lower"].value == pytest.approx(40.0)
    assert first["v0, upper"].low < 80.0 < first["v0, upper"].high
    assert second["calls/query"] == 10.0


@pytest.mark.parametrize(
    ("given", "start", "holds"),
    [
        ({}, "Oblique for these systems: r1", [True, True, True, True]),
        ({"retrievers": (0.5,)}, "Not oblique: r0 reaches nDCG@10 50.0", [False, True, True, True]),
        ({"agents": (0.5,)}, "Not oblique: a0 reaches", [False, True, True, True]),
        ({"recall": 0.8}, "Not oblique: r0 has 80.0 %", [True, False, True, True]),
        ({"upper": (0.22,)}, "Not oblique with this verifier", [True, True, False, False]),
        ({"upper": (0.28,)}, "Not oblique with this verifier", [True, True, True, False]),
        ({"width": 0.3}, "Undecided: the interval spans", [None, True, True, True]),
        ({"units": 1}, "Undecided: the interval spans", [None, None, None, None]),
        ({"upper": ()}, "Retrieval is as poor as in oblique tasks (r1", [True, True]),
    ],
)
def test_the_verdict_says_no_more_than_the_numbers(given, start, holds):
    made = task(**given)
    assert [limit.holds for limit in limits(made)] == holds
    assert verdict(made).startswith(start)


@pytest.mark.parametrize(
    ("low", "high", "at_least", "at_most"),
    [(0.3, 0.4, True, False), (0.25, 0.4, True, None), (0.2, 0.3, None, None), (0.1, 0.25, None, True)],
)
def test_a_limit_holds_for_the_whole_interval_or_not_at_all(low, high, at_least, at_most):
    span = Interval(low, high, 0.95)
    assert ObliquenessCondition("x", "s", 0.3, span, 0.25, least=True).holds is at_least
    assert ObliquenessCondition("x", "s", 0.3, span, 0.25, least=False).holds is at_most


def test_retrievers_that_ranked_given_pools_decide_nothing():
    assert verdict(task(retrievers=(0.9,), fields={"in_pools": True})).startswith("Undecided: the retrievers")


def test_no_interval_leaves_the_scale():
    values = {**dict.fromkeys("abcdefgh", 1.0), "i": 0.0}
    assert mean_interval(values).high > 1.0
    assert interval_of(values, "nDCG@10") == bootstrap_interval(values)
    assert interval_of(spread(0.5), "nDCG@10") == mean_interval(spread(0.5))


def test_a_simulated_verifier_decides_nothing_but_retrieval_may():
    assumed = {"simulated": frozenset({"v0"})}
    text = verdict(task(fields=assumed))
    assert text.startswith("Retrieval is as poor as in oblique tasks (r1 reaches nDCG@10 20.0)")
    assert "reaches nDCG@10 30 or more" in text
    assert verdict(task(retrievers=(0.05,), fields=assumed)).endswith("reaches nDCG@10 25 or more.")
    assert verdict(task(width=0.3, fields=assumed)).startswith("Undecided (r1")
    assert verdict(task(retrievers=(0.5,), fields=assumed)).startswith("Not oblique: r0")
    held = [row["holds"] for row in rows_of(obliqueness_table([task(fields=assumed)]))]
    assert held == ["yes", "yes", "yes, assumed", "yes, assumed"]


def printed(name, judgements, measure="nDCG@10"):
    """System -> what OBLIQ-Bench prints for a task."""
    rows = published(f"obliq/{name}")
    wanted = [r for r in rows if r.measure == measure and r.value is not None]
    sets = {r.judgements for r in wanted}
    return {r.system: r.value for r in wanted if r.judgements in ({judgements} & sets or sets)}


def sides(values, *, solutions=False):
    verifiers = {n: v for n, v in values.items() if "Tournament" in n and ("Soln" in n) == solutions}
    agents = {n: v for n, v in values.items() if "Rewriter" in n or "Agent" in n}
    others = {n: v for n, v in values.items() if "Tournament" not in n and n not in agents}
    return {"retrievers": others, "agents": agents, "verifiers": verifiers}


@pytest.mark.parametrize(
    ("name", "judgements", "solutions", "single", "with_agents"),
    [
        ("twitter", "gold", False, 0.263, 0.190),
        ("twitter", "pooled", False, 0.304, 0.221),
        ("wildchat", "gold", False, 0.338, 0.327),
        ("wildchat", "pooled", False, 0.334, 0.318),
        ("math", "gold", False, 0.135, 0.118),
        ("math", "pooled", False, 0.182, 0.122),
        ("math", "pooled", True, 0.326, 0.266),
        ("writing", "gold", False, 0.351, 0.351),
        ("congress", "gold", False, 0.830, 0.730),
    ],
)
def test_the_gaps_of_the_papers_tables(name, judgements, solutions, single, with_agents):
    means = sides(printed(name, judgements), solutions=solutions)
    assert gap().score(means) == pytest.approx(single, abs=5e-4)
    assert gap(agents=True).score(means) == pytest.approx(with_agents, abs=5e-4)
    # The table takes the same gap, of values by unit.
    one = lambda value: {"nDCG@10": {"q": value}}  # noqa: E731
    made = GapTask(
        name,
        judgements,
        {n: one(v) for n, v in means["retrievers"].items()},
        {n: one(v) for n, v in means["agents"].items()},
        tuple(PoolScore(n, 300, "upper", one(v)) for n, v in means["verifiers"].items()),
        {},
    )
    assert gap_of(made, made.pools[0], "nDCG@10", agents=False)[0] == pytest.approx(single, abs=5e-4)
    (row,) = rows_of(gap_table([made], "nDCG@10"))
    assert row["gap with agents, upper"].value == pytest.approx(100 * with_agents, abs=0.05)


@pytest.mark.parametrize("name", TASKS)
def test_the_limits_enclose_the_papers_tasks(name):
    for judgements in ("gold", "pooled")[: 1 + TASKS[name]]:
        means, recall = sides(printed(name, judgements)), sides(printed(name, judgements, "R@100"))
        steady = {"units": 40, "width": 0.0001}
        found = recall["retrievers"]  # one cell is lost in print
        made = GapTask(
            name,
            judgements,
            {n: system(v, found.get(n, 0.0), **steady) for n, v in means["retrievers"].items()},
            {n: system(v, recall["agents"][n], **steady) for n, v in means["agents"].items()},
            tuple(
                PoolScore(n, 300, "upper", {"nDCG@10": spread(v, **steady)})
                for n, v in means["verifiers"].items()
            ),
            {},
        )
        assert verdict(made).startswith("Oblique"), limits(made)
