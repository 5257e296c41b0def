"""Costs and limits: exact under concurrency, nothing sent that might pass them."""

from __future__ import annotations

import asyncio
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.llm.budget import (
    Account,
    Budget,
    Cost,
    Limits,
    Price,
    Prices,
    estimate,
    estimate_tokens,
    prompt_tokens,
    spending,
)
from aspectra.llm.chat import BudgetReached, Malformed, Message, Reply, Request, Transient, Usage
from aspectra.llm.scripted import Scripted

PRICE = Price(input=10.0, output=50.0)


def ask(text="question", **more):
    return Request((Message("user", text),), **{"max_tokens": 20, **more})


def complete(model, *requests):
    async def go():
        return await asyncio.gather(*(model.complete(r) for r in requests), return_exceptions=True)

    return asyncio.run(go())


class Watched(Scripted):
    """Counts what reaches it, and the most at once."""

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self.now = self.most = 0

    async def complete(self, request):
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return await super().complete(request)
        finally:
            self.now -= 1


def test_costs_are_counted():
    account = Account()
    model = Budget(
        Scripted([Reply("a", usage=Usage(100, 10)), Reply("b", usage=Usage(1, 1))]), account, PRICE
    )
    complete(model, ask())
    assert account.cost == Cost(1, 100, 10, (100 * 10 + 10 * 50) / 1e6)
    complete(model, ask())
    assert account.cost.calls == 2
    assert account.cost.unpriced == 0


def test_without_a_price_money_is_unknown():
    account = Account()
    complete(Budget(Scripted(["a"]), account), ask())
    assert (account.cost.money, account.cost.unpriced) == (0.0, 1)
    with pytest.raises(UsageError, match="no price"):
        Budget(Scripted(["a"]), Account(Limits(money=1.0)))
    with spending(Limits(money=1.0)):
        assert isinstance(complete(Budget(Scripted(["a"])), ask())[0], UsageError)


@pytest.mark.parametrize("limit", [0, 1, 7, 50])
def test_calls_are_exact_with_many_at_once(limit):
    inner = Watched(lambda r: "x", delay=0.001)
    account = Account(Limits(calls=limit))
    found = complete(Budget(inner, account), *[ask(str(n)) for n in range(50)])
    assert len(inner.asked) == limit == account.cost.calls
    assert sum(isinstance(f, BudgetReached) for f in found) == 50 - limit


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=30),
    st.integers(0, 3000),
    st.integers(1, 60),
    st.booleans(),
)
def test_tokens_and_money_are_never_passed(outcomes, cap, max_tokens, by_money):
    """Whatever the calls answer and however they fail, as long as no answer is worse than the worst case."""

    def step(request):
        kind = outcomes[int(request.messages[0].content) % len(outcomes)]
        if kind == 0:
            return Transient("refused", status=503)
        if kind == 1:
            return Malformed("lost", billable=True)
        return Reply("x", usage=Usage(2 * prompt_tokens(request), max_tokens))

    limits = Limits(money=cap * 50 / 1e6) if by_money else Limits(tokens=cap)
    account = Account(limits)
    inner = Scripted(step)
    complete(Budget(inner, account, PRICE), *[ask(str(n), max_tokens=max_tokens) for n in range(40)])
    assert not limits.passed(account.cost)
    assert account._reserved == Cost()


def test_what_is_under_way_is_waited_for_not_refused():
    """The worst case of one call fills the limit, but what it really takes leaves room for the next."""
    request = ask(max_tokens=100)
    worst = 2 * prompt_tokens(request) + 100
    inner = Watched(lambda r: Reply("x", usage=Usage(1, 1)), delay=0.002)
    account = Account(Limits(tokens=worst + 10))
    found = complete(Budget(inner, account), *[ask(f"question{n}"[-8:], max_tokens=100) for n in range(5)])
    assert all(isinstance(f, Reply) for f in found)
    assert inner.most == 1
    assert account.cost.tokens == 10


def test_threads_share_an_account():
    account = Account(Limits(calls=100))
    inner = Scripted(lambda r: "x", delay=0.0005)
    model = Budget(inner, account)
    threads = [
        Thread(target=complete, args=(model, *[ask(f"{n}/{i}") for i in range(10)])) for n in range(32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inner.asked) == 100 == account.cost.calls


def test_what_failed_calls_cost():
    request = ask()
    worst = Cost(1, 2 * prompt_tokens(request), 20, unpriced=1)
    for error, cost in (
        (Transient("refused", status=429), Cost()),
        (Transient("lost", billable=True), worst),
        (Malformed("said", billable=True, usage=Usage(9, 3)), Cost(1, 9, 3, unpriced=1)),
        (ValueError("who knows"), worst),
    ):
        account = Account()
        complete(Budget(Scripted([error]), account), request)
        assert account.cost == cost


def test_a_cancelled_call_may_have_been_charged():
    async def go():
        account = Account()
        task = asyncio.create_task(Budget(Scripted(["x"], delay=5), account).complete(ask()))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return account.cost.calls, account._reserved

    assert asyncio.run(go()) == (1, Cost())


def test_one_call_can_be_too_large():
    account = Account(Limits(call_tokens=100))
    model = Budget(Scripted(["x"]), account)
    (found,) = complete(model, ask("word " * 100))
    assert isinstance(found, BudgetReached)
    assert found.exit_code == 5
    assert "next:" in str(found)
    assert complete(model, ask("short"))[0].text == "x"


def test_accounts_nest():
    run = Account(Limits(calls=10))
    model = Budget(Scripted(lambda r: "x"), run)
    with spending(purpose="run") as outer:
        with spending(Limits(calls=2)) as query:
            found = complete(model, ask("1"), ask("2"), ask("3"))
        complete(model, ask("4"))
    complete(model, ask("5"))
    assert [type(f).__name__ for f in found].count("BudgetReached") == 1
    assert (query.cost.calls, outer.cost.calls, run.cost.calls) == (2, 3, 4)


def test_estimates():
    requests = [ask("word " * 100), ask("字" * 100)]
    cost = estimate(requests, PRICE)
    assert cost.calls == 2
    assert cost.prompt_tokens == 125 + 4 + 75 + 4
    assert cost.completion_tokens == 40
    assert cost.money == pytest.approx((cost.prompt_tokens * 10 + 40 * 50) / 1e6)
    assert prompt_tokens(ask(schema={"type": "object"})) > prompt_tokens(ask())


@given(st.text(), st.text())
def test_tokens_of_a_text_do_not_shrink(first, second):
    assert (
        estimate_tokens(first)
        <= estimate_tokens(first + second)
        <= len((first + second).encode("utf-8", "surrogatepass"))
    )


def test_price_file(tmp_path):
    path = tmp_path / "prices.toml"
    assert Prices.read(path) == Prices()
    path.write_text('currency = "EUR"\n[models."a/b:1"]\ninput = 0.5\noutput = 2\n')
    prices = Prices.read(path)
    assert prices.currency == "EUR"
    assert prices.of("a/b:1") == Price(0.5, 2.0)
    assert prices.of("other") is None


@pytest.mark.parametrize(
    "text",
    [
        "[models",
        "modles = 1",
        "models = 3",
        "[models]\na = 3",
        "[models.a]\ninput = 1",
        "[models.a]\ninput = -1\noutput = 1",
        "[models.a]\ninput = nan\noutput = 1",
        "[models.a]\ninput = true\noutput = 1",
        "[models.a]\ninput = 1\noutput = 1\nextra = 1",
    ],
)
def test_price_files_that_cannot_be_used(tmp_path, text):
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(UsageError):
        Prices.read(path)
