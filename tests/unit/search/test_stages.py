"""Stages between a search and its ranking: what they change, what they may never lose, what they count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_planners import EVERYTHING

from aspectra.app.surfaces.service.question import Question
from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.base.values import replace as changed
from aspectra.lab.simulation.oracle import Oracle
from aspectra.llm.chat import BudgetReached, ContextExceeded, KeyRefused, Transient
from aspectra.llm.scripted import Scripted
from aspectra.papers.paper import Paper, Reference
from aspectra.search.conditions.condition import limits
from aspectra.search.plan import Plan
from aspectra.search.planning.planners.protocol import PLANNERS
from aspectra.search.query import Query
from aspectra.search.recipe import Recipe
from aspectra.search.rerank.judges.protocol import JUDGES
from aspectra.search.scoring.engine import Found
from aspectra.search.searcher import Searcher
from aspectra.search.stages.protocol import STAGES, Context, SearchState, needs_model, read_stages
from aspectra.search.stages.rewrite import check_words, kinds, reworded
from aspectra.views.view import Probe
from small_library import searcher_over

WORDS = ("owl", "mouse", "night", "maze", "wing", "ear")


def _paper(number: int) -> Paper:
    words = [WORDS[(number + k) % len(WORDS)] for k in range(3)]
    cited = [
        Reference(f"Paper {n}", identifiers={"doi": f"10.1000/p{n}"})
        for n in range(number * 2, number * 2 + 2)
    ]
    return Paper(
        f"p{number}",
        f"Paper {number} on the {words[0]}",
        f"The {words[1]} and the {words[2]} were watched {'twice ' * (number % 4)}in year {number}.",
        year=2000 + number,
        identifiers={"doi": f"10.1000/p{number}"},
        references=tuple(cited),
    )


@pytest.fixture(scope="module")
def barn(tmp_path_factory):
    papers = [_paper(n) for n in range(24)]
    with searcher_over(tmp_path_factory.mktemp("stages") / "library", papers) as searcher:
        yield searcher


def _plan(searcher, *stages, text="the owl at night", limit=8, **given):
    return searcher.plan(Query(text, limit=limit, **given), " | ".join(("bm25", *stages)))


def _asking(searcher, model):
    return Searcher(searcher.library, model=model)


def test_a_plan_with_stages_prints_saves_and_has_its_own_hash(barn):
    plain, staged = _plan(barn), _plan(barn, "rerank( method=pairwise )", "feedback")
    assert staged.stages == ("rerank(method=pairwise)", "feedback")
    assert staged.hash != plain.hash
    assert "2. rerank(method=pairwise)" in staged.describe()
    for text in (staged.to_json(), staged.to_toml()):
        assert Plan.loads(text) == staged
    assert Plan.loads(plain.to_json()).hash == plain.hash


def test_the_pointwise_recipe_of_the_docs_judges_every_paper_whatever_the_instruction(barn):
    docs = (Path(__file__).parents[3] / "docs" / "pipelines.md").read_text("utf-8")
    written = docs[docs.index("So `pointwise.toml`") :].split("```")[1].removeprefix("toml")
    recipe = Recipe.loads(written.replace('"dense"', '"bm25"'))  # the barn has no vectors
    given = Query(" ".join(WORDS), instruction="only surveys", limit=24)
    model = Scripted(lambda request: "true")
    _asking(barn, model).run(barn.plan(given, recipe))
    assert len({request.subjects for request in model.asked}) == 24
    assert all("only surveys" in request.messages[-1].content for request in model.asked)
    assert barn.plan(given, "bm25 | rerank(method=yes-no)").conditions  # which a line of steps reads


def test_every_stage_spells_itself():
    for name in STAGES:
        assert read_stages([name]) == ("top(100)" if name == "top" else name,)
    assert needs_model(["agent"])
    assert needs_model(["citations", "rewrite"])
    assert not needs_model(["citations(seeds=3)", "feedback"])


@pytest.mark.parametrize(
    "stage",
    ["reranks", "rerank(depth=0)", "rerank(method=listwise+heap)", "agent(kind=style)", "citations(most=x)",
     "rewrite(kind=owls)", "rerank(text_tokens=-1)", "agent(request_tokens=-1)", "write(text_tokens=-2)",
     "feedback(papers=0)", "agent(hops=0)", "agent(read=all)", "agent(notes=no)", "agent(tail=x)"],
)  # fmt: skip
def test_stages_that_cannot_be_are_refused_when_they_are_named(stage):
    with pytest.raises(UsageError):
        read_stages([stage])


def test_a_stage_that_needs_a_model_says_so_before_anything_is_searched(barn):
    with pytest.raises(UsageError, match="none was named"):
        barn.run(_plan(barn, "rerank"))


def test_a_perfect_judge_puts_the_right_papers_first(barn):
    found = barn.search("the owl at night", recipe="bm25", limit=24).ids
    wanted = found[::-1][:3]
    model = Oracle({paper: 3.0 - place for place, paper in enumerate(wanted)})
    ranking = _asking(barn, model).run(_plan(barn, "rerank(method=listwise+merge)"))
    assert ranking.ids[:3] == wanted
    assert ranking.simulated
    assert ranking.to_dict()["simulated"]
    assert [hit.score for hit in ranking] == sorted((hit.score for hit in ranking), reverse=True)
    assert ranking[0].moves == (("rerank", len(found), 1),)
    assert any("simulated" in warning for warning in ranking.warnings)
    assert ranking[0].evidence
    assert ranking[0].probes
    assert "rerank: moved from" in ranking.explain(0)


def test_only_the_first_papers_are_reranked(barn):
    before = barn.search("the owl at night", recipe="bm25", limit=8).ids
    model = Oracle({before[-1]: 1.0})
    ranking = _asking(barn, model).run(_plan(barn, "rerank(method=pairwise+all-pairs,depth=4)"))
    assert ranking.ids[4:] == before[4:]
    assert set(ranking.ids[:4]) == set(before[:4])


def test_judges_are_told_the_question_as_it_was_asked(barn):
    model = Scripted(lambda _: json.dumps({"order": ["2", "1"]}))
    plan = barn.plan(
        Query("owls", limit=2, instruction="only papers after 2003, not a survey", conditions=()),
        "bm25 | rerank(method=listwise,depth=2)",
    )
    _asking(barn, model).run(plan)
    shown = model.asked[0].messages[-1].content
    assert "only papers after 2003, not a survey" in shown
    assert [condition.spelling for condition in plan.conditions]
    assert all(condition.spelling in shown for condition in plan.conditions)


class Shelf:
    """An engine that finds the same papers whatever is searched: so that every planner can be asked."""

    def __init__(self, engine):
        self.papers = engine.papers

    def find(self, *_, **__):
        return Found(("p1", "p2"), (1.0, 0.5), None)


def _requests(searcher, stage, plan):
    """What a stage puts to a model, where the plan's first search found two papers."""
    model = Scripted(lambda _: '{"query": "owls", "picked": [], "notes": "", "order": ["2"]}')
    worded = changed(plan.search, probes=(*plan.search.probes, Probe("abstract@bm25", "owl")))
    state = SearchState(worded, ids=("p1", "p2"))
    STAGES.read(stage).run(state, 2, Context(Shelf(searcher.engine), plan, model))
    return [request.messages for request in model.asked]


@pytest.mark.parametrize("planner", list(PLANNERS))
@pytest.mark.parametrize(
    "stage",
    [
        *(f"rerank(method={n})" for n in JUDGES if JUDGES.get(n).needs_model),
        *(
            n for n in STAGES if n not in ("rerank", "write") and needs_model([n])
        ),  # write has a test of its own
    ],
)
def test_models_are_told_what_the_query_asks_whatever_the_search_compares(barn, planner, stage):
    views = replace(EVERYTHING, lenses=("roles", "style"))

    def asked(**given):
        plan = Recipe.parse(f"{planner} | {stage}").plan(Query(seeds=("p0",), **given), views)
        assert Plan.loads(plan.to_toml()) == plan
        return plan, _requests(barn, stage, plan)

    questions = (
        {},
        {"same": ("approach",)},
        {"same": ("method: gaussian splatting",)},
        {"same": ("result",)},
        {"different": ("method",)},
        {"instruction": "owls in the north please"},
    )
    requests = [asked(**one)[1] for one in questions]
    assert all(one != other for n, one in enumerate(requests) for other in requests[:n])
    assert "alike in: method" in requests[1][0][-1].content
    assert "stages are told: alike in method" in asked(**questions[1])[0].describe()
    given = Question(seeds=("p0",), same=("approach", "result: fast"), recipe=f"{planner} | {stage}")
    plan, _ = asked(same=given.same)
    assert given.edited(plan).same == ("method", "result: fast")
    assert given.edited(plan, "same result").same == ("method",)
    for number in (0, 1, 3, 4, 5):  # an older plan is answered as ever; that of guided says the same
        older = changed(asked(**questions[number])[0], same=None, different=None)
        same = _requests(barn, stage, older) == requests[number]
        assert same == (planner == "guided" or number in (0, 5))


class Stating(Scripted):
    """A model whose endpoint states its context."""

    tokens: int | None = None

    async def context(self):
        return self.tokens


@pytest.mark.parametrize(
    "stage", ["rerank(method='listwise(width=40)'{})", "agent(hops=1{})", "rewrite(keep=yes{})"]
)
@pytest.mark.parametrize(
    ("options", "stated", "cut"),
    [
        ("", None, (40, 1)),
        ("text_tokens=0,request_tokens=0", None, (0, 0)),
        ("text_tokens=0", None, (40, 0)),
        ("text_tokens=0,request_tokens=0", 8000, (40, 0)),
        ("text_tokens=1100,request_tokens=60000", 10**6, (0, 1)),
    ],
)  # fmt: skip
def test_texts_are_as_long_as_is_asked_for_and_cuts_are_counted(tmp_path, stage, options, stated, cut):
    story = "The owl hunts at night and rests by day. " * 100
    papers = [Paper(f"p{n}", f"Owl {n}", story) for n in range(25 if "agent" in stage else 40)]
    model = Stating(lambda _: '{"query": "owls", "order": ["2"], "picked": [], "notes": ""}')
    model.tokens = stated
    with searcher_over(tmp_path / "owls", papers, lenses=()) as searcher:
        before = "," if options else ""
        plan = _plan(searcher, stage.format(before + options), text=story * 2 + "owl", limit=40)
        (step,) = _asking(searcher, model).run(plan).steps
    papers_cut = 0 if "rewrite" in stage else min(len(papers), cut[0])
    assert step.tally.cut == papers_cut + cut[1]
    assert step.to_dict().get("cut", 0) == step.tally.cut
    assert ("the query was shown only in part" in step.notes) == bool(cut[1])
    assert any("shown only in part" in note and str(papers_cut) in note for note in step.notes) == bool(
        papers_cut
    )


def test_whole_texts_that_a_model_cannot_read_are_shown_in_part(tmp_path):
    papers = [Paper(f"p{n}", f"Owl {n}", "The owl hunts at night. " * 100) for n in range(9)]

    def small(request):
        long = len(request.messages[-1].content) > 14_000
        return ContextExceeded("too long") if long else '{"order": ["2"]}'

    with searcher_over(tmp_path / "owls", papers) as searcher:
        plan = _plan(searcher, "rerank(text_tokens=0,request_tokens=0)", text="An owl. " * 1500)
        (step,) = _asking(searcher, Scripted(small)).run(plan).steps
    assert (step.tally.unanswered, step.tally.cut, step.tally.defects["context"]) == (0, 10, 1)


def test_citations_follow_each_paper_in_the_published_order(barn):
    first = barn.search("the owl at night", recipe="bm25", limit=3).ids
    ranking = barn.run(_plan(barn, "citations(seeds=3,most=6)", limit=6))
    expected = []
    for paper in first:
        expected += [paper, *(c for c in barn.library.cites(paper))]
    expected = list(dict.fromkeys(expected))[:6]
    assert len(expected) > 3
    assert ranking.ids[: len(expected)] == expected
    brought = next(hit for hit in ranking if hit.id not in first)
    assert brought.moves[0][0] == "citations"
    assert not ranking.simulated


def test_what_is_cited_must_meet_the_limits_too(barn):
    ranking = barn.run(_plan(barn, "citations(seeds=5)", limit=24, conditions=limits(until=2010)))
    assert ranking.ids
    assert all(hit.paper.year <= 2010 for hit in ranking)


def test_feedback_asks_with_what_was_found(barn):
    plan = _plan(barn, "feedback(papers=2,weight=0.25)")
    first = barn.run(_plan(barn, limit=2)).ids
    staged = barn.result(plan)
    assert [probe.seeds for probe in staged.state.search.probes] == [(), tuple(first)]
    assert [probe.weight for probe in staged.state.search.probes] == [1.0, 0.25]
    assert not set(plan.exclude) & set(first)


def test_a_new_wording_is_searched_instead_or_beside(barn):
    model = Scripted(lambda _: '<think>hm</think> {"reason": "r", "query": "maze  wing"}')
    staged = _asking(barn, model).result(_plan(barn, "rewrite"))
    assert [probe.text for probe in staged.state.search.probes] == ["maze wing"]
    assert list(staged.ids) == barn.search("maze wing", recipe="bm25", limit=8).ids
    both = _asking(barn, model).result(_plan(barn, "rewrite(keep=yes)"))
    assert [probe.text for probe in both.state.search.probes] == ["the owl at night", "maze wing"]


@pytest.mark.parametrize("planner", list(PLANNERS))
def test_a_new_wording_goes_to_the_probes_that_take_words(planner):
    search = PLANNERS.get(planner)(Query("", ("owl",)), EVERYTHING)
    changed_probes = [probe for probe in reworded(search, "maze wing").probes if probe.text == "maze wing"]
    stays = [p for p in search.probes if p.matching or p.reverse or p.view == "citations@graph"]
    assert len(changed_probes) == len(search.probes) - len(stays)
    if changed_probes:
        check_words(search, "rewrite")
    else:
        with pytest.raises(UsageError, match="rewrite has no words to change here"):
            check_words(search, "rewrite")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        '{"query": "one to four sentences"}',
        '{"query": "..."}',
        "no JSON",
        '{"reason": "x"}',
        '{"query": 3}',
        "[]",
        '{"query": " "}',
    ],
)
def test_without_a_usable_wording_the_question_stays(barn, answer):
    ranking = _asking(barn, Scripted(lambda _: answer)).run(_plan(barn, "rewrite"))
    assert ranking.ids == barn.search("the owl at night", recipe="bm25", limit=8).ids
    step = ranking.steps[0]
    assert step.tally.degraded
    assert step.tally.repairs == 1
    assert step.tally.defects["unreadable"] == 1
    assert any("degraded" in warning for warning in ranking.warnings)


class Reader:
    """Words a query from the hop's number, and picks what the script says."""

    def __init__(self, queries, picks):
        self.queries, self.picks, self.seen = queries, picks, []

    def __call__(self, request):
        if request.prompt.startswith("hop/"):
            hop = sum(r.startswith("hop/") for r in self.seen)
            self.seen.append(request.prompt)
            return json.dumps({"reason": "", "query": self.queries[hop]})
        self.seen.append(request.prompt)
        picked = [label for label, paper in enumerate(request.subjects, 1) if paper in self.picks]
        return json.dumps({"picked": [str(p) for p in picked], "notes": f"saw {len(request.subjects)}"})


def test_a_pick_that_repeats_the_prompt_is_no_answer(barn):
    said = {"picked": ["labels of the texts that may fit"], "notes": "x", "query": "owls"}
    step = _asking(barn, Scripted(lambda _: json.dumps(said))).result(_plan(barn, "agent(hops=1)")).steps[0]
    assert (step.tally.defects["unreadable"], step.tally.unanswered) == (1, 1)


def test_an_agent_puts_what_it_picked_first_then_what_it_read(barn):
    picks = {"p3", "p8", "p17"}
    model = Scripted(Reader(["owl night", "maze", "wing ear", "mouse"], picks))
    plan = _plan(barn, "agent(hops=4,each=6)", limit=24)
    staged = _asking(barn, model).result(plan)
    read = [paper for request in model.asked for paper in request.subjects]
    assert len(read) == len(set(read)) <= 24  # nothing is read twice
    chosen = [paper for paper in read if paper in picks]
    assert list(staged.ids[: len(chosen)]) == chosen
    assert list(staged.ids[len(chosen) : len(read)]) == [paper for paper in read if paper not in picks]
    assert len(model.asked) == 8
    assert staged.steps[0].tally.cost.calls == 8
    notes = [request.messages[-1].content for request in model.asked if request.prompt.startswith("hop/")]
    assert "saw 6" in notes[1]
    assert "owl night" in notes[1]


@pytest.mark.parametrize("picks", [{"p3", "p8", "p17"}, set()])
def test_an_agent_as_published_reads_the_best_of_each_hop_and_adds_its_notes(barn, picks):
    queries = ["owl night", "night owl", "maze"]
    model = Scripted(Reader(queries, picks))
    plan = _plan(barn, "agent(hops=3,each=6,read=top,notes=added,tail=hops)", limit=24)
    staged = _asking(barn, model).result(plan)
    read = [request.subjects for request in model.asked if request.prompt.startswith("read/")]
    assert [list(ids) for ids in read] == [list(barn.search(q, recipe="bm25", limit=6).ids) for q in queries]
    found = [paper for ids in read for paper in ids]
    chosen = [paper for paper in found if paper in picks]
    assert list(staged.ids) == list(dict.fromkeys([*chosen, *found]))  # and no others
    hops = [request.messages[-1].content for request in model.asked if request.prompt.startswith("hop/")]
    assert hops[2].count("saw 6") == 2
    assert "owl night" not in hops[2]


def test_an_agent_that_picks_nothing_leaves_the_first_order(barn):
    model = Scripted(Reader(["maze"] * 4, set()))
    ranking = _asking(barn, model).run(_plan(barn, "agent(each=5)"))
    assert ranking.ids == barn.search("the owl at night", recipe="bm25", limit=8).ids


def test_labels_that_were_never_shown_are_dropped_and_counted(barn):
    def answer(request):
        if request.prompt.startswith("hop/"):
            return json.dumps({"reason": "", "query": "maze"})
        return json.dumps({"picked": ["1", "99", "p4", "2", "2"], "notes": ""})

    staged = _asking(barn, Scripted(answer)).result(_plan(barn, "agent(hops=1,each=4)"))
    assert staged.steps[0].tally.defects["unknown"] == 2
    assert staged.steps[0].tally.repairs == 1
    assert len(staged.ids) == len(set(staged.ids))


@pytest.mark.parametrize(
    "error",
    [BudgetReached("spent"), KeyRefused("no key"), Transient("busy"), RuntimeError("a bug")],
    ids=["budget", "key", "transient", "bug"],
)
@pytest.mark.parametrize("stage", ["rewrite", "agent", "rerank(method=yes-no)", "rerank"])
def test_when_the_model_fails_the_first_order_stands(barn, error, stage):
    def fail(_):
        raise error

    plan = _plan(barn, stage)
    searcher = _asking(barn, Scripted(fail))
    if isinstance(error, RuntimeError):  # a program's error is not a model's: it is not hidden
        with pytest.raises(RuntimeError):
            searcher.run(plan)
        return
    ranking = searcher.run(plan)
    assert ranking.ids == barn.search("the owl at night", recipe="bm25", limit=8).ids
    assert ranking.steps[0].tally.degraded
    if error.fatal:
        assert ranking.steps[0].stopped is error


@settings(max_examples=60)
@given(
    st.lists(st.text(max_size=60) | st.sampled_from(['{"order": ["3", "3"]}', '{"picked": []}']), min_size=1),
    st.sampled_from(["rerank", "agent(hops=2,each=5)", "rewrite|rerank", "citations|rerank(depth=9)"]),
)
def test_whatever_a_model_says_no_paper_is_lost_or_invented(barn, replies, stages):
    turn = iter(range(10**6))
    model = Scripted(lambda _: replies[next(turn) % len(replies)])
    staged = _asking(barn, model).result(_plan(barn, *stages.split("|"), limit=24))
    assert len(set(staged.ids)) == len(staged.ids)
    everything = set(barn.index.ids)
    assert set(staged.ids) <= everything
    if "rewrite" not in stages:  # another wording finds others
        found = set(barn.search("the owl at night", recipe="bm25", limit=24).ids)
        assert found <= set(staged.ids)


def test_recipes_carry_stages(barn):
    recipe = Recipe.parse(
        "bm25 | top(10) | bm25 | rerank(method='listwise(labels=letters)+tournament',depth=5) | feedback"
    )
    assert recipe.steps[:3] == ("bm25", "top(10)", "bm25")
    assert Recipe.from_dict(recipe.to_dict()) == recipe
    assert recipe.hash != Recipe.parse("bm25 | top(10) | bm25").hash
    plan = recipe.plan(Query("owls"), barn.view_names)
    assert plan.stages == recipe.stages
    assert plan.text == "owls"


def test_there_is_a_wording_for_every_kind():
    assert {"general", "stance", "failure", "technique", "authorship", "recollection"} == set(kinds())
    for kind in kinds():
        assert set(kinds()[kind]) == {"write", "look"}
        read_stages([f"rewrite(kind={kind})", f"agent(kind={kind})"])
