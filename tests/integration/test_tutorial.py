"""The tutorial, run as it is written, and its exports opened by other programs."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import bibtexparser
import pytest
import rispy

from console_pages import follow, steps_of
from pdf_maker import make_pdf
from warm_python import warm_python

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
PDF = [
    [
        (18.0, "How Owls Find Mice in the Dark"),
        "Ada Strix and Ben Ferox",
        "Abstract",
        "Owls listen for mice. Their ears sit at different heights, and so they hear where",
        "a mouse is. We measured how far away a mouse may be, on forty nights.",
        "1 Introduction",
        "Many have asked how owls hunt when there is no light at all.",
    ]
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder in which the page was followed."""
    place = tmp_path_factory.mktemp("tutorial")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ASPECTRA_"))}
    programs = str(Path(warm_python()).parent)
    environment = {
        **kept,
        "HOME": str(place),
        "COLUMNS": "96",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    for command, expected in steps_of(PAGE):
        follow(command, expected, place, environment)
        if command == "mkdir review":
            (place / "review" / "owls.pdf").write_bytes(make_pdf(PDF))
    return place


def test_the_page_has_its_steps(folder):
    assert len(steps_of(PAGE)) >= 25
    assert "flowchart" in (folder / "flow.mmd").read_text("utf-8")


def test_what_was_included_opens_in_other_programs(folder):
    with (folder / "included.ris").open(encoding="utf-8") as file:
        records = rispy.load(file)
    assert len(records) == 12
    assert all(record["title"] and record["authors"] for record in records)
    assert all("ASReview_relevant" in " ".join(record["notes"]) for record in records)
    assert sum("core" in record.get("keywords", ()) for record in records) >= 1
    assert sum("Compare with RankVicuna." in " ".join(record["notes"]) for record in records) == 1
    entries = bibtexparser.parse_file(str(folder / "included.bib")).entries
    assert sorted(entry.key for entry in entries) == sorted(record["id"] for record in records)


def test_decisions_and_reasons_stand_in_the_table(folder):
    with (folder / "screened.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    reasons = {(row["decision"], row["reason"]) for row in rows}
    assert reasons == {("include", "reranks with a language model"), ("exclude", "no reranking")}
