"""Two builds of one library give the same bytes, also where one of them was killed and resumed.

They differ in ``created`` (the time) of the manifest, and so in its checksum in ``CURRENT``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from aspectra.papers.library.store import Store
from long import some

sys.path.insert(0, str(Path(__file__).parents[1] / "proofs"))

import flips

TESTS = Path(__file__).parents[1]

CHILD = """
import os, sys
sys.path[:0] = sys.argv[3:]
import flips
from aspectra.papers.library.store import Store
from aspectra.views.build.run import build_index
from aspectra.views.lenses.protocol import LENSES
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

class Ends(FakeEncoder):
    calls = 0
    def encode(self, texts, **more):
        Ends.calls += 1
        if Ends.calls == int(sys.argv[2]):
            os._exit(9)
        return super().encode(texts, **more)

settings = IndexSettings(encoders=("fake",), chunks=("60w",), lenses=tuple(LENSES.names()), batch=16)
build_index(Store(sys.argv[1]), settings, load=lambda _: Ends())
"""


def _build(folder, ends=0, seed="0"):
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(folder), str(ends), str(TESTS / "proofs")]
    done = subprocess.run(
        [*command, str(TESTS)], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=False
    )
    assert done.returncode == (9 if ends else 0), done.stderr.decode()


def _content(folder):
    """Name below the current generation -> content; the manifest without its time."""
    current = Store(folder).generations.current()
    out = {p.relative_to(current).as_posix(): p.read_bytes() for p in current.rglob("*") if p.is_file()}
    manifest = json.loads(out.pop("manifest.json"))
    del manifest["created"]
    return {**out, "manifest.json": manifest}


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("same") / "library"
    with Store.create(folder) as library, library.writing("add") as writer:
        writer.add(flips.make_papers(40, flips.random.Random(4)))
        writer.checkpoint()
    return folder


@pytest.fixture(scope="module")
def undisturbed(papers):
    folder = papers.with_name("undisturbed")
    shutil.copytree(papers, folder)
    _build(folder, seed="1")
    return _content(folder)


def test_another_process_builds_the_same_files(papers, undisturbed, tmp_path):
    shutil.copytree(papers, tmp_path / "library")
    _build(tmp_path / "library", seed="2")
    assert _content(tmp_path / "library") == undisturbed
    assert len(undisturbed) > 90


@pytest.mark.parametrize("ends", some([1, 3, 6, 8]))
def test_killed_and_resumed_is_undisturbed(papers, undisturbed, tmp_path, ends):
    folder = tmp_path / "library"
    shutil.copytree(papers, folder)
    _build(folder, ends)
    _build(folder, seed="3")
    found = _content(folder)
    for manifest in (found["manifest.json"], undisturbed["manifest.json"]):
        manifest.pop("generation", None)
    assert found == undisturbed
