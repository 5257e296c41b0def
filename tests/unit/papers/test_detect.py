from __future__ import annotations

import os
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from aspectra.base.errors import BadInput, UsageError
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import UnknownFormat, detect, read_papers
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import SOURCES


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("@article{a, title={T}}", "bibtex"),
        ("TY  - JOUR\nTI  - T\nER  -\n", "ris"),
        ("PMID- 1\nOWN - NLM\nTI  - T\n", "nbib"),
        ('[{"id": "a", "type": "book", "title": "T", "issued": {"date-parts": [[2000]]}}]', "csl-json"),
        ('{"_id": "1", "title": "T", "text": "x"}', "jsonl"),
        ('{"paper_id": "1", "title": "T", "abstract": ["x"], "pred_labels": ["other_label"]}', "jsonl"),
    ],
)
def test_content_decides(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / "export.txt"
    path.write_text(text)
    assert detect(path) == name
    assert any(isinstance(item, Paper) for item in read_papers(path))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PMID- 1\nOWN - NLM\nTI  - T\n", "nbib"),
        ("TY  - JOUR\nTI  - T\nER  -\n", "ris"),
        ("@article{a, title={T}}", "bibtex"),
        ('[{"id": "a", "type": "book", "title": "T", "issued": {"date-parts": [[2000]]}}]', "csl-json"),
    ],
)
def test_a_byte_order_mark_or_utf_16_hides_nothing(
    tmp_path: Path, text: str, name: str, encoding: str
) -> None:
    path = tmp_path / "export.txt"
    path.write_bytes(text.encode(encoding))
    assert detect(path) == name
    assert [item.title for item in read_papers(path) if isinstance(item, Paper)] == ["T"]


def test_a_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    path.write_text('[\n{"id": "a", "title": "T"}\n]')
    opened = []
    unpatched = os.open
    monkeypatch.setattr(
        os, "open", lambda name, *a, **k: opened.append(Path(name)) or unpatched(name, *a, **k)
    )
    with InputFile(path) as file:
        file.digest()
        assert [item.title for item in read_papers(file) if isinstance(item, Paper)] == ["T"]
    assert opened == [path]


def test_the_name_does_not_mislead(tmp_path: Path) -> None:
    path = tmp_path / "export.bib"
    path.write_text("TY  - JOUR\nTI  - T\nER  -\n")
    assert detect(path) == "ris"


def test_named_source_is_used(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('{"id": "a", "type": "book", "title": "T", "issued": {}}')
    (paper,) = (item for item in read_papers(path, as_="jsonl") if isinstance(item, Paper))
    assert "csl" not in paper.metadata
    with pytest.raises(UsageError, match="no source called"):
        read_papers(path, as_="bibtext")


def test_clear_refusals(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no file or folder"):
        detect(tmp_path / "missing")
    with pytest.raises(BadInput, match="no file or folder"):
        read_papers(tmp_path / "missing", as_="jsonl")
    path = tmp_path / "x.bin"
    path.write_bytes(b"")
    with pytest.raises(BadInput, match="is empty"):
        detect(path)
    path.write_bytes(b"\x00\x01\x02" * 99)
    with pytest.raises(BadInput) as caught:
        detect(path)
    assert "--as NAME" in str(caught.value)


PRINTED = """{n}. Owl J. 2020;1(1):{n}. doi: 10.1000/{n}.

Owls at night.

Owl A(1), Mouse B(2).

They hunt.

DOI: 10.1000/{n}
PMID: {n}

"""


def test_records_printed_as_text_are_no_paper(tmp_path: Path) -> None:
    path = tmp_path / "abstract.txt"
    path.write_text("".join(PRINTED.format(n=n) for n in (1, 2, 3)))
    with pytest.raises(BadInput, match="not recognised") as caught:
        detect(path)
    assert "RIS" in caught.value.hint
    path.write_text("Owls at night\n\nAbstract: They hunt.\nKeywords: owls\n\nText of it.\n")
    assert detect(path) == "markdown"


@pytest.mark.parametrize(
    ("content", "nature"),
    [
        (b"<modsCollection/>", "XML whose root is <modsCollection>"),
        (b"SQLite format 3\x00", "SQLite"),
        (b"\x00\x01\x02" * 9, "no text"),
        (b'{"cells": [], "nbformat": 4}', "JSON with cells, nbformat"),
    ],
)
def test_a_refusal_says_what_the_file_looks_like(tmp_path: Path, content: bytes, nature: str) -> None:
    path = tmp_path / "export.dat"
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        detect(path)
    assert nature in caught.value.why


@pytest.mark.parametrize(
    "text",
    [
        "UI  - 1\nTI  - Owls\nAU  - Owl A\nSO  - Birds\nAB  - They\n      hunt.\n\nUI  - 2\nTI  - Mice\n",
        "KD Journal Article\nSR Print\nID 1\nA1 Owl, A\nT1 Owls\nJF Birds\nYR 2012\n",
        "{Kind}: Journal Article\n{Title}: Owls\n{Author}: Owl, A\n{Year}: 2021\n",
    ],
)
def test_tagged_records_of_an_unknown_kind_are_refused_with_the_way_out(tmp_path: Path, text: str) -> None:
    path = tmp_path / "export.txt"
    path.write_text(text)
    with pytest.raises(BadInput, match="not recognised") as caught:
        detect(path)
    assert not isinstance(caught.value, UnknownFormat)  # in a folder, a picture is passed over
    assert "RIS" in caught.value.hint
    path.write_text("THE OWL\n\nIT HUNTS\n\nIt went through the night, AND SO ON.\nNo mouse was seen.\n")
    assert detect(path) == "markdown"


def test_a_source_of_another_package_that_cannot_be_imported_stops_no_file(tmp_path, monkeypatch):
    broken = EntryPoint("broken", "no_such_package.source", "aspectra.source")
    monkeypatch.setitem(SOURCES._plugged, "broken", broken)
    (tmp_path / "a.bib").write_text("@article{a, title={T}}")
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    assert detect(tmp_path / "a.bib") == "bibtex"
    with pytest.raises(UnknownFormat) as unknown:
        detect(tmp_path / "a.bin")
    assert "the source broken cannot be loaded" in unknown.value.why
    with pytest.raises(UsageError, match="broken cannot be loaded") as named:
        list(read_papers(tmp_path / "a.bib", "broken"))
    assert "no_such_package" in named.value.why
