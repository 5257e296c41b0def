"""The oracle errs as often as it is told to, and no oftener."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from itertools import permutations

import pytest

from aspectra.base.errors import UsageError
from aspectra.lab.simulation.oracle import Oracle
from aspectra.llm.chat import Message, Request
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.rerank.repair import read_labels
from aspectra.search.stages.rerank import Method, rerank

GRADES = {"a": 3.0, "b": 2.0, "c": 1.0}


def request(prompt, subjects, number=0, **options):
    return Request((Message("user", str(number)),), prompt=f"{prompt}/0", subjects=subjects, **options)


def answers(oracle, prompt, subjects, count, **options):
    async def all_of_them():
        return [await oracle.complete(request(prompt, subjects, n, **options)) for n in range(count)]

    return asyncio.run(all_of_them())


def near(count, total, rate):
    """Within four standard deviations."""
    return abs(count - total * rate) <= 4 * math.sqrt(total * rate * (1 - rate)) + 1e-9


@pytest.mark.parametrize("error", [0.0, 0.1, 0.4, 0.5])
def test_pairs_are_wrong_at_the_rate(error):
    for subjects, wrong in ((("a", "b"), "B"), (("c", "a"), "A")):
        replies = answers(Oracle(GRADES, error=error), "pairwise", subjects, 2000)
        assert near(sum(json.loads(r.text)["better"] == wrong for r in replies), 2000, error)


def test_lists_follow_the_mallows_model():
    error = 0.3
    replies = answers(Oracle(GRADES, error=error), "listwise", ("b", "c", "a"), 6000)
    seen = Counter(tuple("bca"[int(x) - 1] for x in json.loads(r.text)["order"]) for r in replies)
    dispersion = error / (1 - error)
    weights = {
        order: dispersion ** sum(order[i] > order[j] for i in range(3) for j in range(i + 1, 3))
        for order in permutations("abc")
    }
    for order, weight in weights.items():
        assert near(seen[order], 6000, weight / sum(weights.values()))


def test_bias_is_the_order_shown():
    replies = answers(Oracle(GRADES, bias=0.25), "listwise", ("c", "b", "a"), 2000)
    orders = Counter(tuple(json.loads(r.text)["order"]) for r in replies)
    assert set(orders) == {("1", "2", "3"), ("3", "2", "1")}
    assert near(orders["1", "2", "3"], 2000, 0.25)


def test_malformed_replies_come_at_the_rate():
    replies = answers(Oracle(GRADES, malformed=0.3), "listwise", ("a", "b", "c"), 3000)
    labels = ["1", "2", "3"]
    whole = sum(read_labels(r.text, labels).labels == ("1", "2", "3") for r in replies)
    # A spoilt reply may still hold the whole order: cut off at its very end, or repeated by chance in order.
    assert 0.66 < whole / 3000 < 0.74
    assert len({r.text for r in replies}) > 10


def test_scores():
    for error, rate in ((0.0, 0.0), (0.2, 0.2)):
        oracle = Oracle(GRADES, error=error)
        replies = answers(oracle, "yes-no", ("a",), 1000, top_logprobs=20)
        sure = sum(dict(r.logprobs)["yes"] < dict(r.logprobs)["no"] for r in replies)
        assert near(sure, 1000, rate)
        assert sum(math.exp(p) for _, p in replies[0].logprobs) == pytest.approx(1)
        assert near(sum(r.text != "3" for r in answers(oracle, "grade", ("a",), 1000)), 1000, rate)
        points = [json.loads(r.text)["points"] for r in answers(oracle, "points", ("b",), 1000)]
        assert near(sum(p != 67 for p in points), 1000, rate)
    assert not answers(Oracle(GRADES), "yes-no", ("a",), 1)[0].logprobs


def test_unjudged_papers_have_the_lowest_grade_and_ties_stay():
    oracle = Oracle({"a": 1.0, "z": -2.0})
    order = json.loads(answers(oracle, "listwise", ("x", "z", "a", "y"), 1)[0].text)["order"]
    assert order == ["3", "1", "2", "4"]
    assert json.loads(answers(Oracle({}), "listwise", ("x", "y"), 1)[0].text)["order"] == ["1", "2"]


def test_answers_depend_on_request_and_seed_alone():
    oracle = Oracle(GRADES, error=0.4, malformed=0.2)
    once = [r.text for r in answers(oracle, "listwise", ("a", "b", "c"), 50)]
    assert once == [r.text for r in answers(oracle, "listwise", ("a", "b", "c"), 50)]
    assert once != [r.text for r in answers(Oracle(GRADES, 0.4, 0, 0.2, 1), "listwise", ("a", "b", "c"), 50)]
    again = asyncio.run(oracle.complete(request("listwise", ("a", "b", "c"), 0, repeat=1)))
    assert any(again.text != text for text in once)


def test_it_says_what_it_is():
    oracle = Oracle(GRADES, error=0.1, seed=7)
    assert oracle.simulated
    assert oracle.name == "oracle(error=0.1,bias=0,malformed=0,seed=7)"
    assert "3.0" not in repr(oracle)
    reply = answers(oracle, "pairwise", ("a", "b"), 1)[0]
    assert reply.simulated
    assert reply.model == oracle.name
    assert reply.usage.completion_tokens > 0
    assert oracle.about({"b": 9.0}).error == 0.1
    other = answers(Oracle(GRADES).about({"b": 9.0}), "pairwise", ("a", "b"), 1)[0]
    assert json.loads(other.text) == {"better": "B"}


def test_what_it_cannot_do():
    with pytest.raises(UsageError, match="poem"):
        answers(Oracle({}), "poem", ("a",), 1)
    for rates in ({"error": 0.6}, {"bias": 1.1}, {"malformed": -0.1}, {"grades": {"a": math.nan}}):
        with pytest.raises(UsageError):
            Oracle(**{"grades": {}, **rates})


def test_more_error_means_worse_orders():
    grades = {f"p{n}": float(30 - n) for n in range(30)}
    papers = [Candidate(f"p{n}", f"Paper {n}.") for n in (7 * k % 30 for k in range(30))]
    for spelling in (
        "yes-no",
        "pairwise+all-pairs",
        "pairwise+merge",
        "listwise+merge",
        "listwise+tournament",
    ):
        inversions = []
        for error in (0.0, 0.2, 0.5):
            order = asyncio.run(
                rerank(Question("q"), papers, Method.parse(spelling), Oracle(grades, error=error))
            ).order
            ranks = [int(i[1:]) for i in order]
            inversions.append(sum(ranks[i] > ranks[j] for i in range(30) for j in range(i + 1, 30)))
        assert inversions[0] < inversions[1] < inversions[2]
