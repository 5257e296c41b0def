"""A Zotero library read and followed, through a stand-in of its API and from made databases."""

from __future__ import annotations

import copy

import pytest

from aspectra.app.ingest.zotero.connection import Connection, ZoteroApi, ZoteroError, local_address
from aspectra.app.ingest.zotero.sync import Places, follow, read_pdfs, recall
from aspectra.app.main import main
from aspectra.base.errors import AspectraError, BadInput, UsageError
from aspectra.papers.bibliography import is_retracted
from aspectra.papers.library.marks.values import Item, Note
from aspectra.papers.library.store import Store
from aspectra.papers.sources.zotero.database import ZoteroDatabase
from hot_journal import plant
from pdf_maker import make_pdf
from zotero_library import COLLECTIONS, SMALL, made_items, write_database
from zotero_server import ZoteroServer


@pytest.fixture
def library(tmp_path):
    with Store.create(tmp_path / "our.lib") as opened:
        yield opened


@pytest.fixture
def zotero():
    with ZoteroServer(copy.deepcopy(SMALL), COLLECTIONS) as server:
        yield server


def api(server, **more):
    return ZoteroApi(Connection(local_address(server.port), sleep=lambda seconds: None), **more)


class Backend:
    """The same library behind the API or in a database, and what a person does in it."""

    def __init__(self, kind, path):
        self.kind, self.path = kind, path
        self.items = {i["key"]: dict(i) for i in copy.deepcopy(SMALL)}
        self.collections = copy.deepcopy(COLLECTIONS)
        self.server = ZoteroServer([], self.collections) if kind != "database" else None
        if kind == "old api":
            self.server.server_id = ""
        self.clock = 0
        self._write()

    def _write(self):
        if self.server is None:
            write_database(self.path, self.items.values(), self.collections)
        elif not self.server.items:
            self.server.items = {k: {**i, "version": 1} for k, i in self.items.items()}

    def change(self, key, **values):
        self.clock += 1
        moved = f"2025-01-01T00:00:{self.clock:02d}Z"
        self.items[key] = {**self.items.get(key, {"key": key}), **values, "dateModified": moved}
        if self.server is not None:
            self.server.change(key, **values)
        self._write()

    def delete(self, key):
        del self.items[key]
        if self.server is not None:
            self.server.delete(key)
        self._write()

    def rename(self, key, name):
        next(c for c in self.collections if c["key"] == key)["name"] = name
        if self.server is not None:
            self.server.rename(key, name)
        self._write()

    def source(self):
        return ZoteroDatabase(self.path) if self.server is None else api(self.server)


@pytest.fixture(params=["api", "old api", "database"])
def backend(request, tmp_path):
    made = Backend(request.param, tmp_path / "zotero.sqlite")
    if made.server is None:
        yield made
        return
    with made.server:
        yield made


def notes_of(library):
    return {note.key: note for note in library.marks.notes_of("lovelace2019owls")}


def test_first_read_brings_everything(library, backend):
    report = follow(library, backend.source())
    assert (report.added, report.notes, report.annotations, report.tags) == (2, 1, 1, 1)
    owl = library.get("lovelace2019owls")
    assert owl.title == "Owls hunt at night"
    assert owl.abstract == "Owls listen for mice in the dark. They strike within a second."
    assert (owl.authors, owl.year, owl.venue) == (("Ada Lovelace",), 2019, "Birds")
    assert owl.identifiers == {"doi": "10.1000/owl", "pmid": "12345"}
    assert owl.metadata["editors"] == ["Ed Itor"]
    assert owl.metadata["type"] == "article-journal"
    assert owl.metadata["date"] == "May 2019"
    assert owl.metadata["zotero"]["item"]["accessDate"] == "2021-03-04 12:34:56"
    assert owl.metadata["keywords"] == ["Birds"]
    held = owl.metadata["zotero"]
    assert (held["library"], held["key"]) == ("users/0", "OWLS2019")
    assert held["collections"] == ["Reviews / Birds"]
    assert library.marks.tags() == {"lovelace2019owls": ["to read"]}
    notes = notes_of(library)
    assert notes["OWLSNOTE"].text == "Summary\nHearing matters more than sight."
    text, quote = "compare with kestrels", "They strike within a second."
    assert notes["OWLSANN1"] == Note(text, quote, "annotation", "12", "#ffd400", "zotero", "OWLSANN1")
    assert library.marks.items("zotero") == {
        Item("zotero", "users/0", "CHAPTER2"): "CHAPTER2",
        Item("zotero", "users/0", "OWLS2019"): "lovelace2019owls",
    }
    chapter = library.get("CHAPTER2")
    assert chapter.authors == ("Society of Hearing, University of X",)
    assert (chapter.venue, chapter.year) == ("Handbook of hearing", 2021)


def test_the_same_papers_come_from_both(tmp_path, zotero):
    items = made_items(30)
    found = []
    with ZoteroServer(items, COLLECTIONS) as server:
        for name, source in (
            ("a", api(server)),
            ("b", ZoteroDatabase(write_database(tmp_path / "zotero.sqlite", items))),
        ):
            with Store.create(tmp_path / name) as store:
                follow(store, source)
                papers = {p.id: p.to_dict() for p in store.papers()}
            for paper in papers.values():
                paper["metadata"]["zotero"]["item"].pop("dateAdded")
            found.append(papers)
    assert len(found[0]) == 30
    assert found[0] == found[1]


def test_nothing_new_reads_nothing(library, backend):
    follow(library, backend.source())
    revision = library.revision
    source = backend.source()
    if backend.server is not None:
        backend.server.requests.clear()
    report = follow(library, source)
    assert report.nothing_new
    assert library.revision == revision
    if backend.kind == "api":
        assert [method for method, _ in backend.server.requests] == ["GET"]


def test_only_what_changed_is_read(library, backend):
    follow(library, backend.source())
    backend.change("CHAPTER2", title="Hearing in owls and other birds of the night")
    report = follow(library, backend.source())
    assert (report.added, report.updated, report.unchanged) == (0, 1, 0)
    assert library.get("CHAPTER2").title == "Hearing in owls and other birds of the night"


def test_a_title_that_is_quite_another_is_the_same_paper(library, backend):
    follow(library, backend.source())
    backend.change("CHAPTER2", title="Zebras")
    report = follow(library, backend.source())
    assert (report.added, report.updated, len(library)) == (0, 1, 2)
    assert library.get("CHAPTER2").title == "Zebras"


def test_a_changed_citation_key_keeps_the_id(library, backend):
    follow(library, backend.source())
    backend.change("OWLS2019", extra="Citation Key: other")
    follow(library, backend.source())
    assert library.ids() == ["lovelace2019owls", "CHAPTER2"]


def test_notes_are_followed_one_by_one(library, backend):
    follow(library, backend.source())
    backend.change("OWLSANN1", annotationComment="as kestrels do")
    report = follow(library, backend.source())
    assert (report.annotations, report.notes, report.updated, report.marked) == (1, 0, 0, 1)
    notes = notes_of(library)
    assert notes["OWLSANN1"].text == "as kestrels do"
    assert "OWLSNOTE" in notes
    backend.delete("OWLSNOTE")
    follow(library, backend.source())
    assert list(notes_of(library)) == ["OWLSANN1"]
    backend.change("OWLSANN1", annotationComment="", annotationText="")
    follow(library, backend.source())
    assert notes_of(library) == {}
    backend.change("NEWNOTE2", itemType="note", parentItem="OWLS2019", note="<p>one more</p>")
    follow(library, backend.source())
    assert notes_of(library)["NEWNOTE2"].text == "one more"


def test_tags_are_followed_and_the_searchers_own_stay(library, backend):
    follow(library, backend.source())
    with library.writing("test") as writer:
        writer.marks.tag(["lovelace2019owls"], ["mine"])
    backend.change("OWLS2019", tags=[{"tag": "read"}])
    assert follow(library, backend.source()).marked == 1
    assert library.marks.tags() == {"lovelace2019owls": ["mine", "read"]}
    backend.change("OWLSANN1", annotationComment="again")
    follow(library, backend.source())
    assert library.marks.tags() == {"lovelace2019owls": ["mine", "read"]}


def test_what_is_deleted_in_zotero_is_said_and_kept(library, backend):
    follow(library, backend.source())
    backend.delete("CHAPTER2")
    report = follow(library, backend.source())
    assert (report.gone, report.removed, len(library)) == (["CHAPTER2"], 0, 2)
    again = follow(library, backend.source())
    assert again.gone == ["CHAPTER2"]
    report = follow(library, backend.source(), remove=True)
    assert (report.gone, report.removed, library.ids()) == ([], 1, ["lovelace2019owls"])
    assert follow(library, backend.source(), remove=True).removed == 0


def test_a_renamed_collection_reaches_its_papers(library, backend):
    follow(library, backend.source())
    backend.rename("COLLTOP2", "Surveys")
    follow(library, backend.source())
    assert library.get("lovelace2019owls").metadata["zotero"]["collections"] == ["Surveys / Birds"]
    assert library.get("CHAPTER2").metadata["zotero"]["collections"] == ["Surveys"]


def test_what_is_in_the_trash_is_not_read(library, tmp_path):
    items = copy.deepcopy(SMALL)
    items[0]["deleted"] = True
    report = follow(library, ZoteroDatabase(write_database(tmp_path / "zotero.sqlite", items)))
    assert (report.added, report.annotations, library.ids()) == (1, 0, ["CHAPTER2"])


def test_pages_of_the_service_are_followed(library):
    with ZoteroServer(made_items(40), COLLECTIONS, page=25) as server:
        report = follow(library, api(server))
    assert (report.added, report.notes) == (40, 40)


def test_another_database_is_compared_anew(library, zotero):
    follow(library, api(zotero))
    zotero.server_id = "another00000"
    report = follow(library, api(zotero))
    assert (report.nothing_new, report.unchanged, len(library)) == (False, 2, 2)


def test_a_busy_server_is_waited_for(library, zotero):
    waits = []
    source = ZoteroApi(Connection(local_address(zotero.port), sleep=waits.append))
    zotero.faults = [(429, {"Retry-After": "7"}), (503, {"Retry-After": "3"})]
    follow(library, source)
    assert waits == [7, 3]
    zotero.headers = {"Backoff": "5"}
    follow(library, source)
    follow(library, source)
    assert waits[2:] == [5]


def test_a_server_that_is_always_busy_is_given_up(library, zotero):
    source = api(zotero)
    zotero.faults = [(429, {"Retry-After": "50"})] * 9
    with pytest.raises(ZoteroError, match="too many requests"):
        follow(library, source)
    assert len(zotero.faults) == 6


def test_zotero_that_keeps_its_library_closed_says_where_to_open_it(zotero):
    zotero.enabled = False
    with pytest.raises(ZoteroError) as caught:
        api(zotero)
    assert "Allow other applications" in caught.value.hint


def test_only_this_computer_and_zotero_are_contacted():
    for base in ("http://example.org/api", "https://api.zotero.org.example.org", "http://api.zotero.org"):
        with pytest.raises(UsageError):
            Connection(base)


def test_offline_contacts_nobody(monkeypatch, zotero):
    monkeypatch.setenv("ASPECTRA_OFFLINE", "1")
    with pytest.raises(ZoteroError, match="would be contacted"):
        api(zotero)
    assert zotero.requests == []


def test_the_database_is_read_while_zotero_holds_it(library, tmp_path):
    import sqlite3

    path = write_database(tmp_path / "zotero.sqlite", SMALL)
    held = sqlite3.connect(path)
    held.execute("PRAGMA journal_mode = WAL")
    held.execute("UPDATE itemDataValues SET value = 'Owls hunt by ear' WHERE value = 'Owls hunt at night'")
    held.commit()  # in the log beside the database only
    held.execute("BEGIN EXCLUSIVE")
    before = {p.name: p.read_bytes() for p in tmp_path.glob("zotero.sqlite*") if not p.name.endswith("-shm")}
    follow(library, ZoteroDatabase(path))
    assert library.get("lovelace2019owls").title == "Owls hunt by ear"
    after = {p.name: p.read_bytes() for p in tmp_path.glob("zotero.sqlite*") if not p.name.endswith("-shm")}
    assert before == after
    held.rollback()
    held.close()


def test_what_zotero_marks_as_retracted_is(library, tmp_path):
    import sqlite3

    path = write_database(tmp_path / "zotero.sqlite", SMALL)
    follow(library, ZoteroDatabase(path))
    assert not is_retracted(library.get("lovelace2019owls"))
    for flag in (0, 1):  # 1: hidden by the person
        with sqlite3.connect(path) as held:
            held.execute("CREATE TABLE IF NOT EXISTS retractedItems (itemID INTEGER PRIMARY KEY, data, flag)")
            held.execute("REPLACE INTO retractedItems SELECT itemID, '{}', ? FROM items", [flag])
        held.close()
        follow(library, ZoteroDatabase(path))
        assert is_retracted(library.get("lovelace2019owls")) is (flag == 0)


def test_what_is_no_zotero_database_is_refused(library, tmp_path):
    (tmp_path / "zotero.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 4000)
    with pytest.raises(BadInput, match="cannot be read"):
        follow(library, ZoteroDatabase(tmp_path / "zotero.sqlite"))
    write_database(tmp_path / "zotero.sqlite", SMALL)
    with pytest.raises(BadInput, match="there is no group"):
        follow(library, ZoteroDatabase(tmp_path / "zotero.sqlite", "Nobody"))


def test_a_database_that_brings_a_rollback_journal_is_refused_and_no_file_is_deleted(library, tmp_path):
    path, victim = write_database(tmp_path / "zotero.sqlite", SMALL), tmp_path / "thesis.docx"
    victim.write_text("three years of work", "utf-8")
    plant(path, victim)
    with pytest.raises(BadInput, match="rollback journal") as caught:
        follow(library, ZoteroDatabase(path))
    assert "start Zotero" in caught.value.hint
    assert victim.exists()


def test_attached_pdfs_bring_their_text_and_the_item_its_metadata(library, tmp_path):
    folder = tmp_path / "Zotero"
    (folder / "storage" / "OWLSPDF1").mkdir(parents=True)
    text = "Owls have asymmetric ears and turn their heads to find a sound in the dark of the night. "
    pages = [["Another Title", "1 Introduction", *([text] * 12)]]
    (folder / "storage" / "OWLSPDF1" / "owls.pdf").write_bytes(make_pdf(pages))
    path = write_database(folder / "zotero.sqlite", SMALL)
    source = ZoteroDatabase(path)
    follow(library, source)
    places = Places(path, folder)
    assert read_pdfs(library, source.library, places).read == 1
    owl = library.get("lovelace2019owls")
    assert "asymmetric ears" in " ".join(s.text for s in owl.sections)
    assert (owl.title, owl.year, owl.metadata["pdf"]["file"]) == ("Owls hunt at night", 2019, "owls.pdf")
    assert read_pdfs(library, source.library, places).read == 0
    changed = copy.deepcopy(SMALL)
    changed[0] |= {"title": "Owls hunt by ear", "dateModified": "2025-02-02T00:00:00Z"}
    write_database(path, changed)
    follow(library, source)
    owl = library.get("lovelace2019owls")
    assert (owl.title, owl.has_full_text, owl.metadata["pdf"]["file"]) == (
        "Owls hunt by ear",
        True,
        "owls.pdf",
    )
    assert read_pdfs(library, source.library, places).read == 0


def test_a_file_that_is_not_here_is_counted(library, tmp_path):
    path = write_database(tmp_path / "zotero.sqlite", SMALL)
    follow(library, ZoteroDatabase(path))
    report = read_pdfs(library, "users/0", Places(path, tmp_path))
    assert (report.read, report.missing) == (0, 1)


def test_the_command_reports_in_counts(tmp_path, capsys, zotero):
    lib = str(tmp_path / "our.lib")
    assert main(["init", "--library", lib]) == 0
    command = ["zotero", "sync", "--library", lib, "--port", str(zotero.port)]
    assert main(command) == 0
    assert (
        "2 added, 0 updated, 0 unchanged, 0 skipped; 1 note, 1 annotation, 1 tag" in capsys.readouterr().out
    )
    assert main(command) == 0
    assert "nothing new" in capsys.readouterr().out
    zotero.delete("CHAPTER2")
    assert main(command) == 0
    assert "1 paper no longer in Zotero, kept here: CHAPTER2" in capsys.readouterr().err
    assert main([*command, "--remove"]) == 0
    assert "Removed 1 paper" in capsys.readouterr().out


def test_without_zotero_the_way_out_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    lib = str(tmp_path / "our.lib")
    assert main(["init", "--library", lib]) == 0
    assert main(["zotero", "sync", "--library", lib, "--port", "1"]) == 7
    assert "--database" in capsys.readouterr().err


def test_adding_a_database_of_zotero_names_the_command(tmp_path, capsys):
    lib = str(tmp_path / "our.lib")
    path = write_database(tmp_path / "zotero.sqlite", SMALL)
    assert main(["init", "--library", lib]) == 0
    assert main(["add", str(path), "--library", lib]) == 1
    assert "aspectra zotero sync --database" in capsys.readouterr().err


def test_an_interrupted_state_is_no_obstacle(library, backend):
    follow(library, backend.source())
    known = recall(library, "users/0")
    assert set(known.papers) == {"OWLS2019", "CHAPTER2"}
    report = follow(library, backend.source(), again=True)
    assert (report.unchanged, report.added) == (2, 0)
    assert not isinstance(report, AspectraError)
