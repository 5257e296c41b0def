"""Comparing readings of requests with annotations, and the annotated texts of our own."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from annotations import Annotation, Reading, Stated, normal, read_text, same_value
from aspectra.base.errors import UsageError
from verdicts import by_attribute, judge_reading, reading_scores

REQUESTS = Path(__file__).parents[2] / "data" / "requests"
FILES = sorted(REQUESTS.glob("*.jsonl"))
YEAR = 2026


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def annotation(text="owls, no surveys", topic="owls", conditions=(), **fields) -> Annotation:
    row = {"id": "q", "text": text, "mode": "question", "lang": "en", "topic": topic, "chatter": []}
    row |= {"conditions": list(conditions), "aspects": {}, "unread": []}
    return Annotation.of(row | fields)


NO_SURVEYS = {"relation": "exclude", "attribute": "kind", "value": "survey", "span": "no surveys"}


def test_there_are_eleven_files():
    assert [path.stem for path in FILES] == [
        "de", "es", "exceptions", "fr", "fresh", "idioms", "later", "mixed", "ordinary", "varied", "zh",
    ]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_own_texts_are_sound(path):
    for row in rows(path):
        spans = [c["span"] for c in row["conditions"]]
        assert all(span in row["text"] for span in [*spans, *row["unread"], *row["chatter"]])
        one = Annotation.of(row)
        assert one.plain == row["plain"]
        if one.plain:
            assert one.reading.topic == one.text
        even = hashlib.sha256(one.id.encode()).digest()[0] % 2 == 0
        assert one.half == ("development" if even or path.stem in ("idioms", "varied") else "test")
    assert len({row["id"] for row in rows(path)}) == len(rows(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_annotations_are_right_by_themselves(path):
    own = [Annotation.of(row) for row in rows(path)]
    scores = reading_scores([(one, judge_reading(one, one.reading, YEAR)) for one in own])
    assert scores["exact, all texts"].share == scores["precision"].share == scores["recall"].share == 1
    assert scores["silently lost"].hits == scores["texts with something inverted"].hits == 0


def test_every_half_has_exceptions():
    halves = Counter(
        row["half"] for path in FILES for row in rows(path) if any("unless" in c for c in row["conditions"])
    )
    assert min(halves["development"], halves["test"]) >= 15


@pytest.mark.parametrize(
    ("attribute", "right", "read", "same"),
    [
        ("year", ">=2019", ">2018", True),
        ("year", ">=2019", ">=2018", False),
        ("year", ">=now-5", ">=2020", True),
        ("year", ">=now-5", ">=2019", False),
        ("year", "now", ">=2026", True),
        ("year", "2015..2018", "2015 – 2018", False),
        ("citations", "<=20", "<21", True),
        ("citations", "<=20", "<20", False),
        ("citations", "high", "many", True),
        ("length", "<=5000 words", "<=10 pages", True),
        ("length", "short", "<=paragraph", True),
        ("language", "zh", "zh-Hant", True),
        ("kind", "survey", "review", True),
        ("kind", "survey", "dataset", False),
        ("kind", "crossover feasibility", "feasibility crossover", True),
        ("kind", "ab cd", "cd ab", False),
        ("method", "deep learning", "learning", True),
        ("method", "deep learning", "kernels", False),
        ("author", "Yann LeCun", "lecun", True),
    ],
)
def test_same_value(attribute, right, read, same):
    assert same_value(attribute, right, read, YEAR) is same


def test_a_denied_half_line_is_the_other_half():
    found = normal([Stated("exclude", "year", "<=2018"), Stated("avoid", "year", ">=2021")], YEAR)
    assert [(c.relation, c.value) for c in found] == [("require", ">=2019"), ("prefer", "<=2020")]
    expert = [Stated("avoid", "audience", "expert"), Stated("prefer", "audience", "expert")]
    assert [c.value for c in normal(expert, YEAR)] == ["lay", "expert"]
    span = [Stated("exclude", "year", "2018..2019")]
    assert normal(span, YEAR) == span


@pytest.mark.parametrize(
    ("read", "result"),
    [
        (Reading("owls", (Stated("exclude", "kind", "review", "no surveys"),)), "right"),
        (Reading("owls", (Stated("avoid", "kind", "survey", "no surveys"),)), "strength"),
        (Reading("owls", (Stated("require", "kind", "survey", "surveys"),)), "inverted"),
        (Reading("owls", (Stated("exclude", "status", "preprint", "no surveys"),)), "misread"),
        (Reading("owls", unread=("no surveys",)), "unread"),
        (Reading("owls"), "lost"),
        (Reading("owls no surveys"), "lost"),
    ],
)
def test_what_became_of_a_condition(read, result):
    verdict = judge_reading(annotation(conditions=[NO_SURVEYS]), read, YEAR)
    assert verdict.results == (result,)
    assert verdict.exact == (result == "right")
    assert verdict.turned == (result == "inverted")
    assert verdict.searched == ("surveys" in read.topic)


def test_both_signs_of_one_value_are_an_inversion():
    both = tuple(Stated(relation, "kind", "survey", "no surveys") for relation in ("exclude", "prefer"))
    verdict = judge_reading(annotation(conditions=[NO_SURVEYS]), Reading("owls", both), YEAR)
    assert verdict.results == ("right",)
    assert verdict.turned
    assert not verdict.exact


def test_an_exception_is_kept_or_softened():
    one = annotation(conditions=[{**NO_SURVEYS, "unless": [{"attribute": "year", "value": ">=2020"}]}])
    kept = Stated.from_dict({**NO_SURVEYS, "unless": [{"attribute": "year", "value": ">=2020"}]})
    soft = Stated("avoid", "kind", "survey", "no surveys")
    hard = Stated("exclude", "kind", "survey", "no surveys")
    assert judge_reading(one, Reading("owls", (kept,)), YEAR).exact
    assert judge_reading(one, Reading("owls", (soft,), unread=("no surveys",)), YEAR).exact
    wanted = Reading("owls", (Stated("prefer", "kind", "survey", "no surveys"),), unread=("no surveys",))
    assert judge_reading(one, wanted, YEAR).results == ("inverted",)
    assert not judge_reading(one, Reading("owls", (soft,)), YEAR).exceptions
    assert not judge_reading(one, Reading("owls", (hard,), unread=("no surveys",)), YEAR).exceptions


def test_conditions_that_find_their_own_relation_choose_first():
    calls = {"relation": "require", "attribute": "topic", "value": "owl calls", "span": "only calls"}
    night = {**calls, "relation": "prefer", "value": "owl calls at night", "span": "ideally at night"}
    one = annotation("owls, only calls, ideally at night", conditions=[calls, night])
    read = Reading("owls", (Stated("prefer", "topic", "owl calls at night", "ideally at night"),))
    assert judge_reading(one, read, YEAR).results == ("lost", "right")


def test_other_years_with_another_sign_are_misread_and_no_inversion():
    since = {"relation": "require", "attribute": "year", "value": ">=2019", "span": "since 2019"}
    one = annotation("owls since 2019", conditions=[since])
    read = Reading("owls", (Stated("avoid", "year", "2015..2016", "since 2019"),))
    assert judge_reading(one, read, YEAR).results == ("misread",)
    until = Reading("owls", (Stated("require", "year", "<=2019", "since 2019"),))
    assert judge_reading(one, until, YEAR).results == ("inverted",)


def test_aspects_exchanged_are_an_inversion():
    one = annotation(mode="instruction", topic="", aspects={"same": ["method"], "different": []})
    assert judge_reading(one, Reading(same=("approach",)), YEAR).exact
    assert judge_reading(one, Reading(different=("approach",)), YEAR).turned


def test_a_plain_text_is_damaged_by_anything_read():
    plain = annotation("snow owls", "snow owls")
    assert plain.plain
    assert not judge_reading(plain, Reading("snow owls"), YEAR).damaged
    for read in (
        Reading("owls"),
        Reading("snow owls", unread=("snow",)),
        Reading("snow owls", same=("method",)),
    ):
        assert judge_reading(plain, read, YEAR).damaged


def test_words_of_a_condition_do_not_stay_in_the_topic():
    one = annotation("owls since 2019", conditions=[{**NO_SURVEYS, "attribute": "venue", "span": "at ICRA"}])
    assert judge_reading(one, Reading("owls"), YEAR).topic
    assert not judge_reading(one, Reading("owls ICRA"), YEAR).topic
    assert not judge_reading(one, Reading("birds"), YEAR).topic


def test_scores_count_texts_and_conditions():
    asking, plain = annotation(conditions=[NO_SURVEYS]), annotation("owls", "owls")
    judged = [
        (asking, judge_reading(asking, asking.reading, YEAR)),
        (asking, judge_reading(asking, Reading("owls"), YEAR)),
        (plain, judge_reading(plain, Reading("owls"), YEAR)),
    ]
    scores = reading_scores(judged)
    assert scores["exact, all texts"] == (2, 3)
    assert scores["exact, texts with requests"] == (1, 2)
    assert (scores["precision"], scores["recall"]) == ((1, 1), (1, 2))
    assert scores["silently lost"] == (1, 2)
    assert str(scores["recall"]) == "50.0 (1 of 2)"
    assert by_attribute([v for _, v in judged]) == {"kind": {"right": 1, "lost": 1}}


def test_a_text_is_read_as_a_search_reads_it():
    read = read_text(annotation("owls, not a survey", "owls"))
    assert read.topic == "owls"
    assert [(c.relation, c.attribute) for c in read.conditions] == [("avoid", "kind")]
    beside = annotation("published since 2019", "", mode="instruction")
    assert [c.attribute for c in read_text(beside).conditions] == ["year"]


def test_a_row_without_its_text_is_refused():
    with pytest.raises(UsageError, match="annotation cannot be read"):
        Annotation.of({"id": "q"})
