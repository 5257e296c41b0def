from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from aspectra.base.values import replace
from aspectra.papers.bibliography import csl_types, is_retracted
from aspectra.papers.export.protocol import WRITERS
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import detect, read_papers

HARD = Paper(
    id="lovelace1843",
    title='BERT & {friends}: 5% of $x_1 $ -- "why" \\ ~^',
    abstract="First. @misc{no, title} < a & b.\n\nTY - Second.\n\n@book{x,",
    authors=(
        "Ada Lovelace",
        "Anna van der Berg",
        "Martin Luther King Jr.",
        "ACME, Inc.",
        "Marsh, Moor and Mud Ltd.",
        "Barnes and Noble",
        "Plato",
    ),
    year=1843,
    venue="Notes & Records",
    identifiers={"doi": "10.1000/a_b(c)", "arxiv": "2004.07180"},
    url="https://example.org/a_b?x=1&y=%20#z",
    language="en",
    metadata={
        "type": "article-journal",
        "keywords": ["a b", "Models, Animal"],
        "volume": "7",
        "pages": "1-9",
        "editors": ["E. F. Codd"],
    },
)
SHARED = ("type", "keywords", "volume", "pages", "editors")
FIELDS = ("id", "title", "abstract", "authors", "year", "venue", "url", "language", "identifiers")


def back(tmp_path: Path, name: str, papers: list[Paper]) -> list[Paper]:
    path = tmp_path / "out"
    path.write_text(WRITERS.get(name).write(papers), encoding="utf-8", newline="")
    assert detect(path) == name
    return [item for item in read_papers(path) if isinstance(item, Paper)]


@pytest.mark.parametrize("name", ["bibtex", "ris", "csl-json", "jsonl"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    (paper,) = back(tmp_path, name, [HARD])
    for field in FIELDS:
        expected = getattr(HARD, field)
        if name == "ris" and field == "abstract":
            expected = " ".join(expected.split())
        assert getattr(paper, field) == expected, field
    for shared in SHARED:
        assert paper.metadata[shared] == HARD.metadata[shared], shared


BIB = r"""@inproceedings{Key:1, title = {{BERT} \& G{\"o}del}, author = {M{\"u}ller, Hans and {WHO}},
  booktitle = {Proc. of X}, year = 2020, abstract = {Words \emph{here}.}, file = {:a.pdf:PDF},
  x-own = {kept {\%}},
  eprint = {2004.07180v2}, archiveprefix = {arXiv}, note = "a } b { c"}
@online{two, title = {T}, subtitle = {S}, date = {2019-05}, author = {family=Berg, given=Anna}}
@misc{plain, abstract = {No title here}}
"""


@pytest.mark.parametrize("authors", [HARD.authors, ("Institute for Tides and Dunes",)])
def test_names_survive_our_csv(tmp_path: Path, authors: tuple[str, ...]) -> None:
    (paper,) = back(tmp_path, "csv", [replace(HARD, authors=authors)])
    assert paper.authors == authors


@pytest.mark.parametrize("first", ["bibtex", "ris", "csl-json"])
@pytest.mark.parametrize("then", ["bibtex", "ris", "csl-json"])
def test_family_names_of_several_words_stay_one_in_every_format(
    tmp_path: Path, first: str, then: str
) -> None:
    stated = {
        "AU": ["Moreno Vall, Inés", "de la Cueva Ribas, Juan José", "Li, Wei Bo", "\u6b27\u9633, \u5a1c"]
    }
    authors = ("Inés Moreno Vall", "Juan José de la Cueva Ribas", "Wei Bo Li", "欧阳娜")
    papers = [Paper("x", "Olive groves", authors=authors, metadata=stated)]
    (again,) = back(tmp_path, first, papers)
    assert "AU" not in again.metadata
    text = WRITERS.get(then).write([again])
    for family in ("Moreno Vall", "Cueva Ribas", "Li", "欧阳"):
        one = f'"family": "{family}"' if then == "csl-json" else f"{family}, "
        assert one in text
    assert again.authors == authors


@pytest.mark.parametrize("name", ["bibtex", "ris", "csl-json", "csv", "jsonl"])
def test_a_retraction_survives_every_format(tmp_path: Path, name: str) -> None:
    (paper,) = back(tmp_path, name, [replace(HARD, metadata={"is_retracted": True, "keywords": ["owls"]})])
    assert is_retracted(paper)
    assert "retracted" not in WRITERS.get(name).write([HARD]).casefold()


_NOT_IN_RIS = {"article", "broadcast", "document", "interview", "review-book"}


@pytest.mark.parametrize("name", ["bibtex", "ris", "csl-json"])
def test_a_type_survives_every_format(tmp_path: Path, name: str) -> None:
    types = sorted(csl_types() - (_NOT_IN_RIS if name == "ris" else set()))
    papers = back(
        tmp_path, name, [replace(HARD, id=f"x{n}", metadata={"type": t}) for n, t in enumerate(types)]
    )
    assert [paper.metadata["type"] for paper in papers] == types


@pytest.mark.parametrize("name", ["bibtex", "ris", "csl-json"])
def test_lines_of_a_note_stay_apart(tmp_path: Path, name: str) -> None:
    (paper,) = back(tmp_path, name, [replace(HARD, metadata={"note": "Read & liked.\n50 % owls"})])
    assert paper.metadata["note"] == "Read & liked.\n50 % owls"


def test_bibtex_says_what_its_types_do_not() -> None:
    write = WRITERS.get("bibtex").write
    case = write([Paper("x", "Marsh v. Moor", metadata={"type": "legal_case"})])
    assert case.startswith("@misc{")
    assert "entrysubtype = {legal_case}" in case
    paper = Paper("x", "Owls seen", venue="The Marsh", metadata={"type": "article-magazine"})
    assert "entrysubtype = {magazine}" in write([paper])  # as BibLaTeX and pandoc call it
    assert "entrysubtype" not in write([replace(paper, metadata={"type": "article-journal"})])


def test_bibtex_keeps_types_and_raw_fields(tmp_path: Path) -> None:
    source = tmp_path / "in.bib"
    source.write_text(BIB)
    papers = [item for item in read_papers(source) if isinstance(item, Paper)]
    assert len(papers) == 3
    again = back(tmp_path, "bibtex", papers)
    assert again[2] == papers[2]
    for field in FIELDS:
        assert [getattr(p, field) for p in again] == [getattr(p, field) for p in papers]
    assert again[1].metadata["bibtex"]["fields"] == {
        **papers[1].metadata["bibtex"]["fields"], "year": "2019", "month": "May"
    }  # fmt: skip
    raw, raw_again = (p[0].metadata["bibtex"]["fields"] for p in (papers, again))
    assert {k: v for k, v in raw.items() if k != "note"} == {
        k: v for k, v in raw_again.items() if k != "note"
    }
    assert again == back(tmp_path, "bibtex", again)


def test_a_changed_paper_is_written_as_it_is_now(tmp_path: Path) -> None:
    source = tmp_path / "in.bib"
    source.write_text(BIB)
    first = next(item for item in read_papers(source) if isinstance(item, Paper))
    changed = Paper.from_dict(first.to_dict() | {"title": "New title", "year": 1999})
    (again,) = back(tmp_path, "bibtex", [changed])
    assert (again.title, again.year) == ("New title", 1999)
    assert again.metadata["bibtex"]["fields"]["file"] == ":a.pdf:PDF"


def test_bibtex_keys_are_valid_and_unique() -> None:
    ids = ["doi:10.1/x(1)", "a b", "a,b", "A-B", "é", "#", "x-", "a~2"]
    text = WRITERS.get("bibtex").write(Paper(id=i, title="T") for i in ids)
    keys = [line.split("{")[1].rstrip(",") for line in text.splitlines() if line.startswith("@")]
    assert keys == ["doi:10.1/x-1", "a-b", "a-b-2", "A-B-3", "é", "paper", "x-", "a-2"]


def test_ris_and_csl_keep_their_own_records(tmp_path: Path) -> None:
    source = tmp_path / "in.ris"
    source.write_text("TY  - THES\nID  - t1\nTI  - T\nXX  - odd\nKW  - a\nKW  - b\nN1  - n\nER  -\n")
    (paper,) = (item for item in read_papers(source) if isinstance(item, Paper))
    (again,) = back(tmp_path, "ris", [paper])
    assert again.metadata["ris"]["type"] == "THES"
    assert ["XX", "odd"] in again.metadata["ris"]["fields"]
    source.write_text(
        '[{"id": "x", "type": "song", "title": "<i>u</i>", "issued": {"date-parts": [[2001, 5]]}, "odd": 1}]'
    )
    (paper,) = (item for item in read_papers(source) if isinstance(item, Paper))
    assert back(tmp_path, "csl-json", [paper]) == [paper]
    (renamed,) = back(tmp_path, "csl-json", [paper.with_id("x~2")])
    assert renamed.id == "x~2"


def test_a_record_of_crossref_is_written_as_csl_has_it(tmp_path: Path) -> None:
    """Pandoc refuses a whole file for one text that is a list."""
    works = [
        {
            "DOI": f"10.1000/{kind}",
            "type": kind,
            "title": ["Owls"],
            "container-title": ["A Big Book", "Its series"],
            "author": [{"given": "Ann", "family": "Ash", "affiliation": [], "sequence": "first"}],
            "ISSN": ["1234-5679", "2345-6786"],
            "event": {"name": "A meeting"},
            "reference": [{"key": "1", "unstructured": "Bo Birch: Bees"}],
            "issued": [{"date-parts": [2020]}],
        }
        for kind in ("proceedings-article", "book-chapter", "monograph", "journal-article", "posted-content")
    ]
    source = tmp_path / "in.json"
    source.write_text(json.dumps({"message": {"items": works}}))
    papers = [item for item in read_papers(source) if isinstance(item, Paper)]
    items = json.loads(WRITERS.get("csl-json").write(papers))
    assert [one["type"] for one in items] == [
        *("paper-conference", "chapter", "book", "article-journal", "article")
    ]
    for item in items:
        assert item["title"] == "Owls"
        assert item["container-title"] == "A Big Book"
        assert item["author"] == [{"given": "Ann", "family": "Ash", "sequence": "first"}]
        assert item["ISSN"] == "1234-5679, 2345-6786"
        assert item["issued"] == {"date-parts": [[2020]]}
        assert not item.keys() & {"event", "reference"}
    kinds = re.findall(r"^TY  - (\w+)", WRITERS.get("ris").write(papers), re.M)
    assert kinds == ["CPAPER", "CHAP", "BOOK", "JOUR", "GEN"]


def test_csv_guards_formulas_and_controls() -> None:
    paper = Paper(id="=1+1", title="@SUM(A1)", abstract='a "q", b\nc\x07', authors=("A B", "C D"), year=2000)
    rows = list(csv.DictReader(io.StringIO(WRITERS.get("csv").write([paper]))))
    assert rows[0]["id"] == "'=1+1"
    assert rows[0]["title"] == "'@SUM(A1)"
    assert rows[0]["abstract"] == 'a "q", b\nc'
    assert (rows[0]["authors"], rows[0]["year"]) == ("B, A; D, C", "2000")


@pytest.mark.parametrize("name", WRITERS.names())
def test_no_papers_and_bare_papers(name: str) -> None:
    writer = WRITERS.get(name)
    assert writer.name == name
    empty = writer.write([])
    assert empty == "" or empty.endswith("\n")
    assert writer.write([Paper(id="x", title="T\x1b[2J\r\nU", metadata={"bibtex": 3, "ris": {}, "csl": []})])


def test_jsonl_writes_our_own_format() -> None:
    assert Paper.from_dict(json.loads(WRITERS.get("jsonl").write([HARD]))) == HARD


@pytest.mark.parametrize("database", ["", "Scopus", "PubMed"])
def test_ris_keeps_the_database_of_a_paper_with_a_pmid(tmp_path: Path, database: str) -> None:
    for url in ("https://x.org/a", ""):
        paper = Paper("a", "T", url=url, identifiers={"pmid": "31452109"})
        told = replace(paper, metadata={"database": database} if database else {})
        (again,) = back(tmp_path, "ris", [told])
        assert (again.identifiers, again.url) == (paper.identifiers, paper.url)
        assert again.metadata.get("database", "") == database


def test_ris_keeps_the_arxiv_id_of_a_paper_without_link(tmp_path: Path) -> None:
    (paper,) = back(tmp_path, "ris", [Paper("a", title="T", identifiers={"arxiv": "2101.01234"})])
    assert paper.identifiers == {"arxiv": "2101.01234"}
    assert paper.url == "https://arxiv.org/abs/2101.01234"


@pytest.mark.parametrize(
    ("date", "written", "raw"),
    [
        ({"literal": "1995-01-0001"}, [[1995, 1, 1]], None),
        ({"literal": "2016-09-0013"}, [[2016, 9, 13]], None),
        ({"raw": "2016-13-45"}, [[2016]], "2016-13-45"),
        ({"raw": "2016"}, [[2016]], None),
        ({"literal": "in press, 2019"}, [[2019]], "in press, 2019"),
        ("2001-05", [[2001, 5]], None),
        ({"date-parts": [[2001, 0, 0]]}, [[2001]], None),
        ({"date-parts": [["2001", "05"], [2002, 1]]}, [[2001, 5], [2002, 1]], None),
        ({"date-parts": [[-44, 3, 15]], "circa": True}, [[-44, 3, 15]], None),
    ],
)
def test_csl_dates_have_parts(tmp_path: Path, date: object, written: list[object], raw: str | None) -> None:
    kept = {"type": "book", "title": "T", "issued": date}
    path = tmp_path / "in.json"
    path.write_text(json.dumps([kept]))
    (paper,) = (item for item in read_papers(path, "csl-json") if isinstance(item, Paper))
    item = json.loads(WRITERS.get("csl-json").write([paper]))[0]
    assert item["issued"]["date-parts"] == written
    assert item.get("custom", {}).get("issued-raw") == raw
    assert "literal" not in item["issued"]


def test_csl_dates_without_a_year_stay_text() -> None:
    kept = {"type": "book", "title": "T", "accessed": {"literal": "13th cent"}}
    item = json.loads(WRITERS.get("csl-json").write([Paper("a", title="T", metadata={"csl": kept})]))[0]
    assert item["accessed"] == {"literal": "13th cent"}
