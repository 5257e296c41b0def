"""Which pairs of records are one work, which are only reported, and which are neither."""

from __future__ import annotations

import json

import pytest

from aspectra.papers.library.links.versions import compare, compared, contradict, near
from aspectra.papers.library.rows import compared_record
from aspectra.papers.paper import Paper, normalise_title


def record(title, year=2020, authors="lovelace young", venue="birds", page="", pos=1, **named):
    more = json.dumps({"metadata": {"pages": page}})
    row = (f"p{pos}", normalise_title(title), year, venue, more, title)
    people = [(name.replace("_", " "), name.split("_")[-1]) for name in authors.split()]
    return compared(pos, row, people, frozenset(named.items()))


LONG = "How owls find mice in complete darkness"
PAIRS = [
    # the same record in several exports
    ("one", record(LONG, doi="10.1/a"), record(LONG, doi="10.1/a")),
    ("one", record(LONG, doi="10.1/a"), record(LONG)),
    ("one", record(LONG), record(LONG, authors="lovelace")),
    ("one", record(LONG, authors=""), record(LONG, venue="")),
    ("one", record(LONG, doi="10.1/a"), record("", doi="10.1/a")),
    ("one", record(LONG, doi="10.1/a", year=None), record(f"{LONG}: a study", doi="10.1/a", authors="")),
    ("one", record(LONG, authors="ada", doi="10.1/a"), record(LONG, authors="lovelace", doi="10.1/a")),
    ("one", record("Deep owls", page="436"), record("Deep owls", page="436")),
    ("one", record("Owls", pmid="7"), record("The owls of Rome", pmid="7", page="3")),
    # preprint and journal
    ("one", record(LONG, doi="10.48550/arxiv.2101.00001", year=2019), record(LONG, doi="10.1/a", year=2021)),
    ("one", record(LONG, doi="10.12688/f1000.12.1"), record(LONG, doi="10.12688/f1000.12.2")),
    ("one", record(LONG, arxiv="2101.00001"), record("Owls by night", arxiv="2101.00001")),
    # one DOI, several works: a volume's, a whole issue's, one cut at a bracket
    ("look", record(LONG, doi="10.1/0276(2004)024"), record("Herds of Mongolia", doi="10.1/0276(2004)024")),
    # two publications
    ("look", record(LONG, doi="10.1/a"), record(LONG, doi="10.1/b")),
    ("look", record(LONG, year=2010), record(LONG, year=2020)),
    ("look", record(LONG, pmid="7", page="1"), record(f"Again: {LONG}", pmid="7", page="90")),
    ("look", record(LONG, pmid="7", doi="10.1/a"), record(LONG, pmid="7", doi="10.2/b")),
    # passages of one page
    ("look", record(LONG, None, "", ""), record(LONG, None, "", "")),
    ("look", record(LONG, None, ""), record(LONG, 2020, "")),
    ("one", record(LONG, None, ""), record(LONG, None)),
    # short titles that many works have
    ("look", record("Editorial"), record("Editorial")),
    (None, record("Editorial", authors=""), record("Editorial", authors="")),
    (None, record("Editorial", year=2019), record("Editorial")),
    (None, record("Introduction", authors="lovelace"), record("Introduction", authors="young")),
    ("look", record("Letter from the editor", page="1"), record("Letter from the editor", page="90")),
    # titles that differ in a sign only; one that was lost, or printed otherwise, is no difference
    ("look", record("A short synthesis of (+)-pinidine"), record("A short synthesis of (\u2212)-pinidine")),
    ("look", record("Cells that are CD4\u207a in mice"), record("Cells that are CD4- in mice")),
    ("look", record("Spin waves for T<Tc in iron"), record("Spin waves for T > Tc in iron")),
    ("look", record("Teaching C++ to novices"), record("Teaching C# to novices")),
    ("look", record("Teaching F* to novices"), record("Teaching F# to novices")),
    ("look", record("States with spin \u2191 in iron"), record("States with spin \u2193 in iron")),
    ("one", record("Teaching F# to novices"), record("Teaching F# to novices*")),
    ("one", record("Teaching C++ to novices"), record("Teaching C to novices")),
    ("one", record("Owls -- cross-lingual, pre- and post-war"),
     record("Owls \u2212 cross-lingual, pre and post-war")),
    # names the other way round, or with initials behind the family name
    ("look", record(LONG, authors="wei_li min_ou"), record(LONG, authors="li_wei ou_min")),
    ("look", record(LONG, authors="lovelace_a"), record(LONG, authors="ada_lovelace")),
    (None, record(LONG, authors="wei_li"), record(LONG, 2021, "li_wei")),
    # other people, other years, other courts
    (None, record(LONG, authors="lovelace"), record(LONG, authors="young")),
    (None, record("Smith and others v. State of Owls", 2018, "", "f supp"),
     record("Smith and others v. State of Owls", 2021, "", "f 4th")),
    ("look", record("Smith and others v. State of Owls", 2018, "", "f supp"),
     record("Smith and others v. State of Owls", 2018, "", "f 4th")),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "one", "other"), PAIRS, ids=range(len(PAIRS)))
def test_pairs(expected, one, other):
    for a, b in ((one, other), (other, one)):
        verdict = compare(a, b)
        assert (verdict.kind if verdict else None) == expected
        assert verdict is None or verdict.why
        assert not (verdict and verdict.kind == "one" and contradict(a, b))


@pytest.mark.parametrize(
    ("reported", "one", "other"),
    [
        (True, record("Community-based owls"), record("Community - basedowls")),
        (True, record("Owls of the REDD+ programme in the far south of France"),
         record("Owls of the REDD plus programme in the far south of France")),
        (True, record(LONG), record(f"{LONG}. A cohort study")),
        (True, record("How owls find mice in darkness"), record("How owls fnd mice in darkness")),
        (False, record(f"{LONG}. Part 1"), record(f"{LONG}. Part 2")),
        (False, record(f"{LONG} I"), record(f"{LONG} II")),
        (False, record(LONG, authors="lovelace"), record(f"{LONG}. A study", authors="young")),
        (False, record(LONG, year=2012), record(f"{LONG}. A study", year=2020)),
        (False, record(LONG), record("How mice find owls in complete darkness under snow")),
        (False, record(LONG, authors=""), record("How owls fnd mice in complete darkness under snow")),
    ],
)  # fmt: skip
def test_near_titles_are_only_reported(reported, one, other):
    assert compare(one, other) is None
    for a, b in ((one, other), (other, one)):
        verdict = near(a, b)
        assert (verdict is not None) == reported
        assert verdict is None or verdict.kind == "look"


def test_the_key_of_a_title_is_bounded():
    """One letter becomes eighteen: a title of 4 MB took 2.8 GB."""
    assert len(normalise_title("\ufdfa" * 200_000)) <= 100_000
    assert len(compared_record(Paper("a", "\ufdfa" * 5000)).title) <= 10_000, (
        "it is read for each pair of records"
    )
    assert compared_record(Paper("a", "\ufdfa" * 500)).title == normalise_title("\ufdfa" * 500)
    assert normalise_title("É\u0301to\u0308ile \ufb01n") == "etoile fin"


def test_the_signs_of_a_title_are_bounded():
    """They are read for each pair of records of one title: fifty of 90,000 letters took two minutes."""
    long = compared(0, ("a", "", None, "", "{}", "C++ \ufdfa " * 5000), frozenset(), frozenset())
    assert 0 < len(long.signs) <= 500
    again = compared(1, ("b", "", None, "", "{}", "C++ \ufdfa " * 5000), frozenset(), frozenset())
    assert long.signs is again.signs, "the same titles are compared again and again"
    assert compared(0, ("a", "", None, "", "{}", "no sign"), frozenset(), frozenset()).signs == ()
