"""Papers known by their identifiers only, and the records that complete them."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.app.ingest.library_facts import summary
from aspectra.app.ingest.works import Works
from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.papers.library.copies.backup import salvage
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

BARE = Paper("doi:10.1000/a", identifiers={"doi": "10.1000/a"})
FULL = Paper("owl2001", title="Owls", abstract="We watch.", identifiers={"doi": "10.1000/a", "isbn": "9"})


def add(store: Store, *papers: Paper) -> tuple[int, int, int]:
    with store.writing("test") as writer:
        report = writer.add(papers)
    return report.added, report.updated, report.unchanged


def test_a_record_completes_the_paper_with_its_identifier(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "library")
    assert add(store, BARE, Paper("b", identifiers={"pmid": "5"})) == (2, 0, 0)
    assert summary(store)["to_complete"] == 2
    before = store.fetch("SELECT pos FROM papers ORDER BY pos")
    assert add(store, FULL) == (0, 1, 0)
    assert store.fetch("SELECT id, title FROM papers ORDER BY pos") == [("owl2001", "Owls"), ("b", "")]
    assert store.fetch("SELECT pos FROM papers ORDER BY pos") == before
    held = summary(store)
    assert (held["papers"], held["to_complete"], held["title_only"]) == (2, 1, 0)
    assert add(store, FULL) == (0, 0, 1)


def test_a_list_adds_nothing_that_is_there(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "library")
    add(store, FULL)
    assert add(store, BARE) == (0, 0, 1)
    assert store.fetch("SELECT id FROM papers") == [("owl2001",)]


def test_texts_and_books_are_left_alone(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "library")
    add(store, FULL, Paper("c", identifiers={"isbn": "9780000000002"}))
    other = Paper("d", title="Another version", identifiers={"doi": "10.1000/a"})
    chapter = Paper("e", title="A chapter", identifiers={"isbn": "9780000000002"})
    assert add(store, other, chapter) == (2, 0, 0)


def test_a_completed_paper_keeps_what_the_searcher_did(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "library")
    add(store, BARE)
    with store.writing("test") as writer:
        writer.marks.edit(BARE.id, year=1999)
        writer.marks.tag([BARE.id], ["read"])
    assert add(store, replace(FULL, year=2001)) == (0, 1, 0)
    assert (store.get(FULL.id).year, store.marks.edit(FULL.id).given) == (1999, {"year": 1999})
    with store.writing("test") as writer:
        assert [writer.marks.undo()[1] for _ in range(2)] == [[], []]
    assert (store.get(FULL.id).year, store.marks.tags([FULL.id])) == (2001, {})
    assert add(store, replace(FULL, year=2001)) == (0, 0, 1)


def test_a_completed_paper_is_found_by_its_old_id_and_stays_merged(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "library")
    works = Works(store)
    with store.writing("test") as writer:
        papers = (replace(BARE, id="list-1"), Paper("mice", "Mice"), Paper("zebra", "Zebras"))
        writer.add(papers, path="list.csv")
    works.split("mice", "list-1")
    works.merge("zebra", "list-1")
    assert add(store, FULL) == (0, 1, 0)
    assert store.resolve("list-1") == FULL.id
    assert store.versions(["zebra"]) == {"zebra": [FULL.id]}
    with pytest.raises(UsageError, match="cannot become one work"):
        works.merge("zebra", "mice")
    for left in (1, 0):
        with store.writing("test") as writer:
            assert writer.marks.undo()[1] == []
        assert store.versions(["zebra"]) == {}
        assert store.fetch("SELECT count(*) FROM pairs") == [(left,)]


def test_a_repair_keeps_each_paper_known_by_an_identifier_alone(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "library")
    add(store, BARE, Paper("pmid:5", identifiers={"pmid": "5"}))
    add(store, replace(FULL, identifiers={"doi": "10.1000/a", "pmid": "5"}))
    with store.writing("test") as writer:
        writer.marks.tag(["pmid:5"], ["read"])
    assert salvage(store)[1:] == (0, [])
    with Store(store.folder) as again:
        assert (again.ids(), again.marks.tags()) == ([FULL.id, "pmid:5"], {"pmid:5": ["read"]})
