"""Flipped bits in library.db, a few; ``tests/proofs/database_flips.py`` flips as many as one likes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proofs"))

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs fork")


def test_no_flip_changes_an_answer_without_an_error(tmp_path, capsys):
    import database_flips as flips

    total = flips.run(6, 1, tmp_path)
    assert sum(total.values()) == 6
    assert total["changed"] == total["uncaught"] == 0, capsys.readouterr().out


def test_the_harness_sees_a_silent_change(tmp_path, monkeypatch):
    import database_flips as flips

    from aspectra.papers.library import store

    flips.make(tmp_path / "lib", 26)
    database = tmp_path / "lib" / "library.db"
    expected = flips.outcome(tmp_path / "lib", ["export"])
    where = database.read_bytes().index(b"We study the owl")
    flips.flip(database, where * 8)
    assert flips.outcome(tmp_path / "lib", ["export"])["export"].startswith("refused: LibraryCorrupt")
    monkeypatch.setattr(store, "SUMMED", 99)  # as if nothing were checked
    unseen = flips.outcome(tmp_path / "lib", ["export"])["export"]
    assert unseen != expected["export"]
    assert ":" not in unseen
