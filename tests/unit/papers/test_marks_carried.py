"""Marks leave with exports and come back: every format, and what other programs write."""

from __future__ import annotations

import csv
import io
import json

import pytest

from aspectra.app.library import create_library, open_library
from aspectra.base.values import replace
from aspectra.papers.library.marks.reader import stated_decision
from aspectra.papers.paper import Paper

BIB = """@article{owl, title={Owls hunt at night}, author={Lovelace, Ada}, year=2019, doi={10.1000/owl},
  keywords={birds}, note={In press}}
@article{mice, title={Mice avoid predators}, author={Young, Cy}, year=2021}
@article{rank, title={Ranking documents}, author={Ada, Dee}, year=2023}
"""


@pytest.fixture
def library(tmp_path):
    (tmp_path / "p.bib").write_text(BIB)
    with create_library(tmp_path / "lib") as made:
        made.add(tmp_path / "p.bib")
        yield made


@pytest.fixture
def marked(library):
    library.marks.decide("include", "owl")
    library.marks.decide("exclude", "mice", reason="wrong species")
    library.marks.tag("owl", add=["night, dark", "birds"])
    library.marks.note("owl", "Weak baseline.", quote="We recorded forty owls.")
    return library


def test_without_marks_nothing_is_added(library):
    before = {form: library.export(None, form) for form in ("bibtex", "ris", "csl-json", "jsonl")}
    library.marks.tag("rank", add=["x"])
    library.marks.undo()
    assert {form: library.export(None, form) for form in before} == before
    assert not any("ASReview" in text or "screening" in text for text in before.values())


def test_ris_for_programs_that_screen(marked):
    lines = marked.export(["owl"], "ris").splitlines()
    assert [line[6:] for line in lines if line.startswith("KW")] == ["birds", "night, dark"]
    assert [line[6:] for line in lines if line.startswith("N1")] == [
        "In press",
        "ASReview_relevant",
        'RAYYAN-INCLUSION: {"Aspectra"=>"Included"}',
        "“We recorded forty owls.” Weak baseline.",
    ]
    excluded = marked.export(["mice"], "ris")
    assert "N1  - ASReview_irrelevant\n" in excluded
    assert '"Excluded"} | RAYYAN-EXCLUSION-REASONS: wrong species\n' in excluded
    marked.marks.decide("include", "mice", reason="wrong species")  # it was kept from before
    included = marked.export(["mice"], "ris")
    assert ('"Included"}\n' in included, "EXCLUSION" in included) == (True, False)


def test_bibtex_csl_json_csv_and_json_lines(marked):
    bibtex = marked.export(["owl"], "bibtex")
    assert "birds; night, dark" in bibtex
    assert "annote" in bibtex
    assert "note = {In press}" in bibtex
    (item,) = json.loads(marked.export(["owl"], "csl-json"))
    assert "ASReview_relevant" in item["note"]
    assert item["note"].startswith("In press")
    rows = list(csv.DictReader(io.StringIO(marked.export(None, "csv"))))
    assert [(r["id"], r["included"], r["decision"], r["reason"]) for r in rows] == [
        ("owl", "1", "include", ""),
        ("mice", "0", "exclude", "wrong species"),
        ("rank", "", "", ""),
    ]
    assert rows[0]["tags"] == "birds; night, dark"
    assert rows[0]["notes"] == "“We recorded forty owls.” Weak baseline."
    first = json.loads(marked.export(["owl"], "jsonl"))
    assert first["metadata"]["screening"] == {"decision": "include"}
    assert first["metadata"]["marks"]["tags"] == ["birds", "night, dark"]


@pytest.mark.parametrize("form", ["bibtex", "ris", "csl-json", "jsonl", "csv"])
def test_decisions_come_back_with_their_reasons(marked, tmp_path, form):
    marked.marks.note("mice", "A note behind the reason.")
    file = tmp_path / f"out.{ {'csl-json': 'json'}.get(form, form) }"
    file.write_text(marked.export(None, form))
    with create_library(tmp_path / "second") as second:
        (report,) = second.add(file)
        assert report.decisions == 2
        found = second.marks.read.decisions()
        assert {i: (d.decision, d.reason) for i, d in found.items()} == {
            "owl": ("include", ""),
            "mice": ("exclude", "wrong species"),
        }
        assert found["owl"].source == str(file)
        assert second.store.check() == []
        assert second.add(file, again=True)[0].decisions == 0
        second.marks.decide("exclude", "owl")
        second.add(file, again=True)
        assert second.marks.read.decisions()["owl"].decision == "exclude"
        file.write_text(second.export(["owl"], form))
    assert form in ("jsonl", "csv") or "ASReview_relevant" not in file.read_text()
    with create_library(tmp_path / "third") as third:  # one label, the newest
        third.add(file)
        assert third.marks.read.decisions()["owl"].decision == "exclude"


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_tags_and_notes_come_back_from_formats_that_have_a_place_for_them(marked, tmp_path, form):
    file = tmp_path / f"out.{form}"
    file.write_text(marked.export(None, form))
    marked.add(file)  # what is there already is not added again
    with create_library(tmp_path / "second") as second:
        second.add(file)
        for found in (marked, second):
            read = found.marks.read
            assert read.tags() == {"owl": ["birds", "night, dark"]}
            assert [note.line for note in read.notes_of("owl")] == [
                "“We recorded forty owls.” Weak baseline."
            ]
        assert second.export(None, form) == file.read_text()
        second.marks.tag("owl", remove=["birds"])  # they are the searcher's own
        assert "birds" not in json.loads(second.export(["owl"], "jsonl"))["metadata"]["marks"]["tags"]


def test_the_work_s_record_carries_the_marks_of_all_its_records(library, tmp_path):
    twin = tmp_path / "twin.bib"
    twin.write_text(BIB.splitlines()[0].replace("{owl,", "{preprint,").rstrip(",") + "}")
    library.add(twin)
    library.marks.decide("include", "preprint")
    library.marks.tag("owl", add=["a"])
    library.marks.tag("preprint", add=["b"])
    rows = list(csv.DictReader(io.StringIO(library.export(None, "csv"))))
    assert len(rows) == 3
    assert (rows[0]["decision"], set(rows[0]["tags"].split("; "))) == ("include", {"a", "b"})
    alone = list(csv.DictReader(io.StringIO(library.export(None, "csv", versions="all"))))
    assert [r["tags"] for r in alone if r["id"] in ("owl", "preprint")] == ["a", "b"]


@pytest.mark.parametrize(
    ("metadata", "decision", "reason"),
    [
        ({"screening": {"decision": "maybe", "reason": " x  y "}}, "maybe", "x y"),
        ({"note": "<p>ASReview_relevant</p>"}, "include", ""),
        ({"note": "ASReview_irrelevant\nASReview_time: 2"}, "exclude", ""),
        ({"note": "ASReview_irrelevant ASReview_relevant"}, "maybe", ""),
        (
            {"note": 'RAYYAN-INCLUSION: {"Ada"=>"Excluded"} | RAYYAN-EXCLUSION-REASONS: no control'},
            *("exclude", "no control"),
        ),
        ({"note": "ASReview_not_seen"}, None, ""),
        ({"note": "relevant"}, None, ""),
        ({"screening": {"decision": "perhaps"}}, None, ""),
        ({"screening": "include"}, None, ""),
    ],
)
def test_labels_of_other_programs(metadata, decision, reason):
    found = stated_decision(Paper("p", metadata=metadata), "/x.ris")
    assert (found and (found.decision, found.reason, found.source)) == (
        decision and (decision, reason, "/x.ris")
    )


def test_a_decision_lasts_where_its_record_changes(library, tmp_path):
    labelled = tmp_path / "l.jsonl"
    paper = replace(library.show("rank"), metadata={"screening": {"decision": "exclude"}})
    labelled.write_text(json.dumps(paper.to_dict()) + "\n")
    library.add(labelled)
    labelled.write_text(json.dumps(replace(paper, metadata={"screening": {"decision": "include"}}).to_dict()))
    library.add(labelled)
    decided = library.marks.read.all_decisions(["rank"])
    assert [(d.decision, d.source) for _, d in decided] == [("include", str(labelled))]
    library.close()
    with open_library(tmp_path / "lib") as again:
        assert again.store.check() == []
