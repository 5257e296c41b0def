"""A library or a backup of somebody else's deletes nothing and is refused in words."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from aspectra.base.errors import BadInput, LibraryCorrupt
from aspectra.papers.library import schema
from aspectra.papers.library.copies.backup import back_up, restore
from aspectra.papers.library.store import Store
from hot_journal import plant


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "thesis.docx"
    path.write_text("three years of work", "utf-8")
    return path


@pytest.fixture
def at_home(library):
    """The folder of a library that nobody has open."""
    library.close()
    return library.folder


def test_the_journal_of_these_tests_deletes_a_file(tmp_path, victim):
    """It is what it says: SQLite itself, asked for anything, deletes the file."""
    with contextlib.closing(sqlite3.connect(tmp_path / "any.db")) as made:
        made.execute("CREATE TABLE t (x)")
    plant(tmp_path / "any.db", victim)
    with contextlib.closing(sqlite3.connect(tmp_path / "any.db")) as opened:
        opened.execute("SELECT count(*) FROM t").fetchall()
    assert not victim.exists()


OPENED = {
    "read": lambda folder: Store(folder).close(),
    "checked": lambda folder: schema.problems(folder / "library.db"),
    "made again": schema.create,
    "half made": lambda folder: schema.half_made(folder / "library.db"),
    "written": lambda folder: schema.connect(folder / "library.db", write=True).close(),
}


@pytest.mark.parametrize("how", OPENED)
def test_a_library_with_a_rollback_journal_is_refused_and_no_file_is_deleted(at_home, victim, how):
    journal = plant(at_home / "library.db", victim)
    with pytest.raises(LibraryCorrupt, match="has a rollback journal") as caught:
        OPENED[how](at_home)
    assert victim.exists()
    assert journal.exists()
    assert caught.value.hint


def test_a_backup_replaces_a_library_with_a_rollback_journal_which_is_kept_aside(at_home, victim, tmp_path):
    copy = tmp_path / "copy.db"
    copy.write_bytes((at_home / "library.db").read_bytes())
    plant(at_home / "library.db", victim)
    restore(copy, at_home, replace=True)
    with Store(at_home) as opened:
        assert len(opened) == 5
    assert victim.exists()
    assert list(at_home.glob("*.journal"))


@pytest.mark.parametrize("through_a_link", [False, True])
def test_a_backup_with_a_rollback_journal_is_refused_and_no_file_is_deleted(
    library, tmp_path, victim, through_a_link
):
    copy = back_up(library, tmp_path / "copy.backup")
    plant(copy, victim)
    if through_a_link:  # SQLite looks for the journal beside the file itself
        (tmp_path / "elsewhere").mkdir()
        copy = tmp_path / "elsewhere" / "link.backup"
        copy.symlink_to(tmp_path / "copy.backup")
    with pytest.raises(BadInput, match="backup"):
        restore(copy, tmp_path / "new.lib")
    assert victim.exists()


def test_a_journal_without_content_is_harmless(at_home):
    (at_home / "library.db-journal").touch()
    with Store(at_home) as opened:
        assert len(opened) == 5
