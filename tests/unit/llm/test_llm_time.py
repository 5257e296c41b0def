"""All of model calls that depends on time, in a loop whose clock is made up: exact and repeatable."""

from __future__ import annotations

import asyncio
import itertools
import random

import httpx
import pytest

import virtual_clock
from aspectra.llm.assemble import ModelSettings, wrap_model
from aspectra.llm.budget import Cost, Limits, spending
from aspectra.llm.chat import Message, ModelError, Request, Wrapper
from aspectra.llm.client.openai_compatible import OpenAICompatible
from llm_server import Server
from virtual_clock import START, Connected, Stuck

URL = "http://127.0.0.1:1/v1"
TEXTS = "gcalh"  # of these the server refuses two at first, and cuts off one


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("ASPECTRA_API_KEY", "OPENAI_API_KEY", "ASPECTRA_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


def ask(text, **more):
    return Request((Message("user", str(text)),), max_tokens=20, **more)


class Arrivals(Wrapper):
    """Notes the answers that came, where they come from."""

    def __init__(self, inner):
        super().__init__(inner)
        self.texts = []

    async def complete(self, request):
        reply = await self.inner.complete(request)
        self.texts.append(reply.text)
        return reply


class Rig:
    """A whole model before a scripted server, in one loop."""

    def __init__(self, folder, server, draw=None, **settings):
        self.server = server
        self.wire = Connected(server)
        self.client = Arrivals(self.wire.serve(OpenAICompatible("loopback", URL, timeout=5.0)))
        self.folder = folder
        self.settings = ModelSettings(
            **{"prices": folder / "none", "journal": folder / "calls.db", **settings}
        )
        self.model = wrap_model(self.client, self.settings)
        if draw is not None:
            self.model.journal.inner._draw = draw

    async def outcome(self, request):
        try:
            return (await self.model.complete(request)).text
        except ModelError as error:
            return f"{type(error).__name__}: {error.why}"

    async def all(self, requests):
        return await asyncio.gather(*map(self.outcome, requests))

    def rows(self):
        counts = self.model.journal.file.counts()
        return counts["accepted"] + counts["other"]


def now():
    return asyncio.get_running_loop().time() - START


def test_the_clock_moves_only_when_everything_waits():
    async def go():
        order = []

        async def wait(seconds):
            await asyncio.sleep(seconds)
            order.append((seconds, now()))

        await asyncio.gather(wait(3600), wait(0.5), wait(7))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        return order, now()

    assert virtual_clock.run(go()) == ([(0.5, 0.5), (7, 7.0), (3600, 3600.0)], 3630.0)
    with pytest.raises(Stuck):
        virtual_clock.run(asyncio.Event().wait())


def test_the_same_seed_gives_the_same_run(tmp_path):
    """Eighty calls through every fault that passes: outcomes, moments and costs."""

    def once(number, seed):
        faults = dict.fromkeys(["429", "429-after", "500", "503", "timeout", "drop", "cut", "json"], 0.08)
        folder = tmp_path / str(number)
        folder.mkdir()
        rig = Rig(folder, Server(latency=0.3, faults=faults), lanes=16, requests_per_minute=3000, seconds=600)
        random.seed(seed)
        with rig.model:
            found = virtual_clock.run(rig.all(ask(n) for n in range(80)))
            return found, rig.wire.seen, rig.model.account.cost, rig.rows()

    first, again, other = once(1, 5), once(2, 5), once(3, 6)
    assert first == again
    assert first[1] != other[1]
    assert first[0] == other[0]  # another seed, other moments: the same answers
    assert not [text for text in first[0] if not text.startswith("answer")]
    assert first[3] == 80
    assert {status for _, status in first[1]} == {0, 200, 429, 500, 503}


@pytest.mark.parametrize("draw", [0.0, 0.25])
def test_a_wait_that_the_endpoint_names_is_kept_to_the_moment(tmp_path, draw):
    rig = Rig(tmp_path, Server(latency=0.5, faults={"429-after": 1.0}), draw=lambda: draw)
    with rig.model:
        assert virtual_clock.run(rig.outcome(ask("q"))).startswith("answer")
    assert rig.wire.seen == [(0.5, 429), (pytest.approx(0.5 + 1.0 + 0.1 * draw + 0.5), 200)]


def test_waits_double_within_their_bounds(tmp_path):
    draws, again = random.Random(7), random.Random(7)
    rig = Rig(tmp_path, Server(faults={"500+": 1.0}), tries=9, seconds=1000, draw=draws.random)
    with rig.model:
        assert "after 9 attempts" in virtual_clock.run(rig.outcome(ask("q")))
    times = [at for at, _ in rig.wire.seen]
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    bounds = [0.5, 1, 2, 4, 8, 16, 20, 20]
    assert waits == pytest.approx([again.random() * bound for bound in bounds])


def test_no_attempt_begins_after_the_deadline(tmp_path):
    rig = Rig(tmp_path, Server(latency=1.0, faults={"500+": 1.0}), tries=1000, seconds=60)
    with rig.model:
        assert "attempts" in virtual_clock.run(rig.outcome(ask("q")))
    assert 40 < rig.wire.seen[-1][0] <= 61


def test_who_gives_up_waiting_leaves_nothing_behind(tmp_path):
    rig = Rig(tmp_path, Server(faults={"429-after+": 1.0}), tries=1000, seconds=1000)

    async def go():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(12.5):
                await rig.model.complete(ask("q"))
        return now()

    with rig.model:
        assert virtual_clock.run(go()) == 12.5
    calls = rig.server.calls
    assert 11 <= calls <= 13


def test_a_dead_endpoint_is_tried_again_after_its_pause(tmp_path):
    server = Server(faults={"500+": 1.0})
    rig = Rig(tmp_path, server, tries=2, seconds=1000, draw=lambda: 0.9)

    async def go():
        while (before := server.calls) < 10_000:
            await rig.outcome(ask("q"))
            if server.calls == before:  # refused without being sent
                break
            await asyncio.sleep(1)
        shut = now()
        await asyncio.sleep(21)
        server.faults = {}
        return shut, await rig.outcome(ask("q"))

    with rig.model:
        shut, text = virtual_clock.run(go())
    assert 20 <= shut < 40
    assert text.startswith("answer")
    assert server.calls < 50


@pytest.mark.parametrize("limit", [1, 31, 32, 33, 100])
def test_a_limit_on_calls_is_exact_with_many_lanes(tmp_path, limit):
    rig = Rig(tmp_path, Server(latency=0.2), lanes=32, limits=Limits(calls=limit))
    with rig.model:
        found = virtual_clock.run(rig.all(ask(n) for n in range(150)))
        assert sum(text.startswith("answer") for text in found) == limit
        assert sum(text.startswith("BudgetReached") for text in found) == 150 - limit
        assert rig.server.calls == rig.model.account.cost.calls == rig.rows() == limit


@pytest.mark.parametrize("fault", ["timeout", "drop", "500"])
def test_limits_hold_through_faults(tmp_path, fault):
    rig = Rig(tmp_path, Server(latency=0.2, faults={fault: 0.5}), lanes=32, limits=Limits(tokens=800))
    with rig.model:
        virtual_clock.run(rig.all(ask(n) for n in range(120)))
        cost = rig.model.account.cost
    assert 750 <= cost.tokens <= 800
    assert cost.calls >= rig.server.answered


class Slots(Server):
    """A server that works on two calls at a time, for so many seconds each; the others wait."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds, self.busy = seconds, asyncio.Semaphore(2)

    async def chat(self, raw, headers, writer):
        async with self.busy:
            await asyncio.sleep(self.seconds(self.calls))
            return await super().chat(raw, headers, writer)


@pytest.mark.parametrize("stated", [0, 2])
@pytest.mark.parametrize(
    ("seconds", "late"),
    [(lambda _: 1.0, 0), (lambda _: 3.0, 0), (lambda n: 0.1 if n < 40 else 3.0, 1)],
    ids=["quick", "slow", "slower"],
)
def test_a_slow_server_on_this_computer_gets_no_more_calls_than_it_answers_in_time(
    tmp_path, seconds, late, stated, caplog
):
    class Stating(Connected):
        async def handle_async_request(self, request):
            if request.method == "POST":
                return await super().handle_async_request(request)
            assert request.url == "http://127.0.0.1:1/props"
            facts = b'{"total_slots": %d}' % stated
            return httpx.Response(200, stream=httpx.ByteStream(facts))

    server = Slots(seconds)
    client = Stating(server).serve(OpenAICompatible("loopback", URL, timeout=5.0))
    settings = ModelSettings(prices=tmp_path / "none", journal=tmp_path / "j.db", lanes=16, timeout=5.0)

    async def go():
        return await asyncio.gather(*(model.complete(ask(n)) for n in range(60)))

    with wrap_model(client, settings) as model:
        replies = virtual_clock.run(go())
        assert not any(reply.lost for reply in replies)
        calls = model.account.cost.calls
    assert (calls > 60, bool(caplog.messages)) == (bool(late and not stated),) * 2


async def work(rig):
    """Calls that share, queue, wait for their turn and try again, under a limit of their own."""
    with spending(Limits(calls=9)):
        await asyncio.gather(*(rig.outcome(ask(text)) for text in ("g", *TEXTS)))


def test_wherever_a_run_is_cancelled_nothing_is_left_or_lost(tmp_path):
    faults = {"429-after": 0.4, "drop": 0.3}

    def rig_of(number):
        folder = tmp_path / str(number)
        folder.mkdir()
        return Rig(
            folder,
            Server(latency=0.2, faults=faults),
            lanes=2,
            requests_per_minute=600,
            limits=Limits(calls=40),
        )

    async def cancelled(rig, number):
        random.seed(3)
        steps = await virtual_clock.cancelled_at(work(rig), number)
        await asyncio.sleep(100)  # what was on its way has ended
        alone = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
        assert alone == set(), number
        account = rig.model.account
        assert account._reserved == Cost(), number
        assert account.cost.calls >= rig.server.answered, number
        assert rig.rows() == len(rig.client.texts), number  # whatever came is on disk
        held = set(rig.client.texts)
        known = len(rig.wire.seen)
        again = await rig.all(ask(text) for text in TEXTS)  # every lane and every place is free again
        assert all(text.startswith("answer") for text in again), (number, again)
        assert held <= set(again), number
        paid = sum(status == 200 for _, status in rig.wire.seen[known:])
        assert paid == len(set(again) - held), number  # what was on disk is not paid for again
        assert account._reserved == Cost(), number
        assert account.cost.calls <= 40
        assert all(later - earlier >= 0.1 - 1e-9 for earlier, later in itertools.pairwise(sent(rig)))
        return steps

    def sent(rig):
        return [at - 0.2 for at, _ in rig.wire.seen]

    whole = rig_of(0)
    with whole.model:
        steps = virtual_clock.run(cancelled(whole, 0))
    assert {status for _, status in whole.wire.seen} >= {0, 200, 429}
    assert steps > 25
    for number in range(1, steps + 1):
        rig = rig_of(number)
        with rig.model:
            virtual_clock.run(cancelled(rig, number))
