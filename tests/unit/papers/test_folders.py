"""Folders that are added: order, what is skipped, and links that lead out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import aspectra
from aspectra.app.ingest.files import FileReport


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    (folder / "b").mkdir(parents=True)
    (folder / "c.md").write_text("# Third\n\nA text about rain.\n")
    (folder / "a.jsonl").write_text(
        "\n".join(json.dumps({"id": name, "title": name, "abstract": "x"}) for name in ("p1", "p2"))
        + "\n{no\n"
    )
    (folder / "b" / "d.jsonl").write_text(json.dumps({"id": "p3", "title": "again", "abstract": "y"}))
    (folder / ".hidden.md").write_text("# Hidden\n\nNot to be read.\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    return folder


@pytest.fixture
def library(tmp_path: Path) -> Iterator[aspectra.Library]:
    with aspectra.create(tmp_path / "a.lib") as made:
        yield made


def add(library: aspectra.Library, folder: Path) -> dict[str, FileReport]:
    """Reports by the names of the files, in their order."""
    return {report.path.name: report for report in library.add(folder)}


def test_files_come_in_the_order_of_their_names(library: aspectra.Library, shelf: Path) -> None:
    found = add(library, shelf)
    assert list(found) == ["a.jsonl", "d.jsonl", "c.md", "picture.png"]
    assert [found[name].added for name in found] == [2, 1, 1, 0]
    assert [remark.place for remark in found["a.jsonl"].remarks] == ["line 3"]
    assert "not recognised" in found["picture.png"].passed_over


def test_a_library_is_no_folder_of_papers(library: aspectra.Library, shelf: Path) -> None:
    (shelf / "b" / "library.db").write_bytes(b"x")
    found = add(library, shelf)
    assert list(found) == ["a.jsonl", "b", "c.md", "picture.png"]
    assert "Aspectra library" in found["b"].passed_over


def test_links_that_leave_are_refused(library: aspectra.Library, shelf: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("# Secret\n\nNot to be read.\n")
    (shelf / "leak.md").symlink_to(outside)
    (shelf / "up").symlink_to(tmp_path, target_is_directory=True)
    (shelf / "loop").symlink_to(shelf, target_is_directory=True)
    (shelf / "gone.md").symlink_to(tmp_path / "nothing")
    (shelf / "same.md").symlink_to(shelf / "c.md")
    said = {name: report.passed_over for name, report in add(library, shelf).items()}
    assert "leads out" in said["leak.md"]
    assert "leads out" in said["up"]
    assert "not entered" in said["loop"]
    assert "cannot be opened" in said["gone.md"]
    assert said["same.md"] == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_do_not_hang_it(library: aspectra.Library, shelf: Path) -> None:
    os.mkfifo(shelf / "pipe.md")
    assert "a pipe (FIFO), not a file" in add(library, shelf)["pipe.md"].passed_over


def test_broken_pdf_among_good_files(library: aspectra.Library, shelf: Path) -> None:
    (shelf / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing more")
    found = add(library, shelf)
    assert sum(report.added for report in found.values()) == 4
    assert found["broken.pdf"].error is not None


def test_a_link_to_the_folder_itself_can_be_read(
    library: aspectra.Library, shelf: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(shelf, target_is_directory=True)
    assert sum(report.added for report in add(library, link).values()) == 4
