from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper, Section
from aspectra.search.conditions.attributes.labels.source import ARTICLE_EDGE, WORDS_PER_MINUTE
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.lenses import source
from aspectra.views.lenses.protocol import LENSES, LensValues
from aspectra.views.lenses.source import HAN_WORDS

LENS = LENSES.get("length")
LENGTH = ATTRIBUTES.get("length")


def counts(paper: Paper) -> dict[str, float]:
    found = dict(zip(LENS.labels, map(float, LENS.apply([paper])[0][0]), strict=True))
    return {label: count for label, count in found.items() if label != "pages"}


def pages(text: str = "Words.", **record) -> float:
    return float(LENS.apply([Paper("x", "Title", text, **record)])[0][0][LENS.labels.index("pages")])


def grades(value: str, papers: list[Paper]) -> np.ndarray:
    values = LensValues(LENS.labels, np.concatenate(LENS.apply(papers)))
    index = SimpleNamespace(lens=lambda name: {"length": values}[name])
    return LENGTH.grades(value, index, np.arange(len(papers)))


def text(words: int, per_sentence: int = 15) -> Paper:
    out = ["word"] * words
    for end in range(per_sentence, words, per_sentence):
        out[end - 1] = "word."
        out[end] = "Word"
    return Paper("x", "Title of any length", " ".join(out) + ".")


def test_counts() -> None:
    found = counts(Paper("x", "Title", "Two words. And three -- more!\n\nNew paragraph of 5 words?"))
    assert found == {"words": 10, "characters": 45, "sentences": 3, "paragraphs": 2}


def test_all_sections_count_and_the_title_only_alone() -> None:
    full = Paper(
        "x", "Title", "One two.", sections=(Section("A", "Three four five."), Section("B", "Six.\n\n7."))
    )
    assert counts(full) == {"words": 7, "characters": 27, "sentences": 4, "paragraphs": 4}
    assert counts(Paper("x", "A title alone"))["words"] == 3


def test_scripts_are_comparable() -> None:
    chinese = counts(Paper("x", "", "今天天气很好。我们去公园。"))
    assert chinese["words"] == pytest.approx(11 * HAN_WORDS)
    assert chinese["characters"] == 13
    assert chinese["sentences"] == 2
    mixed = counts(Paper("x", "", "使用 ls -l 命令"))
    assert mixed["words"] == pytest.approx(4 * HAN_WORDS + 2)
    assert counts(Paper("x", "", "きょう"))["words"] == pytest.approx(1.2)


@given(st.text(max_size=200))
def test_counts_hold_together(abstract: str) -> None:
    found = counts(Paper("x", "", abstract))
    if not abstract.strip():
        assert all(np.isnan(list(found.values())))
        return
    assert found["words"] <= found["characters"]
    assert found["sentences"] >= (found["paragraphs"] > 0)


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_more_words_are_never_shorter(one: int, other: int) -> None:
    low, high = sorted((one, other))
    for value in ("<=paragraph", "<=200 words", "<=2 minutes", "<=900 characters", "sentence"):
        short, long = grades(value, [text(low), text(high)])
        assert short >= long
    for value in ("article", ">=paragraph", ">=200 words", ">=1 minute", ">=article"):
        short, long = grades(value, [text(low), text(high)])
        assert short <= long


@given(st.integers(2, 2000), st.integers(1, 4000))
def test_a_bound_is_met_from_one_half_on(bound: int, words: int) -> None:
    most, least = (grades(f"{sign}{bound} words", [text(words)])[0] for sign in ("<=", ">="))
    assert (most >= 0.5) == (words <= bound)
    assert (least >= 0.5) == (words >= bound)
    assert most + least == pytest.approx(1, abs=1e-4)


def test_classes() -> None:
    papers = [text(20), text(40, 10), text(120), text(300), text(3000)]
    met = {v: (grades(v, papers) >= 0.5).tolist() for v in ("sentence", "paragraph", "article")}
    assert met == {
        "sentence": [False, False, False, False, False],
        "paragraph": [True, True, True, False, False],
        "article": [False, False, False, True, True],
    }
    assert grades("sentence", [text(20, 50)])[0] > 0.5
    assert grades("sentence", [text(400, 1000)])[0] < 0.1  # no stop makes no sentence
    assert (grades(">=paragraph", papers) >= 0.5).all()
    assert (grades(">=sentence", papers) == 1).all()


def test_long_and_short_still_differ_far_from_the_edge() -> None:
    short = grades("<=paragraph", [text(n) for n in (20, 80, 600, 2400)])
    assert (np.diff(short) < -0.001).all()


def test_units() -> None:
    minute = text(WORDS_PER_MINUTE)
    assert grades("<=1 minute", [minute])[0] == pytest.approx(0.5)
    assert grades(">= 2 minutes", [minute])[0] < 0.1
    assert grades("<=3 sentences", [text(45, 15)])[0] == pytest.approx(0.5)
    assert grades("<=1 paragraph", [text(45)])[0] == pytest.approx(0.5)
    assert 150 < ARTICLE_EDGE < 220


def test_nothing_is_known_of_nothing() -> None:
    for value in ("sentence", "paragraph", "article", "<=5 words", ">=5 words", "<=article", ">=2 sentences"):
        assert np.isnan(grades(value, [Paper("x")])[0]), value


def test_a_text_without_letters_has_no_sentence() -> None:
    assert grades(">=1 sentence", [Paper("x", "", "---")])[0] == pytest.approx(0, abs=1e-6)
    assert grades("<=1 sentence", [Paper("x", "", "---")])[0] == pytest.approx(1)


@pytest.mark.parametrize(
    "value", ["", "middling", "200 words", "<=", "<=-3 words", "<=0 words", "=5 words", "<5 words"]
)
def test_other_values_are_refused(value: str) -> None:
    with pytest.raises(UsageError, match="length"):
        LENGTH.check(value)


@pytest.mark.parametrize(
    ("metadata", "count"),
    [
        ({"pages": "123-131"}, 9),
        ({"pages": "1187–94"}, 8),
        ({"pages": "S1-S10"}, 10),
        ({"pages": "e17"}, None),
        ({"pages": "131-123"}, None),
        ({"pages": "1-99999"}, None),
        ({"numpages": "12"}, 12),
        ({"pagetotal": 300}, 300),
        ({"comments": "8 pages, 3 figures"}, 8),
        ({"comments": 8}, None),
        ({}, None),
    ],
)
def test_pages_are_those_that_the_record_states(metadata, count) -> None:
    found = pages(metadata=metadata)
    assert np.isnan(found) if count is None else found == count


def test_pages_of_a_full_text_are_its_words() -> None:
    full = (Section("A", "word " * 4999),)
    assert pages(sections=full) == 10
    assert pages(sections=full, metadata={"pages": "1-4"}) == 4


def test_short_and_long_are_pages_of_papers_and_words_of_pages() -> None:
    papers = [
        Paper("four", "", "Words.", venue="A", metadata={"pages": "1-4"}),
        Paper("many", "", "Words.", venue="A", metadata={"pages": "1-40"}),
        Paper("abstract", "", "Words.", venue="A"),
        Paper("page", "", "Words."),
        Paper("long page", "", "word " * 900),
    ]
    values = LensValues(LENS.labels, np.concatenate(LENS.apply(papers)))
    venues = (np.array([1, 1, 1, 0, 0]), ["", "A"])
    index = SimpleNamespace(lens=lambda _: values, lens_names=["length"], coded=lambda _: venues)
    met = {v: LENGTH.grades(v, index, np.arange(5)) for v in ("short", "long", "<=8 pages")}
    assert [*np.nan_to_num(met["short"], nan=-1).round()] == [1, 0, -1, 1, 0]
    assert [*np.nan_to_num(met["long"], nan=-1).round()] == [0, 1, -1, 0, 1]
    assert [*np.nan_to_num(met["<=8 pages"], nan=-1).round()] == [1, 0, -1, -1, -1]
    assert LENGTH.reason("<=8 pages", papers[0], index) == "4 pages (record)"
    assert LENGTH.reason("<=8 words", papers[0], index) == LENGTH.reason("short", papers[2], index) == ""


def test_an_index_without_pages_is_told() -> None:
    old = LensValues(LENS.labels[:-1], np.ones((1, 4), np.float32))
    index = SimpleNamespace(lens=lambda _: old, lens_names=["length"], waiting="")
    assert not np.isnan(LENGTH.grades("<=8 words", index, np.arange(1))).any()
    assert np.isnan(LENGTH.grades("<=8 pages", index, np.arange(1))).all()
    assert "older version, without pages" in LENGTH.missing("<=8 pages", index)


@given(
    st.lists(
        st.tuples(st.text(), st.text() | st.text(st.sampled_from(list("ab-. \n\u2009漢かไ")))), max_size=3
    )
)
def test_numbered_words_count_as_the_text_counts(texts):
    papers = [Paper("x", title, text) for title, text in texts]
    for paper, told in zip(papers, source._of_abstracts(papers), strict=True):
        if told is not None:
            assert told == source._words_and_characters(paper.abstract)
