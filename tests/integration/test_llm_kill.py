"""Killed in the middle of paid calls: at most those under way are asked again, and the end is the same."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aspectra.llm.journal import JournalFile
from llm_server import Server

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

LANES, CALLS = 16, 150
TESTS = Path(__file__).parents[1]

CHILD = """
import asyncio, hashlib, json, sys
from pathlib import Path
from aspectra.llm.assemble import ModelSettings, build_model
from aspectra.llm.chat import Message, Request

url, folder, lanes, calls, first = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:6])
asked = [
    Request((Message("user", f"Order [a] [b] [c] for question {n}."),)) for n in range(first, first + calls)
]

async def main():
    settings = ModelSettings(model="loopback", base_url=url, lanes=lanes, journal=folder / "j.db",
                             prices=folder / "none")
    with build_model(settings) as model:
        print("ready", flush=True)
        replies = await asyncio.gather(*(model.complete(r) for r in asked))
        print(json.dumps([[r.text, r.finish, r.usage.prompt_tokens] for r in replies]), flush=True)

asyncio.run(main())
"""


def start(url, folder, calls=CALLS, first=0):
    folder.mkdir(exist_ok=True)
    words = [sys.executable, "-c", CHILD, url, str(folder), str(LANES), str(calls), str(first)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def finish(child):
    out, _ = child.communicate(timeout=120)
    assert child.returncode == 0
    return out


@pytest.mark.parametrize("faults", [{}, {"500": 0.1, "drop": 0.05, "cut": 0.05}], ids=["well", "faulty"])
def test_kills_repeat_at_most_what_was_under_way(tmp_path, faults):
    draw = random.Random(7)
    calm = Server(latency=0.02)
    with calm.in_thread() as url:
        expected = finish(start(url, tmp_path / "calm"))
    server = Server(latency=0.02, faults=faults)
    with server.in_thread() as url:
        kills = 0
        for _ in range(4):
            child = start(url, tmp_path / "killed")
            time.sleep(draw.uniform(0.02, 0.15))
            child.send_signal(signal.SIGKILL)
            child.wait()
            kills += child.returncode == -signal.SIGKILL
            time.sleep(0.1)  # the server answers into the void
        answered_before = server.answered
        kept = JournalFile(tmp_path / "killed" / "j.db")
        recorded = kept.counts()["accepted"]
        found = finish(start(url, tmp_path / "killed"))
    assert kills == 4
    assert found == expected
    assert answered_before - recorded <= kills * LANES  # paid for and lost
    assert server.answered - CALLS <= kills * LANES  # asked more than once
    assert kept.counts() == {"accepted": CALLS, "other": 0}
    assert [row[0] for row in kept._reader.execute("PRAGMA integrity_check")] == ["ok"]


def test_two_processes_share_one_journal(tmp_path):
    server = Server(latency=0.01)
    with server.in_thread() as url:
        first, second = start(url, tmp_path / "both"), start(url, tmp_path / "both", first=CALLS // 2)
        one, two = json.loads(finish(first)), json.loads(finish(second))
    assert one[CALLS // 2 :] == two[: CALLS - CALLS // 2]
    counts = JournalFile(tmp_path / "both" / "j.db").counts()
    assert counts["accepted"] == CALLS + CALLS // 2
    assert counts["accepted"] + counts["other"] == server.answered  # every paid reply is on record


def test_the_endpoint_dies_and_comes_back(tmp_path):
    """What was answered before its death is kept, the run ends with exit code 7, the next one finishes it."""
    words = [
        sys.executable,
        str(TESTS / "llm_server.py"),
        "--port",
        "0",
        "--latency",
        "0.01",
        "--die-after",
        "40",
    ]
    dying = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert dying.stdout is not None
    url = dying.stdout.readline().strip()

    from aspectra.llm.assemble import ModelSettings, build_model
    from aspectra.llm.chat import Message, Request, Transient

    asked = [Request((Message("user", f"q{n}"),)) for n in range(60)]

    async def go(url):
        settings = ModelSettings(
            model="loopback",
            base_url=url,
            lanes=4,
            tries=2,
            journal=tmp_path / "j.db",
            prices=tmp_path / "none",
        )
        with build_model(settings) as model:
            replies = await asyncio.gather(*(model.complete(r) for r in asked), return_exceptions=True)
            return replies, model.account.cost.recorded

    broken, _ = asyncio.run(go(url))
    dying.wait(timeout=60)
    failed = [r for r in broken if isinstance(r, Exception)]
    assert {type(f) for f in failed} == {Transient}
    assert {f.exit_code for f in failed} == {7}
    good = len(broken) - len(failed)
    assert 36 <= good <= 40
    with Server().in_thread() as url:
        whole, recorded = asyncio.run(go(url))
    assert recorded == good
    assert all(new.text == old.text for new, old in zip(whole, broken, strict=True) if old not in failed)
