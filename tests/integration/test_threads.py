"""Many threads read one library: none waits for ever."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from concurrent.futures import ThreadPoolExecutor
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

sys.setswitchinterval(1e-6)  # the more often threads take turns, the more likely two meet

with Store.create(sys.argv[1]) as library:
    with library.writing("add") as writer:
        writer.add(Paper(f"p{n}", f"Title {n}", "Words of an abstract. " * 20) for n in range(60))
    ids = [f"p{n}" for n in range(60)]

    def read(number):
        if number % 5:
            return len(library.get_many(ids)) + len(library.versions(ids))
        with library.snapshot():
            return len(library.get_many(ids))

    with ThreadPoolExecutor(8) as threads:
        print(sum(threads.map(read, range(1500))))
"""


def test_threads_read_one_library(tmp_path):
    # In a process of its own: a deadlock with the interpreter held would stop the test that waits for it.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "library")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout.strip() == str(60 * 1500), done
