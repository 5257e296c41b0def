"""A disk that fails loses what was not flushed, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aspectra.base.errors import AspectraError
from aspectra.base.files import disk, make_folder, write_durably
from aspectra.papers.library import schema
from aspectra.papers.library.rows import put_setting
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.testing import Fault, run_with_fault
from aspectra.testing.simulated_disk import FAULTS
from long import LONG

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs fork")
NEW = b"new content " * 50


def _careless(folder: Path):
    def step() -> None:
        with disk().create(folder / "part") as stream:
            stream.write(NEW)
        disk().replace(folder / "part", folder / "file")

    return step


def _all_runs(step, folder: Path, kind: str, seeds=range(6 if LONG else 2), before=b"old"):
    """Contents of the file after a fault at each operation; None: it is gone."""
    found = set()
    for seed in seeds:
        for at in range(100):
            (folder / "file").write_bytes(before)
            outcome = run_with_fault(step, folder, Fault(at, kind, seed))
            path = folder / "file"
            found.add(path.read_bytes() if path.exists() else None)
            if not outcome.crashed and not outcome.error:
                break
        assert at > 1
    return found


def test_without_a_flush_a_power_cut_leaves_anything(tmp_path):
    found = _all_runs(_careless(tmp_path), tmp_path, "power")
    assert found == {b"old", NEW}  # a crash after the last operation is not simulated
    after = lambda: (_careless(tmp_path)(), disk().sync_folder(tmp_path))  # noqa: E731
    found = _all_runs(after, tmp_path, "power", seeds=range(20))
    assert {b"old", NEW, b""} <= found
    assert any(part not in (b"old", NEW, b"") and NEW.startswith(part) for part in found)


@pytest.mark.parametrize("kind", FAULTS)
def test_a_durable_write_is_whole_or_does_not_happen(tmp_path, kind):
    def step() -> None:
        write_durably(tmp_path / "file", NEW)
        disk().sync_folder(tmp_path)

    assert _all_runs(step, tmp_path, kind) == {b"old", NEW}


def test_a_torn_write_cuts_the_last_file_only(tmp_path):
    def step() -> None:
        for name in ("first", "file"):
            with disk().create(tmp_path / name) as stream:
                stream.write(NEW)
        disk().sync_folder(tmp_path)

    found = _all_runs(step, tmp_path, "torn", seeds=range(12))
    assert (tmp_path / "first").read_bytes() == NEW
    assert any(part not in (b"old", NEW) for part in found)


def test_a_power_cut_undoes_names_with_what_they_replaced(tmp_path):
    found = set()
    for seed in range(12):
        (tmp_path / "a").write_bytes(b"a")
        (tmp_path / "b").write_bytes(b"b")

        def step() -> None:
            disk().replace(tmp_path / "a", tmp_path / "b")
            make_folder(tmp_path / "c")

        run_with_fault(step, tmp_path, Fault(2, "power", seed))
        found.add(tuple((tmp_path / n).read_bytes() if (tmp_path / n).exists() else None for n in "ab"))
        if (tmp_path / "c").exists():
            (tmp_path / "c").rmdir()
    assert found == {(b"a", b"b"), (None, b"a")}


@pytest.mark.parametrize(("kind", "words"), [("full", "the disk is full"), ("error", "disk I/O error")])
def test_a_failing_database_is_an_error_for_people(tmp_path, kind, words):
    Store.create(tmp_path / "library").close()

    def step() -> None:
        with Store(tmp_path / "library") as store, store.writing("add") as writer:
            writer.add([Paper("owl", "Owls hunt")])

    for at in range(0, 200, 1 if LONG else 3):
        outcome = run_with_fault(step, tmp_path / "library", Fault(at, kind))
        assert outcome.expected, outcome.error
        if not outcome.error:
            break
        assert words in outcome.error
    assert at > 5
    with Store(tmp_path / "library") as store:
        assert store.ids() == ["owl"]


def test_a_database_that_is_cut_keeps_a_committed_prefix(tmp_path):
    Store.create(tmp_path / "library").close()
    seen = set()

    def step() -> None:
        connection = schema.connect(tmp_path / "library" / "library.db", write=True)
        for number in range(20):
            connection.execute("BEGIN IMMEDIATE")
            for part in "abc":
                put_setting(connection, f"{number:02}{part}", "x" * 3000)
            connection.execute("COMMIT")

    for seed in range(8):
        run_with_fault(step, tmp_path / "library", Fault(70, "power", seed))
        with Store(tmp_path / "library") as store:
            kept = [row[0] for row in store.fetch("SELECT key FROM meta WHERE key LIKE '__a'")]
            whole = [row[0] for row in store.fetch("SELECT key FROM meta WHERE key LIKE '__c'")]
            assert kept == [f"{number:02}a" for number in range(len(kept))]
            assert len(whole) == len(kept)
            assert store.check() == []
        seen.add(len(kept))
        with schema.connect(tmp_path / "library" / "library.db", write=True) as connection:
            connection.execute("DELETE FROM meta WHERE key LIKE '__a' OR key LIKE '__b' OR key LIKE '__c'")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
    assert len(seen) > 2


def test_errors_that_are_bugs_are_told_apart(tmp_path):
    def refused() -> None:
        raise AspectraError("no", why="because")

    def bug() -> None:
        raise KeyError("oops")

    outcome = run_with_fault(refused, tmp_path, Fault(99))
    assert (outcome.expected, outcome.error) == (True, "no\nwhy: because")
    outcome = run_with_fault(bug, tmp_path, Fault(99))
    assert not outcome.expected
    assert "KeyError: 'oops'" in outcome.error


def test_a_missing_extra_is_named(tmp_path):
    (tmp_path / "hypothesis.py").write_text("raise ModuleNotFoundError('no', name='hypothesis')")
    code = "import aspectra.testing"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 1
    assert "MissingExtra: aspectra.testing needs hypothesis" in done.stderr


FEW = """
import hypothesis
hypothesis.settings.register_profile("few", deadline=None, max_examples=5)
hypothesis.settings.load_profile("few")
"""


def test_the_code_of_the_page_works(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[3] / "docs" / "testing.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "test_page.py").write_text(blocks[0] + blocks[1].replace('"my-encoder",', ""))
    (tmp_path / "conftest.py").write_text(FEW)
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "test_page.py",
            "-k",
            "not MyMachine",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
    code = blocks[2] if LONG else blocks[2].replace("range(1000)", "range(0, 1000, 9)")
    exec(compile(code, "page", "exec"), {})
    assert int(capsys.readouterr().out.split()[0]) > 10
