"""Checksums of library.db: kept by every writer, and whatever was changed behind them is refused."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from aspectra.base.errors import AspectraError, LibraryCorrupt
from aspectra.base.values import replace
from aspectra.papers.library import row_sums
from aspectra.papers.library.copies.backup import salvage
from aspectra.papers.library.derived import Producer
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Reference
from conftest import PAPERS

VECTORS = Producer("abstract", "v1")


@pytest.fixture
def filled(library):
    """A library with citations, two versions of a work, and derived values."""
    twin = replace(PAPERS[0], abstract="Another text.").with_id("owl-preprint")
    citing = Paper("citing", "A survey of owls", references=(Reference(identifiers={"doi": "10.1000/owl"}),))
    with library.writing("add") as writer:
        writer.add([twin, citing])
        rows = [(m.key, (np.arange(4, dtype="f4"),)) for m in library.derived.missing(VECTORS)]
        writer.derived.put(VECTORS, rows)
    return library


def tamper(library, statement):
    """Change the database as damage does: without a word to the checksums."""
    with sqlite3.connect(library.database) as db:
        assert db.execute(statement).rowcount > 0
    db.close()


def every_kind_of_change(library):
    with library.writing("edit") as writer:
        writer.add([replace(PAPERS[0], year=1999), replace(PAPERS[3], sections=())])
        writer.set_meta("some", "thing")
        writer.set_meta("some", "other thing")
    with library.writing("remove") as writer:
        writer.remove(["mice"])
        writer.derived.drop("abstract")


def test_every_writer_keeps_the_sums(filled):
    assert filled.check() == []
    every_kind_of_change(filled)
    assert filled.check() == []


def test_the_columns_of_a_checksum_are_all_others_of_its_table(filled):
    apart = {"papers": {"reference_checksum"}, "citations": {"record"}}
    for table, columns in row_sums.ROWS.items():
        there = [row[1] for row in filled.fetch(f"PRAGMA table_xinfo({table})")]
        assert {*there} == {*columns, "checksum"} | apart.get(table, set())
    marked = [row[0] for row in filled.fetch("SELECT name FROM sqlite_schema WHERE sql LIKE '%STORED%'")]
    assert sorted(marked) == sorted([*row_sums.ROWS][[*row_sums.ROWS].index("tags") :])


READS = {
    "title": ("UPDATE papers SET title = 'Another' WHERE id = 'owl'", lambda s: s.get("owl")),
    "year": ("UPDATE papers SET year = 2018 WHERE id = 'owl'", lambda s: s.get_many(["owl"], full=False)),
    "record": ("UPDATE papers SET record = '{}' WHERE id = 'owl'", lambda s: list(s.papers("none"))),
    "section": ("UPDATE sections SET text = text || '.'", lambda s: s.get("full")),
    "lost section": ("DELETE FROM sections WHERE ordinal = 0", lambda s: s.papers_at([4], "sections")),
    "reference": ('UPDATE citations SET record = \'{"raw":"x"}\'', lambda s: s.get("citing")),
    "group": ("UPDATE papers SET version_group = NULL WHERE id = 'owl'", lambda s: s.versions(["owl"])),
    "cites": ("UPDATE citations SET target = 2", lambda s: s.cites("citing")),
    "exchanged identifier": (
        "UPDATE identifiers SET pos = 3 WHERE pos = 1",
        lambda s: s.resolve("doi:10.1000/owl"),
    ),
    "ids": ("UPDATE papers SET id = 'owm' WHERE id = 'owl'", lambda s: s.ids()),
    "meta": ("UPDATE meta SET value = '9' WHERE key = 'revision'", lambda s: s.revision),
    "derived": (
        "UPDATE derived SET data = x'00' WHERE rowid = 1",
        lambda s: list(s.derived.required(VECTORS)),
    ),
    "exchanged": (
        "UPDATE derived SET data = (SELECT data FROM derived WHERE rowid = 1) || x'00'",
        lambda s: list(s.derived.items(VECTORS)),
    ),
    "producer": ("UPDATE producers SET version = 'v2'", lambda s: s.derived.of("abstract", "v2", "owl")),
    "not a text": ("UPDATE papers SET title = CAST(x'ff' AS TEXT) WHERE id = 'owl'", lambda s: s.get("owl")),
}


@pytest.mark.parametrize("kind", READS)
def test_what_changed_is_refused_where_it_is_read(filled, kind):
    statement, read = READS[kind]
    read(filled)  # well before
    tamper(filled, statement)
    with pytest.raises(LibraryCorrupt, match="damaged"), Store(filled.folder) as again:
        read(again)
    assert Store(filled.folder).check() != []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE identifiers SET value = '10.1000/owm'",
        "DELETE FROM identifiers WHERE pos = 1",
        "UPDATE authors SET pos = 2 WHERE family = 'li' AND pos = 1",
        "DELETE FROM authors WHERE family = 'li'",
        "UPDATE papers SET version_group = 9 WHERE id = 'owl'",
        "UPDATE citations SET target = NULL",
        "UPDATE meta SET key = 'another' WHERE key = 'revision'",
    ],
)
def test_what_a_paper_is_no_longer_found_by_is_seen_by_doctor(filled, statement):
    tamper(filled, statement)
    assert Store(filled.folder).check() != []


@pytest.mark.parametrize("column", ["id", "title_key"])
def test_what_changed_together_with_its_index_is_seen_by_the_weekly_check(filled, column):
    tamper(filled, f"UPDATE papers SET {column} = 'owm' WHERE id = 'owl'")
    assert Store(filled.folder).check(quick=True) != []


def test_the_paper_that_changed_is_named(filled):
    tamper(filled, "UPDATE papers SET abstract = 'other' WHERE id = 'owl'")
    with pytest.raises(LibraryCorrupt) as caught:
        filled.get("owl")
    assert "'owl'" in caught.value.what
    assert "aspectra doctor" in caught.value.hint
    assert "aspectra restore" in caught.value.hint
    assert filled.get("mice") == PAPERS[1]  # the others are read


def test_a_changed_table_definition_is_refused(filled):
    db = sqlite3.connect(filled.database)
    db.execute("CREATE TABLE more (x)")
    db.commit()
    db.close()
    with pytest.raises(LibraryCorrupt, match="damaged"):
        Store(filled.folder)


def test_a_row_that_was_damaged_before_it_was_replaced_leaves_its_mark(filled):
    tamper(filled, "UPDATE papers SET abstract = 'other' WHERE id = 'owl'")
    with filled.writing("add") as writer, pytest.raises(LibraryCorrupt):
        writer.add([replace(PAPERS[0], year=1999)])
    assert filled.check() != []


def test_an_absent_id_is_only_said_to_be_absent_where_that_is_sure(filled):
    assert "owm" not in filled
    assert filled.get_many(["owm", "mice"]).keys() == {"mice"}
    with pytest.raises(LibraryCorrupt, match="the index of the ids"):
        filled.checksums.absent(["owm", "owl"])  # as if the index had lost it


def test_a_reader_during_a_writer_sees_no_damage(filled):
    with filled.writing("add") as writer:
        for number in range(20):
            writer.add([Paper(f"n{number}", f"Title {number}", authors=("Ada Lovelace",))])
            filled.ids_by_author("Lovelace")
            assert f"n{number}" in filled
    assert filled.check() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE authors SET family = 'stranger' WHERE pos = 2",
        "DELETE FROM identifiers",
        "UPDATE citations SET target = 3",
        "UPDATE derived SET data = x'00' WHERE rowid = 2",
        "UPDATE meta SET checksum = 5",
    ],
)
def test_a_database_is_made_again_from_sound_papers(filled, statement):
    papers, cited = list(filled.papers()), filled.cited_by("owl")
    values = len(list(filled.derived.items(VECTORS)))
    tamper(filled, statement)
    kept, left_out, _ = salvage(filled)
    assert kept is not None
    assert kept.exists()
    with Store(filled.folder) as again:
        assert again.check() == []
        assert list(again.papers()) == papers
        assert again.cited_by("owl") == cited
        assert again.versions(["owl"]) == {"owl": ["owl-preprint"]}
        assert len(list(again.derived.items(VECTORS))) == values - left_out
    assert left_out == ("derived" in statement)


def test_no_paper_is_dropped_to_repair_a_database(filled):
    tamper(filled, "UPDATE papers SET abstract = 'other' WHERE id = 'owl'")
    before = filled.database.read_bytes()
    with pytest.raises(LibraryCorrupt, match="1 papers"):
        salvage(filled)
    assert filled.database.read_bytes() == before
    assert {p.name for p in filled.folder.iterdir()} <= {
        *("library.db", "library.db-wal", "library.db-shm", "writer.lock", "generations")
    }


def test_a_paper_and_its_parts_are_read_from_one_snapshot(library, monkeypatch):
    """Another writer changes the paper between any two statements of the reader."""
    old = PAPERS[3]
    new = replace(old, title="A new title", sections=(replace(old.sections[0], text="New text."),))
    count = 0

    def write(*_):
        nonlocal count
        count += 1
        with Store(library.folder).writing("edit") as writer:
            writer.add([new if count % 2 else old])

    fetch = library.fetch

    def interrupted(statement, values=()):
        found = fetch(statement, values)
        write()
        return found

    monkeypatch.setattr(library, "fetch", interrupted)
    monkeypatch.setattr(library.checksums, "_fetch", interrupted)
    for _ in range(4):
        assert library.get("full") in (old, new)
        for paper in library.papers():
            write()
            assert paper.id != "full" or paper in (old, new)
    assert count > 4


def test_errors_are_told_apart_by_code_not_by_words(library, monkeypatch):
    from aspectra.papers.library import schema

    kinds = {
        sqlite3.SQLITE_CORRUPT: "is damaged",
        sqlite3.SQLITE_FULL: "disk is full",
        sqlite3.SQLITE_READONLY: "cannot be written",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened",
        sqlite3.SQLITE_BUSY: "in use by another program",
        sqlite3.SQLITE_IOERR_WRITE: "could not be written to its end",
    }
    for code, words in kinds.items():
        error = sqlite3.OperationalError("etwas ging schief")
        error.sqlite_errorcode = code
        found = schema.translate(error, library.database)
        assert isinstance(found, AspectraError)
        assert words in found.what
    monkeypatch.setattr(schema, "disk_is_full", lambda folder: True)
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    assert "disk is full" in schema.translate(error, library.database).what


def test_a_schema_that_is_no_longer_text_is_refused(filled):
    database = filled.folder / "library.db"
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = database.read_bytes()
    at = content.index(b"CREATE TABLE papers")
    database.write_bytes(content[: at + 13] + b"\xee\x28" + content[at + 15 :])  # the message quotes it
    with pytest.raises(LibraryCorrupt, match="damaged"):
        Store(filled.folder)
