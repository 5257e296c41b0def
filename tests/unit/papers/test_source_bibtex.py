from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import SOURCES, Remark
from aspectra.papers.sources.tagged.records import names_of
from aspectra.papers.text.cleaning import latex_to_text, text_to_latex


def read(tmp_path: Path, text: str | bytes) -> tuple[dict[str, Paper], list[Remark]]:
    path = tmp_path / "x.bib"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    items = list(read_papers(path, "bibtex"))
    return {i.id: i for i in items if isinstance(i, Paper)}, [i for i in items if isinstance(i, Remark)]


def test_an_entry(tmp_path: Path) -> None:
    papers, remarks = read(
        tmp_path,
        r"""% a comment
@comment{ignored}
@string{proc = "Proceedings of "}
@InProceedings{Li_2020:a/b,
  Title = {{BERT} \& G{\"o}del: 50\% of $\alpha$},
  author = {Lovelace, Ada and van der Berg, Anna and King, Jr., Martin and {ACME, Inc.} and others},
  booktitle = proc # {{MADEUP}} # " 2020",
  year = 2020, month = jan, pages = {1--9},
  abstract = {One
     line. 5% more.

     New paragraph.},
  doi = {https://doi.org/10.1000/A\_B}, eprint = {2004.07180v2}, archivePrefix = {arXiv},
  url = {https://example.org/a\_b?x=1\%20}, keywords = {ranking, search},
  file = {:a.pdf:PDF}, langid = {ngerman},
}
""",
    )
    assert remarks == []
    paper = papers["Li_2020:a/b"]
    assert paper.title == "BERT & Gödel: 50% of α"
    assert paper.authors == ("Ada Lovelace", "Anna van der Berg", "Martin King Jr.", "ACME, Inc.")
    assert paper.venue == "Proceedings of MADEUP 2020"
    assert paper.abstract == "One line. 5% more.\n\nNew paragraph."
    assert paper.identifiers == {"doi": "10.1000/a_b", "arxiv": "2004.07180"}
    assert paper.url == "https://example.org/a_b?x=1%20"
    assert (paper.year, paper.language) == (2020, "de")
    assert paper.metadata["keywords"] == ["ranking", "search"]
    raw = paper.metadata["bibtex"]
    assert raw["type"] == "inproceedings"
    assert raw["fields"]["file"] == ":a.pdf:PDF"
    assert raw["fields"]["month"] == "January"


@pytest.mark.parametrize(
    ("fields", "identifiers"),
    [
        ("eprint={https://example.org/doi/pdf/10.1111/1467-9868.00293}", {}),
        ("eprint={https://example.org/stable/2346178}", {}),
        ("eprint={arXiv:2004.07180v2}", {"arxiv": "2004.07180"}),
        ("eprint={cs/0112017}", {"arxiv": "cs/0112017"}),
        ("doi={10.1000/L.1     WE  - Science Index (EX)}", {"doi": "10.1000/l.1"}),
    ],
)
def test_fields_that_hold_more_than_an_identifier(tmp_path: Path, fields: str, identifiers: dict) -> None:
    papers, _ = read(tmp_path, f"@article{{a, title={{T}}, {fields}}}")
    assert papers["a"].identifiers == identifiers


def test_repeated_keys_are_both_kept(tmp_path: Path) -> None:
    papers, remarks = read(tmp_path, "@misc{a, title={T}}\n@misc{a, title={U}}\n@misc{a, title={V}}")
    assert list(papers) == ["a", "a~2", "a~3"]
    assert all(not r.skipped for r in remarks)


def test_repeated_fields_and_missing_commas(tmp_path: Path) -> None:
    papers, remarks = read(tmp_path, '@misc{a, title={T}, title={U}, note="n" author={A B} year=2001}')
    paper = papers["a"]
    assert (paper.title, paper.authors, paper.year) == ("T", ("A B",), 2001)
    assert paper.metadata["bibtex"]["repeated"] == [["title", "U"]]
    assert len(remarks) == 3


def test_broken_entries_are_remarks(tmp_path: Path) -> None:
    papers, remarks = read(
        tmp_path, "@misc{a, title={open\n@misc{b, title={T}}\n@misc{title={no key}}\n@misc{c, title={end"
    )
    assert list(papers) == ["b"]
    assert [r.place for r in remarks] == ["entry a", "line 3", "entry c"]


def test_biblatex_inheritance(tmp_path: Path) -> None:
    papers, _ = read(
        tmp_path,
        """@inproceedings{child, title={C}, crossref={Book}}
@article{other, title={O}, xdata={common}, subtitle={S}, date={2019-05/2020}}
@misc{alone, title={A}, crossref={nowhere}}
@misc{self, title={A}, crossref={self}}
@xdata{common, journaltitle={J}}
@proceedings{book, title={The Book}, year={2001}, publisher={P}, doi={10.1000/book}}
""",
    )
    assert (papers["child"].venue, papers["child"].year) == ("The Book", 2001)
    assert papers["child"].metadata["publisher"] == "P"
    assert papers["child"].identifiers == {}
    assert (papers["other"].venue, papers["other"].year, papers["other"].title) == ("J", 2019, "O: S")
    assert set(papers) == {"child", "other", "alone", "self", "book"}


def test_latin_1(tmp_path: Path) -> None:
    papers, remarks = read(tmp_path, "@misc{a, title={Größe}}".encode("latin-1"))
    assert papers["a"].title == "Größe"
    assert "Windows-1252" in remarks[0].reason


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no BibTeX entry"):
        read(tmp_path, "@comment{x} words")


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        ("family=Berg, given=Anna, prefix=van der", ["Anna van der Berg"]),
        ("given=Anna, family=Berg, prefix=van, useprefix=true", ["Anna van Berg"]),
        ("Smith, J.; Doe, A.", ["J. Smith", "A. Doe"]),
        (r"{\O}rsted, Hans and {\'E}va Sz{\H{o}}ke", ["Hans Ørsted", "Éva Szőke"]),
        ("{Barnes and Noble}", ["Barnes and Noble"]),
        ("Roy, Bo and Lee, Al and et al.", ["Bo Roy", "Al Lee"]),
        ("Roy, Bo and others,", ["Bo Roy"]),
        ("B. Roy, A. Lee, et al.", ["B. Roy", "A. Lee"]),
        ("Roy B., van Lee A., Ray C.D. and Rye E.", ["B. Roy", "A. van Lee", "C.D. Ray", "Rye E."]),
        ("Roy BC, Lee A, Rye E", ["BC Roy", "A Lee", "E Rye"]),
        ("Roy, Bo / Lee, Al & Rye, Ed Al", ["Roy, Bo / Lee, Al & Rye, Ed Al"]),
        ("Bo Roy,Al Lee,Cy Rye", ["Bo Roy", "Al Lee", "Cy Rye"]),
        (
            "de la Roy, Jr., Bo Al and {Roy, Lee, and Rye Ltd.}",
            ["Bo Al de la Roy Jr.", "Roy, Lee, and Rye Ltd."],
        ),
        ("", []),
    ],
)
def test_names(raw: str, names: list[str]) -> None:
    assert names_of(raw) == names


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\v{C}ech \c{c} \H{o} {\L}ukasz Stra{\ss}e \'\i", "Čech ç ő Łukasz Straße í"),
        ("AT&T 5% off #3 a_b", "AT&T 5% off #3 a_b"),
        ("costs $5 and $10", "costs $5 and $10"),
        ("``q'' a--b c---d e~f", "“q” a–b c—d e f"),
        (r"\emph{x} \textbf{y} {\it z}", "x y z"),
        (r"\textgreek{a}", "a"),
        (r"p\textless0.05, {\textgreater}5", "p<0.05, >5"),
        (r"{\textgreater}5 {\textdegree}C, p \textless{} 1 \textbar \copyright{} \S5", ">5 °C, p < 1 |© §5"),
        (r"{CO$_2$}, $H_{2}O$ and $a_i$ at 37~$^{\circ}$C", "CO2, H2O and a_i at 37 °C"),
        (r"costs \$5_2 and \$6", "costs $5_2 and $6"),
        ("\\", ""),
        ("{" * 5000, ""),
    ],
)
def test_latex(latex: str, text: str) -> None:
    assert latex_to_text(latex) == text


def test_escaping_is_undone_by_reading() -> None:
    text = "R&D {a_b} \\x ~50% #1 $5 ^2 -- --- ``q'' ?` @ \"z\""
    assert latex_to_text(text_to_latex(text)) == text


def test_a_year_that_only_the_date_of_early_access_states(tmp_path: Path) -> None:
    papers, _ = read(tmp_path, "@article{a, title={T}, EarlyAccessDate={MAR 2023}, Unique-ID={WOS:1}}")
    assert (papers["a"].year, papers["a"].metadata["database"]) == (2023, "Web of Science")


@pytest.mark.parametrize(("source", "database"), [("Scopus", "Scopus"), ("my shelf", None)])
def test_a_source_that_is_a_database(tmp_path: Path, source: str, database: str | None) -> None:
    papers, _ = read(tmp_path, f"@article{{a, title={{T}}, source={{{source}}}}}")
    assert papers["a"].metadata.get("database") == database


def test_types_of_packages_inherit_the_title(tmp_path: Path) -> None:
    text = "@softwareversion{v2, version={2}, crossref={s}}\n@software{s, title={Owl finder}, year={2020}}"
    papers, _ = read(tmp_path, text)
    assert (papers["v2"].title, papers["v2"].year) == ("Owl finder", 2020)


def test_a_short_doi_is_an_identifier(tmp_path: Path) -> None:
    papers, _ = read(tmp_path, "@article{a, title={T}, doi={10/FQD6HJ}}\n@article{b, title={U},doi={10/634}}")
    assert [papers[key].identifiers["doi"] for key in "ab"] == ["10/fqd6hj", "10/634"]


def test_a_page_that_quotes_an_entry_is_no_bibliography(tmp_path: Path) -> None:
    entry = "@article{a,\n  title = {T},\n  year = 2020\n}\n"
    sniff = SOURCES.get("bibtex").sniff
    assert sniff(tmp_path / "page.txt", ("Some words.\n" * 9 + entry).encode()) < 0.3
    assert sniff(tmp_path / "page.txt", ("Made by hand.\n" + entry * 5).encode()) > 0.5


@pytest.mark.parametrize(
    ("field", "url"),
    [
        (r"howpublished={\url{https://a.example/b\_c}}", "https://a.example/b_c"),
        ("howpublished={https://a.example/b}", "https://a.example/b"),
        ("howpublished={https://a.example/b, read in 2020}", ""),
        ("howpublished={Letter}", ""),
        (r"url={http://a.example/$\sim$b}, howpublished={https://a.example/c}", "http://a.example/~b"),
    ],
)
def test_addresses(tmp_path: Path, field: str, url: str) -> None:
    papers, _ = read(tmp_path, "@misc{a, title={T}, " + field + "}")
    assert papers["a"].url == url


@pytest.mark.parametrize(
    ("fields", "date", "pages"),
    [
        ("month=jul, day=4, eid={064105}", "2020-07-04", "064105"),
        ("month={7}, pages={1--4}, eid={9}", "2020-07", "1-4"),
        ("month={May-June}", None, None),
        ("month=jul, date={2020-07-05}", "2020-07-05", None),
    ],
)
def test_dates_and_places_in_several_fields(tmp_path: Path, fields: str, date: str, pages: str) -> None:
    found, _ = read(tmp_path, f"@article{{a, title={{T}}, year=2020, {fields}}}")
    assert (found["a"].metadata.get("date"), found["a"].metadata.get("pages")) == (date, pages)
