"""Keeping and moving a library: backup, restore, repair, copies, read-only places, clocks set back."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import aspectra
from aspectra.app.upkeep.checkup import check_if_due
from aspectra.base.errors import BadInput, LibraryCorrupt, UsageError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from conftest import PAPERS


@pytest.fixture
def lib(home, run):
    """The folder of an indexed library."""
    path = home / "lib"
    with Store.create(path) as store, store.writing("add") as writer:
        writer.add(PAPERS)
        writer.checkpoint()
    assert run("index", "--no-encoder", "--library", path)[0] == 0
    return path


def answer(run, path, query="owls in the dark"):
    code, out, err = run("search", query, "--library", path, "--json")
    assert code == 0, err
    return [(hit["id"], hit["score"], hit["evidence"]) for hit in json.loads(out)["hits"]]


def test_a_backup_becomes_a_library_with_the_same_answers(lib, home, run):
    file = home / "a.backup"
    code, out, _ = run("backup", file, "--library", lib)
    assert code == 0
    assert "checked" in out
    assert run("restore", file, "--library", home / "new")[0] == 0
    assert answer(run, home / "new") == answer(run, lib)
    with Store(lib) as old, Store(home / "new") as new:
        assert list(new.papers()) == list(old.papers())
        assert new.check() == []
    assert not list(home.glob(".a.backup*"))


def test_a_library_that_was_indexed_by_the_defaults_is_indexed_again(home, run):
    path, file = home / "plain", home / "a.backup"
    with Store.create(path) as store, store.writing("add") as writer:
        writer.add(PAPERS)
    run("backup", file, "--library", path)
    assert run("restore", file, "--library", home / "bare")[0] == 0
    assert not (home / "bare" / "generations").exists()  # there was no index
    assert run("index", "--library", path)[0] == 0
    wanted = answer(run, path)
    run("backup", file, "--library", path)
    assert run("restore", file, "--library", home / "new")[0] == 0
    assert answer(run, home / "new") == wanted
    (path / "generations" / "CURRENT").unlink()
    assert "built the index again" in run("doctor", "--repair", "--library", path)[1]
    assert answer(run, path) == wanted


def test_a_backup_is_one_snapshot_while_a_writer_works(library, tmp_path):
    code = (
        "import sys; from aspectra.papers.paper import Paper\n"
        "from aspectra.papers.library.store import Store\n"
        "with Store(sys.argv[1]).writing('add') as writer:\n"
        "    print('ready', flush=True)\n"
        "    for n in range(10**6): writer.add([Paper(f'a{n}', 'Title'), Paper(f'b{n}', 'Title')])\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(library.folder)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "ready\n"
        counts = []
        with aspectra.open(library.folder) as opened:
            for _ in range(3):
                opened.backup(tmp_path / "live.backup")
                with aspectra.restore(tmp_path / "live.backup", tmp_path / f"r{len(counts)}") as restored:
                    ids = set(restored.store.ids())
                    counts.append(len(ids))
                    assert {f"b{i[1:]}" for i in ids if i[0] == "a"} <= ids  # pairs were added together
                    assert restored.store.check() == []
    finally:
        child.kill()
        child.wait()
    assert counts == sorted(counts)


def test_restoring_never_drops_papers(lib, home, run):
    file = home / "a.backup"
    run("backup", file, "--library", lib)
    with Store(lib).writing("add") as writer:
        writer.add([Paper("later", "A later paper")])
    code, _, err = run("restore", file, "--library", lib)
    assert code == 2
    assert "--replace" in err
    assert "later" in Store(lib)
    assert run("restore", file, "--replace", "--library", lib)[0] == 0
    assert "later" not in Store(lib)
    assert answer(run, lib)
    kept = lib / "library.db.replaced-1"
    with aspectra.restore(kept, home / "back") as back:
        assert "later" in back.store


def test_what_is_no_sound_backup_is_refused_and_changes_nothing(lib, home):
    before = (lib / "library.db").read_bytes()
    (home / "text").write_text("not a database")
    with pytest.raises(BadInput):
        aspectra.restore(home / "text", lib, replace=True)
    with pytest.raises(BadInput, match="no file"):
        aspectra.restore(home / "nothing", lib, replace=True)
    with aspectra.open(lib) as library:
        with pytest.raises(UsageError, match="no backup"):
            library.backup(home / "text")
        file = library.backup(home / "a.backup")
        library.backup(home / "a.backup")  # an earlier backup is replaced
    with sqlite3.connect(file) as db:
        db.execute("UPDATE papers SET title = 'Another' WHERE id = 'owl'")
    db.close()
    with pytest.raises(BadInput, match="damaged"):
        aspectra.restore(file, lib, replace=True)
    assert (lib / "library.db").read_bytes() == before
    assert len(Store(lib)) == len(PAPERS)


def test_a_damaged_library_is_not_backed_up_over_a_sound_backup(lib, home):
    with aspectra.open(lib) as library:
        file = library.backup(home / "a.backup")
        with sqlite3.connect(lib / "library.db") as db:
            db.execute("UPDATE papers SET title = 'Another' WHERE id = 'owl'")
        db.close()
        sound = file.read_bytes()
        with pytest.raises(LibraryCorrupt, match="no backup was made"):
            library.backup(file)
        assert file.read_bytes() == sound
    with aspectra.restore(file, lib, replace=True) as library:
        assert library.show("owl") == PAPERS[0]


def break_pointer(lib):
    (lib / "generations" / "CURRENT").write_text("000099\n")


def pointer_is_folder(lib):
    (lib / "generations" / "CURRENT").unlink()
    (lib / "generations" / "CURRENT").mkdir()


def break_file(lib):
    name = (lib / "generations" / "CURRENT").read_text().split()[0]
    (lib / "generations" / name / "ids.json").write_text("[]")


def leave_things(lib):
    (lib / "generations" / ".building-123").mkdir()
    (lib / "generations" / ".building-123" / "half").write_text("x")
    (lib / ".library.db.new").write_text("x")


def break_table(lib):
    with sqlite3.connect(lib / "library.db") as db:
        db.execute("UPDATE authors SET family = 'stranger' WHERE pos = 1")
    db.close()


def orphan(lib):
    with sqlite3.connect(lib / "library.db") as db:
        db.execute("INSERT INTO sections VALUES (99, 0, 'of nobody', 'text')")
    db.close()


@pytest.mark.parametrize(
    "damage", [break_pointer, pointer_is_folder, break_file, leave_things, break_table, orphan]
)
def test_doctor_repairs_what_can_be_made_again(lib, run, damage):
    wanted = answer(run, lib)
    damage(lib)
    code, out, err = run("doctor", "--repair", "--library", lib)
    assert code == 0, out + err
    assert "nothing to repair" not in out
    assert answer(run, lib) == wanted
    assert not list(lib.glob("**/.building-*")) + list(lib.glob(".library.db.new*"))
    assert "nothing to repair" in run("doctor", "--repair", "--library", lib)[1]


def test_doctor_names_what_it_cannot_repair(lib, run):
    with sqlite3.connect(lib / "library.db") as db:
        db.execute("UPDATE papers SET title = 'Another' WHERE id = 'owl'")
    db.close()
    code, out, _ = run("doctor", "--repair", "--library", lib)
    assert code == 6
    assert "aspectra restore" in out
    with Store(lib) as library:
        assert len(library) == len(PAPERS)
        assert library.get("mice") == PAPERS[1]


@pytest.mark.parametrize("how", ["copy", "rename", "link"])
def test_a_library_is_moved_as_a_folder(lib, home, run, how):
    wanted = answer(run, lib)
    new = home / "a place with spaces" / "lib"
    new.parent.mkdir()
    if how == "copy":
        shutil.copytree(lib, new)
        shutil.rmtree(lib)
    elif how == "rename":
        lib.rename(new)
    else:
        new.symlink_to(lib)
    assert answer(run, new) == wanted
    assert run("doctor", "--verify", "--library", new)[0] == 0
    with Store(new).writing("add") as writer:
        writer.add([Paper("later", "A later paper on owls")])
    assert run("index", "--library", new)[0] == 0
    assert "later" in [paper for paper, *_ in answer(run, new, "a later paper")]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes another user")
def test_a_plain_user_searches_a_library_that_can_only_be_read(lib, run):
    wanted = answer(run, lib)
    for path in [lib, *lib.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {p: p.stat().st_mtime_ns for p in lib.rglob("*")}
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        out: list[object] = []
        try:
            for folder in lib.parents:
                if folder.stat().st_uid == 0 and folder != Path("/"):
                    folder.chmod(folder.stat().st_mode | 0o055)
            os.setgid(65534)
            os.setuid(65534)
            with aspectra.open(lib) as library:
                out.append([hit.id for hit in library.search("owls in the dark")])
                try:
                    library.add(lib / "x.bib")
                except aspectra.AspectraError as error:
                    out.append(error.what)
        except BaseException as error:
            out.append(repr(error))
        os.write(write, json.dumps(out).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        ids, refusal = json.loads(stream.read())
    os.waitpid(child, 0)
    assert ids == [paper for paper, *_ in wanted]
    assert "cannot" in refusal
    assert {p: p.stat().st_mtime_ns for p in lib.rglob("*")} == before


def test_a_clock_that_is_set_back_changes_nothing(lib, run, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 86_400.0)  # January 1970
    with Store(lib) as library:
        with library.writing("add") as writer:
            writer.add([Paper("later", "A later paper on owls")])
        assert library.ids()[-1] == "later"
    assert run("index", "--library", lib)[0] == 0
    assert "later" in [paper for paper, *_ in answer(run, lib, "a later paper")]
    assert run("doctor", "--verify", "--library", lib)[0] == 0


def test_the_database_is_checked_once_a_week(lib, monkeypatch):
    now = time.time() + 1e6
    monkeypatch.setattr(time, "time", lambda: now)
    with Store(lib) as library:
        assert check_if_due(library)
        assert not check_if_due(library)
        now += 8 * 24 * 3600
        assert check_if_due(library)
        now -= 365 * 24 * 3600  # a clock set back
        assert check_if_due(library)
        now += 8 * 24 * 3600
        with sqlite3.connect(lib / "library.db") as db:
            db.execute("UPDATE papers SET year = 1000 WHERE pos = 1")
        db.close()
        for _ in range(2):  # and again as long as it is damaged
            with pytest.raises(LibraryCorrupt):
                check_if_due(library)
