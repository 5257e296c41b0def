from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.export.protocol import WRITERS
from aspectra.papers.paper import Paper, Remark
from aspectra.papers.sources.detection import UnknownFormat, detect, read_papers
from aspectra.papers.sources.tables.columns import list_in, people_in


def read(folder: Path, text: str | bytes, name: str = "table.csv") -> tuple[list[Paper], list[Remark]]:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    assert detect(path) == "csv"
    items = list(read_papers(path))
    return [i for i in items if isinstance(i, Paper)], [i for i in items if isinstance(i, Remark)]


def one(folder: Path, text: str | bytes, name: str = "table.csv") -> Paper:
    (paper,), _ = read(folder, text, name)
    return paper


def test_scopus(tmp_path: Path) -> None:
    paper = one(
        tmp_path,
        "\ufeffAuthors,Author full names,Author(s) ID,Title,Year,Source title,Volume,Issue,Art. No."
        ",Page start,Page end,"
        "Cited by,DOI,Link,Affiliations,Abstract,Author Keywords,Index Keywords,Document Type,Open "
        "Access,Source,EID\n"
        '"Owl A.; Barn B.C.","Owl, Ada (57210000001); Barn, Bo Carl (57210000002)",57210000001; 57210000002,'
        '"Owls, at night",2021,Journal of Owls,7,2,,10,20,5,10.1000/owls.7,https://www.scopus.com/x,Owl Labs,'
        "We watch owls.,night; owls,birds,Article,All Open Access,Scopus,2-s2.0-85000000001\n",
    )
    assert (paper.title, paper.authors, paper.year) == ("Owls, at night", ("Ada Owl", "Bo Carl Barn"), 2021)
    assert (paper.venue, paper.identifiers, paper.id) == (
        "Journal of Owls",
        {"doi": "10.1000/owls.7"},
        "2-s2.0-85000000001",
    )
    kept = paper.metadata
    assert (kept["pages"], kept["volume"], kept["issue"], kept["type"]) == (
        "10-20",
        "7",
        "2",
        "article-journal",
    )
    assert (kept["keywords"], kept["cited_by"], kept["database"]) == (
        ["night", "owls", "birds"],
        "5",
        "Scopus",
    )
    assert kept["table"]["Author(s) ID"] == "57210000001; 57210000002"
    assert "Abstract" not in kept["table"]


def test_web_of_science_tags_with_tabs(tmp_path: Path) -> None:
    text = (
        "PT\tAU\tAF\tTI\tSO\tDE\tID\tAB\tSN\tPY\tVL\tBP\tEP\tDI\tPM\tUT\t\n"
        'J\tOwl, A; Barn, BC\tOwl, Ada; Barn, Bo\t"Night" owls and 5" eggs\tOWLS\tnight; eggs\tBIRD'
        'S\tWe "watch.\t'
        "1234-5678\t2020\t3\t1\t9\t10.1000/x.1\t123456\tWOS:000500000000001\t\n"
        "J\tBarn, B\t\tA second\tOWLS\t\t\t\t\t2019\t\t\t\t\t\tMEDLINE:98765\t\n"
    )
    for content in (text.encode(), text.encode("utf-16"), text.replace("\n", "\r\n").encode("utf-8-sig")):
        first, second = read(tmp_path, content, "savedrecs.txt")[0]
        assert first.title == '"Night" owls and 5" eggs'
        assert first.authors == ("Ada Owl", "Bo Barn")
        assert first.identifiers == {"doi": "10.1000/x.1", "pmid": "123456"}
        assert (first.id, first.venue, first.metadata["pages"]) == ("WOS:000500000000001", "OWLS", "1-9")
        assert second.identifiers == {"pmid": "98765"}
        assert second.authors == ("B Barn",)


def test_web_of_science_names(tmp_path: Path) -> None:
    paper = one(
        tmp_path,
        "Publication Type,Authors,Author Full Names,Article Title,Source Title,Publication Year,Sta"
        "rt Page,End Page,"
        "DOI,DOI Link,Pubmed Id,UT (Unique WOS ID)\n"
        'J,"Owl, A; Barn, BC","Owl, Ada; Barn, Bo Carl",Owls,OWL REVIEW,2018,5,9,10.1000/z,http://d'
        "x.doi.org/10.1000/z,"
        "31,WOS:0001\n",
    )
    assert (paper.title, paper.venue, paper.year) == ("Owls", "OWL REVIEW", 2018)
    assert (paper.authors, paper.id) == (("Ada Owl", "Bo Carl Barn"), "WOS:0001")
    assert paper.identifiers == {"doi": "10.1000/z", "pmid": "31"}


def test_zotero_publication_title_is_the_venue(tmp_path: Path) -> None:
    paper = one(
        tmp_path,
        '"Key","Item Type","Publication Year","Author","Title","Publication Title","DOI","Url","Abs'
        'tract Note","Date",'
        '"Pages","Manual Tags"\n"ABCD2345","journalArticle","2017","Owl, Ada; Barn, Bo","Owls","Owl Letters",'
        '"10.1000/y","https://x.org","Text.","2017-05-01","1-2","a; b"\n',
    )
    assert (paper.id, paper.title, paper.venue) == ("ABCD2345", "Owls", "Owl Letters")
    assert paper.metadata["type"] == "article-journal"
    assert (paper.metadata["keywords"], paper.metadata["date"]) == (["a", "b"], "2017-05-01")


def test_embase_source_and_resolver_link(tmp_path: Path) -> None:
    paper = one(
        tmp_path,
        'Title,Author Names,Source,Abstract,Open URL Link\nOwls,"Owl A., Barn B.C.","Owl Case Repor'
        "ts (2017) 3:1 "
        '(31-33). Date of Publication: 1 Mar 2017",Text,http://sfx.x.nl/u?sid=E&id=doi:10.1000%2Fow'
        "l.3&atitle=O\n",
    )
    assert (paper.venue, paper.year, paper.authors) == ("Owl Case Reports", 2017, ("A. Owl", "B.C. Barn"))
    assert paper.identifiers == {"doi": "10.1000/owl.3"}
    assert [paper.metadata[n] for n in ("volume", "issue", "pages")] == ["3", "1", "31-33"]


def test_a_database_is_no_venue_but_a_source_is(tmp_path: Path) -> None:
    assert one(tmp_path, "Title,Year,Source\nOwls,2001,Scopus\n").venue == ""
    assert one(tmp_path, "Authors,Title,Year,Source,GSRank\nA Owl,Owls,2001,Owl News,1\n").venue == "Owl News"


def test_ris_inside_a_cell_fills_what_is_missing(tmp_path: Path) -> None:
    paper = one(
        tmp_path,
        'Title,Abstract,Content,Inclusion_Status,Reason\nOwls,Own text.,"\nTY  - JOUR\nTI  - Other'
        "\nAU  - Owl, Ada\n"
        'Y1  - 2009\nDO  - 10.1000/in\nAB  - Not this.\nER  -\n",Excluded,no owls\n',
    )
    assert (paper.title, paper.abstract, paper.year) == ("Owls", "Own text.", 2009)
    assert (paper.authors, paper.identifiers) == (("Ada Owl",), {"doi": "10.1000/in"})
    assert paper.metadata["screening"] == {"decision": "exclude", "reason": "no owls"}
    assert paper.metadata["table"]["Content"].startswith("\nTY  - JOUR")


def test_python_lists_odd_years_and_labels(tmp_path: Path) -> None:
    (first, second), _ = read(
        tmp_path,
        "title,authors,keywords,publication_year,label_included,id\n"
        "Owls,\"['Owl, Ada', 'Barn, Bo']\",\"['a, b', 'c']\",2014//,1,12345\n"
        "Eggs,,,,0,12345\n",
    )
    assert (first.authors, first.year) == (("Ada Owl", "Bo Barn"), 2014)
    assert first.metadata["keywords"] == ["a, b", "c"]
    assert [p.metadata["screening"]["decision"] for p in (first, second)] == ["include", "exclude"]
    assert first.id != "12345"  # a number names a row


def test_semicolons_and_lines_before_the_header(tmp_path: Path) -> None:
    (paper,), remarks = read(
        tmp_path,
        '"About the data: exported, on Monday; in May"\nTitle;Authors;Year;Score\nOwls, at night;A '
        "Owl;2001;1,5\n",
    )
    assert (paper.title, paper.year, paper.metadata["table"]["Score"]) == ("Owls, at night", 2001, "1,5")
    assert "stands before the header" in remarks[0].reason


def test_escaped_quotes(tmp_path: Path) -> None:
    paper = one(tmp_path, 'title,abstract,year\n"The \\"night\\", a walk","Owls, \\"all\\" of them",2001\n')
    assert (paper.title, paper.abstract) == ('The "night", a walk', 'Owls, "all" of them')


def test_a_stray_quote_costs_one_row(tmp_path: Path) -> None:
    rows = "".join(f'"Owl {n}, and more",A Owl,{2000 + n}\n' for n in range(9))
    papers, remarks = read(tmp_path, f'title,authors,year\n"Broken,A Owl,1999\n{rows}')
    assert [p.title for p in papers] == [f"Owl {n}, and more" for n in range(9)]
    assert [(r.place, r.skipped) for r in remarks] == [("line 2", True)]


@pytest.mark.parametrize("sign", [";", "\t", ","])
@pytest.mark.parametrize(
    "rows",
    [
        ['4;D;"They say ""light"" helps.";10.1000/d;1'],  # its quotes are taken for text
        ["4;D;They say so.;10.1000/d;1", '5;E;closed";10.1000/e;0'],  # the row is well formed
    ],
)
def test_rows_that_a_stray_quote_joins_are_parted(tmp_path: Path, sign: str, rows: list[str]) -> None:
    rows = ["1;A;one;10.1000/a;1", '2;B;"open;10.1000/b;0', "3;C;three;10.1000/c;", *rows]
    table = "\n".join(["id;title;abstract;doi;included", *rows]).replace(";", sign)
    papers, remarks = read(tmp_path, table)
    found = {p.title: p.identifiers["doi"] for p in papers}
    right = {row.split(";")[1]: row.split(";")[3] for row in rows}
    if "B" in found:  # tabs are seldom quoted: the quote is text
        assert (found, remarks) == (right, [])
    else:
        assert found == {title: doi for title, doi in right.items() if title != "B"}
        assert [(r.place, r.skipped) for r in remarks] == [("line 3", True)]


@pytest.mark.parametrize(
    "text",
    [
        "Roe,Ann,Doe\nMoor,Ben",  # two lines that are as wide as the rows
        "One, two\nthree, four, five, six\nseven",  # as many commas as the table has, in sentences
        "1,2,3,4\n5,6,7,8",  # two rows of another table
        'They say ""yes"" here,\nthere, then, no',
        'One, two\nthree, four, 5, 6\nthey say "yes" here',  # quotes that should be doubled
    ],
)
def test_quoted_line_ends_cost_nothing(tmp_path: Path, text: str) -> None:
    rows = "".join(f'A{n},"{text}",2001,10.1000/{n}\n' for n in range(9))
    papers, remarks = read(tmp_path, f"title,abstract,year,doi\n{rows}")
    assert [p.identifiers["doi"] for p in papers] == [f"10.1000/{n}" for n in range(9)]
    assert not remarks


def test_a_short_row_over_two_lines_is_kept(tmp_path: Path) -> None:
    papers, remarks = read(tmp_path, 'title,abstract,year,doi\nA,b,2000,\nOwls,"one\ntwo"\nC,d,2001,\n')
    assert [(p.title, p.abstract) for p in papers] == [("A", "b"), ("Owls", "one\ntwo"), ("C", "d")]
    assert not remarks


def test_cells_without_a_name_and_names_twice_are_kept(tmp_path: Path) -> None:
    (paper,), remarks = read(tmp_path, "title,x,x,\nOwls,1,2,,5\n")
    assert paper.metadata["table"] == {"x": "1", "x (column 3)": "2", "column 5": "5"}
    assert "1 cells more" in remarks[0].reason


def test_a_table_without_titles_is_refused_with_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("summary,authors,keywords,url\nText,A Owl,b,http://x.org\n")
    assert detect(path) == "csv"
    with pytest.raises(BadInput, match="without a column of titles") as caught:
        list(read_papers(path))
    assert "summary, authors, keywords, url" in caught.value.why
    assert "`title`" in caught.value.hint
    assert "RIS" in caught.value.hint


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("Excluded (no control)", {"decision": "exclude", "reason": "no control"}),
        ("maybe – ask Ann", {"decision": "maybe", "reason": "ask Ann"}),
        ("Stage 1: included", None),
    ],
)
def test_a_decision_with_its_reason_in_one_cell(tmp_path: Path, cell: str, found: object) -> None:
    (paper,), _ = read(tmp_path, f"Title,Year,Decision\nOwls,2020,{cell}\n")
    assert paper.metadata.get("screening") == found


def test_abstracts_without_titles_are_kept(tmp_path: Path) -> None:
    papers, remarks = read(tmp_path, "id,abstract,year\na1,Owls hunt.,2011\na2,Mice hide.,2012\n,,2013\n")
    assert [(p.title, p.abstract, p.year) for p in papers] == [
        ("", "Owls hunt.", 2011),
        ("", "Mice hide.", 2012),
    ]
    assert "no column holds titles: papers are kept by their abstracts" in [r.reason for r in remarks]
    assert [r.skipped for r in remarks] == [False, True]


def test_identifiers_without_titles_are_kept_to_be_completed(tmp_path: Path) -> None:
    papers, remarks = read(tmp_path, "DOI,Reviewer\n10.1000/A,Ann\nhttps://doi.org/10.1000/b,Bo\n,Cy\n")
    assert [p.id for p in papers] == ["doi:10.1000/a", "doi:10.1000/b"]
    assert not any(p.has_text for p in papers)
    assert papers[0].metadata["table"]["Reviewer"] == "Ann"
    assert [r.skipped for r in remarks] == [False, False, False, True]


def test_a_header_that_is_repeated_is_no_paper(tmp_path: Path) -> None:
    rows = "Title,Authors,Article Identifier,Year,Journal\nOwls,Ada Owl,S1(2) [pii]||10.1000/x [doi],2019,J\n"
    rows += "title,authors,doi,year,journal\nTitle,Bo,,,\nTitle,Cy,,2020,Journal\n"
    papers, remarks = read(tmp_path, rows)
    titles = [("Owls", {"doi": "10.1000/x"}), ("Title", {}), ("Title", {})]
    assert [(p.title, p.identifiers) for p in papers] == titles
    assert [(r.place, r.skipped) for r in remarks] == [("line 3", False)]


def test_rows_without_a_title_are_said(tmp_path: Path) -> None:
    papers, remarks = read(tmp_path, 'title,abstract\nOwls,\n,"We watch."\n')
    assert [(p.title, p.abstract) for p in papers] == [("Owls", ""), ("", "We watch.")]
    assert [r.reason for r in remarks] == ["has no title: kept by its abstract"]


@pytest.mark.parametrize(
    "text",
    [
        "Owls hunt at night, and mice, too.\nThey eat, sleep, and hunt.\n",
        "# Title\n\nAuthors, year and abstract are below.\n",
        "TY  - JOUR\nTI  - Title, abstract, year\nER  - \n",
        '{"title": "a", "abstract": "b"}\n',
    ],
)
def test_text_is_no_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text)
    with contextlib.suppress(UnknownFormat):
        assert detect(path) != "csv"


def test_our_own_table_is_read_back(tmp_path: Path) -> None:
    paper = Paper(
        id="17",
        title="=1+1 owls",
        abstract="One, \"two\".\n\n'Three'.",
        authors=("Ada Owl", "World Health Organization", "Plato"),
        year=2001,
        venue="Scopus Letters",
        identifiers={"doi": "10.1000/x", "arxiv": "2101.00001", "pmid": "5"},
        url="https://x.org/a",
        language="en",
        metadata={"keywords": ["a b", "c"]},
    )
    again = one(tmp_path, WRITERS.get("csv").write([paper]))
    for field in ("id", "title", "abstract", "authors", "year", "venue", "identifiers", "url", "language"):
        assert getattr(again, field) == getattr(paper, field), field
    assert again.metadata["keywords"] == ["a b", "c"]


@pytest.mark.parametrize(
    ("cell", "people"),
    [
        ("Smith J, Jones KL, van der Berg A.", ["J Smith", "KL Jones", "A. van der Berg"]),
        ("Smith JA Jr, Jones K 3rd", ["JA Smith Jr", "K Jones 3rd"]),
        ("A Smith, B Jones, ...", ["A Smith", "B Jones"]),
        ("Smith, J.A., & Jones, K.", ["J.A. Smith", "K. Jones"]),
        ("Smith, John and Jones, Karl", ["John Smith", "Karl Jones"]),
        ("Smith, John", ["John Smith"]),
        ("Ramón y Cajal, Santiago Felipe", ["Santiago Felipe Ramón y Cajal"]),
        ("Moreno Vall, Ines M.", ["Ines M. Moreno Vall"]),
        ("José Ortega y Gasset, Ines M. Vall", ["José Ortega y Gasset", "Ines M. Vall"]),
        ("Wei XU; Li ZHANG", ["Wei XU", "Li ZHANG"]),
        ("Owl A.; et al.", ["A. Owl"]),
        ("Owl, A|Barn, B", ["A Owl", "B Barn"]),
        ('["Ada Owl", "Bo Barn"]', ["Ada Owl", "Bo Barn"]),
        ("Müller Ö, de la Cruz MÁ", ["Ö Müller", "MÁ de la Cruz"]),
        ("", []),
        ("[No author name available]", []),
        ("ABC Study Group; Smith JA, Jones B.", ["ABC Study Group", "JA Smith", "B. Jones"]),
        ("Smith, J., Jr; Doe, Jane", ["J. Smith Jr", "Jane Doe"]),
    ],
)
def test_people(cell: str, people: list[str]) -> None:
    assert people_in(cell) == people


@pytest.mark.parametrize(
    ("other", "found"),
    [("Owl, Ada; Barn, Bo", ["Ines María Moreno Vall"]), ("Owl, Ada", ["Moreno Vall", "Ines María"])],
)
def test_semicolons_in_a_column_tell_that_a_comma_is_inside_a_name(tmp_path, other, found):
    papers, _ = read(tmp_path, f'title,authors\nOwls,"Moreno Vall, Ines María"\nOwl,"{other}"\n')
    assert list(papers[0].authors) == found


def test_lists() -> None:
    assert list_in("['a', 'b; c']") == ["a", "b; c"]
    assert list_in("[" * 1000 + "]" * 1000)
    assert list_in("a, b\nc") == ["a, b", "c"]


def test_an_article_number_is_the_place_where_no_page_is(tmp_path):
    head = "Title,Page start,Page end,Art. No.\n"
    assert one(tmp_path, f"{head}Owls,,,064105\n").metadata["pages"] == "064105"
    assert one(tmp_path, f"{head}Owls,3,9,064105\n").metadata["pages"] == "3-9"
