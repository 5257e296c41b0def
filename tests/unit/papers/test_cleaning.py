"""What becomes of text from outside, and of languages and names."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.papers.bibliography import language_of
from aspectra.papers.identifiers import identifiers_in
from aspectra.papers.names import person
from aspectra.papers.sources.assembly import identifiers_of
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import ReadOptions
from aspectra.papers.text.cleaning import clean, folded, mend_hyphens, one_line, storable


def test_every_letter_and_figure_is_folded_as_people_type_it() -> None:
    assert folded("ØŁĐðħıµ ₀₁₂₃₄₅₆₇₈₉ ⁰¹²³⁴⁵⁶⁷⁸⁹ ßÆœÞ é 汉") == "olddhiμ 0123456789 0123456789 ssaeoeth e 汉"


def test_cleaning_twice_changes_nothing() -> None:
    text = "  a\x1b\x1b[31m[31m b\r\nc\u2028d\x85 \ud83d\x00"
    for function in (clean, one_line, storable):
        assert function(function(text)) == function(text)


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        ("cze", "cs"),
        ("ces", "cs"),
        ("Swedish", "sv"),
        ("English", "en"),
        ("ngerman", "de"),
        ("en-US", "en"),
        ("zh_CN", "zh"),
        ("Chinese (Simplified)", "zh"),
        ("eng; fre", "en"),
        ("und", ""),
        ("no information", ""),
        ("", ""),
    ],
)
def test_languages(stated: str, code: str) -> None:
    assert language_of(stated) == code


def test_the_arxiv_id_in_a_doi_has_no_version() -> None:
    assert identifiers_in("https://doi.org/10.48550/arXiv.2004.07180v2")["arxiv"] == "2004.07180"


def test_a_run_of_letters_without_an_end_is_passed_over_once() -> None:
    text = "a" * 500_000
    assert mend_hyphens(text) == text
    assert mend_hyphens("re-\ntrie-\nval") == "retrieval"


@pytest.mark.parametrize(
    ("doi", "arxiv"),
    [("10.48550/arXiv.2502.01229", "2502.01229"), ("10.48550/arXiv.hep-th/0601001", "hep-th/0601001")],
)
def test_the_doi_of_an_arxiv_paper_gives_its_arxiv_id(doi: str, arxiv: str) -> None:
    assert identifiers_of([("doi", doi)]) == {"doi": doi.casefold(), "arxiv": arxiv}


@pytest.mark.parametrize("value", [1234567, "PMC1234567", "pmc1234567"])
def test_an_id_of_pubmed_central_may_lack_its_letters(value: object) -> None:
    assert identifiers_of([("pmcid", value)]) == {"pmcid": "PMC1234567"}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"family": "Berg", "given": "Anna", "non-dropping-particle": "van der"}, "Anna van der Berg"),
        ({"first": "Ada", "middle": "King", "last": "Lovelace", "suffix": ""}, "Ada King Lovelace"),
        ({"author": {"display_name": "Lovelace, Ada"}}, "Ada Lovelace"),
        ({"name": " ", "first": "Ada", "last": "Lovelace"}, "Ada Lovelace"),
        (7, ""),
    ],
)
def test_persons_of_json_records(value: object, name: str) -> None:
    assert person(value) == name


TITLE = "Gut &amp; CO<sub>2</sub> in <i>F. gutta</i> (p &lt; 0.05)"


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("a.ris", f"TY  - JOUR\nTI  - {TITLE}\nAB  - &lt;p&gt;Fed &amp; kept.\nJO  - A &amp; B\nER  - \n"),
        ("a.bib", f"@article{{a, title={{{TITLE}}}, journal={{A \\&amp; B}}, abstract={{<p>Fed & kept.}}}}"),
        ("a.csv", f'title,journal,abstract\n"{TITLE}",A &amp; B,Fed&nbsp;&amp; kept.\n'),
        ("a.enw", f"%0 Journal Article\n%T {TITLE}\n%J A &amp; B\n%X <b>Fed</b> &#38; kept.\n"),
    ],
)  # fmt: skip
def test_entities_and_tags_are_undone_in_every_format(tmp_path: Path, name: str, record: str) -> None:
    (tmp_path / name).write_text(record)
    (paper,) = read_papers(tmp_path / name)
    assert (paper.title, paper.venue) == ("Gut & CO2 in F. gutta (p < 0.05)", "A & B")
    assert paper.abstract == "Fed & kept."
    (kept,) = read_papers(tmp_path / name, options=ReadOptions(markup=False))
    assert kept.venue == "A &amp; B"
