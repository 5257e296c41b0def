"""One flipped bit in an index is harmless or refused; see ``tests/proofs/flips.py`` for longer runs."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1] / "proofs"))

import flips

from aspectra.papers.library.generations.folders import Generations
from long import LONG


def test_no_flipped_bit_changes_an_answer_silently(tmp_path):
    seed = random.randrange(1 << 16)
    found = flips.flip_index(tmp_path / "library", 300 if LONG else 30, seed)
    print(found)
    assert found.faults == []
    assert found.counts["refused"] > 10


def test_without_checksums_the_same_flips_change_answers(tmp_path):
    with mock.patch.object(Generations, "check", lambda self, path, manifest: manifest["files"]):
        found = flips.flip_index(tmp_path / "library", 40 if LONG else 12, 7)
    assert found.counts["silent"] > 0
