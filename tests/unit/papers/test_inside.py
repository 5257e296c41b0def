"""No link in a library leads out of it, whatever is at its other end."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3

import pytest

from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.store import Store
from aspectra.views.build.run import build_index

OURS = ["library.db", "library.db-wal", "writer.lock", "generations", "generations/CURRENT"]


@pytest.fixture
def indexed(library, encoder, settings):
    build_index(library, settings, load=lambda _: encoder)
    library.close()
    return library.folder


@pytest.mark.parametrize("name", [*OURS, "ids.json", "vectors.npy", "manifest.json"])
def test_a_link_is_refused_and_its_target_left_alone(indexed, tmp_path, name):
    path = indexed / name if name in OURS else next(indexed.rglob(name))
    target = tmp_path / "elsewhere"
    if path.is_dir():
        shutil.move(path, target)
    else:
        target.write_bytes(path.read_bytes() if path.exists() else b"mine")
        path.unlink(missing_ok=True)
    path.symlink_to(target)
    before = target.stat().st_mtime_ns
    with pytest.raises(LibraryCorrupt, match="is a symbolic link") as caught:
        Store(indexed)
    assert caught.value.hint
    assert target.stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["generations/CURRENT", "library.db-journal"])
def test_a_pipe_is_not_waited_for(indexed, name):
    (indexed / name).unlink(missing_ok=True)
    os.mkfifo(indexed / name)
    with pytest.raises(LibraryCorrupt, match="no plain file"):
        Store(indexed)


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS key, n AS value FROM r"


@pytest.mark.parametrize(
    "statements",
    [
        f"DROP TABLE meta; CREATE VIEW meta AS {ENDLESS} WHERE n < 0",
        f"CREATE TRIGGER t AFTER INSERT ON papers BEGIN SELECT count(*) FROM ({ENDLESS}); END",
    ],
)
def test_a_library_with_statements_of_its_own_is_refused(indexed, statements):
    with contextlib.closing(sqlite3.connect(indexed / "library.db")) as db:
        db.executescript(statements)
    with pytest.raises(LibraryCorrupt, match="holds a view or a trigger"):
        Store(indexed)


def test_the_folder_itself_may_be_a_link_and_hold_other_links(indexed, tmp_path):
    (indexed / "papers").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to(indexed)
    with Store(tmp_path / "link") as opened:
        assert len(opened) == 5
