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
