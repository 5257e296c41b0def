"""Queries that a model writes for each aspect of a seed: kinds of agents, what they cost, what is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.lab.simulation.oracle import Oracle
from aspectra.llm.assemble import ModelSettings, wrap_model
from aspectra.llm.budget import Limits
from aspectra.llm.chat import ContextExceeded
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.search.plan import Fusion, Plan
from aspectra.search.query import Query
from aspectra.search.recipe import ProbeRecipe, Recipe, SearchRecipe
from aspectra.search.searcher import Searcher
from aspectra.search.stages.moves import estimate_steps
from aspectra.search.stages.protocol import Context
from aspectra.views.build.run import build_index
from aspectra.views.prompted.definition import PromptedLens, builtin_text
from aspectra.views.prompted.running import bound_to, run_lens
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

LENSES = ("research_question", "method", "experiment")
TEXTS = {
    "research_question": "Do moths hear bats in the dark?",
    "method": "Echo recorders follow moths through a maze.",
    "experiment": "Ten moths and forty bats were counted.",
    "overview": "Whether moths hear bats, recorded in a maze with forty bats.",
}


def _paper(name, *about):
    heads = ("Introduction", "Our method", "Experiments")
    return Paper(
        name,
        f"On {name}",
        f"We study {name}.",
        sections=tuple(
            Section(head, f"{text} All of this was seen by more than one of us (Min, 1996).")
            for head, text in zip(heads, about, strict=True)
        ),
    )


PAPERS = [
    _paper(
        "owls",
        "Do owls hear the mice that they hunt?",
        "Microphones record the owls at night.",
        "Forty mice were counted.",
    ),
    _paper(
        "moths",
        "Do moths hear bats in the dark?",
        "Echo recorders follow moths through a maze.",
        "Ten moths and forty bats were counted.",
    ),
    _paper(
        "chess",
        "Is an opening of chess a book?",
        "Moves of the game are counted in a book.",
        "It won forty games.",
    ),
    Paper("short", "Owls in winter", "Owls hunt mice under snow."),
]


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    library = Store.create(tmp_path_factory.mktemp("write") / "library")
    with library.writing("add") as writer:
        writer.add(PAPERS)
    _index(library)
    return library


def _index(library):
    settings = IndexSettings(
        encoders=("fake",), chunks=("20w",), readers=("question", "method", "experiment", "base", "first")
    )
    build_index(library, settings, load=lambda _: FakeEncoder())


def _lens_of(request):
    return request.prompt.partition("/")[0]


def _answer(request):
    if _lens_of(request) == "write_all":
        names = zip(("question", "method", "experiment"), LENSES, strict=True)
        return json.dumps({name: TEXTS[lens] for name, lens in names})
    return json.dumps({"value": TEXTS[_lens_of(request)]})


def _run(library, recipe, script=_answer, seeds=("owls",), **given):
    model = Scripted(script)
    searcher = Searcher(library, load=lambda _: FakeEncoder(), model=model)
    return searcher.run(searcher.plan(Query(seeds=seeds, limit=4, **given), recipe)), model


@pytest.mark.parametrize(
    ("recipe", "asked"),
    [
        ("prism | write", list(LENSES)),
        ("prism(aspects=method) | write", ["method"]),
        ("prism(aspects=question+experiment) | write", ["research_question", "experiment"]),
        ("prism(aspects=base) | write", ["overview"]),
        ("prism(abstract=no) | write", list(LENSES)),
        ("prism | write(agents=one)", ["write_all"]),
        ("prism(aspects=method) | write(agents=one)", ["write_all"]),
        ("prism | write | chain(depth=2,parent=1)", list(LENSES)),
    ],
)
def test_every_kind_of_agents_asks_once_for_each_query(night, recipe, asked):
    ranking, model = _run(night, recipe)
    assert [_lens_of(request) for request in model.asked] == asked
    assert ranking.hits[0].id == "moths"
    assert ranking.simulated
    assert any("simulated" in warning for warning in ranking.warnings)
    step = ranking.steps[0]
    assert (step.name, step.tally.questions, step.tally.degraded) == ("write", len(asked), 0)
    assert Plan.loads(ranking.plan.to_toml()) == ranking.plan
    assert Recipe.parse(recipe).steps == Recipe.parse(" | ".join(map(str, Recipe.parse(recipe).steps))).steps


def test_what_its_prompts_do_not_hold_of_the_query_is_said(night):
    plain, asked = (_run(night, "prism | write", same=same) for same in ((), ("method",)))
    assert [r.messages for r in plain[1].asked] == [r.messages for r in asked[1].asked]
    assert not plain[0].steps[0].notes
    assert asked[0].steps[0].notes == (
        "its prompts ask for fixed parts of a paper: not told “alike in: method”",
    )


def test_the_whole_paper_is_shown_without_its_citations(night):
    _, model = _run(night, "prism | write")
    for request in model.asked:
        shown = request.messages[-1].content
        assert all(section.heading in shown for section in PAPERS[0].sections)
        assert "Forty mice" in shown
        assert "Min" not in shown


def test_what_is_written_takes_the_place_of_the_readings_and_the_abstract_stays(night):
    searcher = Searcher(night, load=lambda _: FakeEncoder(), model=Scripted(_answer))
    plan = searcher.plan(Query(seeds=("owls",), limit=4), "prism | write")
    before = plan.search.probes
    after = searcher.result(plan).state.search.probes
    assert after[0] == before[0]
    assert [p.text for p in after[1:]] == [TEXTS[lens] for lens in LENSES]
    assert [p.asking for p in after] == [p.asking for p in before]
    assert not any(p.seeds for p in after[1:])


def test_two_seeds_have_a_query_each_and_share_the_weight(night):
    ranking, model = _run(night, "prism(aspects=method) | write", seeds=("owls", "chess"))
    assert [request.subjects for request in model.asked] == [("owls",), ("chess",)]
    assert ranking.hits[0].id == "moths"
    searcher = Searcher(night, load=lambda _: FakeEncoder(), model=model)
    probes = searcher.result(ranking.plan).state.search.probes
    assert [p.weight for p in probes[1:]] == [0.5, 0.5]


def test_nothing_written_leaves_the_reading_and_says_so(night):
    plain, _ = _run(night, "prism")
    empty, _ = _run(night, "prism | write", lambda _: json.dumps({"value": ""}))
    assert [(h.id, h.score) for h in empty] == [(h.id, h.score) for h in plain]
    assert not empty.steps[0].tally.degraded
    assert any("nothing was written about the method of owls" in note for note in empty.steps[0].notes)
    dots = json.dumps(dict.fromkeys(("value", "question", "method", "experiment"), "..."))
    for recipe, said, count in (("", "I would rather not.", 3), ("", dots, 3), ("(agents=one)", dots, 1)):
        lost, _ = _run(night, f"prism | write{recipe}", lambda _, said=said: said)
        assert [(h.id, h.score) for h in lost] == [(h.id, h.score) for h in plain]
        assert lost.steps[0].tally.degraded
        assert lost.steps[0].tally.unanswered == count


def test_a_paper_too_long_for_the_model_is_cut_between_sections_and_that_is_said(night, tmp_path):
    library = Store.create(tmp_path / "library")
    sections = tuple(Section(f"Part {n}", f"Owl {n} hunts at night. " * 1500) for n in range(4))
    with library.writing("add") as writer:
        writer.add([*PAPERS, Paper("long", "A long night", "We watch.", sections=sections)])
    _index(library)

    def small(request):
        long = len(request.messages[-1].content) > 80_000
        return ContextExceeded("too long") if long else _answer(request)

    ranking, model = _run(library, "prism(aspects=method) | write", small, seeds=("long",))
    assert len(model.asked) == 2
    shown = model.asked[-1].messages[-1].content
    assert "Part 0" in shown
    assert "Part 1" not in shown
    note = "long is too long to be shown whole: without Part 1, Part 2, Part 3"
    assert note in ranking.steps[0].notes
    assert ranking.steps[0].tally.cut == 1
    for options, whole in (("(text_tokens=0)", True), ("(text_tokens=500)", False)):
        ranking, model = _run(library, f"prism(aspects=method) | write{options}", seeds=("long",))
        assert ("Part 3" in model.asked[-1].messages[-1].content) == whole
        assert len(model.asked[-1].messages[-1].content) < (200_000 if whole else 6_000)
        assert ranking.steps[0].tally.cut == (not whole)


def _settings(folder, **given):
    return ModelSettings(journal=folder / "journal.db", prices=folder / "none.toml", tries=1, **given)


@pytest.mark.parametrize(
    ("recipe", "calls"),
    [("prism | write", 3), ("prism(aspects=base) | write", 1), ("prism | write(agents=one)", 1)],
)
def test_calls_are_estimated_exactly_and_asked_once(night, tmp_path, recipe, calls):
    searcher = Searcher(night, load=lambda _: FakeEncoder())
    plan = searcher.plan(Query(seeds=("owls",), limit=4), recipe)
    assert [(n, c.calls) for n, c in estimate_steps(Context(searcher.engine, plan))] == [("write", calls)]
    scripted = Scripted(_answer)
    with wrap_model(scripted, _settings(tmp_path)) as model:
        searcher.model = model
        ((_, expected),) = estimate_steps(Context(searcher.engine, plan, model))
        first = searcher.run(plan)
        spent = first.steps[0].tally.cost
        assert (expected.calls, expected.prompt_tokens) == (spent.calls, spent.prompt_tokens)
        assert spent.completion_tokens <= expected.completion_tokens
    with wrap_model(scripted, _settings(tmp_path)) as model:
        searcher.model = model
        ((_, none),) = estimate_steps(Context(searcher.engine, plan, model))
        assert none.calls == 0
        again = searcher.run(plan)
    assert len(scripted.asked) == calls
    assert again.steps[0].tally.cost.calls == 0
    assert [(h.id, h.score) for h in again] == [(h.id, h.score) for h in first]
    assert again.simulated


def test_a_run_that_was_cut_off_by_its_budget_goes_on_from_the_journal(night, tmp_path):
    searcher = Searcher(night, load=lambda _: FakeEncoder())
    plan = searcher.plan(Query(seeds=("owls",), limit=4), "prism | write")
    scripted = Scripted(_answer)
    with wrap_model(scripted, _settings(tmp_path, limits=Limits(calls=2), lanes=1)) as model:
        searcher.model = model
        assert searcher.run(plan).steps[0].stopped is not None
    with wrap_model(scripted, _settings(tmp_path)) as model:
        searcher.model = model
        assert searcher.run(plan).steps[0].tally.cost.calls == 1
    assert len(scripted.asked) == 3


def test_another_repeat_is_another_question(night):
    model = Scripted(_answer)
    searcher = Searcher(night, load=lambda _: FakeEncoder(), model=model)
    plan = searcher.plan(Query(seeds=("owls",), limit=4), "prism(aspects=method) | write")
    for salt in ("", "1", "1"):
        searcher.result(plan, salt=salt)
    first, second, third = (request.key for request in model.asked)
    assert first != second == third


def test_an_oracle_repeats_what_it_was_shown(night):
    searcher = Searcher(night, load=lambda _: FakeEncoder(), model=Oracle({}))
    for recipe in ("prism | write", "prism | write(agents=one)", "prism(aspects=base) | write"):
        plan = searcher.plan(Query(seeds=("owls",), limit=4), recipe)
        result = searcher.result(plan)
        assert result.steps[0].tally.simulated
        assert not result.steps[0].tally.degraded
        texts = [probe.text for probe in result.state.search.probes[1:]]
        assert all("We study owls." in text for text in texts)


def test_what_cannot_be_written_is_refused(night):
    for recipe, why in (
        ("dense | write", "nothing can be written"),
        ("prism(aspects=base) | write(agents=one)", "one agent writes"),
    ):
        with pytest.raises(UsageError, match=why):
            _run(night, recipe)
    searcher = Searcher(night, load=lambda _: FakeEncoder())
    plan = searcher.plan(Query(seeds=("owls",)), "prism | write")
    with pytest.raises(UsageError, match="none was named"):
        searcher.run(plan)
    for recipe in ("prism(aspects=title)", "prism(readers=none)", "prism(aspects=method+method)"):
        with pytest.raises(UsageError):
            Recipe.parse(recipe)
    with pytest.raises(UsageError):
        Recipe.parse("prism | write(agents=two)")


def test_without_options_prism_is_as_before(night):
    searcher = Searcher(night, load=lambda _: FakeEncoder())
    probes = searcher.plan(Query(seeds=("owls",)), "prism").search.probes
    by_hand = SearchRecipe(
        tuple(
            ProbeRecipe("abstract@fake")
            if not reader
            else ProbeRecipe("{chunks}@fake", asking=f"{reader}@fake")
            for reader in ("", "question", "method", "experiment")
        ),
        searcher.plan(Query(seeds=("owls",)), "prism").search.fusion,
    )
    assert [(p.view, p.asking, p.weight) for p in probes] == [
        ("abstract@fake", "", 1.0),
        ("chunks-20w@fake", "question@fake", 1.0),
        ("chunks-20w@fake", "method@fake", 1.0),
        ("chunks-20w@fake", "experiment@fake", 1.0),
    ]
    for seed in ("owls", "short"):
        one = searcher.similar(seed, recipe="prism", limit=4)
        other = searcher.similar(seed, recipe=Recipe("own", (by_hand,)), limit=4)
        assert [(h.id, h.score) for h in one] == [(h.id, h.score) for h in other]
        same = searcher.similar(seed, recipe="prism(aspects=question+method+experiment)", limit=4)
        assert [(h.id, h.score) for h in one] == [(h.id, h.score) for h in same]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A library with texts of the three lenses for each paper but ``chess``, of which there is no method."""
    library = Store.create(tmp_path_factory.mktemp("told") / "library")
    with library.writing("add") as writer:
        writer.add(PAPERS)
    heard = {paper.id: paper for paper in PAPERS}

    def script(request):
        paper, lens = heard[request.subjects[0]], _lens_of(request)
        if paper.id == "owls":
            return _answer(request)
        if not paper.sections or (paper.id == "chess" and lens == "method"):
            return json.dumps({"value": ""})
        return json.dumps({"value": paper.sections[LENSES.index(lens)].text})

    folder = tmp_path_factory.mktemp("journal")
    with wrap_model(Scripted(script), _settings(folder)) as model:
        for name in LENSES:
            run_lens(library, bound_to(PromptedLens(name, builtin_text(name)), model.name), model)
    _index(library)
    return library, folder


def test_prompted_readers_search_with_what_lenses_hold(told):
    searcher = Searcher(told[0], load=lambda _: FakeEncoder())
    ranking = searcher.similar("owls", recipe="prism(readers=prompted)", limit=4)
    assert [p.asking for p in ranking.plan.search.probes[1:]] == [f"lens-{name}@fake" for name in LENSES]
    assert ranking.hits[0].id == "moths"
    assert any("simulated" in warning for warning in ranking.warnings)
    written = Searcher(told[0], load=lambda _: FakeEncoder(), model=Scripted(_answer))
    other = written.similar("owls", recipe="prism | write", limit=4)
    assert [h.id for h in other] == [h.id for h in ranking]


def test_a_text_that_a_lens_holds_is_not_written_again(told):
    model = Scripted([])
    searcher = Searcher(told[0], load=lambda _: FakeEncoder(), model=model)
    ranking = searcher.similar("owls", recipe="prism | write", limit=4)
    assert not model.asked
    assert ranking.simulated
    assert "method of owls: as the lens holds it" in ranking.steps[0].notes
    plan = searcher.plan(Query(seeds=("owls",)), "prism | write")
    assert [c.calls for _, c in estimate_steps(Context(searcher.engine, plan, model))] == [0]
    other = Scripted(_answer, name="another")
    searcher.model = other
    searcher.run(plan)
    assert len(other.asked) == 3


def test_a_lens_run_and_the_stage_share_the_journal(told, tmp_path):
    library = Store.create(tmp_path / "library")
    with library.writing("add") as writer:
        writer.add(PAPERS)
    _index(library)
    scripted = Scripted([])
    with wrap_model(scripted, _settings(told[1])) as model:
        searcher = Searcher(library, load=lambda _: FakeEncoder(), model=model)
        cost = searcher.similar("moths", recipe="prism | write", limit=4).steps[0].tally.cost
    assert (cost.calls, cost.recorded) == (0, 3)
    assert not scripted.asked


def test_where_a_lens_found_nothing_the_extracted_reading_is_searched(told):
    searcher = Searcher(told[0], load=lambda _: FakeEncoder())
    probes = searcher.plan(Query(seeds=("chess",)), "prism(readers=prompted)").search.probes
    assert [p.asking for p in probes[1:]] == [
        "lens-research_question@fake",
        "method@fake",
        "lens-experiment@fake",
    ]


def test_a_chain_goes_on_with_what_lenses_hold_and_papers_without_a_text_find_nothing(told):
    searcher = Searcher(told[0], load=lambda _: FakeEncoder())
    for depth in (2, 3):
        ranking = searcher.similar("owls", recipe=f"prism(readers=prompted) | chain(depth={depth},parent=1)")
        assert {h.id for h in ranking} == {"moths", "chess", "short"}
        assert np.isfinite([h.score for h in ranking]).all()


def test_a_chain_ends_where_found_papers_have_no_text(tmp_path):
    library = Store.create(tmp_path / "library")
    with library.writing("add") as writer:
        writer.add(PAPERS)

    def script(request):
        return _answer(request) if request.subjects == ("owls",) else json.dumps({"value": ""})

    with wrap_model(Scripted(script), _settings(tmp_path)) as model:
        for name in LENSES:
            run_lens(library, bound_to(PromptedLens(name, builtin_text(name)), model.name), model)
    _index(library)
    searcher = Searcher(library, load=lambda _: FakeEncoder())
    one, two = (
        searcher.similar("owls", recipe=f"prism(readers=prompted,abstract=no){more}")
        for more in ("", " | chain(depth=2,parent=1)")
    )
    assert [(h.id, h.score) for h in two] == [(h.id, pytest.approx(h.score)) for h in one]


def test_a_seed_without_texts_is_named_with_the_command(night, told):
    searcher = Searcher(night, load=lambda _: FakeEncoder())
    with pytest.raises(ViewMismatch, match="no text of the lens research_question on owls") as error:
        searcher.plan(Query(seeds=("owls",)), "prism(readers=prompted)")
    assert "aspectra lens run research_question" in error.value.hint
    assert "prism | write" in error.value.hint


def test_sums_of_scores_by_hand(night):
    """Late interaction and naive sums over all chunks: each probe's scores, as they are."""
    searcher = Searcher(night, load=lambda _: FakeEncoder())
    index = searcher.index
    for pooling, metric in (("max", "cosine"), ("sum", "l2")):
        probes = tuple(
            ProbeRecipe("{chunks}@fake", asking=f"{r}@fake", pooling=pooling, metric=metric, weight=weight)
            for r, weight in (("question", 1.0), ("method", 2.0))
        )
        ranking = searcher.similar("owls", recipe=Recipe("own", (SearchRecipe(probes, Fusion(kind="sum")),)))
        expected = {}
        for name in ("moths", "chess"):
            total = 0.0
            for reader, weight in (("question", 1.0), ("method", 2.0)):
                query = index.vector_view(f"{reader}@fake").vectors_of("owls")[0].astype(np.float64)
                chunks = index.vector_view("chunks-20w@fake").vectors_of(name).astype(np.float64)
                if metric == "cosine":
                    total += weight * (chunks @ query).max()
                else:
                    total -= weight * np.linalg.norm(chunks - query, axis=1).sum()
            expected[name] = total
        found = {h.id: h.score for h in ranking}
        assert found == pytest.approx({**found, **expected}, abs=2e-3)
        assert set(found) == {"moths", "chess", "short"}
        assert "sum of scores" in ranking.plan.describe()
        assert all(probe.standardised is None for hit in ranking for probe in hit.probes)


def test_a_seed_with_nothing_but_a_title_is_not_asked_about(tmp_path):
    library = Store.create(tmp_path / "library")
    with library.writing("add") as writer:
        writer.add([*PAPERS, Paper("bare", "Moths")])
    _index(library)
    ranking, model = _run(library, "prism | write", seeds=("bare",))
    assert not model.asked
    assert len(ranking) == 4
    assert not ranking.steps[0].tally.degraded
    assert "nothing was written about the method of bare: its reading is searched" in ranking.steps[0].notes
