from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import detect, read_papers

RECORD = """
PMID- 12345
OWN - NLM
DP  - 2020 Jan 3
TI  - A title that
      goes on.
LID - 10.1000/X [doi]
LID - 12 [pii]
AB  - BACKGROUND: text - with
      more.
FAU - Lovelace, Ada A
AU  - Lovelace AA
CN  - The Made Up Group
LA  - eng
JT  - The made up journal
VI  - 7
PMC - PMC99
MH  - *Humans
OT  - ranking
XYZ - odd

PMID- 12346
TI  - [Translated].
"""


def test_records(tmp_path: Path) -> None:
    path = tmp_path / "x.nbib"
    path.write_text(RECORD)
    first, second = (i for i in read_papers(path, "nbib") if isinstance(i, Paper))
    assert (first.id, first.title, first.year) == ("12345", "A title that goes on.", 2020)
    assert first.abstract == "BACKGROUND: text - with more."
    assert first.authors == ("Ada A Lovelace", "The Made Up Group")
    assert first.identifiers == {"doi": "10.1000/x", "pmid": "12345", "pmcid": "PMC99"}
    assert (first.venue, first.language) == ("The made up journal", "en")
    assert first.metadata["keywords"] == ["ranking", "Humans"]
    assert ["XYZ", "odd"] in first.metadata["nbib"]
    assert second.title == "Translated"


def test_nothing_there(tmp_path: Path) -> None:
    path = tmp_path / "x.nbib"
    path.write_text("words")
    with pytest.raises(BadInput, match="no PubMed record"):
        list(read_papers(path, "nbib"))


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("PMCR- 20481061\nTI  - A title\nTI  - that goes on\nPT  - Book\n", {"pmcid": "PMC20481061"}),
        ("OWN - NLM\nTI  - A title\nTI  - that goes on\nAID - 10.1000/x [doi]\n", {"doi": "10.1000/x"}),
        ("PMC -123\nTI-\nBTI - A title\nBTI - that goes on\nJT  - Owls\nAID - doi:10.1000/x\n", {
            "doi": "10.1000/x",
            "pmcid": "PMC123",
        }),
    ],
)  # fmt: skip
def test_records_without_a_pubmed_number(tmp_path: Path, text: str, identifiers: dict[str, str]) -> None:
    path = tmp_path / "export.txt"
    path.write_text(text)
    assert detect(path) == "nbib"
    (paper,) = read_papers(path)
    assert isinstance(paper, Paper)
    assert paper.title == "A title that goes on"
    assert paper.identifiers == identifiers


def test_lines_without_their_dash_and_two_abstracts(tmp_path: Path) -> None:
    path = tmp_path / "x.nbib"
    path.write_text("PMID-1\nSO  no dash\nTI  -Close\nAB  - Old.\nAB  - New.\n")
    (paper,) = read_papers(path)
    assert isinstance(paper, Paper)
    assert (paper.title, paper.abstract) == ("Close", "Old.\n\nNew.")
    assert paper.metadata["database"] == "PubMed"


def test_the_export_of_pmc_begins_each_record_with_its_own_id(tmp_path: Path) -> None:
    path = tmp_path / "pmc.txt"
    path.write_text(
        "".join(f"PMC - PMC{n}\nPMID- {n}\nTI  - Owls {n}\nPT  - Journal Article\n\n" for n in (11, 22))
    )
    ids = [item.identifiers for item in read_papers(path) if isinstance(item, Paper)]
    assert ids == [{"pmid": "11", "pmcid": "PMC11"}, {"pmid": "22", "pmcid": "PMC22"}]
