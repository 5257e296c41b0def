"""The same papers out of several files: nothing that one says is lost, and adding again changes nothing."""

from __future__ import annotations

import os
import sys

import pytest

import aspectra
from aspectra.papers.sources.protocol import SOURCES

BIB = "@article{owl, title={How owls hunt}, author={Strix, Ada}, year={2019}, journal={Nights}, volume={7}}"
RIS = "TY  - JOUR\nID  - owl\nTI  - How owls hunt\nDO  - 10.1000/owl\nKW  - hearing\nER  - \n"


@pytest.fixture
def library(tmp_path):
    with aspectra.create(tmp_path / "a.lib") as made:
        yield made


def _add(library, path, text=None):
    if text is not None:
        path.write_text(text, "utf-8")
    (report,) = library.add(path)
    return report.added, report.updated, report.unchanged


def test_a_record_of_another_file_takes_nothing_away(library, tmp_path):
    assert _add(library, tmp_path / "a.bib", BIB) == (1, 0, 0)
    assert _add(library, tmp_path / "a.ris", RIS) == (0, 1, 0)
    paper = library.show("owl")
    assert (paper.authors, paper.year, paper.venue) == (("Ada Strix",), 2019, "Nights")
    assert paper.identifiers["doi"] == "10.1000/owl"
    assert {"volume", "keywords"} <= {name.lower() for name in paper.metadata} | set(
        paper.metadata.get("bibliography", {})
    )


def test_a_record_without_a_title_keeps_the_title(library, tmp_path):
    _add(library, tmp_path / "a.jsonl", '{"id": "owl", "title": "How owls hunt"}\n')
    assert _add(library, tmp_path / "b.jsonl", '{"id": "owl", "abstract": "They listen."}\n') == (0, 1, 0)
    paper = library.show("owl")
    assert (paper.title, paper.abstract) == ("How owls hunt", "They listen.")


def test_a_file_known_before_changes_nothing_though_others_did(library, tmp_path):
    _add(library, tmp_path / "a.bib", BIB)
    _add(library, tmp_path / "a.ris", RIS)
    for _ in range(2):
        assert _add(library, tmp_path / "a.bib") == (0, 0, 1)
        assert _add(library, tmp_path / "a.ris") == (0, 0, 1)
    assert library.show("owl").identifiers["doi"] == "10.1000/owl"


def test_a_file_that_was_corrected_may_empty_fields_of_its_own(library, tmp_path):
    _add(library, tmp_path / "a.bib", BIB)
    assert _add(library, tmp_path / "a.bib", BIB.replace("journal={Nights}, ", "")) == (0, 1, 0)
    assert library.show("owl").venue == ""
    assert _add(library, tmp_path / "a.bib", BIB) == (0, 1, 0), (
        "an earlier state of the file is no known file"
    )
    assert library.show("owl").venue == "Nights"


def test_a_fault_of_a_reader_costs_its_file_alone(library, tmp_path, monkeypatch):
    def failing(self, file, options):
        raise IndexError("out of range")
        yield

    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.ris").write_text(RIS, "utf-8")
    (folder / "b.bib").write_text(BIB, "utf-8")
    monkeypatch.setattr(type(SOURCES.get("ris")), "read", failing)
    first, second = library.add(folder)
    assert (first.error.why, first.skipped) == ("its reader failed: IndexError: out of range", 1)
    assert second.added == 1


ENDNOTE = "<xml><records>" + "".join(
    f"<record><ref-type name='Journal Article'>17</ref-type><titles><title>Owls {n}</title></titles></record>"
    for n in range(3)
)


@pytest.mark.parametrize(
    ("name", "source", "text", "then"),
    [
        ("a.bib", "bibtex", BIB, ""),
        ("a.bib", "bibtex", BIB, BIB[:20]),
        ("a.xml", "endnote-xml", "", ENDNOTE),
    ],
)
def test_papers_keep_their_file_when_it_cannot_be_read_to_its_end(
    library, tmp_path, name, source, text, then
):
    if text:
        _add(library, tmp_path / name, text)
    (tmp_path / name).write_text(then)
    (report,) = library.add(tmp_path / name)
    assert report.skipped
    assert [one.name for one in library.works.flow().origins] == [f"{source} files"]


def test_a_record_that_is_never_read_keeps_no_paper_in_its_file(library, tmp_path):
    lines = ['{"id": "a", "title": "Owls"}', "{", '{"id": "b", "title": "Mice"}']
    _add(library, tmp_path / "a.jsonl", "\n".join(lines))
    (report,) = library.add(tmp_path / "a.jsonl")
    assert (report.skipped, report.error) == (1, None)
    _add(library, tmp_path / "a.jsonl", "\n".join(lines[1:]))
    assert [one.name for one in library.works.flow().origins] == ["jsonl files", "papers of no known file"]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are UTF-8 there")
def test_a_file_whose_name_is_not_utf8_is_added_and_hinders_no_other(library, tmp_path):
    folder = tmp_path / "old"
    folder.mkdir()
    for name, text in ((b"a.ris", RIS), (b"b\xe9.bib", BIB), (b"c\xe9.ris", ""), (b"z.ris", RIS)):
        (folder / os.fsdecode(name)).write_text(text.replace("owl", name[:1].decode()), "utf-8")
    assert [report.added for report in library.add(folder)] == [1, 1, 0, 1]
    assert {*library.store.ids()} == {"a", "b", "z"}
    (origin,) = library.store.marks.origins(["b"])["b"]
    assert origin.file.endswith("b\\udce9.bib")
