"""Conditions on facts: language, keyword, year, venue and author."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper, Section, field_text
from aspectra.search.conditions.attributes.content.keyword import FORM_GRADE, Term, inflections
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.attributes.record.named import venue_grade
from aspectra.views.index.opened import Index
from aspectra.views.text.tokens import LexicalSettings
from fake_encoder import FakeEncoder
from grades import Grade, grader, met, unknown
from small_library import searcher_over

PAPERS = [
    Paper(
        "ada",
        "Heat pumps",
        "A heat pump moves heat.",
        ("Ada Lovelace", "Bo Li"),
        2019,
        "Energy",
        language="en",
    ),
    Paper("bo", "Das Netz", "Die Pumpe ist alt und nicht schnell.", ("Lovelace, A.",), 2021, "ACL 2021"),
    Paper("cy", "Options", "Run it with --all-files, not --all.", ("Cy Young",), 2023, "Findings of ACL"),
    Paper("zh", "", "我们研究注意力机制的作用。", (), None, ""),
    Paper("sw", "Pampu", "Pampu ya joto.", ("Bo Li",), 2020, "Energy", language="sw"),
    Paper(
        "full",
        "Whole text",
        "An abstract without it.",
        (),
        1999,
        "Energy",
        sections=(Section("A", "Nothing here. " * 90), Section("B", "Only now a zymurgy of zinc.")),
    ),
    Paper("nothing"),
]


def _index(folder: Path, **settings: object) -> Index:
    lenses = ("language", "length")
    return searcher_over(folder / "library", PAPERS, FakeEncoder(), lenses=lenses, **settings).index


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return _index(tmp_path_factory.mktemp("facts"), chunks=("60w",))


@pytest.fixture
def grade(index: Index) -> Grade:
    return grader(index)


def test_year(grade: Grade) -> None:
    assert met(grade("year", ">=2021")) == {"bo", "cy"}
    assert met(grade("year", "<=2019")) == {"ada", "full"}
    assert met(grade("year", "2019..2020")) == {"ada", "sw"}
    assert met(grade("year", "2020")) == met(grade("year", "2020..2020")) == {"sw"}
    assert unknown(grade("year", ">=2021")) == {"zh", "nothing"}


@given(st.integers(1000, 9999), st.integers(1000, 9999))
def test_ranges_of_years(first: int, last: int) -> None:
    year = ATTRIBUTES.get("year")
    if first <= last:
        year.check(f"{first}..{last}")
    else:
        with pytest.raises(UsageError, match="no year"):
            year.check(f"{first}..{last}")


def test_author(grade: Grade) -> None:
    assert met(grade("author", "Lovelace")) >= {"ada"}
    assert met(grade("author", "Ada Lovelace")) >= {"ada"}
    assert met(grade("author", "Li")) == {"ada", "sw"}
    assert met(grade("author", "Cy Old")) == set()
    assert unknown(grade("author", "Li")) == {"zh", "full", "nothing"}


def test_venue(grade: Grade) -> None:
    assert met(grade("venue", "energy")) == {"ada", "sw", "full"}
    assert met(grade("venue", "ACL")) == {"bo"}
    assert met(grade("venue", "*acl*")) == {"bo", "cy"}
    assert unknown(grade("venue", "ACL")) == {"zh", "nothing"}


@pytest.mark.parametrize(
    ("value", "venue", "expected"),
    [
        ("Nature", "nature", 1.0),
        ("Nature", "Nature Communications", 0.0),
        ("The Lancet", "Lancet", 1.0),
        ("Lancet", "The Lancet", 1.0),
        ("Cafe", "Café", 1.0),
        ("ACL", "Proceedings of the 58th Annual Meeting of the ACL", 1.0),
        ("ACL", "ACL/IJCNLP (1)", 1.0),
        ("ACL", "NAACL", 0.0),
        ("ACL", "Transactions of the ACL", 0.0),
        ("SIGIR", "International ACM SIGIR Conference on Research and Development in IR", 1.0),
        ("NeurIPS", "Neural Information Processing Systems", 0.8),
        ("NeurIPS", "Advances in Neural Information Processing Systems", 0.0),
        ("EMNLP", "Conference on Empirical Methods in Natural Language Processing", 0.8),
        ("JMLR", "Journal of Machine Learning Research", 0.8),
        ("JMLR", "Journal of Machine Translation", 0.0),
        ("Cognition", "Cognition", 1.0),
        ("Cognition", "Trends in Cognition", 0.0),
        ("IEEE *", "IEEE Access", 1.0),
        ("IEEE *", "Access", 0.0),
        ("[IEEE]*", "[IEEE] Access", 1.0),
    ],
)
def test_names_of_venues(value: str, venue: str, expected: float) -> None:
    assert venue_grade(value, venue) == expected


def test_language(grade: Grade) -> None:
    assert met(grade("language", "en")) == {"ada", "cy", "full"}
    assert met(grade("language", "de-AT")) == {"bo"}
    assert met(grade("language", "zh")) == met(grade("language", "zh-CN")) == {"zh"}
    assert grade("language", "zh-TW")["zh"] == 0
    assert unknown(grade("language", "en")) == {"nothing"}


def test_a_language_the_lens_cannot_see_is_stated_or_not(grade: Grade) -> None:
    swahili = grade("language", "sw-KE")
    assert met(swahili) == {"sw"}
    assert unknown(swahili) == {"nothing"}


def test_language_says_where(index: Index) -> None:
    paper = index.library.get("bo")
    span = ATTRIBUTES.get("language").span("de", paper, index)
    assert span is not None
    assert field_text(paper, span.field)[span.start : span.end] == "Die Pumpe ist alt und nicht schnell."
    assert ATTRIBUTES.get("language").span("sw", paper, index) is None


@pytest.mark.parametrize(
    ("term", "text", "expected"),
    [
        ("zinc", "Zinc is a metal.", 1.0),
        ("zinc", "ZINC!", 1.0),
        ("zinc", "zinced", FORM_GRADE),
        ("zinc", "zincum", 0.0),
        ("heat pump", "a heat\npump", 1.0),
        ("heat pump", "Heat pumps", FORM_GRADE),
        ("heat pump", "heat-pump", FORM_GRADE),
        ("heat pump", "pump heat", 0.0),
        ("p-value", "P-value", 1.0),
        ("p-value", "p values", FORM_GRADE),
        ("bed-in", "bedding in", 0.0),
        ("study", "studies", FORM_GRADE),
        ("studies", "study", FORM_GRADE),
        ("study", "studs", 0.0),
        ("stop", "stopping", FORM_GRADE),
        ("organ", "organisation", 0.0),
        ("analysis", "analyses", FORM_GRADE),
        ("BERT", "bert", 0.0),
        ("BERT", "RoBERTa and XBERT", 0.0),
        ("BERT", "(BERT)", 1.0),
        ("BERT", "BERT-base", 1.0),
        ("LSTM", "two LSTMs", FORM_GRADE),
        ("Kalman filter", "the Kalman Filter", 1.0),
        ("Kalman filter", "kalman filter", FORM_GRADE),
        ("Covid", "COVID-19", FORM_GRADE),
        ("collagen type III", "Collagen type III", 1.0),
        ("collagen type III", "collagen type iii", 0.0),
        ("--all", "use --all-files", 0.0),
        ("--all", "x--all", 0.0),
        ("--all", "[-a|--all]", 1.0),
        ("--all", "--all=3", 1.0),
        ("--all", "--ALL", 0.0),
        ("-l", "ls -l", 1.0),
        ("-l", "ls -la --l", 0.0),
        ("C++", "in C++.", 1.0),
        ("C", "in C++ and C#", 0.0),
        ("C", "plain C.", 1.0),
        (".NET", "the .NET runtime", 1.0),
        ("foo_bar", "foo_bar_baz", 0.0),
        ("注意力机制", "我们研究注意力机制的作用", 1.0),
        ("注意力机制", "注意力", 0.0),
        ("GPU加速", "使用GPU加速器", 1.0),
        ("GPU加速", "MGPU加速", 0.0),
        ("can't", "It can't be", 1.0),
    ],
)
def test_terms(term: str, text: str, expected: float) -> None:
    grade, span = Term.of(term).find(text)
    assert grade == expected
    assert (span is None) == (expected == 0)


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=12))
def test_a_term_between_spaces_is_found(before: str, after: str, term: str) -> None:
    if not any(c.isalnum() for c in term):
        return
    words = " ".join(term.split())
    grade, span = Term.of(term).find(f"{before} {words} {after}")
    # Letters whose lower case is another number of letters are not looked for.
    if words.lower() == words.casefold() and len(words.lower()) == len(words):
        assert grade == 1
        assert span is not None


@given(st.text(alphabet="abcdeginrsty", min_size=1, max_size=9))
def test_inflections_begin_with_the_word(word: str) -> None:
    forms = inflections(word)
    assert forms[0] == word
    assert len(set(forms)) == len(forms)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("study", "studies"),
        ("box", "boxes"),
        ("plan", "planned"),
        ("rate", "rating"),
        ("criterion", "criteria"),
    ],
)
def test_inflections_go_both_ways(one: str, other: str) -> None:
    assert other in inflections(one)
    assert one in inflections(other)


def test_keyword_reads_the_whole_paper(grade: Grade, index: Index) -> None:
    assert met(grade("keyword", "zymurgy")) == {"full"}
    assert grade("keyword", "heat pump") == pytest.approx(
        {"ada": 1, "bo": 0, "cy": 0, "zh": 0, "sw": 0, "full": 0, "nothing": np.nan}, nan_ok=True
    )
    paper = index.library.get("full")
    span = ATTRIBUTES.get("keyword").span("zymurgy", paper, index)
    assert span is not None
    assert field_text(paper, span.field)[span.start : span.end] == "zymurgy"
    ada = index.library.get("ada")
    exact = ATTRIBUTES.get("keyword").span("heat pump", ada, index)
    assert exact is not None
    assert exact.field == "abstract"  # the title has only another form


def test_keyword_over_more_papers_than_one_statement_holds(index: Index) -> None:
    papers = np.tile(np.arange(len(index)), 300)
    found = ATTRIBUTES.get("keyword").grades("--all", index, papers)
    assert found.shape == papers.shape
    np.testing.assert_array_equal(found, np.tile(found[: len(index)], 300))


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("zymurgy", {"full"}),
        ("heat pumps", {"ada"}),
        ("--all-files", {"cy"}),
        ("注意力机制", {"zh"}),
        ("unheard", set()),
        ("pump zinc", set()),
    ],
)
def test_few_papers_possibly_hold_a_term(value: str, left: set[str], index: Index) -> None:
    possible = ATTRIBUTES.get("keyword").possible(value, index)
    assert possible is not None
    named = {index.ids[i] for i in np.flatnonzero(possible)}
    assert named >= left
    assert len(named) <= len(left) + 1


@pytest.mark.parametrize("value", ["the", "机", "C++", "--all"])
def test_terms_that_no_view_knows(value: str, index: Index) -> None:
    possible = ATTRIBUTES.get("keyword").possible(value, index)
    assert possible is None


def test_sections_outside_every_view_stay_possible(tmp_path: Path) -> None:
    index = _index(tmp_path, chunks=())
    possible = ATTRIBUTES.get("keyword").possible("zymurgy", index)
    assert possible is not None
    assert {index.ids[i] for i in np.flatnonzero(possible)} == {"full"}


def test_other_ways_of_scoring_words_tell_nothing(tmp_path: Path) -> None:
    index = _index(tmp_path, chunks=(), lexical=LexicalSettings(method="robertson"))
    assert ATTRIBUTES.get("keyword").possible("zymurgy", index) is None


WORDS = st.sampled_from(
    [
        "heat",
        "pump",
        "pumps",
        "--all",
        "not",
        "注意",
        "力机制",
        "zinc",
        "Netz",
        "the",
        "-",
        "all-files",
        "moves",
    ]
)


@given(st.lists(WORDS, min_size=1, max_size=3).map(" ".join))
def test_possible_never_loses_a_paper(index: Index, value: str) -> None:
    keyword = ATTRIBUTES.get("keyword")
    try:
        keyword.check(value)
    except UsageError:
        return
    possible = keyword.possible(value, index)
    found = keyword.grades(value, index, np.arange(len(index)))
    if possible is not None:
        assert not (np.nan_to_num(found) > 0)[~possible].any()
