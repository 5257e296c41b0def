"""A search answers from one revision of the library, whatever is written while it runs."""

from __future__ import annotations

import pytest

from aspectra.base.values import replace
from aspectra.papers.library.schema import ReadConnection
from aspectra.papers.library.store import Store
from aspectra.search.scoring.engine import Engine
from aspectra.search.searcher import Searcher


def seen(searcher, explain=False):
    found = searcher.search("owls and mice at night", "hybrid", explain=explain).to_dict()
    return found["hits"], found["warnings"]


def rewrite(library):
    with library.writing("add") as writer:
        held = library.get("owl")
        writer.add([replace(held, abstract=f"{held.abstract} Owls sleep by day.", year=1990)])
        writer.add([replace(library.get("rank"), id="twin", identifiers={"arxiv": "2101.00001"})])


def remove(library):
    with library.writing("remove") as writer:
        writer.remove(["mice"])


@pytest.mark.parametrize("change", [rewrite, remove])
@pytest.mark.parametrize("moment", ["find", "papers", "versions", "changes"])
def test_what_is_written_during_a_search_is_seen_by_the_next(searcher, change, moment, monkeypatch):
    alone = seen(searcher)
    plain, pending = getattr(Engine, moment), [change]

    def during(self, *given, **named):
        found = plain(self, *given, **named)
        if pending:
            pending.pop()(Store(searcher.library.folder))
        return found

    monkeypatch.setattr(Engine, moment, during)
    assert seen(searcher) == alone
    assert pending == []
    after = seen(searcher)
    assert after != alone
    assert after == seen(Searcher(Store(searcher.library.folder), searcher._load))


def test_snapshots_nest_and_end(library):
    with library.snapshot():
        before = library.ids()
        remove(Store(library.folder))
        with library.snapshot():
            assert library.ids() == before
            assert [paper.id for paper in library.papers()] == before
        assert library.ids() == before
    assert "mice" not in library.ids()


def test_a_snapshot_reads_the_revision_once_and_the_next_one_reads_it_anew(library, monkeypatch):
    asked = []
    fetch = ReadConnection.fetch

    def counted(reader, statement, values=()):
        asked.append(statement)
        return fetch(reader, statement, values)

    monkeypatch.setattr(ReadConnection, "fetch", counted)
    with library.snapshot():
        before = library.revision
        remove(Store(library.folder))
        asked.clear()
        assert (library.revision, library.meta("nothing", "x"), library.meta("nothing")) == (before, "x", "")
        assert len(asked) == 2  # the checksum and the row of "nothing"
    assert library.revision > before
    with library.snapshot():
        assert library.revision > before


def test_a_writer_does_not_wait_for_a_snapshot(library):
    other = Store(library.folder)
    with other.snapshot():
        held = other.ids()
        remove(library)
        assert other.ids() == held
    assert "mice" not in other.ids()


def test_what_was_committed_is_flushed_although_a_reader_keeps_the_log(library):
    """A reader's snapshot keeps the log from being copied and flushed; so each commit has to be."""
    with Store(library.folder) as reader, reader.snapshot(), library.writing("add") as writer:
        writer.add([replace(library.get("owl"), year=1990)])
        writer._db.execute("PRAGMA busy_timeout = 10")
        blocked, _, copied = writer._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert blocked or not copied
        assert writer._db.execute("PRAGMA synchronous").fetchone()[0] >= 2
