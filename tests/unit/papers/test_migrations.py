"""Libraries of older formats: opened as they are, upgraded by the first writer, nothing computed again.

``library-f0ec659.sql`` is the dump of a library that the commit f0ec659 made: four papers, two encoders with
eight dimensions, the local lenses, the readers, and two prompted lenses.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from aspectra.app.ingest.works import Works
from aspectra.papers.library import schema
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.build.work import settings_of
from aspectra.views.prompted.definition import definition, tally
from fake_encoder import FakeEncoder

DUMP = Path(__file__).parents[2] / "data" / "library-f0ec659.sql"
QUERIES = {
    "owls mice windows": ["twin", "mice", "full"],
    "a maze for mice": ["mice", "twin", "full"],
    "pooled windows of text": ["mice", "full", "twin"],
}


@pytest.fixture
def old(tmp_path: Path) -> Store:
    """The library of f0ec659, without its index."""
    folder = tmp_path / "old"
    folder.mkdir()
    db = sqlite3.connect(folder / "library.db")
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(DUMP.read_text("utf-8"))
    db.close()
    return Store(folder)


class Encoders:
    """The two encoders of the library, and all texts that they were given."""

    def __init__(self) -> None:
        self.held = {name: FakeEncoder(name, 8, late_pooling=name == "fake") for name in ("fake", "other")}

    def __call__(self, name: str) -> FakeEncoder:
        return self.held[name]

    @property
    def encoded(self) -> list[str]:
        return [text for one in self.held.values() for text in one.encoded]


def tables(library: Store) -> set[str]:
    return {row[0] for row in library.fetch("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}


def test_an_upgraded_library_is_as_a_new_one(old, tmp_path):
    with old.writing("test"):
        pass
    assert old.meta("format") == str(schema.FORMAT)
    recorded = old.fetch("SELECT number, name FROM migrations ORDER BY number")
    assert recorded == [(number, name) for number, name, _ in schema.MIGRATIONS]
    assert tables(old) == tables(Store.create(tmp_path / "new"))
    assert old.check() == []
    assert schema.MIGRATIONS[-1][0] == schema.FORMAT


def test_nothing_is_computed_again_and_the_answers_are_the_same(old):
    load = Encoders()
    report = build_index(old, load=load)
    assert (report.encoded, report.encoded_full, report.read) == (0, 0, 0)  # lenses have newer versions
    assert load.encoded == []
    lenses = [definition(old, name) for name in ("bird", "whole")]
    # The one that reads whole papers was shown 6,000 characters of them, and is asked again.
    assert [(tally(old, lens).values, tally(old, lens).missing) for lens in lenses] == [(4, 0), (0, 4)]
    for query, ids in QUERIES.items():
        assert Searcher(old, load=load).search(query).ids == ids
    with old.writing("test") as writer:
        assert writer.derived.collect() == 0


def test_each_vector_is_carried_over_once(old):
    build_index(old, load=Encoders())
    names = {row[0] for row in old.fetch("SELECT name || ' ' || version FROM producers")}
    assert {"abstract fake-fake-8", "sentences-apart fake-fake-8", "sentences fake-other-8"} <= names
    assert "sentences fake-fake-8" not in names  # pooled ones, which nothing read beside those encoded apart


def test_an_old_library_is_searched_without_being_changed(old, tmp_path):
    """The index and the tables of papers are as they were; the first writer upgrades the rest."""
    new = Store.create(tmp_path / "new")
    with new.writing("add") as writer:
        writer.add(old.papers())
    build_index(new, settings_of(old), load=Encoders())
    assert old.meta("format") == "1"
    (new.folder / "generations").rename(old.folder / "generations")
    for query, ids in QUERIES.items():
        assert Searcher(old, load=Encoders()).search(query).ids == ids
    assert old.meta("format") == "1"


def test_reading_derived_values_upgrades(old):
    assert tally(old, definition(old, "bird")).values == 4
    assert old.meta("format") == str(schema.FORMAT)


def test_citations_that_were_open_are_linked_by_papers_that_come_later(old):
    assert old.cites("mice") == ["owl"]
    later = [Paper("moths", "Moths are attracted by street lamps"), Paper("bats", "Bats sleep by day")]
    with old.writing("add") as writer:
        writer.add(later)
    assert old.cites("mice") == ["bats", "moths", "owl"]


def test_a_migration_that_fails_changes_nothing(old, monkeypatch):
    def broken(db):
        db.execute("DROP TABLE citations")
        raise KeyboardInterrupt

    first = schema.MIGRATIONS[0]
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (first, (3, "broken", broken)))
        with pytest.raises(KeyboardInterrupt), old.writing("test"):
            pass
    assert old.meta("format") == "2"
    assert old.cites("mice") == ["owl"]
    build_index(old, load=Encoders())
    assert old.meta("format") == str(schema.FORMAT)


def test_versions_are_grouped_by_the_present_rules(old):
    with sqlite3.connect(old.database) as db:
        db.execute("UPDATE papers SET version_group = 7")
    assert old.versions(["mice"]) != {}
    with old.writing("upgrade"):
        pass
    assert old.versions(["mice"]).get("mice", []) in ([], ["twin"])
    assert old.check() == []


def test_works_of_an_old_library(old):
    found = Works(old).duplicates()
    assert found.records == len(old)
    assert Works(old).flow().identified == len(old)
    assert Works(old).flow().problems() == []
