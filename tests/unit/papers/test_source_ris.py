from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.app.output.documents import record_rows
from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import detect, read_papers
from aspectra.papers.sources.protocol import Remark


def read(tmp_path: Path, text: str) -> tuple[list[Paper], list[Remark]]:
    path = tmp_path / "x.ris"
    path.write_text(text, encoding="utf-8")
    items = list(read_papers(path, "ris"))
    return [i for i in items if isinstance(i, Paper)], [i for i in items if isinstance(i, Remark)]


def test_a_record(tmp_path: Path) -> None:
    papers, remarks = read(
        tmp_path,
        """\ufeffProvider: made up

TY  - JOUR
T1  - A title that
goes on
AU  - Lovelace, Ada
AU  - King, Martin, Jr.
AU  - Doe, J.; Roe, R.
PY  - 2020/01/02/
AB  - Cells that are

ER - positive and

ER  - negative.
N1  - Cited By :10
N1  - Export Date: today
XX  - unknown
DO  - https://doi.org/10.1000/ABC
KW  - one
two
KW  - three; four
UR  - https://example.org/1
UR  - https://arxiv.org/abs/2004.07180v1
JO  - J. Made Up
SP  - 1
EP  - 9
AN  - 123
DB  - PubMed
LA  - eng
ER  -

Link to the full text:
https://example.org/link
""",
    )
    assert remarks == []
    (paper,) = papers
    assert paper.title == "A title that goes on"
    assert paper.authors == ("Ada Lovelace", "Martin King Jr.", "J. Doe", "R. Roe")
    assert paper.abstract == "Cells that are ER - positive and ER  - negative.".replace("ER  -", "ER -")
    assert paper.identifiers == {"doi": "10.1000/abc", "arxiv": "2004.07180", "pmid": "123"}
    assert (paper.id, paper.year, paper.venue, paper.language) == (
        "doi:10.1000/abc",
        2020,
        "J. Made Up",
        "en",
    )
    assert paper.url == "https://example.org/1"
    assert paper.metadata["keywords"] == ["one", "two", "three", "four"]
    assert paper.metadata["note"] == "Cited By :10\nExport Date: today"
    assert paper.metadata["pages"] == "1-9"
    fields = paper.metadata["ris"]["fields"]
    assert ["XX", "unknown"] in fields
    assert ["", "https://example.org/link"] in fields


@pytest.mark.parametrize(
    ("start", "end", "pages"),
    [
        ("321", "32", "321-32"),
        ("165", "6", "165-6"),
        ("11", "11", "11"),
        ("11-20", "20", "11-20"),
        ("11\u201320", "20", "11-20"),
        ("e12", "", "e12"),
    ],
)
def test_pages(tmp_path: Path, start: str, end: str, pages: str) -> None:
    file = tmp_path / "a.ris"
    file.write_text(f"TY  - JOUR\nTI  - Owls\nSP  - {start}\nEP  - {end}\nER  - \n", "utf-8")
    (paper,) = (one for one in read_papers(file) if isinstance(one, Paper))
    assert paper.metadata["pages"] == pages


def test_wrong_spacing(tmp_path: Path) -> None:
    papers, remarks = read(tmp_path, "TY - CONF\nTI - On IS - a relations\nAU - A B\nER -\n")
    assert remarks == []
    assert (papers[0].title, papers[0].authors) == ("On IS - a relations", ("A B",))
    assert papers[0].metadata["type"] == "paper-conference"


def test_missing_ends_and_starts(tmp_path: Path) -> None:
    papers, remarks = read(
        tmp_path,
        "TY  - BOOK\nTI  - One\nTY  - JOUR\nTI  - Two\nER  -\nTI  - Three\nER  -\nTY  - JOUR\nER  -\n",
    )
    assert [p.title for p in papers] == ["One", "Two", "Three"]
    assert [r.skipped for r in remarks] == [False, False, True]


def test_repeated_abstract_is_joined_once(tmp_path: Path) -> None:
    papers, _ = read(tmp_path, "TY  - JOUR\nTI  - T\nTI  - U\nAB  - a\nAB  - a\nAB  - b\nER  -\n")
    assert (papers[0].title, papers[0].abstract) == ("T", "a\n\nb")


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no RIS record"):
        read(tmp_path, "words\n")


def test_the_tag_for_unknown_tags_is_a_tag_like_others(tmp_path: Path) -> None:
    (paper,), _ = read(tmp_path, "TY  - JOUR\nUK  - x\nCT  - A title\nER  - \n")
    assert paper.title == "A title"


def test_a_record_without_its_first_line_is_told_by_its_end(tmp_path: Path) -> None:
    path = tmp_path / "export.txt"
    path.write_text("JF  - Owls\nAU  - Owl, Ada\nTI  - Night\nPY  - 2001\nER  - \n")
    assert detect(path) == "ris"
    paper, remark = sorted(read_papers(path), key=lambda item: isinstance(item, Remark))
    assert isinstance(paper, Paper)
    assert (paper.title, paper.year) == ("Night", 2001)
    assert isinstance(remark, Remark)
    assert "TY missing" in remark.reason


def test_a_copyright_notice_is_no_abstract(tmp_path: Path) -> None:
    notice = "Copyright of Owls is the property of Owl Press and its content may not be copied."
    first = f"TY  - JOUR\nTI  - One\nAB  - Owls hunt.\nAB  - {notice}\nER  - \n"
    second = f"TY  - JOUR\nTI  - Two\nAB  - Mice hide. [ABSTRACT FROM AUTHOR] {notice}\nER  - \n"
    third = "TY  - JOUR\nTI  - Three\nAB  - Copyright law of owls is old.\nER  - \n"
    papers, _ = read(tmp_path, first + second + third)
    assert [p.abstract for p in papers] == ["Owls hunt.", "Mice hide.", "Copyright law of owls is old."]
    assert papers[0].metadata["copyright"] == notice
    assert papers[1].metadata["copyright"].endswith(notice)
    assert "copyright" not in papers[2].metadata


@pytest.mark.parametrize("abstract", ["NA", "n/a", "[No abstract available]", "None"])
def test_a_sign_of_absence_is_no_abstract(tmp_path: Path, abstract: str) -> None:
    (paper,), _ = read(tmp_path, f"TY  - JOUR\nTI  - T\nAB  - {abstract}\nER  - \n")
    assert paper.abstract == ""


@pytest.mark.parametrize(
    ("lines", "database"),
    [
        ("DB  - Scopus", "Scopus"),
        ("DP  - Ovid MEDLINE(R) <2020>", "MEDLINE"),
        ("DB  - 8gh\nDP  - EBSCOhost", "EBSCOhost 8gh"),
        ("AN  - WOS:000123", "Web of Science"),
        ("UR  - https://www.scopus.com/inward/record.uri?eid=1", "Scopus"),
        ("UR  - https://example.org/1", None),
    ],
)
def test_the_database_is_kept_where_it_is_stated(tmp_path: Path, lines: str, database: str | None) -> None:
    (paper,), _ = read(tmp_path, f"TY  - JOUR\nTI  - T\n{lines}\nER  - \n")
    assert paper.metadata.get("database") == database


def test_a_name_that_ends_in_and(tmp_path: Path) -> None:
    (paper,), _ = read(tmp_path, "TY  - JOUR\nTI  - T\nAU  - Owl, Ada and\nAU  - Mouse, Bo\nER  - \n")
    assert paper.authors == ("Ada Owl", "Bo Mouse")


@pytest.mark.parametrize(
    "rest", ["et al.", "et al", "al., et", "et. al.", "and others", "Others", "12 more", "* †"]
)
def test_the_rest_of_a_list_is_no_person(tmp_path: Path, rest: str) -> None:
    ((paper,), _) = read(tmp_path, f"TY  - JOUR\nTI  - Owls\nAU  - Roy, Bo\nAU  - {rest}\nER  - \n")
    assert paper.authors == ("Bo Roy",)


def test_a_record_without_title_is_remarked(tmp_path: Path) -> None:
    (paper,), (remark,) = read(tmp_path, "TY  - JOUR\nAB  - Text of it.\nER  - \n")
    assert (paper.title, paper.abstract) == ("", "Text of it.")
    assert "no title" in remark.reason


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (["Mizdrell A.", "van Brekel O."], ("A. Mizdrell", "O. van Brekel")),
        (["Mizdrell A"], ("A Mizdrell",)),
        (["Harper, JR", "Ebron G.P., Jr."], ("JR Harper", "G.P. Ebron Jr.")),
        (["Google AI"], ("Google AI",)),
        (["Ada Lovelace", "Osk V"], ("Ada Lovelace", "Osk V")),
    ],
)
def test_initials_behind_a_family_name_are_given_names(
    tmp_path: Path, lines: list[str], names: tuple[str, ...]
) -> None:
    for name, head, tag in (
        ("a.ris", "TY  - JOUR\nTI  - Owls\n", "AU  - "),
        ("a.enw", "%0 Book\n%T Owls\n", "%A "),
    ):
        end = "ER  - \n" if name == "a.ris" else ""
        (tmp_path / name).write_text(head + "".join(f"{tag}{line}\n" for line in lines) + end)
        (paper,) = read_papers(tmp_path / name)
        assert paper.authors == names, name


def test_editors_of_both_tags_are_seen_and_an_isbn_is_no_issn(tmp_path: Path) -> None:
    text = "TY  - EDBOOK\nTI  - Owls\nA2  - Roe, Al\nED  - Lee, Bo\nSN  - 978-3-16-148410-0\nER  - \n"
    (paper,) = read(tmp_path, text)[0]
    assert ("editors", "Al Roe, Bo Lee") in record_rows(paper)
    assert (paper.identifiers, paper.metadata.get("issn")) == ({"isbn": "9783161484100"}, None)
    (paper,) = read(tmp_path, text.replace("978-3-16-148410-0", "1234-5678"))[0]
    assert paper.metadata["issn"] == "1234-5678"


def test_an_article_number_is_the_place(tmp_path: Path) -> None:
    papers, _ = read(tmp_path, "TY  - JOUR\nTI  - T\nC7  - 064105\nER  -\n")
    assert papers[0].metadata["pages"] == "064105"
