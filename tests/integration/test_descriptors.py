"""Files of an index are closed when nobody uses them: at once, not when the collector comes by."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from aspectra.app.library import Library
from aspectra.base.errors import AspectraError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from aspectra.views.storage import arrays
from fake_encoder import FakeEncoder

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors in /proc")

SETTINGS = IndexSettings(encoders=("fake",), chunks=())
PAPERS = [Paper(f"p{i}", f"Paper number {i}", f"Owl {i} hunts. Mice hide from it.") for i in range(40)]


def _open() -> set[str]:
    """Descriptors of files; those of the collector of this listing left out."""
    out = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            out.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:
            continue
    return out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "_MAPPED", 1)  # small files too are mapped: each holds a descriptor
    with Store.create(tmp_path / "library") as library:
        with library.writing("add") as writer:
            writer.add(PAPERS)
        build_index(library, SETTINGS, load=lambda _: FakeEncoder())
    gc.collect()
    gc.disable()
    yield tmp_path / "library"
    gc.enable()


def _search(searcher):
    found = searcher.search("owls and mice", limit=3, explain=True)
    searcher.similar("p3", same=("method",), limit=3)
    return found.ids


def test_closing_leaves_no_descriptor(folder):
    before = _open()
    searcher = Searcher(Store(folder), load=lambda _: FakeEncoder())
    assert _search(searcher)
    assert len(_open() - before) > 10
    searcher.close()
    assert _open() - before == set()
    with pytest.raises(AspectraError, match="closed"):
        searcher.search("owls")


def test_closing_a_library_closes_its_searcher(folder):
    before = _open()
    with Library(Store(folder)) as library:
        library.search("owls", recipe="bm25", limit=1)
    assert _open() - before == set()


def test_an_index_that_cannot_be_opened_leaves_none(folder):
    generation = Store(folder).generations.current()
    (generation / "ids.json").write_bytes(b"[]")
    store = Store(folder)
    before = _open()
    with pytest.raises(AspectraError):
        Searcher(store).search("owls")
    assert _open() - before == set()


def test_an_index_that_was_closed_by_hand_is_named(folder):
    with Searcher(Store(folder), load=lambda _: FakeEncoder()) as searcher:
        searcher.index.close()
        with pytest.raises(AspectraError, match="the index was closed"):
            searcher.search("owls")
        searcher.refresh()
        assert _search(searcher)


def test_refreshing_closes_what_was_in_use(folder):
    searcher = Searcher(Store(folder), load=lambda _: FakeEncoder())
    _search(searcher)
    counts = []
    for _ in range(3):
        searcher.refresh()
        _search(searcher)
        counts.append(len(_open()))
    assert len(set(counts)) == 1


def test_a_search_in_flight_keeps_its_generation(folder):
    before = _open()
    entered, go_on = threading.Event(), threading.Event()

    class Waiting(FakeEncoder):
        def encode(self, texts, **more):
            if more.get("kind") == "query":
                entered.set()
                assert go_on.wait(60)
            return super().encode(texts, **more)

    searcher = Searcher(Store(folder), load=lambda _: Waiting())
    found = []
    thread = threading.Thread(target=lambda: found.append(searcher.search("owls", limit=3)))
    thread.start()
    assert entered.wait(60)
    for _ in range(3):  # its generation is replaced, and would be removed
        with Store(folder) as store:
            build_index(store, rebuild=True, load=lambda _: FakeEncoder())
    searcher.refresh()
    assert (folder / "generations" / "000001").is_dir()
    go_on.set()
    thread.join()
    assert found[0].generation == "000001"
    assert len(found[0]) == 3
    assert searcher.search("owls", limit=3).generation == "000004"
    searcher.close()
    assert _open() - before == set()


CHILD = """
import gc, resource, sys
sys.path.insert(0, sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
gc.disable()
from aspectra.papers.library.store import Store
from aspectra.search.searcher import Searcher
from aspectra.views.storage import arrays
from fake_encoder import FakeEncoder

arrays._MAPPED = 1
searcher = Searcher(Store(sys.argv[1]), load=lambda _: FakeEncoder())
for number in range(300):
    assert searcher.search("owls and mice", limit=3).ids
    searcher.refresh()
print("refreshed", number + 1)
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 128))
try:
    searcher.search("owls and mice", limit=3)
except Exception as error:
    print(type(error).__name__, error.what, error.hint, sep="|")
"""


def test_three_hundred_refreshes_with_few_descriptors(folder):
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(folder), str(Path(__file__).parents[1])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "refreshed 300",
        "AspectraError|too many open files|raise the limit: ulimit -n 1024",
    ], done.stderr
