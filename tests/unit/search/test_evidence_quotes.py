"""Which sentence of a hit is quoted for a question."""

from __future__ import annotations

import pytest

from aspectra.papers.paper import Paper, Sentence
from aspectra.search.searcher import Searcher
from fake_encoder import FakeEncoder
from small_library import searcher_over


def made_of(paper_id: str, *parts: tuple[str, str]) -> Paper:
    """A paper whose sentences have the roles that are given."""
    text, sentences = "", []
    for role, sentence in parts:
        start = len(text) + bool(text)
        text = f"{text} {sentence}".strip()
        sentences.append(Sentence(start, start + len(sentence), role))
    return Paper(paper_id, f"Title of {paper_id}", text, sentences=tuple(sentences))


OPENING = "Owls hunt voles at night by ear."
PAPERS = [
    made_of(
        "generic",
        ("background", OPENING),
        ("method", "Microphones by the ear record owls that hunt voles at night."),
        ("result", "The ears were bigger than in other birds."),
    ),
    made_of(
        "far",
        ("background", OPENING),
        ("method", "Ten cameras were placed in a barn."),
        ("result", "Nothing came."),
    ),
    made_of(
        "own",
        ("background", "We show how owls hunt voles at night by ear."),
        ("method", "Microphones by the ear record owls that hunt voles at night."),
    ),
    Paper("bare", "How owls hunt voles at night by ear"),
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory) -> Searcher:
    return searcher_over(tmp_path_factory.mktemp("quotes") / "library", PAPERS, FakeEncoder(dimensions=512))


@pytest.mark.parametrize(
    ("paper", "quote"),
    [
        # what was known before loses to nearly as good a sentence about the work,
        ("generic", "Microphones by the ear record owls that hunt voles at night."),
        # and still wins over one that says nothing on the question.
        ("far", OPENING),
        # A sentence about the paper itself is no background, whatever its role says.
        ("own", "We show how owls hunt voles at night by ear."),
    ],
)
def test_background_is_quoted_where_nothing_else_answers(searcher, paper, quote):
    hits = {hit.id: hit for hit in searcher.search("owls hunt voles at night by ear", limit=4)}
    assert hits[paper].evidence[0].quote == quote


def test_a_title_is_not_quoted_alone(searcher):
    hits = {hit.id: hit for hit in searcher.search("owls hunt voles at night by ear", limit=4)}
    assert hits["bare"].evidence == ()
