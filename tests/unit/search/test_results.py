"""A ranking is made of what the last step gave: nothing is searched twice, lost or made up."""

from __future__ import annotations

import json
import threading

import pytest

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.llm.budget import Cost, Price
from aspectra.llm.chat import Reply, Usage
from aspectra.llm.scripted import Scripted
from aspectra.papers.paper import Paper, Reference
from aspectra.search.plan import Fusion, Plan, Search
from aspectra.search.query import Query
from aspectra.search.recipe import ProbeRecipe, Recipe, SearchRecipe
from aspectra.search.scoring.engine import Engine
from aspectra.search.searcher import Searcher
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder
from small_library import searcher_over


def _paper(paper_id, text, *cites, year=2020):
    cited = tuple(Reference("", identifiers={"doi": f"10.1000/{one}"}) for one in cites)
    doi = {"doi": f"10.1000/{paper_id}"}
    return Paper(paper_id, text, f"{text}.", year=year, identifiers=doi, references=cited)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    papers = [
        _paper("owls", "Owls hunt at night", "maths", "old"),
        _paper("owl", "An owl at night in a barn"),
    ]
    papers += [_paper("maths", "Prime numbers"), _paper("old", "Integral equations", year=1950)]
    papers += [_paper(f"night{n}", f"A night without end {'again ' * n}") for n in range(6)]
    with searcher_over(tmp_path_factory.mktemp("results") / "library", papers, FakeEncoder()) as made:
        yield made


def _reversing(request):
    return json.dumps({"order": [str(n) for n in range(len(request.subjects), 0, -1)]})


def test_papers_that_a_stage_brings_are_shown(searcher):
    for recipe in ("bm25 | citations", "bm25 | top(1) | citations"):
        ranking = searcher.search("owls", recipe, limit=10, explain=True)
        assert ranking.ids[:2] == ["owls", "maths"]
        brought = ranking[1]
        assert brought.moves[0][:2] == ("citations", None)
        assert (
            brought.probes[0].score == 0.0
        )  # it was asked about this very paper, and knows none of its words
        assert brought.probes[0].rank is None
        assert brought.evidence or brought.paper.abstract


def test_what_a_stage_brings_passes_the_filters(searcher):
    ids = searcher.search(
        "owls", "bm25 | citations", limit=10, conditions=_conditions("require year=>=2000")
    ).ids
    assert "maths" in ids
    assert "old" not in ids
    wanted = _conditions("exclude keyword=integral")  # read from texts, not from a column
    ids = searcher.search("owls", "bm25 | citations", limit=10, conditions=wanted).ids
    assert "maths" in ids
    assert "old" not in ids
    preferred = searcher.search("owls", "bm25 | citations", conditions=_conditions("prefer keyword=prime"))
    met = {hit.id: hit.conditions[0] for hit in preferred}
    assert met["maths"].met
    assert met["maths"].moved == 0.0  # it has its place from the stage
    assert not met["owls"].met


def _conditions(*spellings):
    from aspectra.search.conditions.condition import Condition

    return tuple(map(Condition.parse, spellings))


def test_ranks_are_those_of_the_search_that_was_run(searcher):
    asked = Query("owl night", limit=8)
    plain = {hit.id: hit.probes for hit in searcher.search(asked, "hybrid", explain=True)}
    made = Searcher(searcher.library, load=searcher._load, model=Scripted(_reversing))
    ranking = made.search(replace(asked, limit=4), "hybrid | rerank(depth=6)", explain=True)
    assert ranking.ids != list(plain)[:4]
    assert {hit.id: hit.probes for hit in ranking} == {hit.id: plain[hit.id] for hit in ranking}


def test_a_search_inside_a_stage_leaves_the_loop_of_model_calls_alone(searcher, monkeypatch):
    threads, find = [], Engine.find

    def spy(*given, **named):
        threads.append(threading.current_thread())
        return find(*given, **named)

    def answer(request):
        if request.prompt.startswith("hop/"):
            return json.dumps({"reason": "", "query": "night"})
        return json.dumps({"picked": ["1"], "notes": ""})

    monkeypatch.setattr(Engine, "find", spy)
    made = Searcher(searcher.library, load=searcher._load, model=Scripted(answer))
    made.search("owls", "bm25 | agent(hops=2,each=2) | top(4) | hybrid")
    assert len(threads) == 4
    assert set(threads) == {threading.current_thread()}


def test_each_query_is_told_of_its_own_cut(searcher):
    long = "owl " * 300
    for text, cut in ((long, True), ("owl", False), (long, True)):
        warnings = searcher.search(text, "dense").warnings
        assert any("its end was cut" in warning for warning in warnings) == cut


def test_what_was_paid_is_counted_at_the_call(searcher):
    class Priced(Scripted):
        price = Price(10.0, 100.0)  # a million tokens

    recorded = Reply(json.dumps({"order": ["1", "2"]}), usage=Usage(9000, 900), recorded=True)
    paid = Reply(json.dumps({"order": ["2", "1"]}), usage=Usage(90, 10))
    made = Searcher(searcher.library, load=searcher._load, model=Priced([recorded, paid]))
    ranking = made.search(
        "owl night", "bm25 | rerank(method='listwise(width=2)+window(size=2,step=1)',depth=3)"
    )
    cost = ranking.tally.cost
    assert cost == Cost(1, 90, 10, cost.money, 0, recorded=1, recorded_tokens=9900)
    assert cost.money == pytest.approx((90 * 10 + 10 * 100) / 1e6)
    assert ranking.to_dict()["steps"][0]["recorded_tokens"] == 9900


def test_a_paper_whose_ranks_cancel_out_stays(searcher):
    probes = (Probe("abstract@bm25", text="night"), Probe("abstract@bm25", text="night", weight=-1.0))
    plan = Plan((Search("edited", probes, Fusion(kind="rrf")),), limit=20)
    assert len(searcher.run(plan)) == len(searcher.search("night", "bm25", limit=20)) > 5


@pytest.mark.parametrize("recipe", ["bm25 | chain", "hybrid | chain(depth=2)", "bm25 | top(3) | chain"])
def test_a_chain_that_cannot_go_on_is_refused(searcher, recipe):
    with pytest.raises(UsageError, match="a chain") as error:
        searcher.search("night", recipe)
    assert error.value.hint == "prism | chain"


def test_a_later_search_ranks_what_the_step_before_left(searcher):
    first = searcher.search("night", "bm25", limit=3).ids
    ranking = searcher.search("night", "bm25 | top(3) | dense", limit=10)
    assert set(ranking.ids) == set(first)
    alone = searcher.search("night", "dense", limit=20).ids
    assert ranking.ids == [i for i in alone if i in first]
    assert searcher.search("zzzz", "bm25 | top(3) | dense", limit=10).ids == []


def test_plans_print_each_step_in_order(searcher):
    plan = searcher.plan(Query("owls"), "bm25 | top(3) | hybrid | rerank(method=pairwise)")
    lines = plan.describe().splitlines()
    numbered = [line.split(". ")[1] for line in lines if line.strip()[:1].isdigit()]
    assert numbered == ["search by bm25", "top(3)", "search by hybrid", "rerank(method=pairwise)"]
    assert Plan.loads(plan.to_toml()) == Plan.loads(plan.to_json()) == plan


def test_recipes_have_one_spelling_and_one_file_form(searcher, tmp_path):
    recipe = Recipe.parse("bm25|top( 3 )|  directional(direction = builds-on)|rerank(method=pairwise)")
    assert recipe.name == "bm25 | top(3) | directional(direction=builds-on) | rerank(method=pairwise)"
    assert recipe == Recipe.parse(recipe.name)
    own = SearchRecipe((ProbeRecipe("abstract@{encoder}"), ProbeRecipe("abstract@bm25", 0.3)))
    mixed = Recipe("mine", ("bm25", "top(3)", own, "citations"), "ignore")
    file = tmp_path / "mine.toml"
    file.write_text(mixed.to_toml(), "utf-8")
    assert Recipe.parse(str(file)) == mixed
    assert mixed.hash == Recipe("another name", mixed.steps, "ignore").hash != recipe.hash
    assert searcher.search("owls", mixed).ids


@pytest.mark.parametrize(
    "wrong",
    ["", "rerank", "bm25>200>dense", "bm25 | top(0)", "bm25 | top(x)", "bm25(k=2)", "bm25 |", "bm25 | hybird",
     "directional(direction=up)", "bm25 | top(2,3)"],
)  # fmt: skip
def test_recipes_that_mean_nothing_are_refused(wrong):
    with pytest.raises(UsageError):
        Recipe.parse(wrong)
