"""Folders: order, what is passed over, and links that lead out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import SOURCES, Remark


def read(path: Path) -> tuple[list[Paper], list[Remark]]:
    items = list(read_papers(path, "folder"))
    return [i for i in items if isinstance(i, Paper)], [i for i in items if isinstance(i, Remark)]


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    (folder / "b").mkdir(parents=True)
    (folder / "c.md").write_text("# Third\n\nA text about rain.\n")
    (folder / "a.jsonl").write_text(
        "\n".join(json.dumps({"id": name, "title": name, "abstract": "x"}) for name in ("p1", "p2"))
        + "\n{no\n"
    )
    (folder / "b" / "d.jsonl").write_text(json.dumps({"id": "p1", "title": "again", "abstract": "y"}))
    (folder / ".hidden.md").write_text("# Hidden\n\nNot to be read.\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    return folder


def test_order_ids_and_remarks(shelf: Path) -> None:
    papers, remarks = read(shelf)
    assert [p.title for p in papers] == ["p1", "p2", "again", "Third"]
    assert [p.id for p in papers][:3] == ["p1", "p2", "p1~2"]
    places = [r.place for r in remarks if r.skipped]
    assert places == ["a.jsonl: line 3", "picture.png"]
    assert str(shelf.parent) not in json.dumps([p.to_dict() for p in papers])


def test_a_library_is_no_folder_of_papers(shelf: Path) -> None:
    (shelf / "b" / "library.db").write_bytes(b"x")
    papers, remarks = read(shelf)
    assert [p.title for p in papers] == ["p1", "p2", "Third"]
    assert [r.place for r in remarks if "Aspectra library" in r.reason] == ["b"]


def test_links_that_leave_are_refused(shelf: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("# Secret\n\nNot to be read.\n")
    (shelf / "leak.md").symlink_to(outside)
    (shelf / "up").symlink_to(tmp_path, target_is_directory=True)
    (shelf / "loop").symlink_to(shelf, target_is_directory=True)
    (shelf / "gone.md").symlink_to(tmp_path / "nothing")
    (shelf / "same.md").symlink_to(shelf / "c.md")
    papers, remarks = read(shelf)
    assert "Secret" not in [p.title for p in papers]
    assert [p.title for p in papers].count("Third") == 2
    said = {r.place: r.reason for r in remarks}
    assert "leads out" in said["leak.md"]
    assert "leads out" in said["up"]
    assert "not entered" in said["loop"]
    assert "cannot be opened" in said["gone.md"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_do_not_hang_it(shelf: Path) -> None:
    os.mkfifo(shelf / "pipe.md")
    _, remarks = read(shelf)
    assert any(r.place == "pipe.md" and "a pipe (FIFO), not a file" in r.reason for r in remarks)


def test_broken_pdf_among_good_files(shelf: Path) -> None:
    (shelf / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing more")
    papers, remarks = read(shelf)
    assert len(papers) == 4
    assert any(r.place == "broken.pdf" and r.skipped for r in remarks)


def test_a_link_to_the_folder_itself_can_be_read(shelf: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(shelf, target_is_directory=True)
    assert len(read(link)[0]) == 4


def test_empty_or_no_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no files"):
        read(tmp_path)
    file = tmp_path / "x.md"
    file.write_text("x")
    with pytest.raises(BadInput, match="not a folder"):
        read(file)


def test_sniff(tmp_path: Path) -> None:
    assert SOURCES.get("folder").sniff(tmp_path, b"") == 1
    assert SOURCES.get("folder").sniff(tmp_path / "none", b"x") == 0
