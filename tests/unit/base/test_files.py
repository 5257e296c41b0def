"""What is written durably, and in which order it reaches the disk."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from aspectra.base.files import Disk, disk, make_folder, using, write_durably


class Recording(Disk):
    """Notes each operation; the one numbered ``fails`` finds the disk full."""

    def __init__(self, fails=-1):
        self.done, self.fails = [], fails

    def _note(self, operation, path):
        if len(self.done) == self.fails:
            self.fails = -1
            raise OSError(errno.ENOSPC, "No space left on device")
        self.done.append((operation, path.name.split(".")[1] if "." in path.name else path.name))

    def create(self, path, mode="wb"):
        self._note("create", path)
        return super().create(path, mode)

    def sync_stream(self, stream):
        self.done.append(("sync", ""))
        super().sync_stream(stream)

    def sync_folder(self, path):
        self._note("sync folder", path)
        super().sync_folder(path)

    def make_folder(self, path):
        self._note("make folder", path)
        super().make_folder(path)

    def replace(self, source, target):
        self._note("replace", target)
        super().replace(source, target)


def test_a_file_is_flushed_then_renamed_then_its_folder_is_flushed(tmp_path):
    recording = Recording()
    (tmp_path / "room").mkdir()
    with using(recording):
        write_durably(tmp_path / "room" / "a.json", "new")
    assert [one for one, _ in recording.done] == ["create", "sync", "replace", "sync folder"]
    assert recording.done[-1] == ("sync folder", "room")
    assert disk() is not recording


def test_every_new_folder_is_flushed_into_the_one_above_it(tmp_path):
    recording = Recording()
    (tmp_path / "top").mkdir()
    with using(recording):
        make_folder(tmp_path / "top" / "one" / "two")
        make_folder(tmp_path / "top" / "one" / "two")
    assert recording.done == [
        ("make folder", "one"),
        ("sync folder", "top"),
        ("make folder", "two"),
        ("sync folder", "one"),
    ]


@pytest.mark.parametrize("fails", [0, 2])
def test_a_full_disk_leaves_what_was_there(tmp_path, fails):
    write_durably(tmp_path / "a.json", "old")
    with using(Recording(fails)), pytest.raises(OSError, match="No space"):
        write_durably(tmp_path / "a.json", b"new")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_reserved_bytes_are_there(tmp_path):
    disk().reserve(tmp_path / "array", 100_000)
    assert (tmp_path / "array").read_bytes() == bytes(100_000)


def test_two_threads_write_one_file(tmp_path):
    both = Barrier(2)

    class Together(Disk):
        def replace(self, source, target):
            both.wait(20)
            super().replace(source, target)

    with using(Together()), ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda text: write_durably(tmp_path / "a.json", text), ["one", "two"]))
    assert [p.read_text() in ("one", "two") for p in tmp_path.iterdir()] == [True]
