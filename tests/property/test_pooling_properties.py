"""Pools of recorded rankings, for any rankings and judgements."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from aspectra.lab.benchmarks.protocol import Benchmark, Topic
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.gap.verification import Pooling, RecordedSystem, with_pools

DOCUMENTS = [f"d{n:02}" for n in range(30)]
RANKING = st.lists(st.sampled_from(DOCUMENTS), unique=True)
GRADE = st.sampled_from([-1.0, 0.0, 1.0, 2.0])
CASES = st.fixed_dictionaries(
    {
        "rankings": st.lists(RANKING, min_size=1, max_size=4),
        "gold": st.dictionaries(st.sampled_from(DOCUMENTS), GRADE, min_size=1),
        "excluded": st.frozensets(st.sampled_from(DOCUMENTS), max_size=5),
        "size": st.integers(1, 25),
    }
)


def pool_of(case, **given):
    size = given.pop("size", case["size"])
    benchmark = Benchmark(
        "made-up",
        lambda: iter(()),
        (Topic("q", "owls"),),
        {"gold": {"q": case["gold"]}},
        excluded={"q": case["excluded"]},
    )
    systems = [
        RecordedSystem(str(n), {"q": {doc: -float(place) for place, doc in enumerate(ranking)}})
        for n, ranking in enumerate(case["rankings"])
    ]
    return with_pools(benchmark, Pooling(("here",), size=size, **given), systems)


def judged_by_the_truth(case, pool):
    """Scores of a verifier that never errs, and whether anything is relevant that is not excluded."""
    grades = {doc: grade for doc, grade in case["gold"].items() if doc not in case["excluded"]}
    run = {"q": {"below all": -9.0, **{doc: grades.get(doc, 0.0) for doc in pool.pools["q"]}}}
    found = evaluate(["nDCG@10", "R@10"], {"q": grades or {"none": 0.0}}, run)
    return [score.mean for score in found.scores], any(grade > 0 for grade in grades.values())


@given(CASES)
def test_what_is_put_in_is_exactly_what_is_missing(case):
    lower, upper = pool_of(case), pool_of(case, inject="gold")
    found, relevant = set(lower.pools["q"]), {d for d, grade in case["gold"].items() if grade > 0}
    assert set(upper.pools["q"]) == found | (relevant - case["excluded"])
    assert len(upper.pools["q"]) == len(set(upper.pools["q"]))
    assert upper.facts()["pool"]["injected"] == len(relevant - case["excluded"] - found)
    assert not set(upper.pools["q"]) & case["excluded"]


@given(CASES)
def test_the_lower_bound_of_a_verifier_that_never_errs_is_not_above_the_upper(case):
    lower, _ = judged_by_the_truth(case, pool_of(case))
    upper, any_relevant = judged_by_the_truth(case, pool_of(case, inject="gold"))
    assert all(low <= high for low, high in zip(lower, upper, strict=True))
    assert upper[0] == (1.0 if any_relevant else 0.0)


@given(CASES)
def test_a_pool_grows_by_documents_of_the_systems_alone(case):
    sizes = [set(pool_of(case, size=size).pools["q"]) for size in range(1, 26)]
    everything = {doc for ranking in case["rankings"] for doc in ranking} - case["excluded"]
    for size, (small, large) in enumerate(pairwise(sizes), start=1):
        assert small <= large <= everything
        assert len(small) == min(size, len(everything))


@given(CASES)
def test_no_document_of_a_system_that_is_left_out_alone(case):
    if len(case["rankings"]) < 2:
        return
    others = {doc for ranking in case["rankings"][1:] for doc in ranking}
    assert set(pool_of(case, without=("0",)).pools["q"]) <= others - case["excluded"]
