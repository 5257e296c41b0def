"""What pages show, without a page: addresses, pieces of quoted text, places, suggested papers."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

import aspectra
from aspectra.app.output.papers import check_page
from aspectra.app.settings import parse_year
from aspectra.app.surfaces.service.question import Question, suggested_papers
from aspectra.app.surfaces.web.viewing import WantedPage, address, asked_tags, pieces_of, place_of, said_of
from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.papers.library.marks.reader import _years
from aspectra.papers.paper import Paper, Section
from aspectra.search.query import Unread
from aspectra.search.ranking import Evidence, Ranking


def _wanted(text):
    return WantedPage.of(parse_qs(text, keep_blank_values=True))


def test_an_address_and_what_it_says_are_the_same_question():
    question = Question(
        text="owls & mice = 100 %", seeds=("a/b", "c?d"), same=("method: x, y",), literal=True, limit=20
    )
    at = address(question, more=[("sort", "year"), ("page", ""), ("above", None)])
    assert parse_qs(urlsplit(at).query)["sort"] == ["year"]
    assert "page" not in at
    assert WantedPage.of(parse_qs(urlsplit(at).query)).question == question
    assert address(Question()) == "/"


def test_an_address_of_a_page_keeps_the_order():
    wanted = _wanted("text=owls&sort=year&page=3&above=2&edit=1")
    assert (wanted.page, wanted.sort, wanted.above, wanted.edit) == (3, "year", 2, True)
    assert wanted.address(page=2) == "/?text=owls&sort=year&page=2"
    assert wanted.address("/criteria", sort="score") == "/criteria?text=owls"
    assert not _wanted("since=2020").asked


@pytest.mark.parametrize(
    "text", ["page=0x1", "page=-1", "page=" + "9" * 20, "above=high", "above=0", "sort=luck", "page=²"]
)
def test_what_is_no_number_or_order_is_refused(text):
    with pytest.raises(UsageError):
        _wanted("text=owls&" + text)


@pytest.mark.parametrize(
    ("text", "same", "different"),
    [
        ("method=same", ("method",), ()),
        ("method=&result=different", (), ("result",)),
        ("method=same&same=method", ("method",), ()),
        ("method=same&term-method=a&term-method=b&terms-method=2", ("method",), ()),
        ("method=same&term-method=a&terms-method=2", ("method: a",), ()),
        ("method=same&term-method=a&terms-method=1&more-method=c+d", ("method: a, c d",), ()),
        ("method=same&terms-method=2", ("method",), ()),
        ("term-method=a&terms-method=2", (), ()),
        ("method=other", (), ()),
    ],
)
def test_aspects_of_forms_without_scripts(text, same, different):
    question = _wanted("text=owls&" + text).question
    assert (question.same, question.different) == (same, different)


def test_chosen_papers_are_seeds_each_once():
    assert _wanted("seeds=a&seeds=&id=b&id=a").question.seeds == ("a", "b")


@pytest.mark.parametrize(
    ("spans", "pieces"),
    [
        ([], [("owls hunt.", False)]),
        ([(0, 4)], [("owls", True), (" hunt.", False)]),
        ([(5, 10), (0, 4)], [("owls", True), (" ", False), ("hunt.", True)]),
        ([(0, 6), (3, 10)], [("owl", True), ("s h", True), ("unt.", True)]),
        ([(5, 99), (-3, 2)], [("ow", True), ("ls ", False), ("hunt.", True)]),
    ],
)
def test_pieces_are_the_text_and_spans_are_marked(spans, pieces):
    assert pieces_of("owls hunt.", spans) == pieces
    assert "".join(text for text, _ in pieces_of("owls hunt.", spans)) == "owls hunt."
    assert pieces_of("", spans) == []


def test_places_of_quotes():
    sections = (Section("Methods", "We listen."), Section("", "More."))
    paper = Paper("owl", "Owls", "Owls hunt. Mice hide.", sections=sections)
    assert place_of(paper, Evidence("Mice hide.", "abstract", 11, 21)) == "abstract, sentence 2"
    assert place_of(paper, Evidence("Owls", "title", 0, 4)) == "title"
    assert place_of(paper, Evidence("We listen.", "section:0", 0, 10, heading="Methods")) == "Methods"
    assert place_of(paper, Evidence("More.", "section:1", 0, 5)) == "section 2"
    assert place_of(paper, Evidence("mine", "note:4", 0, 4)) == "your note"


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("require year=>=2018", "year ≥ 2018"),
        ("require year=<=2018", "year ≤ 2018"),
        ("exclude source_kind=blog", "not source kind blog"),
        ("prefer language=en", "rather language en"),
        ("different background", "different background"),
    ],
)
def test_conditions_in_words(label, said):
    assert said_of(label) == said


@pytest.fixture
def library(tmp_path):
    papers = [
        Paper("long", "Night owls and the dark: a survey of barn owls at night"),
        Paper("exact", "Owls at night", identifiers={"doi": "10.1000/owl"}),
        Paper("twin", "At night, owls hunt mice"),
        Paper("percent", "100 % of owls_at"),
        Paper("other", "Mice"),
    ]
    with aspectra.create(tmp_path / "my.lib") as made:
        with made.store.writing("add") as writer:
            writer.add(papers)
        yield made


def test_words_that_may_be_a_request_have_a_link_that_no_longer_searches_for_them(library):
    library.index(encoders=[])
    question = Question(text="owls, in colour, since 2019")
    plan = replace(
        question.plan(library), unread=(Unread("in colour", "perhaps", searched=True), Unread("since 2019"))
    )
    assert plan.search.texts == ("owls, in colour",)
    perhaps, missed = asked_tags(question, Ranking(plan, ()))[-2:]
    assert (perhaps.searched, perhaps.applied, missed.searched, missed.remove) == (True, False, False, "")
    without = _wanted(urlsplit(perhaps.remove).query).question
    assert (without.text, without.literal, without.conditions) == ("owls", True, ("require year=>=2019",))


@pytest.mark.parametrize(
    ("typed", "ids"),
    [
        ("night owl", ["long", "exact", "twin"]),
        ("owls at n", ["exact", "twin", "long"]),
        ("OWLS AT NIGHT", ["exact", "twin", "long"]),
        ("doi:10.1000/owl", ["exact"]),
        ("twin", ["twin"]),
        ("%", []),
        ("o", []),
        ("", []),
        ("owls penguins", []),
    ],
)
def test_suggested_papers_hold_all_words(library, typed, ids):
    assert [paper.id for paper in suggested_papers(library, typed)] == ids


def test_few_papers_are_suggested(library):
    assert len(suggested_papers(library, "owls", 2)) == 2
    assert suggested_papers(library, "owls " * 10_000) != []


@pytest.mark.parametrize(
    "wrong", [lambda: parse_year("soon", "since"), lambda: check_page("score", 99), lambda: _years("abc")]
)
def test_hints_that_the_page_and_http_give_name_no_option_of_a_command(wrong):
    with pytest.raises(UsageError) as refused:
        wrong()
    assert refused.value.hint
    assert "--" not in refused.value.hint
