"""Whatever a model says becomes an order of exactly what was shown; what it says plainly is read so."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspectra.llm.prompts.conversation import plain_digits, without_hidden, without_thoughts
from aspectra.search.rerank.repair import read_choice, read_labels, read_number, repair
from long import LONG

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "repair_fuzz.py"
spec = importlib.util.spec_from_file_location("repair_fuzz", SCRIPT)
fuzz = importlib.util.module_from_spec(spec)
sys.modules["repair_fuzz"] = fuzz
spec.loader.exec_module(fuzz)

ANY = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF))


def test_bad_replies():
    seeds = [f"ci:{n}" for n in range(10_000 if LONG else 2_000)]
    wrong = [fault for seed in seeds if (fault := fuzz.check_bad(random.Random(seed))[1])]
    assert wrong == []


def test_every_form_of_a_good_reply_is_read_as_it_stands():
    seen = set()
    for n in range(3_000):
        form, wrong = fuzz.check_good(random.Random(f"ci:{n}"))
        assert wrong == ""
        seen.add(form)
    assert seen == set(fuzz.FORMS)


@given(ANY | st.text("[]{}<>\"':,. 0123456789ABCthinkorde/\\\n"), st.integers(1, 30), st.booleans())
@settings(max_examples=500)
def test_any_text(text, count, letters):
    labels = [chr(65 + n) for n in range(min(count, 26))] if letters else [str(n + 1) for n in range(count)]
    result = repair(read_labels(text, labels).labels, labels)
    assert sorted(result.order) == sorted(labels)
    assert read_choice(text, "AB") in ("A", "B", None)
    assert read_choice(text, ("yes", "no")) in ("yes", "no", None)
    number = read_number(text, ("points",), 0, 100)
    assert number is None or 0 <= number <= 100


@given(st.lists(st.sampled_from("abcdefgh") | ANY, max_size=20), st.permutations("abcdefg"))
def test_repair_counts_what_it_does(found, shown):
    result = repair(found, shown)
    assert sorted(result.order) == sorted(shown)
    assert result.unknown == sum(name not in shown for name in found)
    assert result.missing == len(set(shown) - set(found))
    assert len(found) == len(shown) - result.missing + result.unknown + result.repeated
    named = [name for name in dict.fromkeys(found) if name in shown]
    assert list(result.order) == named + [name for name in shown if name not in named]
    assert result.clean == (list(result.order) == list(found))
    assert repair(result.order, shown).clean


def test_what_is_missing_comes_in_the_order_of_the_fallback():
    assert repair(["c"], "abcd", "dcba").order == ("c", "d", "b", "a")


LABELS = [str(n) for n in range(1, 13)]


@pytest.mark.parametrize(
    ("text", "labels", "form"),
    [
        ("[11] > [1] > [2]", ("11", "1", "2"), "chain"),
        ("I compared [3] with [1]. Final: [1] > [3] > [2]", ("1", "3", "2"), "chain"),
        ("②>①>⑫", ("2", "1", "12"), "bare"),
        ("【２】＞【１】", ("2", "1"), "chain"),
        ("[¹²] > [³]", ("12", "3"), "chain"),
        ("٣ > ١", ("3", "1"), "bare"),
        ("[03], [1]", ("3", "1"), "chain"),
        ("[2]² beats [1]", ("2", "1"), "brackets"),
        ("1. Paper 3, from 2019\n2. Paper 1, which scores 0.95", ("3", "1"), "lines"),
        ("1. Owls in cities\n2. Mice", ("1", "2"), "lines"),
        ('{"order": ["3", "1", "7', ("3", "1", "7"), "bare"),
        ('{"order": [{"label": "3", "reason": "like [1]"}, {"label": "1", "rea', ("3", "1"), "keys"),
        ('{"thoughts": [{"label": "1", "thought": "x"}, {"label": "2", "th', (), "none"),
        ('{"thoughts": [{"label": "1"}, {"label": "2"}], "order": ["2", "1"]}', ("2", "1"), "json"),
        ('{"draft": 1} then {"order": [4, 2]}', ("4", "2"), "json"),
        ("<think>[1] > [2]", (), "none"),
        ("[2] > [1]<think>or", ("2", "1"), "chain"),
        ("<think>a</think><think>[1]>[2]</think>[2] > [1]", ("2", "1"), "chain"),
        ("[99] > [2] > [1] > [2]", ("99", "2", "1", "2"), "chain"),
        ("I looked at 12 papers; [3] > [1] fit best", ("3", "1"), "chain"),
        ("", (), "none"),
        ("No paper fits.", (), "none"),
        ("[" * 50_000, (), "none"),
        ('{"order":' * 20_000, (), "none"),
        ('{"order": [' + "9" * 10_000 + ", 2, 1]}", ("2", "1"), "bare"),
        ("1" * 100_000, (), "none"),
    ],
)
def test_readings(text, labels, form):
    found = read_labels(text, LABELS)
    assert (found.labels, found.form) == (labels, form)


LISTS = {
    "table": "| {n} | {x} |",
    "table of reasons": "| {n} | Paper {x} | it names 3 owls |",
    "ranks": "Rank {n}: Paper {x}",
    "ranks without a mark": "#{n} Paper {x} - why",
    "places": "Platz {n}: Text {x}",
    "dashes": "{n} - {x}",
    "arrows": "{n} -> {x}",
    "other arrows": "{n} → Paper {x}",
    "papers": "{n}. **Paper {x}**: owls",
    "bare": "{x}",
}
HEADS = {
    "none": "",
    "count": "Here are the {count} papers ranked from most to least relevant:\n\n",
    "scale": "Ranking of the {count} papers (1 = best):\n",
    "columns": "| Rank | Paper |\n|---|---|\n",
    "scores": "{scores}\n\nFinal ranking:\n",
}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("form", LISTS)
@given(st.integers(3, 12).flatmap(lambda n: st.permutations(LABELS[:n])))
@settings(max_examples=10)
def test_the_numbers_of_a_list_and_of_its_heading_are_no_labels(head, form, order):
    scores = "\n".join(f"Paper {n + 1}: {9 - n % 3}/10" for n in range(len(order)))
    text = HEADS[head].format(count=len(order), scores=scores)
    text += "\n".join(LISTS[form].format(n=n + 1, x=x) for n, x in enumerate(order))
    assert read_labels(text, LABELS[: len(order)]).labels == tuple(order)


@pytest.mark.parametrize(
    "form",
    [
        lambda order: {"ranking": {str(n + 1): int(x) for n, x in enumerate(order)}},
        lambda order: {"ranking": {x: n + 1 for n, x in enumerate(order)}},
        lambda order: [{"paper_id": int(x), "rank": n + 1} for n, x in enumerate(order)],
        lambda order: [{"doc_id": x, "score": 9 - n} for n, x in enumerate(order)],
        lambda order: {"order": [{"rank": n + 1, "text_label": x} for n, x in enumerate(order)]},
        lambda order: {"order": [{"label": x, "rank": order.index(x) + 1} for x in sorted(order)]},
    ],
)
@given(st.integers(3, 12).flatmap(lambda n: st.permutations(LABELS[:n])))
@settings(max_examples=20)
def test_ranks_in_json_are_no_labels(form, order):
    found = read_labels(json.dumps(form(order)), LABELS[: len(order)])
    assert (found.labels, found.form) == (tuple(order), "json")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("1 - 3 - 2", ("1", "3", "2")),
        ("1 → 3 → 2", ("1", "3", "2")),
        ("The best is Paper 3.\nPaper 1 is next.\nPaper 2 follows.", ("3", "1", "2")),
        ("Here is the order of all 3 texts: 3, 1, 2", ("3", "1", "2")),
        ("[1] score 8\n[2] score 7\n[3] score 9\n\n**Order:** 3, 1, 2", ("3", "1", "2")),
        ("Final ranking: [3] > [1] > [2]\n\nExplanation:\n[1] is about owls.", ("3", "1", "2")),
        ("[3] > [1] > [2]\n\nThis is my final order.", ("3", "1", "2")),
    ],
)
def test_a_conclusion_and_an_order_on_one_line(text, labels):
    assert read_labels(text, LABELS[:3]).labels == labels


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("C > A > B", ("C", "A", "B")),
        ("c, a, b", ("C", "A", "B")),
        ("[C] is better. A good paper is [A].", ("C", "A")),
        ("A good paper would say more.", ()),
        ("C) owls\nA) mice\nB) none", ("C", "A", "B")),
        ('{"order": ["C", "D", "A"]}', ("C", "D", "A")),
        ("Ｂ > Ａ", ("B", "A")),
    ],
)
def test_letters(text, labels):
    assert read_labels(text, ["A", "B", "C"]).labels == labels


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("A", "A"),
        ("b.", "B"),
        ("Text B", "B"),
        ("**B**", "B"),
        ('{"better": "A", "why": "B is long"}', "A"),
        ("B, because A lacks owls", "B"),
        ("A is better", "A"),
        ("A fits, B does not", None),
        ("<think>A? B?</think>B", "B"),
        ("A good question", None),
        ("both A and B", None),
        ("neither", None),
        ("", None),
    ],
)
def test_choices(text, choice):
    assert read_choice(text, "AB") == choice


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('{"points": 85}', 85),
        ('{"points": "85/100"}', 85),
        ("points: 85", 85),
        ("I would say 85 of 100", 85),
        ('{"points": 850}', None),
        ('{"points": NaN}', None),
        ('{"points": Infinity}', None),
        ("-3", None),
        ("none", None),
        ("８５", 85),
        ('{"points": 1' + "0" * 400 + "}", None),
    ],
)
def test_numbers(text, number):
    assert read_number(text, ("points",), 0, 100) == number


@given(ANY)
def test_hidden_characters_are_taken_out_once_and_for_all(text):
    clean, count = without_hidden(text)
    assert without_hidden(clean) == (clean, 0)
    assert (count == 0) == (clean == text)
    assert clean.encode("utf-8").decode() == clean
    plain_digits(text)
    without_thoughts(text)


def test_what_counts_as_hidden():
    assert without_hidden("a\u200bb\u202ec\U000e0041d\ufe0fe\u00adf\x00g\ufeff") == ("abcdefg", 7)
    assert without_hidden("naïve Ωmega 检索\n\tπ ≤ 3") == ("naïve Ωmega 检索\n\tπ ≤ 3", 0)
    assert without_hidden("a\x0cb\u2028c\ud800") == ("a b\nc\ufffd", 3)
