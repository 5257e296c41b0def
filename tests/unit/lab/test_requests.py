"""Requests in words over a collection that decides them, and what scores them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import benchmark_fixtures as made_up
from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.benchmarks._audit import HAS, HAS_NOT, UNDECIDED, Facts, heading_words
from aspectra.lab.benchmarks._files import read_data
from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.experiment import topic_query, topics_hash
from aspectra.lab.statistics.significance import bootstrap_interval

ROWS = [
    {"title": "Owls: a survey", "year": 2010, "venue": "ICRA", "keywords": ["Night birds"]},
    {"title": "Surveying the night sky", "abstract": "With owls.", "year": 2015, "venue": "nips"},
    {"title": "A benchmark for owl calls", "abstract": "Of mice.", "year": 2020, "venue": "acl"},
    {"title": "Mice", "abstract": "We survey fields.", "track": "Survey Track"},
]


@pytest.fixture
def facts() -> Facts:
    out = Facts()
    for number, row in enumerate(ROWS):
        out.add(str(number), row, {})
    return out


@pytest.mark.parametrize(
    ("condition", "decided"),
    [
        ("year 2015..", [HAS_NOT, HAS, HAS, UNDECIDED]),
        ("year ..2015", [HAS, HAS, HAS_NOT, UNDECIDED]),
        ("year 2015", [HAS_NOT, HAS, HAS_NOT, UNDECIDED]),
        ("not year 2010..2015", [HAS_NOT, HAS_NOT, HAS, UNDECIDED]),
        ("venue icra | acl", [HAS, HAS_NOT, HAS, UNDECIDED]),
        ("not venue NeurIPS", [HAS, HAS_NOT, HAS, UNDECIDED]),
        ("kind survey", [HAS, UNDECIDED, HAS_NOT, HAS]),
        ("not kind survey", [HAS_NOT, UNDECIDED, HAS, HAS_NOT]),
        ("kind dataset", [HAS_NOT, HAS_NOT, HAS, HAS_NOT]),
        ("words owls", [HAS, UNDECIDED, HAS_NOT, HAS_NOT]),
        ("words night birds", [HAS, HAS_NOT, HAS_NOT, HAS_NOT]),
        ("not words mice", [HAS, HAS, UNDECIDED, HAS_NOT]),
        ("year 2015.. unless venue icra", [HAS, HAS, HAS, UNDECIDED]),
        ("year ..2012 unless kind survey", [HAS, UNDECIDED, HAS_NOT, HAS]),
    ],
)
def test_decided_by_the_record(facts, condition, decided):
    assert facts.decide(condition).tolist() == decided


def test_one_broken_condition_decides_and_one_open_one_does_not(facts):
    assert facts.all_of(["year 2015..", "words owls"]).tolist() == [HAS_NOT, UNDECIDED, HAS_NOT, HAS_NOT]
    assert facts.about("owls").tolist() == [True, True, False, False]


@pytest.mark.parametrize("condition", ["colour red", "year soon", "kind poem", "venue"])
def test_what_is_no_condition_is_refused(facts, condition):
    with pytest.raises(BadInput, match="is no"):
        facts.decide(condition)


def test_an_abstract_that_states_a_kind_leaves_it_open():
    facts = Facts()
    for number, text in enumerate(("This survey lists nests.", "We count nests.", "A new dataset of nests.")):
        facts.add(str(number), {"title": "Nests of mice", "abstract": text}, {})
    assert facts.decide("kind survey").tolist() == [UNDECIDED, HAS_NOT, HAS_NOT]
    assert facts.decide("kind dataset").tolist() == [HAS_NOT, HAS_NOT, UNDECIDED]


def test_decided_by_labels():
    facts = Facts()
    given = [
        ({"method": {"Insulin": 2}}, "Insulin lowers sugar", ""),
        ({"method": {"Insulin": 1}}, "Sugar", "Insulin was given."),
        ({"method": {"Insulin Resistance": 2}}, "Sugar", ""),
        ({"background": {"Asthma": 2}}, "Breathing", "Insulin is mentioned."),
        ({"background": {"Asthma": 2}}, "Insulin and breath", ""),
        ({"background": {"Asthma": 2}}, "Breathing", ""),
        ({"background": {"Asthma": 1}}, "Breathing", ""),
    ]
    for number, (labels, title, text) in enumerate(given):
        facts.add(str(number), {"title": title, "text": text}, labels)
    open_ = UNDECIDED
    assert facts.decide("label Insulin").tolist() == [HAS, open_, open_, open_, open_, HAS_NOT, HAS_NOT]
    # A paper that only mentions what is left out is kept.
    assert facts.decide("not label Insulin").tolist() == [HAS_NOT, open_, open_, HAS, open_, HAS, HAS]
    assert facts.about("Asthma").tolist() == [False, False, False, True, True, True, False]


def test_headings_in_plain_order():
    assert heading_words("Patient Education as Topic") == "patient education"
    assert heading_words("Diabetes Mellitus, Type 2") == "type 2 diabetes mellitus"


def load(folder, write=made_up.requests, **options):
    return BENCHMARKS.get("requests")(write(folder), **options)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return load(tmp_path_factory.mktemp("requests"))


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    return load(tmp_path_factory.mktemp("labelled"), made_up.labelled)


def test_the_seed_decides_the_texts(bench, tmp_path):
    again, other = load(tmp_path / "a", seed="1"), load(tmp_path / "b", seed="2")
    assert bench.topics == again.topics
    assert bench.qrels == again.qrels
    assert [t.text for t in bench.topics] != [t.text for t in other.topics]


def test_no_text_has_an_open_place(bench, labelled, tmp_path):
    for made in (bench, labelled, load(tmp_path, soft="yes")):
        texts = [topic.text for topic in made.topics]
        assert len(texts) > 5
        assert not [text for text in texts if re.search(r"[{}]|\.\.|,,|\s[,.]|\?[,.]", text)]


YEARS = {
    r"since (\d{4})$": lambda year, y: year >= y,
    r"(?<!nothing )(?<!Nothing )(?:after |post-)(\d{4})$": lambda year, y: year > y,
    r"(?<!nothing )(?<!Nothing )(?:before |pre-)(\d{4})$": lambda year, y: year < y,
    r"[Nn]othing before (\d{4})$": lambda year, y: year >= y,
    r"[Nn]othing after (\d{4})$": lambda year, y: year <= y,
}


def test_judged_papers_meet_what_their_text_says(tmp_path):
    made_up.requests(tmp_path)
    found = set()
    for seed in (1, 2, 3):
        bench = BENCHMARKS.get("requests")(tmp_path, seed=str(seed))
        papers = {paper.id: paper for paper in bench.papers()}
        for topic in bench.topics:
            judged = bench.qrels["gold"][topic.id]
            assert bench.excluded[topic.id].isdisjoint(judged)
            if topic.text.endswith(", no surveys"):
                assert not any("survey" in papers[i].title for i in judged)
            for shape, holds in YEARS.items():
                if topic.labels["condition"] == "year" and (said := re.search(shape, topic.text)):
                    found.add(shape)
                    meeting = {name for name, p in papers.items() if holds(p.year, int(said[1]))}
                    assert set(judged) == meeting, topic.text
    assert len(found) >= 4


def test_a_condition_is_broken_by_papers_of_its_topic(bench):
    titles = {paper.id: paper.title for paper in bench.papers()}
    subjects = ("owl flight", "mouse hunting", "nest building")
    for topic in bench.topics:
        if topic.labels["origin"] == "put together" and topic.labels["language"] == "en":
            places = {topic.text.find(s): s for s in subjects if s in topic.text}
            about = {name for name, title in titles.items() if places[min(places)] in title}
            assert len(about - set(bench.qrels["gold"][topic.id]) - bench.excluded[topic.id]) >= 3, topic.text


def test_a_paper_on_the_topic_is_graded_higher(labelled):
    bench = labelled
    topic = next(
        t
        for t in bench.topics
        if re.search("(?i)owls.*feeding", t.text) and t.labels["condition"] == "not label"
    )
    grades = bench.qrels["gold"][topic.id]
    assert grades["p2"] == 2  # an owl that is not fed
    assert grades["p5"] == 1  # an eagle that is not fed
    assert "p0" not in grades  # an owl that is
    assert "p4" in bench.excluded[topic.id]  # feeding is a side topic


def test_texts_are_read_like_a_users_unless_told_otherwise(labelled, tmp_path):
    typed, plain = labelled, load(tmp_path, made_up.labelled, typed="no")
    assert not topic_query(typed.topics[0], "original", 10).literal
    assert topic_query(plain.topics[0], "original", 10).literal
    assert topics_hash(typed, pools=False) != topics_hash(plain, pools=False)


def test_the_last_years_count_from_the_year_given(tmp_path):
    old, new = load(tmp_path / "a", year="2010"), load(tmp_path / "b", year="2020")
    held = [{t.text: len(b.qrels["gold"][t.id]) for t in b.topics} for b in (old, new)]
    text = next(text for text in held[0] if re.search(r"(?:five|5) years", text) and text in held[1])
    assert held[0][text] > held[1][text]


def test_options_and_collections_that_give_nothing(tmp_path):
    with pytest.raises(UsageError, match="the option seed"):
        load(tmp_path / "a", seed="x")
    made_up.lines(tmp_path / "b" / "papers.jsonl", [{"id": "p", "title": "One owl"}])
    with pytest.raises(BadInput, match="gives no requests"):
        BENCHMARKS.get("requests")(tmp_path / "b")


def test_every_mix_has_its_wordings():
    data = read_data("requests.toml")
    for part, mix in data["mix"].items():
        language = part.partition("_")[0] if part.partition("_")[0] in data["frames"] else "en"
        for kinds in mix:
            assert set(kinds.split()) <= set(data[language]), part
    for language, frames in data["frames"].items():
        assert all("{topic}" in frame for frame in frames), language
    for part in ("records", "labels"):
        texts = [row["text"] for row in data["written"][part]]
        assert len(texts) == len(set(texts)) >= 20


def test_precision_over_what_is_shown():
    judgements, run = {"q": {"a": 1.0, "b": 2.0}}, {"q": {"a": 3.0, "b": 2.0, "x": 1.0}}
    values = evaluate(["P@10", "P(over=ranked)@10", "P(over=ranked)@2", "P(rel=2)@10"], judgements, run).means
    assert values["P@10"] == pytest.approx(0.2)
    assert values["P(over=ranked)@10"] == pytest.approx(2 / 3)
    assert values["P(over=ranked)@2"] == 1
    assert values["P(rel=2)@10"] == pytest.approx(0.1)


def test_bootstrap_interval():
    values = {str(n): float(n % 10 != 0) for n in range(50)}
    low, high, level = bootstrap_interval(values)
    assert low < 0.9 < high <= 1
    assert level == 0.95
    # By the normal approximation 0.9 +- 0.083.
    assert (low, high) == pytest.approx((0.817, 0.983), abs=0.025)
    assert bootstrap_interval(dict(reversed(values.items()))) == (low, high, level)
    narrow = bootstrap_interval(values, alpha=0.5)
    assert low < narrow.low < narrow.high < high
    assert bootstrap_interval({"a": 1.0}) is None
    assert np.isfinite([low, high]).all()
