"""A lens run that is killed half-way goes on: at most the calls under way are asked again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from aspectra.llm.journal import JournalFile
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.prompted.definition import definition, tally
from llm_server import Server
from warm_python import warm_python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
PAPERS, LANES = 160, 6


@pytest.mark.parametrize("faults", [{}, {"blank": 0.1, "500": 0.1, "cut": 0.05}], ids=["well", "faulty"])
def test_a_killed_run_goes_on(tmp_path, monkeypatch, faults):
    for name in ("DATA", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.delenv("ASPECTRA_OFFLINE", raising=False)
    with Store.create(tmp_path / "library") as library, library.writing("add") as writer:
        writer.add(Paper(f"p{n:03}", f"Paper {n}", f"Number {n} is about {n} things.") for n in range(PAPERS))
    command = ["-m", "aspectra", "lens"]
    where = ["--library", str(tmp_path / "library"), "-q"]
    subprocess.run([warm_python(), *command, "add", "stance", *where], check=True, capture_output=True)
    server = Server(latency=0.02, faults=faults)
    with server.in_thread() as url:
        run = [*command, "run", "stance", *where, "--set", "llm.model=loopback"]
        run += ["--set", f"llm.base_url={url}", "--set", f"llm.lanes={LANES}"]
        run += ["--set", f"llm.journal={tmp_path / 'calls.db'}"]
        child = subprocess.Popen([sys.executable, *run], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while server.answered < PAPERS // 2 and child.poll() is None:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        time.sleep(0.2)  # the server answers into the void
        done = subprocess.run([warm_python(), *run], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "*simulated*" in done.stdout
        answered = server.answered
        again = subprocess.run([warm_python(), *run], capture_output=True, text=True, check=False)
        assert again.returncode == 0
        assert server.answered == answered  # nothing is left to ask
    with Store(tmp_path / "library") as library:
        found = tally(library, definition(library, "stance"))
    assert (found.values, found.failed, found.missing) == (PAPERS, 0, 0)
    assert found.calls == PAPERS + found.malformed
    journal = JournalFile(tmp_path / "calls.db")
    kept = journal.counts()
    journal.close()
    assert answered - sum(kept.values()) <= LANES  # answered, and lost with the process
    # All that is on disk was used, once; unreadable answers from before the kill are not asked for again.
    assert kept == {"accepted": found.calls, "other": 0}
    assert bool(found.malformed) == bool(faults)
