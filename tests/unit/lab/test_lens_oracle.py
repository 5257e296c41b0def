"""The oracle behind a lens errs as often as it is told to, and the same way every time."""

from __future__ import annotations

import asyncio
import json
import math

import pytest

from aspectra.base.errors import UsageError
from aspectra.lab.simulation.oracle import LensOracle
from aspectra.llm.chat import Message, Request

TRUTH = {f"p{n}": f"value {n % 5}" for n in range(2000)}


def ask(oracle, *papers, number=0):
    request = Request((Message("user", str(number)),), subjects=papers)
    return asyncio.run(oracle.complete(request))


def near(count, total, rate):
    return abs(count - total * rate) <= 4 * math.sqrt(total * rate * (1 - rate)) + 1e-9


@pytest.mark.parametrize("noise", [0.0, 0.2, 0.7, 1.0])
def test_it_is_wrong_at_the_rate(noise):
    oracle = LensOracle(TRUTH, noise=noise)
    assert near(sum(oracle.value_of(paper) != value for paper, value in TRUTH.items()), len(TRUTH), noise)


def test_who_is_wrong_stays_wrong_as_noise_grows():
    wrong = [
        {paper for paper, value in TRUTH.items() if LensOracle(TRUTH, noise=noise).value_of(paper) != value}
        for noise in (0.1, 0.3, 0.8)
    ]
    assert wrong[0] < wrong[1] < wrong[2]


def test_replies_depend_on_the_paper_and_the_seed_alone():
    oracle = LensOracle(TRUTH, noise=0.5)
    assert ask(oracle, "p1", number=1).text == ask(oracle, "p1", number=2).text
    said = [oracle.value_of(paper) for paper in TRUTH]
    assert said != [LensOracle(TRUTH, noise=0.5, seed=1).value_of(paper) for paper in TRUTH]


def test_malformed_replies_come_at_the_rate_and_not_for_ever():
    oracle = LensOracle(TRUTH, malformed=0.3)

    def broken(paper, number):
        try:
            json.loads(ask(oracle, paper, number=number).text)
        except ValueError:
            return True
        return False

    assert near(sum(broken("p1", number) for number in range(1000)), 1000, 0.3)


def test_what_it_says_is_simulated_and_of_unknown_papers_it_says_nothing():
    reply = ask(LensOracle(TRUTH), "unknown")
    assert reply.simulated
    assert json.loads(reply.text) == {"value": ""}
    assert reply.usage.completion_tokens > 0


def test_wrong_use_is_refused():
    with pytest.raises(UsageError):
        LensOracle(TRUTH, noise=1.5)
    with pytest.raises(UsageError, match="one paper"):
        ask(LensOracle(TRUTH), "a", "b")
