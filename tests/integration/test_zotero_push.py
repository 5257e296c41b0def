"""Picks, tags and notes sent to a stand-in of Zotero, reported item by item, and taken back."""

from __future__ import annotations

import copy
import json
import stat

import pytest

from aspectra.app.ingest.zotero.connection import Connection, ZoteroApi, ZoteroError, local_address
from aspectra.app.ingest.zotero.pushing import Outgoing, Pushed, Pushing, SentQuote, item_of_paper, keys_file
from aspectra.app.ingest.zotero.sync import follow
from aspectra.app.main import main
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.zotero.mapping import html_text
from zotero_library import COLLECTIONS, SMALL, made_items
from zotero_server import ZoteroServer

OWL = Paper("lovelace2019owls", "Owls hunt at night")
QUOTES = (SentQuote("They strike within a second.", "Abstract"), SentQuote("Owls & mice <listen>"))


@pytest.fixture(autouse=True)
def _own_settings(tmp_path, monkeypatch):
    for name in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))


@pytest.fixture
def zotero():
    with ZoteroServer(copy.deepcopy(SMALL), COLLECTIONS) as server:
        yield server


def pushing(server):
    return Pushing(ZoteroApi(Connection(local_address(server.port), sleep=lambda seconds: None)))


def send(server, papers, *, collection="", tags=(), known=()):
    done = Pushed()
    pushing(server).send(papers, done, collection=collection, tags=tags, known=known)
    return done


def note_of(server, parent):
    return [i for i in server.items.values() if i.get("parentItem") == parent and i["itemType"] == "note"]


def test_tags_collections_and_notes_are_added_and_nothing_is_overwritten(zotero):
    before = copy.deepcopy(zotero.items)
    done = send(
        zotero, [Outgoing(OWL, "OWLS2019", QUOTES, "owls")], collection="Picks", tags=["found", "to read"]
    )
    owl = zotero.items["OWLS2019"]
    assert owl["tags"] == [*before["OWLS2019"]["tags"], {"tag": "found"}]
    (made,) = (key for key, one in zotero.collections.items() if one["name"] == "Picks")
    assert owl["collections"] == ["COLLSUB2", made]
    unchanged = ("title", "abstractNote", "creators", "extra", "DOI", "date")
    assert {name: owl[name] for name in unchanged} == {name: before["OWLS2019"][name] for name in unchanged}
    others = [i for i in note_of(zotero, "OWLS2019") if i["key"] != "OWLSNOTE"]
    assert html_text(others[0]["note"]) == (
        "Aspectra: owls\nThey strike within a second.\nAbstract\nOwls & mice <listen>"
    )
    assert (done.tags, done.failed, len(done.created)) == ({"OWLS2019": ["found"]}, {}, 1)


def test_a_collection_that_is_there_is_used(zotero):
    done = send(zotero, [Outgoing(OWL, "OWLS2019")], collection="Reviews")
    assert zotero.items["OWLS2019"]["collections"] == ["COLLSUB2", "COLLTOP2"]
    assert done.collection is None


def test_a_note_is_sent_once(zotero):
    one = Outgoing(OWL, "OWLS2019", QUOTES, "owls")
    first = send(zotero, [one])
    assert send(zotero, [one], known=first.notes).empty
    assert len(note_of(zotero, "OWLS2019")) == 2


def test_a_new_record_goes_with_its_note(zotero):
    paper = Paper(
        "smith2020",
        "A study of kites",
        "Kites glide.",
        ("Anna van der Berg", "World Health Organization"),
        2020,
        "Proceedings of Birds",
        {"doi": "10.1000/kites", "pmid": "77"},
        metadata={"type": "paper-conference", "pages": "1-9", "issue": "3"},
    )
    done = send(zotero, [Outgoing(paper, "", QUOTES)], tags=["found"])
    (key,) = done.papers
    item = zotero.items[key]
    assert item["itemType"] == "conferencePaper"
    assert (item["proceedingsTitle"], item["DOI"], item["pages"]) == (
        "Proceedings of Birds",
        "10.1000/kites",
        "1-9",
    )
    assert "issue" not in item  # the type has no such field
    assert item["creators"] == [
        {"creatorType": "author", "firstName": "Anna", "lastName": "van der Berg"},
        {"creatorType": "author", "name": "World Health Organization"},
    ]
    assert item["extra"] == "Citation Key: smith2020\nPMID: 77"
    assert item["tags"] == [{"tag": "found"}]
    assert len(note_of(zotero, key)) == 1


def test_what_a_type_has_no_field_for_is_in_extra():
    item = item_of_paper(
        Paper(
            "x:1", "T", identifiers={"doi": "10.1000/x", "arxiv": "2101.00001"}, metadata={"type": "thesis"}
        )
    )
    assert (item["itemType"], item["extra"]) == ("thesis", "DOI: 10.1000/x\narXiv: 2101.00001")


def test_place_edition_and_series_go_where_the_type_has_them():
    facts = {"place": "Oslo", "edition": "2", "series": "Fens"}
    book = item_of_paper(Paper("x:1", "T", metadata={"type": "book", **facts}))
    assert {name: book[name] for name in facts} == facts
    thesis = item_of_paper(Paper("x:1", "T", metadata={"type": "thesis", **facts}))
    assert {name: thesis.get(name) for name in facts} == {"place": "Oslo", "edition": None, "series": None}


def test_an_item_that_changes_meanwhile_is_read_again_once(zotero):
    def once(server):
        server.before_write.clear()
        server.change("OWLS2019", tags=[{"tag": "theirs"}])

    zotero.before_write = [once]
    done = send(zotero, [Outgoing(OWL, "OWLS2019", QUOTES)], tags=["found"])
    assert zotero.items["OWLS2019"]["tags"] == [{"tag": "theirs"}, {"tag": "found"}]
    assert done.failed == {}
    assert len(note_of(zotero, "OWLS2019")) == 2


def test_an_item_that_changes_again_and_again_is_reported_and_left(zotero):
    zotero.before_write = [lambda server: server.change("OWLS2019", tags=[{"tag": "theirs"}])]
    chapter = Paper("CHAPTER2", "Hearing in birds")
    done = send(zotero, [Outgoing(OWL, "OWLS2019"), Outgoing(chapter, "CHAPTER2")], tags=["found"])
    assert done.failed == {"lovelace2019owls": "changed in Zotero meanwhile"}
    assert zotero.items["OWLS2019"]["tags"] == [{"tag": "theirs"}]
    assert zotero.items["CHAPTER2"]["tags"] == [{"tag": "found"}]


def test_failures_are_reported_item_by_item(zotero):
    zotero.refused["CHAPTER2"] = (400, "'bookTitle' is not valid")
    chapter = Paper("CHAPTER2", "Hearing in birds")
    gone = Paper("gone", "Gone")
    sent = [Outgoing(chapter, "CHAPTER2"), Outgoing(OWL, "OWLS2019"), Outgoing(gone, "GONE2222")]
    done = send(zotero, sent, tags=["found"])
    assert done.failed == {
        "CHAPTER2": "'bookTitle' is not valid (400)",
        "gone": "its item is no longer in Zotero",
    }
    assert done.tags == {"OWLS2019": ["found"]}


def test_more_than_one_request_takes_is_sent_in_several(zotero):
    papers = [Outgoing(Paper(f"p{n}", f"Paper {n}"), "", QUOTES) for n in range(60)]
    done = send(zotero, papers)
    assert (len(done.papers), len(done.created), done.failed) == (60, 120, {})
    assert sum(method == "POST" and "/items" in path for method, path in zotero.requests) == 3


def test_a_key_for_one_write_is_renewed_and_not_kept(zotero):
    zotero.grants = "once"
    done = send(zotero, [Outgoing(OWL, "OWLS2019")], collection="Picks", tags=["found"])
    assert done.tags
    assert not keys_file().exists()
    assert [path for method, path in zotero.requests if "authorize" in path] == ["/api/local/authorize"] * 2


def test_a_key_for_good_is_kept_for_the_user_alone(zotero, tmp_path):
    send(zotero, [Outgoing(OWL, "OWLS2019")], tags=["a"])
    send(zotero, [Outgoing(OWL, "OWLS2019")], tags=["b"])
    assert sum("authorize" in path for _, path in zotero.requests) == 1
    assert stat.S_IMODE(keys_file().stat().st_mode) == 0o600
    zotero.granted.clear()  # withdrawn in Zotero's settings
    send(zotero, [Outgoing(OWL, "OWLS2019")], tags=["c"])
    assert sum("authorize" in path for _, path in zotero.requests) == 2


def test_no_in_zoteros_window_sends_nothing(zotero):
    zotero.grants = "deny"
    before = copy.deepcopy(zotero.items)
    with pytest.raises(ZoteroError, match="does not let us write"):
        send(zotero, [Outgoing(OWL, "OWLS2019")], tags=["found"])
    assert zotero.items == before


def test_zotero_before_10_says_what_to_do():
    with ZoteroServer(copy.deepcopy(SMALL), server_id="") as old, pytest.raises(ZoteroError) as caught:
        pushing(old)
    assert "--web" in caught.value.hint
    assert "picks.ris" in caught.value.hint


def test_undo_takes_back_what_was_sent(zotero):
    before = copy.deepcopy(zotero.items), copy.deepcopy(zotero.collections)
    papers = [Outgoing(OWL, "OWLS2019", QUOTES), Outgoing(Paper("new", "New"), "", QUOTES)]
    done = send(zotero, papers, collection="Picks", tags=["found"])
    zotero.change(
        "OWLS2019", title="Owls hunt by ear", tags=[*zotero.items["OWLS2019"]["tags"], {"tag": "mine"}]
    )
    left = pushing(zotero).undo(done)
    assert left.failed == {}
    assert zotero.items.keys() == before[0].keys()
    assert zotero.collections == before[1]
    owl = zotero.items["OWLS2019"]
    assert (owl["title"], owl["collections"]) == ("Owls hunt by ear", ["COLLSUB2"])
    assert owl["tags"] == [*before[0]["OWLS2019"]["tags"], {"tag": "mine"}]


def test_undo_keeps_what_somebody_changed_since(zotero):
    done = send(
        zotero, [Outgoing(OWL, "OWLS2019", QUOTES), Outgoing(Paper("new", "New"), "")], collection="Picks"
    )
    (note,) = (key for key in done.created if key not in done.papers)
    (record,) = done.papers
    zotero.change(note, note="<p>my own words</p>")
    zotero.change("MYNOTE22", itemType="note", parentItem=record, note="<p>on the new one</p>")
    left = pushing(zotero).undo(done)
    assert zotero.items[note]["note"] == "<p>my own words</p>"
    assert record in zotero.items
    assert left.failed[note] == "changed in Zotero since: kept"
    assert "notes or files of yours" in left.failed[record]
    assert "not empty" in left.failed[done.collection[0]]


def test_undo_of_another_zotero_is_refused(zotero):
    done = send(zotero, [Outgoing(OWL, "OWLS2019")], tags=["found"])
    zotero.server_id = "another00000"
    with pytest.raises(ZoteroError, match="another Zotero library"):
        pushing(zotero).undo(done)


@pytest.fixture
def searched(tmp_path, zotero, capsys):
    """A library with Zotero's papers and one of its own, indexed, and a search just run."""
    lib = str(tmp_path / "our.lib")
    (tmp_path / "own.bib").write_text(
        "@article{kestrel, title={Kestrels hunt by day}, abstract={Kestrels hover. They see mice.}}", "utf-8"
    )
    assert main(["init", "--library", lib]) == 0
    assert main(["zotero", "sync", "--library", lib, "--port", str(zotero.port), "--no-pdfs"]) == 0
    assert main(["add", str(tmp_path / "own.bib"), "--library", lib]) == 0
    with Store(lib) as store:
        assert len(store) == 3
    from aspectra.app.library import open_library

    with open_library(lib) as opened:
        opened.index(encoders=[])
    assert main(["search", "mice in the dark", "--recipe", "bm25", "--library", lib]) == 0
    capsys.readouterr()
    return lib


def test_the_command_shows_sends_remembers_and_takes_back(searched, zotero, capsys):
    before = copy.deepcopy(zotero.items)
    command = ["zotero", "push", "last", "--collection", "Picks", "--tag", "found", "--library", searched]
    command += ["--port", str(zotero.port)]
    assert main(command) == 2
    shown = capsys.readouterr().err
    assert "kestrel" in shown
    assert "a new record" in shown
    assert "add --yes" in shown
    assert zotero.items == before
    assert main([*command, "--yes"]) == 0
    assert "1 new record, 2 notes" in capsys.readouterr().out
    notes = " ".join(
        i["note"] for i in zotero.items.values() if i["itemType"] == "note" and i["key"] not in before
    )
    assert "mice in the dark" in notes
    assert "They see mice." in notes or "Kestrels hover." in notes
    assert main([*command, "--yes"]) == 0  # nothing is sent twice
    assert "0 new records, 0 notes" in capsys.readouterr().out
    with Store(searched) as store:
        assert "kestrel" in store.marks.items("zotero").values()
        follow(store, ZoteroApi(Connection(local_address(zotero.port))))
        assert sorted(store.ids()) == ["CHAPTER2", "kestrel", "lovelace2019owls"]
        assert store.marks.tags()["kestrel"] == ["found"]
    undo = ["zotero", "push", "--undo", "--yes", "--library", searched, "--port", str(zotero.port)]
    assert main(undo) == 0
    assert "Taken back." in capsys.readouterr().out
    assert zotero.items.keys() == before.keys()
    assert main(undo) == 2
    assert "nothing was sent" in capsys.readouterr().err


def test_numbers_of_the_last_search_and_what_is_included(searched, zotero, capsys):
    command = ["zotero", "push", "--tag", "found", "--yes", "--library", searched, "--port", str(zotero.port)]
    assert main([*command, "last", "1"]) == 0
    assert "0 new records, 1 note, tags to 1 item" in capsys.readouterr().out
    assert main([*command, "--included"]) == 2
    assert "no papers to send" in capsys.readouterr().err
    with Store(searched) as store, store.writing("test") as writer:
        writer.marks.decide(["kestrel"], "include")
        writer.marks.decide(["CHAPTER2"], "exclude")
    assert main([*command, "--included"]) == 0
    assert "1 new record, 0 notes" in capsys.readouterr().out
    assert not [tag for tag in zotero.items["CHAPTER2"].get("tags", ()) if tag["tag"] == "found"]


def test_a_file_that_zotero_imports(searched, tmp_path, capsys):
    out = tmp_path / "picks.ris"
    command = ["zotero", "push", "last", "--tag", "found", "--collection", "Picks", "-o", str(out)]
    assert main([*command, "--library", searched]) == 0
    papers = {p.id: p for p in read_papers(out) if isinstance(p, Paper)}
    owl = papers["lovelace2019owls"]
    assert owl.metadata["keywords"] == ["Birds", "found"]
    assert "Owls listen for mice in the dark. (Abstract)" in owl.metadata["note"]
    assert main([*command[:-1], str(tmp_path / "picks.doc"), "--library", searched]) == 2
    assert ".ris" in capsys.readouterr().err


def test_the_key_of_the_service_is_no_part_of_any_text(zotero, monkeypatch):
    monkeypatch.setenv("ZOTERO_API_KEY", "sesame-sesame-sesame")
    connection = Connection(local_address(zotero.port), lambda: "sesame-sesame-sesame", sleep=lambda s: None)
    zotero.answer = lambda *given: (403, {}, b"bad key sesame-sesame-sesame")
    with pytest.raises(ZoteroError) as caught:
        connection.get("/keys/current")
    assert "sesame" not in str(caught.value)
    assert "sesame" not in json.dumps(Pushed().__dict__)


@pytest.fixture
def service(monkeypatch):
    """The service, and a connection to it as if it were not on this computer."""
    with ZoteroServer([*copy.deepcopy(SMALL), *made_items(60)], COLLECTIONS, web=True) as server:
        server.granted["webkey"] = True
        connection = Connection(local_address(server.port), lambda: "webkey", sleep=lambda seconds: None)
        connection.local = False
        yield server, connection


def test_the_service_is_read_and_written_with_its_key(service, tmp_path):
    server, connection = service
    api = ZoteroApi(connection)
    assert api.prefix == "/users/42"
    with Store.create(tmp_path / "web.lib") as store:
        assert follow(store, api).added == 62
        assert follow(store, ZoteroApi(connection)).nothing_new
        server.change("CHAPTER2", title="Hearing in birds of the night")
        report = follow(store, ZoteroApi(connection))
        assert (report.updated, report.unchanged) == (1, 0)
    done = Pushed()
    Pushing(api).send([Outgoing(OWL, "OWLS2019", QUOTES)], done, collection="Picks", tags=["found"])
    assert (done.tags, done.failed) == ({"OWLS2019": ["found"]}, {})
    assert not any("authorize" in path for _, path in server.requests)
    assert Pushing(ZoteroApi(connection)).undo(done).failed == {}
    assert len(note_of(server, "OWLS2019")) == 1


def test_a_key_without_leave_to_write_is_said(service):
    _, connection = service
    connection.key = lambda: "another"
    with pytest.raises(ZoteroError, match="refuses the key"):
        Pushing(ZoteroApi(connection)).send(
            [Outgoing(OWL, "OWLS2019")], Pushed(), collection="", tags=["found"]
        )


def test_no_redirection_is_followed_and_no_page_elsewhere_is_fetched(zotero):
    elsewhere = ZoteroServer([], COLLECTIONS)
    with elsewhere:
        connection = Connection(local_address(zotero.port), lambda: "sesame")
        away = f"http://127.0.0.1:{elsewhere.port}/api/users/0/items"
        zotero.faults = [(302, {"Location": away})]
        with pytest.raises(ZoteroError, match="answers 302"):
            connection.get("/users/0/items")
        zotero.headers = {"Link": f'<{away}?start=1>; rel="next"'}
        connection.get("/users/0/items")
        first = len(zotero.requests)
        zotero.faults = []
        replies = iter([{"Link": f'<{away}?start=1>; rel="next"'}, {}])
        answer = zotero.answer
        zotero.answer = lambda *given: (200, next(replies), answer(*given)[2])
        connection.pages("/users/0/items")
        assert [path for _, path in zotero.requests[first:]] == [
            "/api/users/0/items",
            "/api/users/0/items?start=1",
        ]
        turns = iter(range(50))
        zotero.answer = lambda *given: (
            200,
            {"Link": f'<{away}?start={next(turns) % 2}>; rel="next"'},
            answer(*given)[2],
        )
        with pytest.raises(ZoteroError, match="a page comes after itself"):
            connection.pages("/users/0/items")
    assert elsewhere.requests == []


def test_the_service_needs_a_key(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("ZOTERO_API_KEY", raising=False)
    lib = str(tmp_path / "our.lib")
    assert main(["init", "--library", lib]) == 0
    assert main(["zotero", "sync", "--web", "--library", lib]) == 2
    assert "zotero.org/settings/keys" in capsys.readouterr().err
