"""Killed while it writes: what was finished is kept, the old index still answers, nothing is done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder
from long import LONG
from warm_python import warm_python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

PAPERS = [
    Paper(f"p{i:04d}", f"Paper number {i}", f"The text of paper {i}. It says {i * 7}.") for i in range(400)
]
SETTINGS = IndexSettings(encoders=("fake",), chunks=(), batch=16)

CHILD = """
import sys, time
sys.path.insert(0, sys.argv[2])
from fake_encoder import FakeEncoder
from aspectra.papers.library.store import Store
from aspectra.views.build.run import build_index
from test_kill_and_resume import SETTINGS

class Slow(FakeEncoder):
    def encode(self, texts, **more):
        time.sleep(0.02)
        return super().encode(texts, **more)

print("ready", flush=True)
build_index(Store(sys.argv[1]), SETTINGS, load=lambda _: Slow())
print("done", flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.25, 0.4, 0.6] if LONG else [0.1, 0.4])
def test_index_resumes_after_kill(tmp_path, delay):
    library = Store.create(tmp_path / "library")
    with library.writing("add") as writer:
        writer.add(PAPERS[:30])
    fake = FakeEncoder()
    build_index(library, SETTINGS, load=lambda _: fake)
    with library.writing("add") as writer:
        writer.add(PAPERS)
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(library.folder), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(delay)
    child.send_signal(signal.SIGKILL)
    child.wait()

    reopened = Store(library.folder)
    assert reopened.check() == []
    current = reopened.generations.current()
    assert current is not None
    assert reopened.generations.verify(current) == []
    assert Searcher(reopened, load=lambda _: fake).search("paper number 3").ids  # the index still answers
    done = next(
        reopened.rows("SELECT count(*) FROM derived JOIN producers ON id = producer WHERE name = 'abstract'")
    )[0]
    assert done % 16 == 0 or done >= 400 or done == 30 + (done - 30) // 16 * 16

    fake.encoded.clear()
    build_index(reopened, SETTINGS, load=lambda _: fake)  # the dead writer's lock is free at once
    assert sum(t.startswith("Paper number") and "The text" in t for t in fake.encoded) == len(PAPERS) - done
    assert len(Searcher(reopened, load=lambda _: fake).index) == len(PAPERS)
    assert not list((library.folder / "generations").glob(".building-*"))


def test_killed_add_keeps_finished_batches(tmp_path):
    library = Store.create(tmp_path / "library")
    script = """
    import sys, time
    from aspectra.papers.library.store import Store
    from aspectra.papers.paper import Paper
    def endless():
        for i in range(10**6):
            if i == 2500:
                print("ready", flush=True)
                time.sleep(60)
            yield Paper(f"p{i:07d}", f"Paper {i}")
    with Store(sys.argv[1]).writing("add") as writer:
        writer.add(endless())
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(library.folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    reopened = Store(library.folder)
    assert len(reopened) == 2000  # whole batches only
    assert reopened.check() == []
    with reopened.writing("add") as writer:
        report = writer.add(Paper(f"p{i:07d}", f"Paper {i}") for i in range(2500))
    assert (report.added, report.unchanged) == (500, 2000)


def test_ten_writers_lose_nothing(tmp_path):
    library = Store.create(tmp_path / "library")
    script = """
    import sys, time
    from aspectra.base.errors import LibraryBusy
    from aspectra.papers.library.store import Store
    from aspectra.papers.paper import Paper
    for number in range(5):
        while True:
            try:
                with Store(sys.argv[1]).writing("add") as writer:
                    writer.add([Paper(f"w{sys.argv[2]}-{number}", f"Paper {number} of {sys.argv[2]}")])
                break
            except LibraryBusy:
                time.sleep(0.01)
    """
    children = [
        subprocess.Popen([warm_python(), "-c", textwrap.dedent(script), str(library.folder), str(n)])
        for n in range(10)
    ]
    assert [child.wait(timeout=120) for child in children] == [0] * 10
    assert len(library) == 50
