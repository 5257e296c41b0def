"""Short DOIs, addresses of PubMed, and names of databases."""

from __future__ import annotations

import pytest

from aspectra.papers.bibliography import database_of
from aspectra.papers.identifiers import identifiers_in, normalise, parse_identifier
from aspectra.papers.sources.assembly import identifiers_of


@pytest.mark.parametrize(
    "text",
    [
        *("10/fqd6hj", "10/FQD6HJ", "doi:10/fqd6hj", "DOI: 10/fqd6hj", "https://doi.org/10/fqd6hj"),
        *("http://dx.doi.org/10/fqd6hj", "https://doi.org/fqd6hj", "doi.org/fqd6hj"),
    ],
)
def test_a_short_doi_has_one_spelling(text: str) -> None:
    assert normalise("doi", text) == "10/fqd6hj"
    assert parse_identifier(text) == ("doi", "10/fqd6hj")


@pytest.mark.parametrize("text", ["10/2020", "10/12", "scored 10/fqd6hj of all", "10/", "10", "12/abc"])
def test_what_people_type_is_rarely_a_short_doi(text: str) -> None:
    assert parse_identifier(text) is None
    assert identifiers_in(f"A. Owl. Night. 3(2), {text}.") == {}


@pytest.mark.parametrize(
    ("scheme", "text", "value"),
    [
        (
            "doi",
            "10.1000/(SICI)97(199806)49:8<693::AID-X4>3.0.CO;2-O",
            "10.1000/(sici)97(199806)49:8<693::aid-x4>3.0.co;2-o",
        ),
        ("doi", "doi.org/10.1000/15(95)123%3C11:ACO%3E2.0.CO;2.", "10.1000/15(95)123<11:aco>2.0.co;2"),
        ("doi", "<i>10.1000/x</i>", "10.1000/x"),
        ("doi", "S0092-8(21)7-5 [pii]||10.1000/j.5 [doi]", "10.1000/j.5"),
        ("isbn", "978-3-16-148410-0 978-0-306-40615-7", "9783161484100"),
        ("isbn", "0-306-40615-2 (print), 9783161484100", "0306406152"),
        ("isbn", "1234-5678", ""),
    ],
)
def test_identifiers_end_where_they_end(scheme: str, text: str, value: str) -> None:
    assert normalise(scheme, text) == value


def test_a_long_doi_is_worth_more_than_a_short_one() -> None:
    assert identifiers_of([("doi", "10/abc"), ("doi", "10.1000/x")]) == {"doi": "10.1000/x"}
    assert identifiers_of([("doi", "10.1000/x"), ("doi", "10/abc")]) == {"doi": "10.1000/x"}
    assert identifiers_of([("doi", "10/abc"), ("doi", "10/def")]) == {"doi": "10/abc"}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://pubmed.ncbi.nlm.nih.gov/123/", ("pmid", "123")),
        ("http://www.ncbi.nlm.nih.gov/pubmed/123", ("pmid", "123")),
        ("PMC12", ("pmcid", "PMC12")),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC12/", ("pmcid", "PMC12")),
        ("https://pmc.ncbi.nlm.nih.gov/articles/PMC12/", ("pmcid", "PMC12")),
    ],
)
def test_addresses_of_pubmed(url: str, found: tuple[str, str]) -> None:
    assert parse_identifier(url) == found


def test_databases() -> None:
    assert database_of(["", "Ovid  MEDLINE(R)"]) == "MEDLINE"
    assert database_of(["Owl  Base"]) == "Owl Base"
    assert database_of(["Owl Base"], known=True) == ""
    assert database_of([], ["2-s2.0-123"]) == "Scopus"
    assert database_of([], [], ["https://www.embase.com/x", "http://[bad"]) == "Embase"
    assert database_of([], ["123"], ["http://[bad", "https://example.org"]) == ""
