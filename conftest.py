"""How the tests use the machine, and what doctests may use without saying where it comes from."""

from __future__ import annotations

import gc
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from long import TURN, TURNS, waits

MEMORY = Path("/dev/shm")  # noqa: S108 (a folder in memory, on Linux)
ROOM = 3 << 30  # bytes; a whole run fills about half of it
# One process for each core: none needs threads of its own.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# Many tests write libraries, which flush to the disk. Where memory is small, as in containers, they do.
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

pytest_plugins = ["served_app", "served_pages"]

_WITH_LIBRARY = re.compile(
    r"\.app\.(library|ingest|surfaces\.notebook)|\.(Preferences|Plan|Ranking|Searcher)$"
)
_PAPERS = """
@article{owl, title={Owls hunt at night}, author={Lovelace, Ada}, year=2019,
  abstract={Owls listen for mice in the dark. They strike within a second.}}
@article{mice, title={Mice avoid predators}, author={Young, Cy}, year=2021,
  abstract={Mice freeze at night when a shadow passes. Fear lasts ten minutes.}}
@article{rank, title={Ranking documents}, author={Ada, Dee}, year=2023,
  abstract={Search engines order documents. A model compares two documents.}}
"""


# Tests that fork this process hundreds of times: a fork costs by what the process holds, which grows to
# over a gigabyte once encoders were loaded.
_FORKING = ("test_proofs", "test_full_disk", "test_kills", "test_segments", "test_simulated_disk")
_WHOLE_RUN = 5_000  # tests; who asks for fewer gets the slow ones too


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Forks come first, and one after another; slow tests take turns."""
    items.sort(key=lambda item: item.path.stem not in _FORKING)
    if len(items) < _WHOLE_RUN and "ASPECTRA_TURN" not in os.environ:  # whoever names tests gets them
        return
    waiting: list[pytest.Item] = []
    running: list[pytest.Item] = []
    for item in items:
        (waiting if waits(item.nodeid) else running).append(item)
    if waiting:
        config.hook.pytest_deselected(items=waiting)
        items[:] = running


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which of the slow tests were run."""
    if TURN != "all" and sum(map(len, terminalreporter.stats.values())) >= _WHOLE_RUN:
        terminalreporter.write_line(
            f"Slow tests: turn {TURN} of {TURNS}, by the commit. All of them: make test ASPECTRA_TURN=all"
        )


def pytest_collection_finish() -> None:
    """Keep the thousands of collected tests out of each later garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _small_library(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The names ``library`` and ``folder`` in the examples of the front door: three papers, words only."""
    item: Any = request.node
    if not isinstance(item, pytest.DoctestItem) or not _WITH_LIBRARY.search(item.name):
        return
    from aspectra.app.library import create_library

    (tmp_path / "papers.bib").write_text(_PAPERS, "utf-8")
    library = create_library(tmp_path / "papers.lib")
    library.add(tmp_path / "papers.bib")
    library.index(encoders=[])
    item.dtest.globs |= {"library": library, "folder": tmp_path}
