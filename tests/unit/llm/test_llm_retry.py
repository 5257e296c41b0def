"""Retries, rates, the scripted model and the shared loop."""

from __future__ import annotations

import asyncio
import contextvars
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import virtual_clock
from aspectra.base.errors import UsageError
from aspectra.llm.budget import Cost, Price, call_cost, prompt_tokens
from aspectra.llm.chat import (
    BadRequest,
    BudgetReached,
    ContextExceeded,
    KeyRefused,
    Malformed,
    Message,
    NoSuchModel,
    Offline,
    QuotaSpent,
    Refused,
    Reply,
    Request,
    Transient,
    Usage,
)
from aspectra.llm.loops import run
from aspectra.llm.retry import RateLimit, Retry
from aspectra.llm.scripted import Scripted
from virtual_clock import START

ASKED = Request((Message("user", "question"),))


class Timed(Scripted):
    """A scripted model that notes when it was asked, in seconds from the start."""

    def __init__(self, script):
        super().__init__(script)
        self.times = []

    async def complete(self, request):
        self.times.append(asyncio.get_running_loop().time() - START)
        return await super().complete(request)

    @property
    def waits(self):
        return [later - earlier for earlier, later in itertools.pairwise(self.times)]


def retry(script, *, draw=0.5, **more):
    inner = Timed(script)
    return Retry(inner, draw=lambda: draw, **more), inner


def complete(model, times=1, after=0.0):
    async def go():
        await asyncio.sleep(after)
        out = []
        for _ in range(times):
            try:
                out.append(await model.complete(ASKED))
            except Exception as error:
                out.append(error)
        return out

    return virtual_clock.run(go())


def test_transient_trouble_passes():
    model, inner = retry([Transient("a"), Malformed("b"), "fine"])
    (reply,) = complete(model)
    assert reply.text == "fine"
    assert reply.facts == {"attempts": 3}
    assert inner.waits == [0.25, 0.5]


def test_the_first_success_says_nothing_of_attempts():
    model, inner = retry(["fine"])
    assert complete(model)[0].facts == {}
    assert inner.waits == []


def test_attempts_are_bounded():
    model, inner = retry([Transient("down", why="status 503", hint="wait", status=503)] * 9, tries=4)
    (error,) = complete(model)
    assert isinstance(error, Transient)
    assert error.why == "status 503, after 4 attempts"
    assert (error.hint, error.status) == ("wait", 503)
    assert len(inner.asked) == 4


@given(st.lists(st.one_of(st.none(), st.floats(0, 500)), max_size=12), st.floats(0, 1, exclude_max=True))
def test_time_is_bounded(asked_to_wait, draw):
    errors = [Transient("x", retry_after=wait) for wait in asked_to_wait]
    model, inner = retry([*errors, "fine"], draw=draw, tries=8, seconds=60.0)
    complete(model)
    assert inner.times[-1] <= 60.0 + 1e-9
    assert len(inner.asked) <= 8
    for wait, asked in zip(inner.waits, asked_to_wait, strict=False):
        assert wait >= asked - 1e-9 if asked is not None else wait <= 20.0


def test_an_unreadable_answer_that_came_twice_is_not_asked_for_again():
    page, other = (Malformed("unreadable", why=why, status=200) for why in ("a web page", "half of it"))
    for said, asked in (([page, page, "fine"], 2), ([page, other, page, "fine"], 4)):
        model, inner = retry(said)
        complete(model)
        assert len(inner.asked) == asked


def test_a_wait_asked_for_is_kept():
    model, inner = retry([Transient("x", retry_after=7.0), "fine"], draw=0.0)
    complete(model)
    assert inner.waits == [7.0]
    model, inner = retry([Transient("x", retry_after=1000.0), "fine"])
    assert complete(model)[0].retry_after == 1000.0
    assert inner.waits == []
    assert len(inner.asked) == 1


@pytest.mark.parametrize(
    "kind",
    [KeyRefused, QuotaSpent, NoSuchModel, BadRequest, ContextExceeded, Refused, BudgetReached, Offline],
)
def test_what_is_never_tried_twice(kind):
    model, inner = retry([kind("no"), "fine"])
    assert type(complete(model)[0]) is kind
    assert len(inner.asked) == 1


@pytest.mark.parametrize("kind", [KeyRefused, QuotaSpent, NoSuchModel])
def test_a_closed_door_is_not_knocked_at_again(kind):
    model, inner = retry([kind("no", why="status 4"), "fine", "fine"])
    found = complete(model, 3)
    assert [type(f) for f in found] == [kind] * 3
    assert "not asked again" in found[1].why
    assert len(inner.asked) == 1
    assert complete(model, after=21)[0].text == "fine"


def test_one_query_over_budget_leaves_the_others_alone():
    model, _ = retry([BudgetReached("query"), ContextExceeded("long"), "fine"])
    assert complete(model, 3)[2].text == "fine"


def test_a_dead_endpoint_is_left_alone():
    model, inner = retry(lambda r: Transient("down"), tries=5, draw=0.99)
    found = complete(model, 100)
    assert {type(f) for f in found} == {Transient}
    assert 20 <= len(inner.asked) < 40  # not 500
    before = len(inner.asked)
    complete(model, after=inner.times[-1] + 25)
    assert len(inner.asked) > before  # somebody looks again


def test_a_burst_of_failures_is_not_death():
    """Sixty-four calls broken at one moment must all be tried again."""
    left = [64]

    def step(request):
        left[0] -= 1
        return Transient("reset") if left[0] >= 0 else "fine"

    model, _ = retry(step)

    async def go():
        return await asyncio.gather(*(model.complete(ASKED) for _ in range(64)))

    assert {reply.text for reply in asyncio.run(go())} == {"fine"}


def test_a_living_endpoint_is_not_dead():
    script = [Transient("busy")] * 19 + ["fine"] + [Transient("busy")] * 19 + ["fine"]
    model, inner = retry(script, tries=20, seconds=1e6)
    assert [reply.text for reply in complete(model, 2)] == ["fine", "fine"]
    assert len(inner.asked) == 40


def test_settings_that_make_no_sense():
    with pytest.raises(UsageError):
        Retry(Scripted([]), tries=0)
    with pytest.raises(UsageError):
        RateLimit(Scripted([]), requests_per_minute=-1)


def test_rate_of_requests():
    inner = Timed(lambda request: "x")
    complete(RateLimit(inner, requests_per_minute=30), 4)
    assert inner.times == [0.0, 2.0, 4.0, 6.0]


def test_rate_of_tokens_counts_what_was_used():
    inner = Timed(lambda request: Reply("x", usage=Usage(90, 10)))
    complete(RateLimit(inner, tokens_per_minute=600), 3)
    assert inner.times == pytest.approx([0.0, 10.0, 20.0])


@given(st.lists(st.integers(0, 900), min_size=2, max_size=20))
def test_no_minute_holds_more_tokens_than_allowed(used):
    left = iter(used)
    inner = Timed(lambda request: Reply("x", usage=Usage(next(left), 1)))
    complete(RateLimit(inner, tokens_per_minute=600), len(used))
    sent = list(zip(inner.times, used, strict=True))
    for at, _ in sent:
        inside = [tokens for then, tokens in sent if at <= then < at + 60]
        assert sum(inside[:-1]) <= 600 + 1e-6  # the last one is paid for by the minute after


def test_scripted_model():
    model = Scripted(["a long answer of many words", Reply("b", usage=Usage(1, 1)), ValueError("c")])
    short = Request((Message("user", "q"),), max_tokens=2)

    async def go():
        return [await model.complete(short), await model.complete(short)]

    cut, whole = asyncio.run(go())
    assert (cut.text, cut.finish, cut.usage.completion_tokens) == ("a long a", "length", 2)
    assert (whole.usage, whole.finish) == (Usage(1, 1), "stop")
    assert cut.simulated
    assert whole.simulated
    with pytest.raises(ValueError, match="c"):
        asyncio.run(model.complete(short))
    with pytest.raises(UsageError):
        asyncio.run(model.complete(short))
    assert len(model.asked) == 4


def test_run_from_anywhere():
    mark = contextvars.ContextVar("mark", default="none")

    async def where():
        return asyncio.get_running_loop(), mark.get()

    mark.set("mine")
    first, seen = run(where())
    assert seen == "mine"

    async def within():
        return run(where())  # as in a notebook, whose own loop is running

    assert asyncio.run(within())[0] is first
    with pytest.raises(ZeroDivisionError):
        run(_fail())
    with pytest.raises(RuntimeError, match="await it"):
        run(within())


async def _fail():
    raise ZeroDivisionError


def test_every_attempt_is_in_what_a_call_cost():
    unknown = Transient("cut off", billable=True)
    free = Transient("busy", status=429)
    paid = Transient("down", billable=True, usage=Usage(7, 3))
    worst = Usage(2 * prompt_tokens(ASKED), ASKED.max_tokens)
    model, _ = retry([paid, free, unknown, Reply("fine", usage=Usage(20, 5))])
    (reply,) = complete(model)
    assert reply.lost == (Usage(7, 3), worst)
    asked, answered = 7 + worst.prompt_tokens + 20, 3 + worst.completion_tokens + 5
    assert call_cost(ASKED, reply, Price(1e6, 1e6)) == Cost(3, asked, answered, asked + answered)

    model, _ = retry([paid, free, paid], tries=3)
    (error,) = complete(model)
    assert "after 3 attempts" in error.why
    assert (error.billable, error.usage, error.lost) == (True, Usage(7, 3), (Usage(7, 3),))
    assert call_cost(ASKED, error, None) == Cost(2, 14, 6, unpriced=2)


def test_an_endpoint_that_closes_between_two_attempts_leaves_their_cost():
    """Another call finds the credit spent while this one waits for its second attempt."""
    paid = Transient("down", billable=True, usage=Usage(7, 3))
    model, inner = retry([paid, QuotaSpent("spent")])

    async def go():
        first = asyncio.create_task(model.complete(ASKED))
        await asyncio.sleep(0.01)
        with pytest.raises(QuotaSpent):
            await model.complete(ASKED)
        with pytest.raises(QuotaSpent) as error:
            await first
        return error.value

    error = virtual_clock.run(go())
    assert call_cost(ASKED, error, None) == Cost(1, 7, 3, unpriced=1)
    assert len(inner.asked) == 2
