from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper, Remark
from aspectra.papers.sources.detection import detect, read_papers
from aspectra.papers.sources.tables.columns import identifier_in_line


def read(folder: Path, text: str) -> tuple[list[Paper], list[Remark]]:
    path = folder / "list.txt"
    path.write_text(text)
    assert detect(path) == "identifiers"
    items = list(read_papers(path))
    return [i for i in items if isinstance(i, Paper)], [i for i in items if isinstance(i, Remark)]


def test_each_line_is_a_paper_without_text(tmp_path: Path) -> None:
    papers, remarks = read(
        tmp_path,
        "DOI\n10.1000/A\nhttps://doi.org/10.1000/b.\n- arXiv:2101.00001v2\n\nPMID: 1234567\nhttps://x.org/paper\n"
        "10.48550/arXiv.2101.00002\n",
    )
    assert [p.id for p in papers] == [
        "doi:10.1000/a",
        "doi:10.1000/b",
        "arXiv:2101.00001",
        "pmid:1234567",
        "https://x.org/paper",
        "doi:10.48550/arxiv.2101.00002",
    ]
    assert not any(p.has_text for p in papers)
    assert papers[5].identifiers == {"doi": "10.48550/arxiv.2101.00002", "arxiv": "2101.00002"}
    assert papers[4].url == "https://x.org/paper"
    assert [(r.place, r.skipped) for r in remarks] == [("line 1", True), ("file", False)]
    assert "6 papers" in remarks[1].reason


def test_numbers_are_pmids_only_among_numbers(tmp_path: Path) -> None:
    papers, _ = read(tmp_path, "21234567\n31234567\n3123456\n")
    assert [p.identifiers for p in papers] == [{"pmid": n} for n in ("21234567", "31234567", "3123456")]
    assert identifier_in_line("31234567") is None


@pytest.mark.parametrize(
    "text",
    [
        "A paper about owls, see\n10.1000/a\n10.1000/b\nand others, which hunt\nat night.\n",
        "12\n15\n17\n19\n",
        "2001\n2002\n2003\n",
        "one\ntwo\nthree\n",
    ],
)
def test_other_lines_are_no_list(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text)
    assert detect(path) == "markdown"


def test_a_file_without_any_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("owls\nhunt\n")
    with pytest.raises(BadInput, match="no list of identifiers") as caught:
        list(read_papers(path, "identifiers"))
    assert "RIS" in caught.value.hint
