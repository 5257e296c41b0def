"""Kills of commands that write, a few of each; ``tests/proofs/kills.py`` runs as many as one likes."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from long import LONG

sys.path.insert(0, str(Path(__file__).parents[1] / "proofs"))

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL and fork")


def test_init_can_be_killed_at_every_write_point(home, run):
    import kills

    code, points = kills.finish(*kills.child(["init", "--library", str(home / "alone")], None))
    assert (code, points > 30) == (0, True)
    for point in range(1, points + 1, 1 if LONG else 5):
        library = home / f"killed-{point}"
        code, _ = kills.finish(*kills.child(["init", "--library", str(library)], point))
        assert code == -signal.SIGKILL
        assert run("init", "--library", library)[0] == 0, point
        assert run("status", "--library", library)[0] == 0, point
        assert {p.name for p in library.iterdir()} <= {
            *("library.db", "library.db-wal", "library.db-shm", "writer.lock")
        }


@pytest.mark.parametrize("size", [0, 4096])
def test_what_an_older_init_left_half_made_is_finished(home, run, size):
    library = home / "lib"
    library.mkdir()
    library.joinpath("library.db").write_bytes(b"")
    if size:  # the header was written, the tables were not
        import sqlite3

        with sqlite3.connect(library / "library.db") as db:
            db.execute("PRAGMA journal_mode = WAL")
        db.close()
    code, _, err = run("status", "--library", library)
    assert code == 6
    assert "aspectra init" in err
    assert run("init", "--library", library)[0] == 0
    assert run("status", "--library", library)[0] == 0


def test_each_command_is_killed_once_and_finished(tmp_path, monkeypatch):
    import kills

    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    names = [one.name for one in kills.SCENARIOS[:: 1 if LONG else 3]]
    found = kills.run(len(names), 1, tmp_path, names)
    assert [*found] == names
    for name, counts in found.items():
        assert [counts[column] for column in kills.COLUMNS] == [1, 0, 0, 0, 0], name


def test_a_build_killed_at_any_write_point_goes_on_to_the_same_bytes(home):
    import kills

    from aspectra.papers.library.store import Store
    from aspectra.papers.paper import Paper

    with Store.create(home / "lib") as library, library.writing("add") as writer:
        writer.add(
            Paper(f"{who}-{book}-{n}", "", f"Words of {who}, {n}.", (who,), 1900, book)
            for who in ("ann", "bob", "cy")
            for book in ("first", "second")
            for n in range(3)
        )

    def build(name, stop_at=None):
        words = ["bench", "build", "authorship", "--output", str(home / name), "--library", str(home / "lib")]
        return kills.finish(*kills.child(words, stop_at))

    def files(name):
        found = (path for path in (home / name).rglob("*") if path.is_file())
        return {str(path.relative_to(home / name)): path.read_bytes() for path in found}

    build("first")  # what a command makes once for the user is there then
    code, points = build("whole")
    assert (code, points > 15) == (0, True)
    for point in range(1, points + 1, 1 if LONG else 12):
        assert build(f"killed-{point}", point)[0] == -signal.SIGKILL
        assert build(f"killed-{point}")[0] == 0, point
        assert files(f"killed-{point}") == files("whole"), point


def test_the_harness_sees_a_loss(tmp_path, monkeypatch):
    """A command that drops a paper on its second run is found out."""
    import kills

    from aspectra.papers.library.store import Store

    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    plain, runs = kills.child, []

    def losing(arguments, stop_at):
        runs.append(stop_at)
        if len(runs) == 3:
            with Store(tmp_path / "killed" / "lib").writing("loss") as writer:
                writer.remove(["p001"])
        return plain(arguments, stop_at)

    monkeypatch.setattr(kills, "child", losing)
    found = kills.run(1, 1, tmp_path, ["index"])
    assert found["index"]["answers unequal"] == 1
