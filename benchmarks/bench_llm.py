"""Throughput of model calls, bare and with everything around them, against one loopback server.

    python benchmarks/bench_llm.py [--calls 4000] [--lanes 64] [--latency 0.05] [--turns 3]

The server (tests/llm_server.py) is a process of its own. Each turn measures, one after another:

- *bare*: asyncio and one httpx.AsyncClient with a pool, as anybody would write it;
- *bare, a client each*: one httpx.AsyncClient for every call under way, which spares httpx the search of its
  pool;
- *client*: our client alone;
- *all layers*: journal (on disk, synchronous=FULL), retries and budget around it, as build_model does;
- *from the journal*: the same questions once more;
- *all layers, faults*: a server that fails 30 % of the first attempts: too many requests with and without
  Retry-After (1 s), 500, 503, dropped connections and cut bodies, 5 % each.

Every turn asks new questions. Prints a Markdown table of medians over the turns.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

import httpx

from aspectra.base.values import replace
from aspectra.llm.assemble import Model, ModelSettings, build_model
from aspectra.llm.budget import Limits
from aspectra.llm.chat import Message, Request
from aspectra.llm.client.openai_compatible import OpenAICompatible
from aspectra.llm.client.openai_wire import request_body

SERVER = Path(__file__).parents[1] / "tests" / "llm_server.py"
FAULTS = ("429", "429-after", "500", "503", "drop", "cut")
Ask = Callable[[Request], Awaitable[str]]
# About the length of a listwise question over five abstracts.
FILLER = "Retrieval models are asked to order papers by how well they answer a question. " * 60


def questions(turn: str, count: int) -> list[Request]:
    """New questions, all different."""
    return [Request((Message("user", f"{turn}/{n}: {FILLER}"),), max_tokens=64) for n in range(count)]


async def measure(ask: Ask, requests: list[Request], callers: int) -> tuple[float, float]:
    """(calls a second, processor microseconds a call) for ``callers`` that ask one question after another."""
    waiting = iter(requests)

    async def caller() -> None:
        for request in waiting:
            assert await ask(request)

    wall, processor = perf_counter(), process_time()
    await asyncio.gather(*(caller() for _ in range(callers)))
    used = process_time() - processor
    return len(requests) / (perf_counter() - wall), 1e6 * used / len(requests)


def bare(client: httpx.AsyncClient, url: str) -> Ask:
    """What anybody would write."""

    async def ask(request: Request) -> str:
        body = request_body(request, "loopback")
        head = {"Content-Type": "application/json"}
        response = await client.post(url + "/chat/completions", content=body, headers=head)
        response.raise_for_status()
        return str(response.json()["choices"][0]["message"]["content"])

    return ask


def bare_each(url: str, lanes: int) -> tuple[Ask, list[httpx.AsyncClient]]:
    """The same with a client for each call under way."""
    idle = [httpx.AsyncClient(timeout=60) for _ in range(lanes)]

    async def ask(request: Request) -> str:
        client = idle.pop()
        try:
            return await bare(client, url)(request)
        finally:
            idle.append(client)

    return ask, idle


def text_of(model: OpenAICompatible | Model) -> Ask:
    """A call that returns the text alone."""

    async def ask(request: Request) -> str:
        return (await model.complete(request)).text

    return ask


async def turn(
    url: str, faulty: str, number: int, count: int, lanes: int, folder: Path
) -> dict[str, tuple[float, float]]:
    """One measurement of each kind."""
    out: dict[str, tuple[float, float]] = {}
    limits = httpx.Limits(max_connections=lanes, max_keepalive_connections=lanes)
    async with httpx.AsyncClient(timeout=60, limits=limits) as pooled:
        out["bare"] = await measure(bare(pooled, url), questions(f"bare {number}", count), lanes)
    ask, idle = bare_each(url, lanes)
    out["bare, a client each"] = await measure(ask, questions(f"each {number}", count), lanes)
    for client in idle:
        await client.aclose()
    own = OpenAICompatible("loopback", url)
    out["client"] = await measure(text_of(own), questions(f"client {number}", count), lanes)
    await own.aclose()
    settings = ModelSettings(
        model="loopback",
        base_url=url,
        lanes=lanes,
        journal=folder / f"{number}.db",
        prices=folder / "none.toml",
        limits=Limits(calls=10 * count, tokens=10**10),
    )
    with build_model(settings) as model:
        requests = questions(f"all {number}", count)
        out["all layers"] = await measure(text_of(model), requests, lanes)
        assert model.account.cost.calls == model.journal.file.counts()["accepted"] == count
        out["from the journal"] = await measure(text_of(model), requests, lanes)
        assert model.account.cost.calls == count
    settings = replace(settings, base_url=faulty, journal=folder / f"{number}-faults.db")
    with build_model(settings) as model:
        requests = questions(f"faults {number}", count)
        out["all layers, faults"] = await measure(text_of(model), requests, lanes)
        assert model.journal.file.counts()["accepted"] == count
    return out


@contextmanager
def serving(latency: float, *words: str) -> Iterator[str]:
    """A server in a process of its own; its base URL."""
    command = [sys.executable, str(SERVER), "--port", "0", "--latency", str(latency), *words]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ended from outside, it ends its servers
    faults = [word for kind in FAULTS for word in ("--fault", f"{kind}=0.05")]
    with (
        serving(options.latency) as url,
        serving(options.latency, *faults) as faulty,
        tempfile.TemporaryDirectory() as folder,
    ):
        rows = [
            asyncio.run(turn(url, faulty, number, options.calls, options.lanes, Path(folder)))
            for number in range(options.turns)
        ]
    bound = options.lanes / options.latency
    print(
        f"{options.calls} calls, {options.lanes} at once, {1000 * options.latency:g} ms latency "
        f"(so at most {bound:.0f} a second), median of {options.turns} turns; *simulated* answers.\n"
    )
    print("| how | calls/s | of bare | of bare, a client each | processor us/call |\n|---|---|---|---|---|")
    for how in rows[0]:
        speed = statistics.median(row[how][0] for row in rows)
        used = statistics.median(row[how][1] for row in rows)
        shares = [
            statistics.median(row[how][0] / row[base][0] for row in rows)
            for base in ("bare", "bare, a client each")
        ]
        print(f"| {how} | {speed:.0f} | {shares[0]:.0%} | {shares[1]:.0%} | {used:.0f} |")


if __name__ == "__main__":
    main()
