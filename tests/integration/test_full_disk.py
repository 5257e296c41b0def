"""A full disk: what is there can be read, and what cannot be written is said."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from long import LONG

_PAPERS = [Paper(f"p{n}", f"Paper {n} on owls", f"Owls of kind {n} hunt at night.") for n in range(30)]


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    try:
        made = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        made = False
    if not made:
        pytest.skip("no small file system can be mounted here (that needs root)")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path, left: int = 0) -> None:
    """Use every block that there is, but for some."""
    with contextlib.suppress(OSError), (disk / "ballast").open("wb", buffering=0) as stream:
        while os.statvfs(disk).f_bavail > left and stream.write(b"x" * 4096):
            pass
    assert os.statvfs(disk).f_bavail == left


@pytest.fixture
def library(home, run, disk):
    path = disk / "lib"
    with Store.create(path) as store, store.writing("add") as writer:
        writer.add(_PAPERS)
        writer.checkpoint()
    assert run("index", "--no-encoder", "--library", path)[0] == 0
    return path


def test_a_full_disk_is_searched(library, disk, run):
    expected = run("search", "owls of kind 7", "--library", library, "--json")[1]
    fill(disk)
    for _ in range(2):
        code, out, err = run("search", "owls of kind 7", "--library", library, "--json")
        assert code == 0, err
        assert [line for line in out.splitlines() if "seconds" not in line] == [
            line for line in expected.splitlines() if "seconds" not in line
        ]
    assert run("show", "p7", "--library", library)[0] == 0
    assert run("status", "--library", library)[0] == 0
    assert run("doctor", "--verify", "--library", library)[0] == 0


def test_what_a_killed_writer_left_in_the_log_is_read_too(library, disk, run):
    child = os.fork()
    if child == 0:
        with Store(library).writing("add") as writer:
            writer.add([Paper("late", "A late paper")])
            os._exit(0)  # as killed: the log is not moved into the database
    os.waitpid(child, 0)
    assert (library / "library.db-wal").stat().st_size > 0
    (library / "library.db-shm").unlink()
    fill(disk)
    with Store(library) as store:
        assert "late" in store


def test_writing_to_a_full_disk_says_so(library, disk, run, tmp_path):
    (tmp_path / "more.jsonl").write_text('{"id": "new", "title": "A new paper"}\n', "utf-8")
    fill(disk)
    for command in (["add", tmp_path / "more.jsonl"], ["index", "--rebuild"], ["backup", disk / "b"]):
        code, _, err = run(*command, "--library", library)
        assert code == 1
        assert "the disk is full" in err, (command, err)
        assert "free some space" in err
    (disk / "ballast").unlink()
    assert run("add", tmp_path / "more.jsonl", "--library", library)[0] == 0
    assert run("index", "--library", library)[0] == 0
    assert Store(library).check() == []
    assert len(Store(library)) == len(_PAPERS) + 1


@pytest.mark.parametrize(
    "words",
    [
        "add {}/more.jsonl",
        "index --no-encoder --rebuild",
        "decide exclude p1 p2",
        "remove p3 p4 --yes",
        "tag p1 +owl",
    ],
)
def test_a_disk_that_is_full_at_any_write_costs_nothing(library, disk, run, tmp_path, words):
    lines = [f'{{"id": "n{n}", "title": "New paper {n}", "abstract": "{n} owls."}}' for n in range(300)]
    (tmp_path / "more.jsonl").write_text("\n".join(lines), "utf-8")
    command = [*words.format(tmp_path).split(), "--library", library]
    shutil.copytree(library, tmp_path / "start")
    free = os.statvfs(disk).f_bavail
    assert run(*command)[0] == 0
    taken = max(8, free - os.statvfs(disk).f_bavail)
    draw, full = random.Random(words), 0
    while full < (10 if LONG else 2):
        shutil.rmtree(library)
        shutil.copytree(tmp_path / "start", library)
        # First what SQLite's shared memory takes, so that the lock cannot name its holder.
        fill(disk, draw.randrange(2 * taken) if full else 8)
        code, _, err = run(*command)
        assert code == 0 or "the disk is full" in err, err
        full += code != 0
        with Store(library) as store:
            assert {p.id for p in _PAPERS} <= {*store.ids()} | ({"p3", "p4"} if code == 0 else set())
        (disk / "ballast").unlink()
        again, _, err = run(*command)
        assert again == 0 or (words.startswith("remove") and code == 0), err
        with Store(library) as store:
            assert store.check() == []


def test_readers_keep_writers_away_while_the_file_is_read_as_it_lies(library, disk, run, tmp_path):
    (tmp_path / "more.jsonl").write_text('{"id": "new", "title": "A new paper"}\n', "utf-8")
    fill(disk)
    with Store(library) as reader:
        (disk / "ballast").unlink()
        code, _, err = run("add", tmp_path / "more.jsonl", "--library", library)
        assert code == 1
        assert "being written by another" in err
        assert len(reader) == len(_PAPERS)
        with reader.writing("add") as writer:  # its own writer opens the database anew
            writer.add([Paper("own", "Its own paper")])
        assert len(reader) == len(_PAPERS) + 1
    assert run("add", tmp_path / "more.jsonl", "--library", library)[0] == 0


def test_a_short_write_of_an_array_is_a_full_disk(run, monkeypatch):
    import aspectra.app.main as entry

    def short(arguments):
        raise OSError("142241 requested and 107488 written")

    monkeypatch.setattr(entry, "_run", short)
    code, _, err = run("index")
    assert code == 1
    assert "the disk is full" in err
