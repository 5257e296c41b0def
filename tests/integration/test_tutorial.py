"""The tutorial, run as it is written, and its exports opened by other programs."""

from __future__ import annotations

import csv
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import bibtexparser
import pytest
import rispy

from pdf_maker import make_pdf

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
_HOW = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _steps() -> list[tuple[str, str]]:
    """(command, what it prints) in the order of the page."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    return [
        (m[1], m[2]) for block in blocks for m in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder in which the page was followed."""
    place = tmp_path_factory.mktemp("tutorial")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ASPECTRA_"))}
    programs = str(Path(sys.executable).parent)
    environment = {
        **kept,
        "HOME": str(place),
        "COLUMNS": "96",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    checker = doctest.OutputChecker()
    for command, expected in _steps():
        done = subprocess.run(
            command,
            shell=True,
            cwd=place,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        # What "..." stands for may be nothing or many lines.
        assert checker.check_output(expected, done.stdout, _HOW), (
            f"{command}\nprinted:\n{done.stdout}\nexpected:\n{expected}"
        )
        if command == "mkdir review":
            (place / "review" / "owls.pdf").write_bytes(make_pdf(PDF))
    return place


def test_the_page_has_its_steps(folder):
    assert len(_steps()) >= 25
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
