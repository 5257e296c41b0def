"""What records state, in the layouts in which the sources keep them."""

from __future__ import annotations

from typing import Any

import pytest

from aspectra.papers.bibliography import facts_of, is_retracted
from aspectra.papers.paper import Paper


def facts(metadata: dict[str, Any] | None = None, **fields: Any) -> Any:
    return facts_of(Paper("p", **{"title": "Owls", **fields}, metadata=metadata or {}))


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"cited_by_count": 12}, 12),
        ({"citationCount": 0}, 0),
        ({"bibtex": {"type": "article", "fields": {"times-cited": "{7}"}}}, 7),
        ({"csl": {"is-referenced-by-count": 31}}, 31),
        ({"ris": {"type": "JOUR", "fields": [["N1", "Cited By :5\nExport Date: 1 May"]]}}, 5),
        ({"note": "cited By 9"}, 9),
        ({"note": "he was cited 3 times"}, 3),
        ({"note": "Works cited 34-36"}, None),
        ({"cited_by_count": True}, None),
        ({"cited_by_count": "many"}, None),
        ({}, None),
    ],
)
def test_citations(metadata: dict[str, Any], expected: int | None) -> None:
    assert facts(metadata).cited_by == expected


def test_publishers() -> None:
    assert facts({"publisher": "Owl Press"}).publisher == "Owl Press"
    assert facts({"ris": {"type": "JOUR", "fields": [["PB", "Owl & Sons"]]}}).publisher == "Owl & Sons"
    assert facts({"publisher": ["Owl"]}).publisher == "Owl"
    assert facts({"publisher": 5}).publisher == "5"
    source = {"source": {"display_name": "Owls", "host_organization_name": "Owl Press"}}
    assert facts({"primary_location": source}).publisher == "Owl Press"
    assert (
        facts({"host_venue": {"publisher": "Owl Press"}, "primary_location": None}).publisher == "Owl Press"
    )
    assert facts({}).publisher == ""


def test_affiliations() -> None:
    works = {
        "authorships": [
            {
                "institutions": [{"display_name": "Owl Labs", "type": "company", "country_code": "GB"}],
                "raw_affiliation_strings": ["Owl Labs Ltd., London"],
            },
            {"institutions": [], "raw_affiliation_strings": ["Barn Institute, Oslo"]},
            "no object",
        ]
    }
    assert facts(works).affiliations == ("Owl Labs (company, GB)", "Barn Institute, Oslo")
    medline = {"nbib": [["AD", "Owl University, Bergen, Norway. owl@example.org"], ["AD", "Owl University"]]}
    assert facts(medline).affiliations[1] == "Owl University"
    csl = {"csl": {"author": [{"family": "Li", "affiliation": [{"name": "Mouse College"}]}]}}
    assert facts(csl).affiliations == ("Mouse College",)
    assert facts({"bibtex": {"fields": {"affiliation": "{A; B}"}}}).affiliations == ("A", "B")
    assert len(facts({"affiliations": [f"Place {n}" for n in range(100)]}).affiliations) == 40


def test_types() -> None:
    assert facts({"type": "article-journal", "nbib": [["PT", "Review"], ["PT", "Preprint"]]}).types == (
        *("article-journal", "review", "preprint"),
    )
    assert facts({"bibtex": {"fields": {"type": "{Article; Early Access}"}}}).types == (
        "article",
        "early access",
    )
    assert facts({"ris": {"fields": [["M3", "doi: 10.1/x"]]}}).types == ()


UPDATED = {"csl": {"updated-by": [{"type": "retraction", "DOI": "10.55555/notice"}]}}


@pytest.mark.parametrize(
    ("metadata", "title", "said"),
    [
        ({"is_retracted": True}, "", "retracted"),
        ({"is_retracted": False}, "", "not retracted"),
        ({"table": {"Is_Retracted": "TRUE"}}, "", "retracted"),
        ({"table": {"is_retracted": "False"}}, "", "not retracted"),
        (UPDATED, "", "retracted"),
        ({"nbib": [["RIN", "Snail Sci. 2021;8:1."]]}, "", "retracted"),
        ({"wos": [["DT", "Article; Retracted Publication"]]}, "", "retracted"),
        ({"keywords": ["owls", "Retracted Publication"]}, "", "retracted"),
        ({"bibtex": {"fields": {"pubstate": "retracted"}}}, "", "retracted"),
        ({"note": "Cited By :3; this article has been retracted"}, "", "retracted"),
        ({"note": "Retracted in 2020 by the journal"}, "", "retracted"),
        ({}, "RETRACTED: Owls", "retracted"),
        ({}, "[Retracted] Owls", "retracted"),
        ({}, "RETRACTED ARTICLE — Owls", "retracted"),
        ({}, "Owls by day (Retracted article. See vol. 3, pg. 5, 2012)", "retracted"),
        ({"note": "Not retracted"}, "Retracted papers and why", ""),
        ({"note": "The trial it replicates was retracted", "keywords": ["retracted articles"]}, "", ""),
        ({"csl": {"update-to": [{"type": "retraction"}]}}, "Retraction: Owls by day", ""),
    ],
)
def test_retractions_are_read_wherever_a_record_says_so(metadata: Any, title: str, said: str) -> None:
    assert {"retracted", "not retracted"} & set(facts(metadata, title=title).types) == {said} - {""}
    assert is_retracted(Paper("owl", title, metadata=metadata)) == (said == "retracted")


@pytest.mark.parametrize(
    ("doi", "preprint"),
    [
        ("10.48550/arxiv.2004.07180", True),
        ("10.1101/2020.04.01.020370", True),
        ("10.1101/123456", True),
        ("10.1101/gr.123456.110", False),
        ("10.1000/arxiv", False),
    ],
)
def test_dois_of_preprints(doi: str, preprint: bool) -> None:
    assert ("preprint doi" in facts(identifiers={"doi": doi}).types) == preprint


def test_origins() -> None:
    found = facts(identifiers={"doi": "10.1000/x", "arxiv": "2004.07180"}, url="https://www.Owl.org/1")
    assert found.origin == "arxiv doi|10.1000|owl.org"
    assert facts().origin == ""
    assert facts(url="http://[broken").origin == ""


@pytest.mark.parametrize(
    ("metadata", "fields", "expected"),
    [
        ({"open_access": {"is_oa": True, "oa_status": "gold"}}, {}, "open: gold, says the record"),
        ({"open_access": {"is_oa": False, "oa_status": "closed"}}, {}, "closed: says the record"),
        (
            {"best_oa_location": {"is_oa": True}, "primary_location": {"is_oa": False}},
            {},
            "open: open access, says the record",
        ),
        ({"isOpenAccess": True}, {}, "open: open access, says the record"),
        ({"openAccessPdf": {"url": "https://owl.org/a.pdf"}}, {}, "open: a free PDF, says the record"),
        ({"bibtex": {"fields": {"oa": "{gold}"}}}, {}, "open: gold, says the record"),
        ({}, {"identifiers": {"arxiv": "2004.07180"}}, "open: it is in arXiv"),
        ({"isOpenAccess": False}, {"identifiers": {"pmcid": "PMC1"}}, "open: it is in PubMed Central"),
        ({}, {"url": "https://aclanthology.org/P1"}, "open: aclanthology.org is free to read"),
        ({}, {"url": "https://notarxiv.org/P1"}, ""),
        ({}, {"identifiers": {"doi": "10.1371/x"}}, "open: 10.1371 is free to read"),
        ({"license": "CC BY 4.0"}, {}, "open: licence CC BY 4.0"),
        ({"license": "all rights reserved"}, {}, ""),
        ({}, {}, ""),
    ],
)
def test_access(metadata: dict[str, Any], fields: dict[str, Any], expected: str) -> None:
    assert facts(metadata, **fields).access == expected


@pytest.mark.parametrize("held", [None, 1, "x", [], [1], [["PT"]], {"fields": 3}, {"fields": [[1, 2]]}])
def test_odd_layouts_state_nothing(held: Any) -> None:
    found = facts({"csl": held, "bibtex": held, "ris": held, "nbib": held})
    assert (found.publisher, found.affiliations, found.cited_by) == ("", (), None)
