"""A ranking is reused only where nothing that it depends on has changed."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.values import replace
from aspectra.lab.benchmarks.protocol import Audit, Benchmark, Topic
from aspectra.lab.experiments.experiment import Cell, prompts_hash
from aspectra.search.recipe import Recipe

TOPIC = Topic("t1", "owls", "seed", "method", {"original": "find", "reversed": "avoid"}, "g", {"kind": "a"})
BENCHMARK = Benchmark(
    name="owls",
    papers=lambda: iter(()),
    topics=(TOPIC, Topic("t2", "mice")),
    qrels={"gold": {"t1": {"a": 1.0}, "t2": {"b": 2.0}}},
    revision="1",
    pools={"t1": ("a", "b"), "t2": ("b",)},
    excluded={"t1": frozenset({"c"})},
    folds={"one": ("t1",)},
    measures=("AP",),
)
CELL = Cell(
    recipe=Recipe.parse("bm25 | top(9) | rerank(method=listwise)"),
    benchmark=BENCHMARK,
    protocol="pool",
    depth=100,
    state="s1",
    model="m1",
)
TEXTS = st.text(max_size=8)


def topics(**change):
    return {"benchmark": replace(BENCHMARK, topics=(replace(TOPIC, **change), BENCHMARK.topics[1]))}


def of_benchmark(**change):
    return {"benchmark": replace(BENCHMARK, **change)}


# What changes a ranking: each gives a cell's changed fields from a text that differs from what was there.
CHANGES = {
    "recipe": lambda text: {"recipe": Recipe("r", ("bm25", f"top({10 + len(text)})"))},
    "use of instructions": lambda text: {"recipe": Recipe(CELL.recipe.name, CELL.recipe.steps, "encoder")},
    "protocol": lambda text: {"protocol": "collection"},
    "depth": lambda text: {"depth": 101 + len(text)},
    "state": lambda text: {"state": "s1" + text + "x"},
    "ceiling": lambda text: {"ceiling_of": "c" + text},
    "person": lambda text: {"person": "p" + text},
    "ratings of a person": lambda text: {
        **of_benchmark(people={"p": {"t1": {"a" + text: 1.0}}}),
        "person": "p",
    },
    "model": lambda text: {"model": "m1" + text + "x"},
    "name": lambda text: of_benchmark(name="owls" + text + "x"),
    "revision": lambda text: of_benchmark(revision="1" + text + "x"),
    "judgements": lambda text: of_benchmark(qrels={"gold": {"t1": {"a": 2.0}, "t2": {"b" + text: 2.0}}}),
    "pools": lambda text: of_benchmark(pools={"t1": ("a", "b" + text + "x"), "t2": ("b",)}),
    "order of pools": lambda text: of_benchmark(pools={"t1": ("b", "a"), "t2": ("b",)}),
    "excluded": lambda text: of_benchmark(excluded={"t1": frozenset({"c" + text + "x"})}),
    "excluded of another": lambda text: of_benchmark(excluded={"t2": frozenset({"c"})}),
    "fewer topics": lambda text: of_benchmark(topics=(TOPIC,)),
    "order of topics": lambda text: of_benchmark(topics=BENCHMARK.topics[::-1]),
    "topic's id": lambda text: topics(id="t1" + text + "x"),
    "topic's text": lambda text: topics(text="owls" + text + "x"),
    "topic's seed": lambda text: topics(seed="seed" + text + "x"),
    "topic's aspect": lambda text: topics(aspect="result"),
    "instructions that tell the aspect": lambda text: topics(told=True),
    "topic's solution": lambda text: topics(solution="told" + text),
    "papers that no topic ranks": lambda text: of_benchmark(unranked=frozenset({"d" + text})),
    "topic's instructions": lambda text: topics(instructions={"original": "find" + text + "x"}),
    "instructions swapped": lambda text: topics(instructions={"original": "avoid", "reversed": "find"}),
}
# What does not: how rankings are scored, counted and called.
SAME = {
    "repeats": {"repeats": 3},
    "deterministic": {"deterministic": False},
    "recipe's name": {"recipe": Recipe("mine", CELL.recipe.steps)},
    "folds": of_benchmark(folds={}),
    "measures": of_benchmark(measures=("MRR",)),
    "licence": of_benchmark(licence="x", source="y", audit=Audit(documents=3)),
    "labels": topics(labels={}, group=""),
}


@pytest.mark.parametrize("what", CHANGES)
@given(text=TEXTS)
def test_whatever_changes_a_ranking_changes_the_key(what, text):
    assert replace(CELL, **CHANGES[what](text)).key != CELL.key


@pytest.mark.parametrize("what", SAME)
def test_how_rankings_are_scored_does_not(what):
    assert replace(CELL, **SAME[what]).key == CELL.key


@given(st.lists(st.sampled_from(sorted(CHANGES)), min_size=2, max_size=2, unique=True), TEXTS)
def test_two_changes_are_not_one_another(names, text):
    one, other = (replace(CELL, **CHANGES[name](text)) for name in names)
    assert one.key != other.key


def test_every_field_is_accounted_for():
    """A new field must be put into the key, or be named here as one that changes no ranking."""
    assert {f.name for f in fields(Cell)} == {
        *("recipe", "benchmark", "protocol", "depth", "state", "model", "ceiling_of", "person"),
        *("repeats", "deterministic", "recorded"),
    }
    assert {f.name for f in fields(Topic)} == {
        *("id", "text", "seed", "aspect", "instructions"),
        *("group", "labels", "typed", "told", "solution"),
    }
    assert {f.name for f in fields(Benchmark)} == {
        *("name", "topics", "qrels", "revision", "pools", "excluded", "unranked"),
        *("papers", "modes", "seeds", "people"),  # papers are in the state, the mode is in each record
        *("licence", "source", "measures", "folds", "audit"),
    }


def test_without_a_model_judgements_do_not_count():
    plain = replace(CELL, model="", recipe=Recipe.parse("bm25"))
    assert replace(plain, **CHANGES["judgements"]("")).key == plain.key


def test_a_prompt_file_counts_with_its_content(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("system = 'a'")
    recipes = [
        Recipe.parse(f'bm25 | top(9) | rewrite(prompt_file="{file}")'),
        Recipe.parse(f"""bm25 | top(9) | rerank(method="listwise(prompt_file='{file}')+window")"""),
        Recipe.parse(f'prism | write(prompts="{tmp_path}")'),
    ]
    before = [prompts_hash(recipe) for recipe in recipes]
    file.write_text("system = 'b'")
    assert [a == b for a, b in zip(before, map(prompts_hash, recipes), strict=True)] == [False] * 3
    plain = Recipe.parse("bm25 | top(9) | rerank(criterion='what (or which)')")
    assert prompts_hash(plain) == prompts_hash(CELL.recipe)


def test_what_was_recorded_is_scored_under_its_own_key():
    assert replace(CELL, recorded="0123").key == "0123"
