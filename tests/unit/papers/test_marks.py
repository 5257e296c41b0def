"""What a searcher says about papers: kept, checked, undone, and not lost when a file is added again."""

from __future__ import annotations

import sqlite3

import pytest

from aspectra.app.ingest.flow import flow_of
from aspectra.base.errors import LibraryCorrupt, NoSuchPaper, UsageError
from aspectra.base.values import replace
from aspectra.papers.library.copies.backup import back_up, restore, salvage
from aspectra.papers.library.marks.values import Decision, Item, Note
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Remark
from conftest import PAPERS

ZOTERO = Item("zotero", "users/1", "ABCD", 7)


def write(library, verb, *given, **named):
    with library.writing("test") as writer:
        return getattr(writer.marks, verb)(*given, **named)


def everything(library):
    """All marks, without the numbers of notes."""
    marks = library.marks
    return (
        marks.tags(),
        list(marks.notes()),
        marks.all_decisions(),
        {i: marks.edit(i) for i in library.ids()},
        marks.items("zotero"),
        marks.origins(library.ids()),
    )


@pytest.fixture
def marked(library):
    """A library with marks of every kind."""
    with library.writing("add") as writer:
        writer.add([PAPERS[0], PAPERS[1]], path="/exports/medline.ris", source="ris")
        marks = writer.marks
        marks.tag(["owl", "mice"], ["night", "to read"])
        marks.note("owl", Note("Nice method.", "We recorded forty barn owls."))
        marks.decide(["owl"], "include")
        marks.decide(["mice", "rank"], "exclude", "wrong species", under="owls")
        marks.edit("owl", title="Owls hunt by night", year=2018)
        marks.put("zotero", {"mice": (["fear"], [Note("Fear!", "Fear lasted", "annotation", "3", key="K1")])})
        ((full,),) = library.fetch("SELECT pos FROM papers WHERE id = 'full'")
        marks.import_decision(full, Decision("maybe", "long", source="/exports/labels.csv"))
        marks.put_items({ZOTERO: "mice"})
    return library


@pytest.mark.parametrize("before", [(), ("include",)])
def test_a_decision_that_came_with_a_file_can_be_taken_back(marked, before):
    with marked.writing("decide") as writer:
        for decision in (*before, ""):
            assert writer.marks.decide(["full"], decision) == 1
        assert writer.marks.decide(["full"], "") == 0
    assert "full" not in marked.marks.decisions()
    assert marked.marks.decisions(["full"]) == {}
    assert flow_of(marked).screened == 3
    with marked.writing("undo") as writer:
        writer.marks.undo()
    assert marked.marks.decisions()["full"].decision == (before or ("maybe",))[0]


def test_marks_come_back(marked):
    marks = marked.marks
    assert marks.tags() == {"owl": ["night", "to read"], "mice": ["fear", "night", "to read"]}
    assert marks.tag_counts() == {"fear": 1, "night": 2, "to read": 2}
    assert marks.tagged("NIGHT") == {"owl", "mice"}
    (note,) = marks.notes_of("owl")
    assert (note.text, note.quote, note.kind, note.source) == (
        *("Nice method.", "We recorded forty barn owls."),
        *("note", ""),
    )
    (annotation,) = marks.notes_of("mice")
    assert (annotation.page, annotation.source, annotation.key) == ("3", "zotero", "K1")
    decided = marks.decisions()
    assert {i: (d.decision, d.reason) for i, d in decided.items()} == {
        "owl": ("include", ""),
        "mice": ("exclude", "wrong species"),
        "rank": ("exclude", "wrong species"),
        "full": ("maybe", "long"),
    }
    assert decided["rank"].under == "owls"
    assert marks.reasons("exclude") == {"wrong species": 2}
    assert marks.items("zotero") == {ZOTERO: "mice"}
    assert marked.get("owl").title == "Owls hunt by night"
    assert marks.edit("owl").file == {"title": "Owls hunt at night", "year": 2019}
    assert marked.check() == []


def test_every_step_is_undone_and_done_again(library):
    states = [everything(library), *()]
    papers = [list(library.papers())]

    def step(verb, *given, **named):
        write(library, verb, *given, **named)
        states.append(everything(library))
        papers.append(list(library.papers()))

    step("tag", ["owl", "mice"], ["night"])
    step("tag", ["owl"], ["day"], ["night"])
    step("note", "owl", Note("One."))
    step("decide", ["owl"], "exclude", "reason")
    step("decide", ["owl"], "include")
    step("edit", "owl", abstract="Another. Text.", authors=["X Y"])
    step("edit", "owl", year=1990, abstract=None)
    with library.writing("remove") as writer:
        writer.remove(["owl", "mice"])
    assert library.ids() == ["rank", "full", "bare"]
    states.append(everything(library))
    papers.append(list(library.papers()))
    for back in range(len(states) - 2, -1, -1):
        _, missing = write(library, "undo")
        assert missing == []
        assert list(library.papers()) == papers[back]
        assert strip(everything(library)) == strip(states[back])
    with pytest.raises(UsageError, match="nothing to undo"):
        write(library, "undo")
    for forth in range(1, len(states)):
        write(library, "redo")
        assert list(library.papers()) == papers[forth]
        assert strip(everything(library)) == strip(states[forth])
    with pytest.raises(UsageError, match="nothing to redo"):
        write(library, "redo")
    assert library.check() == []


def strip(state):
    """The marks without the times of edits."""
    edits = {i: replace(e, at="") for i, e in state[3].items()}
    return (*state[:3], edits, *state[4:])


def test_undo_leaves_what_another_program_wrote_meanwhile(library):
    write(library, "tag", ["owl"], ["mine"])
    write(library, "note", "owl", Note("Mine."))
    write(library, "put", "zotero", {"owl": (["theirs"], [Note("Theirs.", key="K")])})
    write(library, "undo")
    write(library, "undo")
    assert library.marks.tags() == {"owl": ["theirs"]}
    assert [note.text for note in library.marks.notes_of("owl")] == ["Theirs."]
    assert write(library, "tag", ["owl"], [], ["theirs"]) == 0
    assert library.marks.actions()[0].undone
    write(library, "redo")
    assert library.marks.tags() == {"owl": ["mine", "theirs"]}


def test_a_step_without_a_change_is_no_step(library):
    write(library, "tag", ["owl"], ["x"])
    write(library, "undo")
    assert write(library, "tag", ["owl"], [], ["y"]) == 0
    assert write(library, "decide", ["owl"], "") == 0
    assert write(library, "edit", "owl", year=2019) == []
    assert [one.undone for one in library.marks.actions()] == [True]
    write(library, "redo")
    assert library.marks.tags() == {"owl": ["x"]}


def test_a_removed_paper_comes_back_with_everything(marked):
    before, papers = everything(marked), list(marked.papers())
    with marked.writing("remove") as writer:
        writer.remove(["owl", "mice"])
    assert marked.marks.tags() == {}
    action, missing = write(marked, "undo")
    assert (action.verb, action.what, missing) == ("remove", "removed 2 papers", [])
    assert everything(marked) == before
    assert list(marked.papers()) == papers
    assert marked.versions(["owl"]) == {}


def test_undoing_a_removal_keeps_a_paper_that_was_added_meanwhile(marked):
    with marked.writing("remove") as writer:
        writer.remove(["owl"])
        writer.add([replace(PAPERS[0], venue="Nature")])
    write(marked, "undo")
    assert marked.get("owl").venue == "Nature"
    assert marked.marks.tags()["owl"] == ["night", "to read"]
    write(marked, "redo")
    assert "owl" in marked


def test_names_are_edited_as_they_are_read(library):
    with library.writing("edit") as writer:
        writer.marks.edit("owl", authors=["van der Berg, Jan", "Ada Lovelace", "King, Martin Luther, Jr."])
    assert library.get("owl").authors == ("Jan van der Berg", "Ada Lovelace", "Martin Luther King Jr.")


def test_an_edit_lasts_when_the_file_is_added_again(marked):
    with marked.writing("add") as writer:
        report = writer.add(PAPERS)
    assert (report.unchanged, report.updated, report.remarks) == (len(PAPERS), 0, [])
    assert marked.get("owl").year == 2018
    newer = replace(PAPERS[0], venue="Nature", year=2020)
    with marked.writing("add") as writer:
        report = writer.add([newer])
    assert (report.updated, marked.get("owl").venue, marked.get("owl").year) == (1, "Nature", 2018)
    assert report.remarks == [
        Remark("id owl", "its file has another year now: what you edited was kept", skipped=False)
    ]
    with marked.writing("add") as writer:
        assert writer.add([newer]).unchanged == 1
    write(marked, "edit", "owl", year=None, title=None)
    assert marked.get("owl") == newer


def test_a_new_title_does_not_make_the_file_s_paper_a_stranger(library):
    write(library, "edit", "owl", title="Completely other words", identifiers={})
    with library.writing("add") as writer:
        report = writer.add([replace(PAPERS[0], venue="Nature")])
    assert (report.added, report.updated) == (0, 1)
    assert library.get("owl").title == "Completely other words"


def test_what_another_source_holds_is_replaced_as_a_whole(marked):
    before = marked.marks.revision, marked.marks.notes_revision
    same = {"mice": (["fear"], [Note("Fear!", "Fear lasted", "annotation", "3", key="K1")])}
    assert write(marked, "put", "zotero", same) == []
    assert (marked.marks.revision, marked.marks.notes_revision) == before
    assert write(marked, "put", "zotero", {"mice": (["calm"], []), "owl": ([], [])}) == ["mice"]
    assert marked.marks.tags()["mice"] == ["calm", "night", "to read"]
    assert marked.marks.notes_of("mice") == []
    assert marked.marks.notes_revision == before[1] + 1
    write(marked, "drop_items", [ZOTERO])
    assert marked.marks.items("zotero") == {}


def test_the_searcher_s_decision_counts_more_than_a_file_s(marked):
    write(marked, "decide", ["full"], "include")
    assert marked.marks.decisions()["full"].decision == "include"
    assert len(marked.marks.all_decisions(["full"])) == 2
    write(marked, "decide", ["full"], "")
    assert "full" not in marked.marks.decisions()


@pytest.mark.parametrize(
    ("verb", "given", "error"),
    [
        ("tag", (["owl", "owm"], ["x"]), NoSuchPaper),
        ("tag", (["owl"], [" "]), UsageError),
        ("note", ("owl", Note(" ")), UsageError),
        ("decide", (["owl"], "perhaps"), UsageError),
        ("drop_note", (99,), UsageError),
    ],
)
def test_a_wrong_request_changes_nothing(library, verb, given, error):
    with pytest.raises(error):
        write(library, verb, *given)
    assert library.marks.tags() == {}
    assert library.marks.actions() == []


@pytest.mark.parametrize("fields", [{"pages": "1"}, {"year": "soon"}, {"authors": "Ada"}])
def test_a_wrong_edit_changes_nothing(library, fields):
    with pytest.raises(UsageError):
        write(library, "edit", "owl", **fields)
    assert library.get("owl") == PAPERS[0]


def tamper(library, statement):
    with sqlite3.connect(library.database) as db:
        db.create_function("row_hash", -1, lambda *_: 1, deterministic=True)  # which fits no row
        assert db.execute(statement).rowcount > 0
    db.close()


TAMPERED = {
    "tags": ("UPDATE tags SET tag = tag || 'x' WHERE pos = 1", lambda m: m.tags(["owl"])),
    "moved tag": ("UPDATE tags SET pos = 3 WHERE pos = 1", lambda m: m.tagged("night")),
    "notes": ("UPDATE notes SET quote = 'x' WHERE pos = 1", lambda m: m.notes_of("owl")),
    "decisions": ("UPDATE decisions SET decision = 'maybe' WHERE pos = 2", lambda m: m.decisions()),
    "edits": ("UPDATE edits SET given = '{}'", lambda m: m.edit("owl")),
    "origins": ("UPDATE origins SET number = 9 WHERE pos = 1", lambda m: m.origins(["owl"])),
    "items": ("UPDATE external SET version = 9", lambda m: m.items("zotero")),
    "actions": ("UPDATE actions SET what = 'x'", lambda m: m.actions()),
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_what_changed_is_refused_where_it_is_read(marked, kind):
    statement, read = TAMPERED[kind]
    read(marked.marks)
    tamper(marked, statement)
    with pytest.raises(LibraryCorrupt, match="damaged"):
        read(marked.marks)
    assert marked.check() != []


def test_every_record_has_an_origin(library):
    again = [PAPERS[0], replace(PAPERS[1], venue="Other", metadata={"database": " Scopus "}), PAPERS[2]]
    for _ in range(2):
        with library.writing("add") as writer:
            writer.add(again, path="/a.ris", source="ris")
    rows = library.fetch("SELECT file, number, place, database, source, pos FROM origins ORDER BY number")
    assert rows == [
        ("/a.ris", 1, "owl", "", "ris", 1),
        ("/a.ris", 2, "mice", "Scopus", "ris", 2),
        ("/a.ris", 3, "rank", "", "ris", 3),
    ]
    with library.writing("add") as writer:
        writer.add(again[:1], path="/a.ris", source="ris")
        writer.remove(["owl"])
    assert library.fetch("SELECT number, pos FROM origins") == [(1, None)]
    assert library.check() == []


def test_origins_of_a_source_that_tells_only_changes(library):
    for batch in ([PAPERS[0], PAPERS[1]], [replace(PAPERS[1], venue="Other")]):
        with library.writing("add") as writer:
            writer.add(batch, path="zotero:users/1", source="zotero", whole=False)
    assert library.fetch("SELECT number, pos FROM origins ORDER BY number") == [(1, 1), (3, 2)]


def test_backups_and_repairs_keep_marks(marked, tmp_path):
    with marked.writing("remove") as writer:
        writer.remove(["full"])
    before = everything(marked)
    back_up(marked, tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "other")
    with Store(tmp_path / "other") as other:
        assert everything(other) == before
    assert salvage(marked)[2] == []
    with Store(marked.folder) as again:
        assert again.check() == []
        assert everything(again) == before  # the last two papers have other positions now
        write(again, "undo")
        assert "full" in again
        assert again.marks.decisions()["full"].reason == "long"
        write(again, "undo")  # the edit
        assert again.get("owl") == PAPERS[0]
        assert again.check() == []


def test_a_repair_names_the_marks_that_it_leaves_out(marked):
    tamper(marked, "UPDATE notes SET quote = 'x' WHERE pos = 1")
    tamper(marked, "UPDATE action_parts SET data = x'00' WHERE action = 1")
    _, _, left_out = salvage(marked)
    assert left_out == ["notes of 'owl'", "steps to undo"]
    with Store(marked.folder) as again:
        assert again.check() == []
        assert [paper for paper, _ in again.marks.notes()] == ["mice"]
        assert [one.number for one in again.marks.actions()] == [5, 4, 3, 2]


def test_old_steps_are_forgotten(library):
    from aspectra.papers.library.marks.values import KEPT_STEPS

    for number in range(KEPT_STEPS + 3):
        write(library, "tag", ["owl"], [f"t{number}"])
    assert len(library.marks.actions(1000)) == KEPT_STEPS


def test_papers_with_text_of_any_kind_can_be_brought_back(library):
    strange = Paper("s", "a\x00b ∞ \U0001f989", metadata={"n": [1, None]})
    with library.writing("add") as writer:
        writer.add([strange])
    stored = library.get("s")
    with library.writing("remove") as writer:
        writer.remove(["s"])
    write(library, "undo")
    assert library.get("s") == stored
