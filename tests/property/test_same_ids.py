"""What an experiment records is what a search shows: the same ids, for every kind of recipe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aspectra.base.values import replace
from aspectra.base.values import replace as changed
from aspectra.lab.benchmarks.protocol import Benchmark, Topic
from aspectra.lab.experiments.experiment import Cell, RankingRecord, Records, run_cells, topic_query
from aspectra.llm.chat import Request
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.marks.values import Note
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Reference, Section
from aspectra.search.planning.planners.protocol import PLANNERS
from aspectra.search.query import Query
from aspectra.search.recipe import ProbeRecipe, Recipe, SearchRecipe
from aspectra.search.searcher import Searcher
from aspectra.search.stages.protocol import STAGES
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from token_encoder import TokenEncoder

WORDS = ("owl", "mouse", "night", "maze", "wing", "ear", "barn")
PARTS = ("We ask whether the {} hunts.", "We train a {} on a {}.", "The {} improved by half.")


def _paper(number: int) -> Paper:
    words = [WORDS[(number * (k + 1) + k) % len(WORDS)] for k in range(6)]
    abstract = " ".join(part.format(*words[n:]) for n, part in enumerate(PARTS))
    return Paper(
        f"p{number:02d}",
        f"The {words[0]} and the {words[3]}, part {number % 5}",
        "" if number == 7 else abstract,
        ("Ada Lovelace",),
        2000 + number,
        identifiers={"doi": f"10.1000/p{number}"},
        references=tuple(
            Reference(f"Paper {n}", identifiers={"doi": f"10.1000/p{n}"})
            for n in (2 * number, 2 * number + 1)
        ),
        sections=tuple(
            Section(heading, f"{abstract} It was a {word}. " * 3)
            for heading, word in zip(("Introduction", "Method", "Experiments"), words, strict=False)
        ),
    )


def _answer(request: Request) -> str:
    """A scripted model that answers every prompt usably, by the papers it is shown."""
    if request.prompt.startswith(("hop/", "rewrite/")):
        return json.dumps({"reason": "r", "query": WORDS[len(request.messages[-1].content) % len(WORDS)]})
    if request.prompt.startswith("read/"):
        return json.dumps({"picked": [str(n) for n in range(1, len(request.subjects) + 1, 3)], "notes": ""})
    if "value" in (request.schema or {}).get("properties", {}):
        return json.dumps({"value": WORDS[len(request.messages[-1].content) % len(WORDS)]})
    labels = range(len(request.subjects), 0, -1)
    return json.dumps({"order": [str(label) for label in labels]})


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    papers = [_paper(n) for n in range(30)]
    # Other versions of works: without an abstract, and with one.
    papers += [replace(_paper(n).with_id(f"v{n:02d}"), identifiers={}, year=2000 + n) for n in (3, 7, 11)]
    library = Store.create(tmp_path_factory.mktemp("same") / "library")
    with library.writing("add") as writer:
        writer.add(papers)
    encoder = TokenEncoder("fake")
    build_index(
        library,
        IndexSettings(encoders=("fake",), chunks=("20w",), lenses=("roles", "style"), late="int8"),
        load=lambda _: encoder,
    )
    with library.writing("remove") as writer:  # the index still holds it
        writer.remove(["p29"])
        for number, words in enumerate(("the owl at night", "a maze", "night and night")):
            writer.marks.note(f"p{number:02d}", Note(words))
    with Searcher(library, load=lambda _: encoder, model=Scripted(_answer)) as made:
        yield made


STAGE_EXAMPLES = {
    "agent": "agent(hops=2,each=4)",
    "chain": "",
    "citations": "citations(seeds=3)",
    "feedback": "feedback",
    "rerank": "rerank(method=listwise,depth=12)",
    "rewrite": "rewrite(keep=yes)",
    "shuffle": "shuffle(seed=3)",
    "top": "top(6)",
    "write": "",
}
OWN = SearchRecipe((ProbeRecipe("abstract@{encoder}"), ProbeRecipe("abstract@bm25", -0.5)))
RECIPES = [
    *(Recipe.parse(name) for name in PLANNERS),
    *(Recipe.parse(f"hybrid | {stage}") for stage in STAGE_EXAMPLES.values() if stage),
    Recipe.parse("prism | chain(depth=2)"),
    Recipe.parse("prism | write | chain(depth=2)"),
    Recipe.parse("directional(direction=builds-on)"),
    Recipe.parse("bm25 | top(9) | hybrid"),
    Recipe.parse("bm25 | top(20) | dense | citations(seeds=2) | rerank(method=pairwise+bubble) | top(5)"),
    Recipe.parse("guided | rewrite | feedback | agent(hops=1)"),
    Recipe("own", (OWN, "top(12)", "bm25")),
    Recipe("read", ("hybrid", "citations(seeds=4)"), "read"),
]
STARTS_FROM_A_PAPER = ("prism", "directional", "linked", "unit")


def test_every_planner_and_every_stage_is_in_the_list():
    spelled = " ".join(str(step) for recipe in RECIPES for step in recipe.steps)
    assert set(STAGE_EXAMPLES) == set(STAGES)
    assert all(name in spelled for name in (*PLANNERS, *STAGES))


def _recorded(searcher: Searcher, recipe: Recipe, topic: Topic, depth: int, folder: Path) -> RankingRecord:
    judged = {"gold": {topic.id: {"p01": 1.0}}}
    benchmark = Benchmark("made-up", papers=lambda: iter(()), topics=(topic,), qrels=judged, revision="1")
    cell = Cell(recipe, benchmark, "collection", depth, "state")
    with Records(folder / "records.jsonl") as records:
        run_cells([cell], {"made-up": searcher}, records)
        return records.of(cell.key)[0]


def _starts_from_a_paper(recipe: Recipe) -> bool:
    return str(recipe.steps[0]).startswith(STARTS_FROM_A_PAPER)


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.name for recipe in RECIPES])
@pytest.mark.parametrize("versions", ["all", "best"])
@pytest.mark.parametrize("seed", ["", "p04"])
def test_an_experiment_records_what_a_search_shows(searcher, recipe, versions, seed, monkeypatch, tmp_path):
    if not seed and _starts_from_a_paper(recipe):
        pytest.skip("starts from a paper")
    topic = Topic("t", text="" if seed else "the owl in a maze at night", seed=seed)

    def asked(topic: Topic, mode: str, limit: int) -> Query:
        return changed(topic_query(topic, mode, limit), versions=versions, evidence=1)

    monkeypatch.setattr("aspectra.lab.experiments.experiment.topic_query", asked)
    record = _recorded(searcher, recipe, topic, 12, tmp_path)
    shown = searcher.search(asked(topic, "original", 12), recipe, explain=True)
    assert shown.ids == list(record.ids)
    assert [hit.score for hit in shown] == list(record.scores)
    assert "p29" not in shown.ids
    assert len(set(shown.ids)) == len(shown.ids) > 0
    assert shown.tally == record.tally


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    recipe=st.sampled_from(RECIPES),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    limit=st.integers(1, 40),
    dropped=st.sets(st.sampled_from([f"p{n:02d}" for n in range(30)]), max_size=6),
)
def test_also_with_papers_left_out(searcher, recipe, words, limit, dropped):
    seed = "p05" if _starts_from_a_paper(recipe) else ""
    topic = Topic("-".join(words), text="" if seed else " ".join(words), seed=seed)
    plan = searcher.plan(topic_query(topic, "original", limit), recipe)
    plan = changed(plan, exclude=(*plan.exclude, *sorted(dropped)))
    result, shown = searcher.result(plan), searcher.run(plan)
    assert list(result.ids) == shown.ids
    assert not dropped & set(shown.ids)
    assert len(shown) <= limit
