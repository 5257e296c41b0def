"""The commands of every day on the command line: list, open, tag, note, decide, edit, undo, redo."""

from __future__ import annotations

import json
import sys

import pytest

from aspectra.app.commands.daily import looking
from aspectra.app.output.schemas import json_schema
from aspectra.papers.library.marks.values import Origin

BIB = """
@article{owl, title={Owls hunt at night}, author={Lovelace, Ada}, year=2019, doi={10.1000/owl},
  abstract={Owls listen. We recorded forty owls.}}
@article{mice, title={Mice avoid predators}, author={Young, Cy}, year=2021}
@article{rank, title={Ranking documents}, author={Ada, Dee}, year=2023, url={https://example.org/rank}}
"""


@pytest.fixture(params=[(), ("--shards", "2")], ids=["library", "collection"])
def made(run, home, request):
    """A library of three papers, or a collection, in the folder of the home; runs commands on it."""
    (home / "work" / "p.bib").write_text(BIB)
    assert run("init", "--project", "--library", "l", *request.param)[0] == 0
    assert run("add", "p.bib")[0] == 0
    assert run("index", "--no-encoder")[0] == 0
    return run


def test_tags(made):
    assert "There are no tags yet" in made("tag")[1]
    code, out, err = made("tag", "owl", "Mice avoid predators", "+night", "+to read")
    assert (code, "2 papers" in out, "aspectra list --tag night" in err) == (0, True, True)
    assert made("tag", "owl", "-night", "--remove", "to read")[0] == 0
    assert made("tag")[1].split() == ["night", "1", "paper", "to", "read", "1", "paper"]
    assert "tags     night, to read\n" in made("show", "mice")[1]
    assert made("list", "--tag", "NIGHT", "--ids")[1] == "mice\n"
    code, _, err = made("list", "--tag", "other")
    assert (code, "tags in use: night, to read" in err) == (2, True)
    assert made("tag", "owl")[0] == 2


def test_notes(made):
    assert made("note", "owl", "Nice.", "--quote", "We recorded forty owls.")[:2] == (0, "Note 1 on owl.\n")
    assert "not in the paper" in made("note", "owl", "--quote", "Owls swim.")[2]
    shown = made("show", "owl")[1]
    assert "“We recorded forty owls.” Nice." in shown
    assert "Owls swim." in shown
    assert made("note", "--remove", "2")[0] == 0
    assert "Owls swim." not in made("show", "owl")[1]
    for wrong in (("owl",), ("owl", " "), ("owm", "text"), ("--remove", "9")):
        assert made("note", *wrong)[0] != 0


def test_decisions_of_the_last_search_and_of_a_file(made, home):
    assert made("search", "owls", "--recipe", "bm25")[0] == 0
    assert "include: 1 paper" in made("decide", "include", "last", "1")[1]
    assert '"under": "owls"' in made("show", "last", "1", "--json")[1]  # the question, as the page keeps it
    (home / "work" / "ids.txt").write_text("# picked\nmice\n\n10.1000/OWL\n")
    assert (
        "exclude: 2 papers" in made("decide", "exclude", "--from", "ids.txt", "--reason", "Wrong  species")[1]
    )
    assert "1 paper (" not in made("decide", "exclude", "rank", "--reason", "wrong species")[1]
    _, out, err = made("decide", "exclude", "rank", "mice", "-r", "WRONG SPECIES")
    assert "0 papers (2 were decided so before)" in out
    assert "3 exclude, 0 undecided" in err
    rows = json.loads(made("list", "--decision", "exclude", "--sort", "title", "--json")[1])
    assert [(r["id"], r["reason"]) for r in rows["hits"]] == [
        (one, "Wrong species") for one in ("mice", "owl", "rank")
    ]
    assert set(rows) == set(json_schema("list")["$defs"]["Listing"]["properties"])
    assert "given before: Wrong species" in made("decide", "exclude", "mice")[2]
    assert made("decide", "undecided", "owl")[0] == 0
    assert made("list", "--undecided", "--ids")[1] == "owl\n"
    assert (
        made("search", "owls mice", "--recipe", "bm25", "--undecided", "--format", "csv")[1].count("\n") == 2
    )
    code, _, err = made("decide", "include", "owm", "owx", "owl")
    assert (code, "2 of 3 papers" in err, "nothing was changed" in err) == (1, True, True)
    assert made("decide", "perhaps", "owl")[0] == 2
    assert made("decide", "include")[0] == 2
    assert made("decide", "include", "--from", "nothing.txt")[0] == 2


def test_lists(made):
    assert made("list", "--ids")[1] == "rank\nmice\nowl\n"
    assert made("list", "--ids", "--year", "2019-2021", "--sort", "year")[1] == "mice\nowl\n"
    assert made("list", "--ids", "--year", "-2020")[1] == "owl\n"
    assert made("list", "--ids", "--no-abstract", "--sort", "title")[1] == "mice\nrank\n"
    assert made("list", "--ids", "-n", "2", "--page", "2")[1] == "owl\n"
    assert "3 papers, page 1 of 2." in made("list", "-n", "2")[1]
    assert made("list", "--added", "2020", "--ids")[1].count("\n") == 3
    assert made("list", "--added", "2999-01-01")[1] == "0 papers.\n"
    for wrong in (
        *(("--year", "soon"), ("--added", "soon"), ("--page", "2"), ("--sort", "size"), ("-n", "0")),
        *(("--decision", "perhaps"), ("--decision", "any", "--undecided")),
    ):
        assert made("list", *wrong)[0] == 2, wrong


def test_edits(made):
    assert made("edit", "owl", "--year", "2020", "--title", "Owls hunt", "--identifier", "pmid=17")[0] == 0
    assert made("add", "p.bib", "--again")[0] == 0
    shown = made("show", "owl")[1]
    assert shown.startswith("Owls hunt\n")
    assert "in its file  title: Owls hunt at night" in " ".join(shown.split("\n"))
    assert "Changed year" in made("edit", "owl", "--reset", "year")[1]
    assert "Nothing changed" in made("edit", "owl", "--title", "Owls hunt")[1]
    assert made("undo", "-n", "2")[0] == 0
    assert "2019" in made("show", "owl")[1]
    for wrong in ((), ("--identifier", "doi=x"), ("--identifier", "doi"), ("--reset", "pages")):
        assert made("edit", "owl", *wrong)[0] == 2, wrong


def test_undo_says_what_it_undid(made):
    assert made("undo")[0] == 2
    made("tag", "owl", "+x")
    made("remove", "--yes", "mice", "owl")
    assert "removed 2 papers" in made("undo", "--list")[1]
    assert len(made("undo", "--list")[1].splitlines()) == 2
    assert len(made("undo", "--list", "-n", "1")[1].splitlines()) == 1
    code, out, err = made("undo")
    assert (code, out.startswith("Undid: removed 2 papers"), "aspectra index" in err) == (0, True, True)
    assert "tags" in made("show", "owl")[1]
    assert made("redo")[0] == 0
    assert made("list", "--ids")[1] == "rank\n"
    _, out, err = made("undo", "-n", "5")
    assert (out.count("Undid"), "2 steps only" in err) == (2, True)
    assert made("tag")[1].startswith("There are no tags")


def test_open(made, monkeypatch, home):
    opened = []
    monkeypatch.setattr(looking, "_opened", lambda place: opened.append(place) or True)
    assert made("open", "owl", "rank")[:2] == (0, "")
    assert opened == ["https://doi.org/10.1000/owl", "https://example.org/rank"]
    assert made("open", "owl", "--print")[1] == "https://doi.org/10.1000/owl\n"
    assert made("open", "mice")[0] == 1
    assert made("open", "owl", "--pdf")[0] == 1
    made("edit", "rank", "--url", "javascript:alert(1)")
    assert made("open", "rank")[0] == 1
    made("edit", "rank", "--identifier", "arxiv=2101.00001")
    assert made("open", "rank", "--pdf", "--print")[1] == "https://arxiv.org/pdf/2101.00001\n"
    assert len(opened) == 2


@pytest.mark.parametrize(
    ("name", "content", "is_one"),
    [
        ("a.PDF", b"\n%PDF-1.7", True),
        ("a.sh", b"#!/bin/sh\n#%PDF-", False),
        ("a.desktop", b"[Desktop Entry]\nExec=sh", False),
        ("a.pdf", b"#!/bin/sh", False),
    ],
)
def test_only_a_pdf_is_opened_as_one(made, monkeypatch, home, name, content, is_one):
    file = home / "work" / name
    file.write_bytes(content)
    origin = Origin(str(file), 1, "", "", "pdf", "")
    monkeypatch.setattr("aspectra.papers.library.marks.reader.Marks.origins", lambda *_: {"owl": [origin]})
    code, out, err = made("open", "owl", "--pdf", "--print")
    assert (code, out) == ((0, f"{file}\n") if is_one else (1, ""))
    assert is_one or "gone or not a PDF" in err


def test_without_an_opener_the_address_is_printed(made, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert made("open", "owl")[:2] == (0, "https://doi.org/10.1000/owl\n")


def test_what_comes_back_is_found_again(made):
    made("edit", "owl", "--title", "Strigidae")
    made("remove", "--yes", "mice")
    assert made("index")[0] == 0
    ids = ("--recipe", "bm25", "--format", "csv")
    assert made("search", "predators", *ids)[1].count("\n") == 1
    assert made("search", "Strigidae", *ids)[1].count("\n") == 2
    made("undo", "-n", "2")
    assert made("index")[0] == 0
    assert made("search", "predators", *ids)[1].count("\n") == 2
    assert made("search", "Strigidae", *ids)[1].count("\n") == 1
    assert made("doctor", "--verify")[0] == 0


def test_a_decision_is_one_for_all_records_of_a_work(made, home):
    twin = "@article{twin, title={Mice avoid predators}, author={Young, Cy}, year=2020, note={preprint}}"
    (home / "work" / "twin.bib").write_text(twin)
    assert made("add", "twin.bib")[0] == 0
    assert made("merge", "mice", "twin")[0] == 0
    code, out, err = made("decide", "exclude", "mice", "--reason", "no owls")
    assert (code, "exclude: 2 papers." in out) == (0, True)
    assert "with 1 other record of the same works" in err
    assert made("list", "--decision", "exclude", "--ids")[1].split() in (["twin", "mice"], ["mice", "twin"])
    assert "2 were decided so before" in made("decide", "exclude", "twin", "--reason", "no owls")[1]
    (home / "work" / "late.bib").write_text(twin.replace("{twin,", "{late,"))
    assert made("add", "late.bib")[0] == 0
    assert made("merge", "mice", "late")[0] == 0
    assert "late" not in made("list", "--undecided", "--ids")[1].split()
    assert made("undo", "--steps", "2")[0] == 0
    assert made("list", "--decision", "exclude", "--ids")[1] == ""
