"""Index generations: damage of every kind is named and mended; holding, pruning, crashes in between."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aspectra.base.errors import AspectraError, LibraryCorrupt
from aspectra.base.files import Disk, disk, using
from aspectra.papers.library.generations.folders import FORMAT, Generations, checksum, damaged, file_sum
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings

posix = pytest.mark.skipif(os.name != "posix", reason="needs flock")


@pytest.fixture
def library(tmp_path):
    made = Store.create(tmp_path / "library")
    with made.writing("add") as writer:
        writer.add([Paper("owl", title="Owls", abstract="Owls hunt at night. They listen.", year=2001)])
    build_index(made, IndexSettings(encoders=()))
    return made


def _publish(generations, **more):
    facts = {"format": FORMAT, "papers": 0, "revision": 0, "settings": {}, "views": {}, "lenses": {}}
    with generations.build() as folder:
        (folder / "a.json").write_text("[]")
        (folder / "below").mkdir()
        (folder / "below" / "b.json").write_text("{}")
        return generations.publish(folder, {**facts, **more})


def _pointer(library, content):
    (library.generations.root / "CURRENT").write_bytes(content)


def _folder(library):
    pointer = library.generations.root / "CURRENT"
    pointer.unlink()
    (pointer / "inner").mkdir(parents=True)


def _file(name, content):
    def damage(library):
        (library.generations.current() / name).write_bytes(content)

    return damage


def _resealed(**changes):
    """A manifest of wrong content whose checksum in CURRENT is right."""

    def damage(library):
        path = library.generations.current()
        manifest = {**json.loads((path / "manifest.json").read_bytes()), **changes}
        content = json.dumps({k: v for k, v in manifest.items() if v is not None}).encode()
        (path / "manifest.json").write_bytes(content)
        _pointer(library, f"{path.name} {checksum(content)}\n".encode())

    return damage


def _header(library):
    path = library.generations.current() / "years.npy"
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"'<i4'", b"'<f4'"))


DAMAGE = {
    "CURRENT is not text": lambda library: _pointer(library, b"\xff\xfe\x00"),
    "CURRENT is empty": lambda library: _pointer(library, b""),
    "CURRENT names a path": lambda library: _pointer(library, b"../000001 0123456789abcdef\n"),
    "CURRENT has another checksum": lambda library: _pointer(library, b"000001 0123456789abcdef\n"),
    "CURRENT names no generation": lambda library: _pointer(library, b"000009 0123456789abcdef\n"),
    "CURRENT is a folder": _folder,
    "the manifest is empty": _file("manifest.json", b""),
    "the manifest is {}": _file("manifest.json", b"{}"),
    "the manifest is deep": _file("manifest.json", b"[" * 100_000),
    "the manifest is sealed and {}": _resealed(**dict.fromkeys(("format", "views", "files", "papers"))),
    "views are a list": _resealed(views=[]),
    "sizes are texts": _resealed(files={"ids.json": "7"}),
    "a file lies outside": _resealed(files={"../../library.db": 7}),
    "checksums are left out": _resealed(files={"ids.json": 7}),
    "ids.json is no JSON": _file("ids.json", b'["ow'),
    "ids.json is another list": _file("ids.json", b'["fox"]'),
    "an array is text": _file("years.npy", b"not an array"),
    "an array is empty": _file("years.npy", b""),
    "an array has another type": _header,
}


def _search(library):
    with Searcher(Store(library.folder)) as searcher:
        ranking = searcher.search("owls hunt at night", "bm25")
        assert searcher.index.years.tolist() == [2001]
        return ranking.ids


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_refused_and_rebuilding_mends_it(library, name):
    expected = _search(library)
    DAMAGE[name](library)
    with pytest.raises(LibraryCorrupt) as caught:
        _search(library)
    assert caught.value.hint == "aspectra index --rebuild"
    assert build_index(library, rebuild=True).changed
    assert _search(library) == expected == ["owl"]


@pytest.mark.parametrize("name", DAMAGE)
def test_doctor_finds_the_damage(library, run, name):
    DAMAGE[name](library)
    code, out, _ = run("doctor", "--verify", "--library", library.folder)
    assert code == 6
    assert "aspectra index --library" in out
    assert "internal" not in out
    assert run("index", "--rebuild", "--library", library.folder)[0] == 0
    assert run("doctor", "--verify", "--library", library.folder)[0] == 0


def test_a_generation_of_the_old_format_is_replaced(library):
    _pointer(library, b"000001\n")
    with pytest.raises(LibraryCorrupt, match="older Aspectra") as caught:
        _search(library)
    assert caught.value.hint == "aspectra index"
    assert build_index(library).changed
    assert _search(library) == ["owl"]


def test_a_generation_of_a_newer_format_is_left_alone(library):
    _resealed(format=FORMAT + 1, views=None)(library)
    with pytest.raises(LibraryCorrupt, match="newer Aspectra"):
        _search(library)


def test_a_generation_of_an_older_format_is_named_and_replaced(library):
    _resealed(format=FORMAT - 1, views=None)(library)
    with pytest.raises(LibraryCorrupt, match="older Aspectra") as caught:
        _search(library)
    assert caught.value.hint == "aspectra index"
    assert build_index(library).changed
    assert _search(library) == ["owl"]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_too_many_open_files_are_no_damage(library, monkeypatch, number):
    error = damaged("years.npy cannot be read", OSError(number, os.strerror(number)))
    assert not isinstance(error, LibraryCorrupt)
    assert error.what == "too many open files"
    assert isinstance(damaged("x", OSError(errno.EIO, "Input/output error")), LibraryCorrupt)

    def full(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(AspectraError, match="too many open files"):
        library.generations.hold(library.generations.current())


@posix
def test_a_generation_that_is_being_removed_cannot_be_held(tmp_path):
    import fcntl

    generations = Generations(tmp_path)
    path = _publish(generations)
    with (path / "manifest.json").open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(LibraryCorrupt, match="cannot be opened"):
            generations.hold(path)
    os.close(generations.hold(path))


@posix
def test_a_reader_opens_the_successor_of_what_was_removed_meanwhile(library, monkeypatch):
    before = library.generations.current()
    hold, taken = Generations.hold, []

    def slow(self, path):
        taken.append(path.name)
        if len(taken) == 1:  # the writer is quicker than this reader, twice
            for _ in range(2):
                build_index(Store(library.folder), rebuild=True)
            assert not before.exists()
        return hold(self, path)

    monkeypatch.setattr(Generations, "hold", slow)
    assert _search(library) == ["owl"]
    assert taken == ["000001", "000003"]


@posix
def test_an_orphan_does_not_displace_the_predecessor(tmp_path):
    generations = Generations(tmp_path)
    first = _publish(generations)

    class Stops(Disk):
        def create(self, path, mode="wb"):
            if "CURRENT" in path.name:
                raise KeyboardInterrupt  # as if the process ended here
            return super().create(path, mode)

    with using(Stops()), pytest.raises(KeyboardInterrupt):
        _publish(generations)
    orphan = generations.root / "000002"
    assert orphan.is_dir()
    assert generations.current() == first
    third = _publish(generations)
    assert sorted(p.name for p in generations.root.iterdir()) == ["000001", "000003", "CURRENT"]
    assert generations.current() == third


def test_a_disk_that_is_full_at_the_switch_keeps_no_orphan(tmp_path):
    generations = Generations(tmp_path)
    first = _publish(generations)

    class Full(Disk):
        def create(self, path, mode="wb"):
            if "CURRENT" in path.name:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().create(path, mode)

    with using(Full()), pytest.raises(OSError, match="No space"):
        _publish(generations)
    assert sorted(p.name for p in generations.root.iterdir()) == ["000001", "CURRENT"]
    assert generations.manifest(first)["generation"] == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, None])
def test_a_full_disk_is_named_and_the_index_in_use_stays(library, number):
    class Full(Disk):
        def create(self, path, mode="wb"):
            if path.name == "years.npy":
                raise OSError(number, "No space left on device") if number else OSError("12 requested")
            return super().create(path, mode)

    expected = _search(library)
    with using(Full()), pytest.raises(AspectraError, match="the disk is full") as caught:
        build_index(library, rebuild=True)
    assert "free some space" in caught.value.hint
    assert sorted(p.name for p in library.generations.root.iterdir()) == ["000001", "CURRENT"]
    assert _search(library) == expected


def test_a_failure_after_the_switch_keeps_what_current_names(tmp_path):
    generations = Generations(tmp_path)
    _publish(generations)

    class Late(Disk):
        switched = False

        def replace(self, source, target):
            super().replace(source, target)
            self.switched |= target.name == "CURRENT"

        def sync_folder(self, path):
            if self.switched:
                raise OSError(errno.EIO, "Input/output error")

    with using(Late()), pytest.raises(OSError, match="Input/output"):
        _publish(generations)
    assert generations.current().name == "000002"
    assert generations.verify(generations.current()) == []


def test_everything_is_on_the_disk_before_its_name_is(tmp_path):
    class Recording(Disk):
        def __init__(self):
            self.done = []

        def sync(self, path):
            self.done.append(("sync", path.name))
            super().sync(path)

        def sync_stream(self, stream):
            self.done.append(("sync", "CURRENT"))
            super().sync_stream(stream)

        def sync_folder(self, path):
            self.done.append(("folder", path.name.split("-")[0]))
            super().sync_folder(path)

        def replace(self, source, target):
            self.done.append(("rename", target.name))
            super().replace(source, target)

    recording = Recording()
    (tmp_path / "library").mkdir()
    with using(recording):
        _publish(Generations(tmp_path / "library"))
    assert recording.done == [
        ("folder", "library"),  # of the new folder generations
        ("sync", "a.json"),
        ("sync", "b.json"),
        ("folder", "below"),
        ("sync", "manifest.json"),
        ("folder", ".building"),
        ("rename", "000001"),
        ("folder", "generations"),
        ("sync", "CURRENT"),
        ("rename", "CURRENT"),
        ("folder", "generations"),
    ]


@posix
def test_generations_are_pruned_once_nobody_holds_them(library):
    with Searcher(Store(library.folder)) as reader:
        reader.search("owls", "bm25")
        for _ in range(3):
            build_index(library, rebuild=True)
        names = sorted(p.name for p in library.generations.root.iterdir())
        assert names == ["000001", "000003", "000004", "CURRENT"]
    assert not build_index(library).changed
    names = sorted(p.name for p in library.generations.root.iterdir())
    assert names == ["000003", "000004", "CURRENT"]


@posix
def test_what_a_killed_run_left_is_listed_and_removed(library, run):
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from aspectra.papers.library.generations.folders import Generations\n"
        "with Generations(Path(sys.argv[1])).build() as folder:\n"
        "    (folder / 'half.npy').write_bytes(b'x' * 1000)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(library.folder)], check=False)
    (library.generations.root / ".removing-000000").mkdir()
    (library.generations.root / ".CURRENT.123.new").touch()  # what `write_durably` leaves
    left = [path.name.split("-")[0] for path in library.generations.leftovers()]
    assert left == [".CURRENT.123.new", ".building", ".removing"]
    code, out, _ = run("doctor", "--library", library.folder)
    assert code == 0
    assert ".building-" in out
    with library.generations.build() as building:
        assert library.generations.leftovers() == []  # nor is what is being built one
        assert building.is_dir()
    assert len(library.generations.leftovers()) == 0
    (library.generations.root / ".building-1").mkdir()
    assert not build_index(library).changed
    assert sorted(p.name for p in library.generations.root.iterdir()) == ["000001", "CURRENT"]


def test_a_file_is_read_once_on_a_machine(library, monkeypatch):
    from aspectra.papers.library.generations import folders

    read = []
    monkeypatch.setattr(folders, "file_sum", lambda path: read.append(path.name) or file_sum(path))
    manifest = library.generations.manifest(library.generations.current())
    for _ in range(2):
        assert _search(library) == ["owl"]
        assert sorted(read) == sorted(Path(name).name for name in manifest["files"])
    with library.writing("add") as writer:
        writer.add([Paper("owl", title="Owls", abstract="They hunt by day.", year=2001)])
    build_index(library, rebuild=True)
    read.clear()
    years = library.generations.current() / "years.npy"
    _search(library)
    assert "years.npy" in read
    read.clear()
    years.write_bytes(years.read_bytes())
    _search(library)
    assert read == ["years.npy"]


def test_the_sum_of_a_file_is_that_of_all_its_bytes(tmp_path):
    content = bytes(range(256)) * 8000 + b"end"  # more than is read at once
    (tmp_path / "a").write_bytes(content)
    assert file_sum(tmp_path / "a") == (len(content), checksum(content))


def test_the_disk_in_use_is_the_system_s():
    assert type(disk()) is Disk
