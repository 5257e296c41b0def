"""Where Zotero's files are: named by the user, by Zotero's preferences, or in the usual folder."""

from __future__ import annotations

import os

import pytest

from aspectra.app.ingest.zotero.sync import find_places


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("APPDATA", raising=False)
    return tmp_path


def database(folder):
    folder.mkdir(parents=True)
    (folder / "zotero.sqlite").touch()
    return folder


def profile(home, name, text, at):
    path = home / ".zotero" / "zotero" / name / "prefs.js"
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    os.utime(path, (at, at))


def test_nothing_is_found_where_nothing_is(home):
    found = find_places()
    assert (found.database, found.data, found.base) == (None, None, None)


def test_the_usual_folder(home):
    folder = database(home / "Zotero")
    assert find_places().database == folder / "zotero.sqlite"


def test_preferences_of_the_profile_used_last(home):
    database(home / "Zotero")
    old, new = database(home / "old"), database(home / "a \u00fc")
    base = home / "papers"
    base.mkdir()
    line = 'user_pref("extensions.zotero.dataDir", "{}");\nuser_pref("extensions.zotero.useDataDir", true);\n'
    profile(
        home, "b", line.format(new) + f'user_pref("extensions.zotero.baseAttachmentPath", "{base}");\n', 2000
    )
    profile(home, "a", line.format(old), 1000)
    found = find_places()
    assert (found.data, found.base) == (new, base)


def test_a_folder_that_is_switched_off_or_gone_is_not_used(home):
    usual, other = database(home / "Zotero"), database(home / "other")
    named = f'user_pref("extensions.zotero.dataDir", "{other}");\n'
    profile(home, "a", named + 'user_pref("extensions.zotero.useDataDir", false);\n', 1)
    assert find_places().data == usual
    profile(home, "b", 'user_pref("extensions.zotero.dataDir", "relative");\nuser_pref("x\n', 2)
    assert find_places().data == usual


def test_a_database_that_is_named(home):
    folder = database(home / "copy")
    assert find_places(folder).database == folder / "zotero.sqlite"
    assert find_places(folder / "zotero.sqlite").data == folder
