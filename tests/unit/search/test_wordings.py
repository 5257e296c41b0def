"""Likeness in words that no rule knows: clauses, signs, conditions beside it, and what is searched."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import MissingExtra
from aspectra.papers.paper import Paper
from aspectra.search.instructions.understanding import understand
from aspectra.search.planning.aspects import AspectRequests
from aspectra.search.planning.heads import LABELS, clauses, read_wording
from aspectra.search.query import Query
from aspectra.views.encoders.protocol import load_encoder
from small_library import searcher_over


def _head(*known):
    """A head that is sure of some clauses, by what they contain, and takes all others for something else."""

    def chances(texts):
        table = np.full((len(texts), len(LABELS)), 0.01, np.float32)
        for row, text in zip(table, texts, strict=True):
            found = [(label, share) for part, label, share in known if part in text]
            label, share = found[0] if found else ("other", 0.95)
            row[LABELS.index(label)] = share
            if share < 0.9:
                row[LABELS.index("likeness")] = 0.9 - share
        return table

    return chances


KNOWN = (
    ("go at it", "method", 0.95),
    ("By method", "method", 0.92),
    ("worry", "background", 0.95),
    ("came of it", "result", 0.93),
    ("does not enter", "aside", 0.9),
    ("may be others", "aside", 0.9),
    ("kindred", "likeness", 0.95),
    ("as one does", "method", 0.6),
)


def _understood(instruction, wordings=True, **fields):
    reader = (lambda *given: read_wording(*given, _head(*KNOWN))) if wordings else None
    return understand(Query(instruction=instruction, **{"seeds": ("owl",)} | fields), {}, reader)


@pytest.mark.parametrize(
    ("text", "same", "conditions", "left"),
    [
        ("They should go at it like this.", ("method",), [], ""),
        ("They go at it like this, published before 2015, no surveys.", ("method",),
         ["require year=<=2014", "exclude kind=survey"], ""),
        ("Only surveys before 2015 that go at it like this", ("method",),
         ["require kind=survey", "require year=<=2014"], ""),
        # What explains an aspect, or does not matter, is no condition and is not searched for.
        ("They go at it like this. By method I mean what was done: comparisons, surveys, models. "
         "The topic does not enter, and comparisons may be others.", ("method",), [], ""),
        ("They go at it like this; the topic does not enter. Nothing by Springer.", ("method",),
         ["exclude publisher=Springer"], ""),
        ("They share the worry, whatever came of it, no theses", ("background",),
         ["exclude kind=thesis"], ""),
        # A clause that denies or sets apart is left to the rules.
        ("They do not go at it like this.", (), [], ""),
        ("They go at it differently.", (), [], ""),
        ("The worry is another, and so is the place, but they go at it like this.", ("method",), [], ""),
        ("another paper that shares the worry", ("background",), [], ""),
        # Likeness alone: nothing else is searched for.
        ("anything kindred", (), [], ""),
    ],
)  # fmt: skip
def test_a_text_about_likeness_is_one_aspect(text, same, conditions, left):
    query = _understood(text).query
    assert (query.same, query.different, query.text) == (same, (), left)
    assert [c.spelling for c in query.conditions] == conditions


def test_beside_words_that_are_searched_for():
    text = "barn owls. They should go at it like this."
    query = _understood("", text=text).query
    assert (query.text, query.same) == ("barn owls", ("method",))
    assert _understood("", text="anything kindred").query.text == ""
    assert _understood("", text=text, seeds=()).query.same == ()


def test_what_is_perhaps_meant_is_said_and_changes_nothing():
    found = _understood("They do it as one does, no surveys")
    assert found.query == _understood("They do it as one does, no surveys", wordings=False).query
    assert found.unread[0].why == "perhaps likeness in the method is meant: --same method"


@pytest.mark.parametrize(
    "text",
    [
        "those whose worry is another",
        "what they worry about is unrelated to this",
        "the worry that they have diverges from this",
    ],
)
def test_a_difference_is_never_read_as_likeness_and_is_said(text):
    found = _understood(text)
    assert (found.query.same, found.query.different) == ((), ())
    assert "perhaps difference in the background is meant: --different background" in [
        u.why for u in found.unread
    ]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("the same method but a different problem; they go at it the same way", {}),
        ("They should go at it like this", {"seeds": (), "text": "owls"}),
        ("They should go at it like this", {"same": ("result",)}),
    ],
)
def test_the_head_is_asked_only_beside_a_seed_where_no_aspect_is_known(text, fields):
    asked = []
    query = Query(instruction=text, **{"seeds": ("owl",)} | fields)
    assert understand(query, {}, lambda *given: asked.append(given)) == understand(query)
    assert not asked


def test_clauses():
    said = "Like this one in method, no surveys, I think so. Same aims; i.e. the same need as here, "
    said += "研究方法必须一样，不要综述"
    assert clauses(said) == ["Like this one in method", "I think so.", "Same aims;",
                             "i.e. the same need as here", "研究方法必须一样"]  # fmt: skip


# None of them is a line of training/wordings.txt.
WORDINGS = {
    "Find me others that culture their cells under the protocol described here.": "method",
    "Papers comparable in their experimental execution, published before 2015, no surveys.": "method",
    "Which papers are worried about the same thing as this one?": "background",
    "Articles prompted by the same gap in the literature, whatever they measure.": "background",
    "I want work whose bottom line agrees with this one's. Bottom line means the effect they measured and "
    "what they say it implies. Their subject and their equipment are irrelevant.": "result",
    "Find reports that corroborate what this article observed.": "result",
    "Could you dig up papers that are similar to this?": "",
}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    try:
        encoder = load_encoder("minilm:?threads=1")
    except MissingExtra as error:
        pytest.skip(f"{error.what}: {error.hint}")
    text = "Owls are rare. We count owls by radar. There are few owls."
    papers = [
        Paper("seed", "Owls and radar", text),
        Paper("bats", "Bats by ear", text.replace("owls", "bats")),
    ]
    with searcher_over(tmp_path_factory.mktemp("wordings") / "library", papers, encoder) as made:
        yield made


@pytest.mark.parametrize(("text", "aspect"), WORDINGS.items())
def test_the_shipped_head_reads_wordings_of_others(searcher, text, aspect):
    plan = searcher.plan(Query(seeds=("seed",), instruction=text))
    assert AspectRequests.of(plan).aspects == ((f"same {aspect}",) if aspect else ())
    assert plan.search.texts == ()


@pytest.mark.parametrize("text", ["Method and Meaning in Canon Law", "does it work in primary care?"])
def test_the_shipped_head_leaves_a_topic_alone(searcher, text):
    query = Query(text, seeds=("seed",))
    views = searcher.view_names
    assert understand(query, views.venues, views.wordings) == understand(query, views.venues)
