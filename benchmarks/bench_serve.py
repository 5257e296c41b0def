"""The service under load: first paint, many readers while an index is built, overload, memory.

Usage: ``python benchmarks/bench_serve.py --library COPY [--requests 20000] [--no-index]``

``COPY`` is written to: its index is built anew while readers search. The machine's own limit is measured in
the same run: with R readers on C cores, the mean of a request can be no less than R times the processor
time of one, divided by C.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

READERS = 20
HTML = {"accept": "text/html"}


@dataclass
class Load:
    """What a number of readers got."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    without_time: int = 0
    failed: int = 0


def quantile(values: list[float], share: float) -> float:
    """A quantile, in the unit of the values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """Memory that a process holds for itself, in MiB; files that it maps are not counted."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


class Server:
    """``aspectra serve`` over a library."""

    def __init__(self, library: Path) -> None:
        home = tempfile.mkdtemp(prefix="bench-serve-")
        places = dict.fromkeys(("XDG_DATA_HOME", "XDG_STATE_HOME"), home)
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "aspectra",
                "serve",
                "--library",
                str(library),
                "--port",
                "0",
                "--no-open",
            ],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **places},
        )
        line = self.process.stdout.readline() if self.process.stdout else ""
        self.address = line.partition("/ ")[0]
        self.pid = self.process.pid

    def client(self) -> httpx.AsyncClient:
        """A client with as many connections as readers."""
        return httpx.AsyncClient(base_url=self.address, timeout=60, limits=httpx.Limits(max_connections=400))

    def questions(self) -> list[str]:
        """Texts to search for: titles of papers of the library, in words of their own order."""
        found = []
        for page in range(1, 6):
            answer = httpx.get(f"{self.address}/v1/papers", params={"limit": 100, "page": page}, timeout=120)
            found += [hit["title"] for hit in answer.json()["hits"]]
        return [title[:200] for title in dict.fromkeys(found) if len(title) > 15]


async def read(client: httpx.AsyncClient, text: str, load: Load) -> None:
    """One reader's request for a page of results."""
    clock = time.perf_counter()
    answer = await client.get("/", params={"text": text}, headers=HTML)
    if answer.status_code == 200 and "data-choose" in answer.text:
        load.seconds.append(time.perf_counter() - clock)
    elif answer.status_code in (429, 503):
        load.refused += 1
        load.without_time += "retry-after" not in answer.headers
        await asyncio.sleep(0.2)  # less than they are told to wait
    else:
        load.failed += 1


async def readers(server: Server, texts: list[str], number: int, seconds: float, most: int = 10**9) -> Load:
    """Readers that search, each again as soon as it has its answer."""
    load, until, begun = Load(), time.monotonic() + seconds, 0
    async with server.client() as client:

        async def one(first: int) -> None:
            nonlocal begun
            place = first
            while time.monotonic() < until and begun < most:
                begun += 1
                await read(client, texts[place % len(texts)], load)
                place += number

        await asyncio.gather(*(one(first) for first in range(number)))
    return load


def row(what: str, measured: str, asked: str, met: bool | None) -> None:
    """A line of the table."""
    print(f"| {what} | {measured} | {asked} | {'' if met is None else 'yes' if met else 'no'} |", flush=True)


async def recovery(server: Server, texts: list[str], normal: float) -> float:
    """Seconds until a request takes no more than twice the normal time."""
    clock = time.monotonic()
    async with server.client() as client:
        while time.monotonic() - clock < 60:
            load = Load()
            await read(client, texts[0], load)
            if load.seconds and load.seconds[0] <= 2 * normal:
                return time.monotonic() - clock
    return float("nan")


def main() -> None:
    """Measure and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--library", type=Path, required=True)
    arguments.add_argument("--requests", type=int, default=20_000)
    arguments.add_argument("--no-index", action="store_true")
    given = arguments.parse_args()
    cores = os.cpu_count() or 1
    server = Server(given.library)
    try:
        texts = server.questions()
        asyncio.run(readers(server, texts[-20:], 1, 60, most=20))  # warm
        print("| what | measured | asked | met |\n|---|---|---|---|")
        before = processor_seconds(server.pid)
        alone = asyncio.run(readers(server, texts, 1, 120, most=100))
        work = (processor_seconds(server.pid) - before) / max(len(alone.seconds), 1)
        normal = statistics.median(alone.seconds)
        row("first paint of results, one reader, p50", f"{1000 * normal:.0f} ms", "<= 150 ms", normal <= 0.15)
        row("processor time of one request", f"{1000 * work:.0f} ms", "", None)
        limit = 3 * READERS * work / cores
        quiet = asyncio.run(readers(server, texts, READERS, 20))
        held = quantile(quiet.seconds, 0.95)
        row(
            f"p95 of {READERS} readers, nothing else running",
            f"{1000 * held:.0f} ms ({quiet.refused} refused, {quiet.failed} failed)",
            f"<= {1000 * limit:.0f} ms",
            held <= limit and not quiet.failed,
        )
        if not given.no_index:
            command = [
                sys.executable,
                "-m",
                "aspectra",
                "index",
                "--rebuild",
                "--library",
                str(given.library),
            ]
            index = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(2)
            busy = asyncio.run(readers(server, texts, READERS, 25))
            running = index.poll() is None
            held = quantile(busy.seconds, 0.95)
            row(
                f"p95 of {READERS} readers while an index is built{'' if running else ' (it ended before)'}",
                f"{1000 * held:.0f} ms ({busy.refused} refused, {busy.failed} failed)",
                f"<= {1000 * limit:.0f} ms",
                held <= limit and not busy.failed,
            )
            index.wait()
        over = asyncio.run(readers(server, texts, 10 * READERS, 15))
        row(
            f"{10 * READERS} readers",
            f"{len(over.seconds)} answered (p99 {quantile(over.seconds, 0.99):.1f} s), "
            f"{over.refused} refused ({over.without_time} without Retry-After), {over.failed} failed",
            "refused with Retry-After, none failed",
            over.refused > 0 and not over.failed and not over.without_time,
        )
        after = asyncio.run(recovery(server, texts, normal))
        row("time until a request takes its normal time", f"{after:.1f} s", "<= 5 s", after <= 5)
        asyncio.run(readers(server, texts, 4, 600, most=1000))
        first = resident(server.pid)
        clock = time.monotonic()
        asyncio.run(readers(server, texts, 4, 3600, most=given.requests))
        last = resident(server.pid)
        row(
            f"memory after 1,000 and after {given.requests:,} further requests",
            f"{first:.0f} and {last:.0f} MiB ({time.monotonic() - clock:.0f} s)",
            "flat (<= 1 %)",
            last <= 1.01 * first,
        )
    finally:
        server.process.terminate()
        server.process.wait(20)


if __name__ == "__main__":
    main()
