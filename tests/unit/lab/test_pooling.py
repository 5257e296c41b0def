"""Pools made from recorded rankings: which documents, in whose turn, and what is put in."""

from __future__ import annotations

import json

import pytest

import benchmark_fixtures as made_up
from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import replace
from aspectra.lab.experiments.directory import Source, Study, open_study
from aspectra.lab.experiments.execute import run_study, score_study
from aspectra.lab.experiments.experiment import Records
from aspectra.lab.experiments.gap.verification import Pooling, first_documents, gap_tasks
from aspectra.lab.runs.run import Run
from aspectra.search.recipe import Recipe
from fake_encoder import FakeEncoder

# By topic, best first. Of q0 t0 is excluded, of q1 t0 and t5; gold: q0 t1, q1 t2; pooled: q0 t3 too.
RANKINGS = {
    "one": {"q0": ["t0", "t2", "t3"], "q1": ["t1", "t3"]},
    "two": {"q0": ["t4", "t2", "t5"], "q1": ["t5", "t3", "t4"]},
}
VERIFY = Recipe("tournament", ("bm25", "shuffle", "rerank(method=listwise+tournament,depth=1000)"))


@pytest.fixture
def task(tmp_path):
    folder = made_up.obliq(tmp_path / "riddles")
    for name, rankings in RANKINGS.items():
        Run.from_rankings(rankings, name).write(tmp_path / f"{name}.run")
    return folder


def opened(task, runs=("one.run", "two.run"), **given):
    places = tuple(str(task.parent / run) for run in runs)
    return Source("obliq", str(task), pooling=Pooling(places, **given)).open()


def verify(task, out, *recipes, load=lambda _: FakeEncoder(), **given):
    oracle = given.pop("oracle", "error=0")
    places = tuple(str(task.parent / run) for run in given.pop("runs", ("one.run", "two.run")))
    source = Source("obliq", str(task), pooling=Pooling(places, **given))
    study = Study((source,), recipes or (VERIFY,), oracle=oracle, encoders=())
    return run_study(study, task.parent / out, task.parent / "libraries", load=load)


@pytest.mark.parametrize(
    ("size", "documents", "depth"),
    [(1, "a", 1), (2, "ax", 1), (3, "axb", 2), (4, "axbc", 3), (5, "axbcz", 4), (9, "axbcz", 4)],
)
def test_systems_give_one_document_each_in_turn(size, documents, depth):
    assert first_documents(["abc", "xaaz"], size) == (list(documents), depth)


def test_no_ranking_gives_no_document():
    assert first_documents([[], []], 5) == ([], 0)


def test_the_depth_is_the_place_where_a_document_came_in_first():
    assert first_documents(["ab", "ba"], 5) == (["a", "b"], 1)


def test_a_pool_as_found_holds_what_is_not_excluded(task):
    benchmark = opened(task, size=3)
    assert benchmark.pools == {"q0": ("t2", "t3", "t4"), "q1": ("t1", "t3", "t4")}
    assert benchmark.facts()["pool"] == {
        "size": 3,
        "systems": ["one", "two"],
        "left_out": [],
        "depth": {"least": 2, "median": 2, "most": 2},
        "smaller": 0,
        "inject": "",
        "injected": 0,
    }


@pytest.mark.parametrize(
    ("inject", "q0", "injected"),
    [("gold", ("t1", "t2", "t4"), 2), ("pooled", ("t1", "t2", "t3", "t4"), 3)],
)
def test_exactly_the_missing_relevant_documents_are_put_in(task, inject, q0, injected):
    benchmark = opened(task, size=2, inject=inject)
    assert benchmark.pools == {"q0": q0, "q1": ("t1", "t2", "t3")}
    assert benchmark.found == {"q0": ("t2", "t4"), "q1": ("t1", "t3")}
    assert benchmark.facts()["pool"]["injected"] == injected


def test_an_excluded_document_is_never_put_in(task):
    made_up.qrels(task / "queries+qrels" / "qrels.tsv", [("q0", "t1", 1), ("q0", "t0", 1), ("q1", "t2", 1)])
    assert opened(task, size=1, inject="gold").pools["q0"] == ("t1", "t2")


def test_a_system_that_is_tested_gives_no_document(task):
    benchmark = opened(task, size=3, without=("one",))
    assert benchmark.pools["q0"] == ("t2", "t4", "t5")
    assert benchmark.facts()["pool"]["systems"] == ["two"]
    assert [system.name for system in benchmark.systems] == ["one", "two"]


def test_pools_of_an_experiment(task):
    out = task.parent / "first"
    recipes = (Recipe.parse("bm25"), Recipe.parse("bm25 | rerank"))
    study = Study((Source("obliq", str(task)),), recipes, oracle="error=0", encoders=())
    run_study(study, out, task.parent / "libraries")
    benchmark = opened(task, ("first", "two.run"), size=50)
    assert [(s.name, s.agent, s.simulated) for s in benchmark.systems] == [
        ("bm25", False, False),
        ("bm25 | rerank", True, True),
        ("two", False, False),
    ]
    assert benchmark.pools["q0"] == ("t1", "t2", "t3", "t4", "t5")


def test_of_several_runs_and_modes_the_first_is_read(task):
    out = task.parent / "first"
    study = Study((Source("obliq", str(task)),), (Recipe.parse("bm25"),), encoders=())
    run_study(study, out, task.parent / "libraries")
    with Records(out / "records.jsonl") as records:
        (first,) = [r for r in records.of(open_study(out).about.cells[0]["cell"]) if r.topic == "q0"]
        for mode, repeat in (("original", 1), ("instructed", 0)):
            records.add(replace(first, mode=mode, repeat=repeat, ids=("t5",), scores=(1.0,)))
    assert list(opened(task, ("first",)).systems[0].run["q0"]) == list(first.ids)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 0}, "cannot have 0 documents"),
        ({"runs": ()}, "a pool needs rankings"),
        ({"without": ("three",)}, "no ranking is recorded of a system 'three'"),
        ({"without": ("one", "two")}, "no system is left"),
        ({"inject": "silver"}, "no judgements 'silver'"),
        ({"runs": ("one.run", "one.run")}, "two systems are called 'one'"),
    ],
)
def test_nonsense_is_refused(task, given, message):
    with pytest.raises(UsageError, match=message):
        opened(task, **given)


def test_rankings_of_something_else_are_refused(task):
    Run.from_rankings({"x": ["t1"]}).write(task.parent / "other.run")
    with pytest.raises(BadInput, match="are of other topics"):
        opened(task, ("other.run",))
    (task.parent / "empty").mkdir()
    with pytest.raises(BadInput, match="no directory of an experiment"):
        opened(task, ("empty",))
    study = Study(
        (Source("beir", str(made_up.beir(task.parent / "owls"))),), (Recipe.parse("bm25"),), encoders=()
    )
    run_study(study, task.parent / "birds", task.parent / "libraries")
    with pytest.raises(UsageError, match="holds no rankings of obliq/riddles"):
        opened(task, ("birds",))


def test_a_verifier_that_never_errs_finds_what_is_in_the_pool(task):
    means = {}
    for bound in ("", "gold"):
        done = verify(task, f"pool-{bound}", size=2, inject=bound)
        means[bound] = {s.spelling: s.mean for s in done.outcomes[0].evaluations["gold"].scores}
    assert means[""]["nDCG@10"] == 0.0  # neither t1 for q0 nor t2 for q1 was found
    assert means["gold"]["nDCG@10"] == 1.0


def test_a_verified_pool_is_recorded_once_and_scored_again(task):
    first = verify(task, "pool", size=2, inject="gold")
    again = verify(task, "pool", size=2, inject="gold")
    assert (first.made, again.made, again.kept) == (2, 0, 2)
    (scored,) = score_study(open_study(task.parent / "pool"))
    assert scored.evaluations["gold"].to_dict() == first.outcomes[0].evaluations["gold"].to_dict()
    held = json.loads((task.parent / "pool" / "manifest.json").read_text())
    assert held["benchmarks"]["obliq/riddles"]["pool"]["injected"] == 2
    assert "STUDY.toml" in held["command"]
    # Another run file makes other pools, which are ranked anew.
    Run.from_rankings({"q0": ["t5"], "q1": ["t1"]}).write(task.parent / "one.run")
    assert verify(task, "pool", size=2, inject="gold").made == 2


def test_a_shuffled_pool_is_judged_whole_and_without_help_from_the_search(task):
    corpus = [{"_id": f"t{n}", "text": "A riddle" if n != 1 else "No word of the query"} for n in range(6)]
    made_up.lines(task / "corpus" / "corpus.jsonl", corpus)  # BM25 does not find t1
    verify(task, "pool", size=3, inject="gold", oracle="bias=1")  # every list stays in the order shown
    verify(
        task,
        "twice",
        Recipe("other", (*VERIFY.steps[:1], "shuffle(seed=1)", *VERIFY.steps[2:])),
        size=3,
        inject="gold",
        oracle="bias=1",
    )
    orders = []
    for name in ("pool", "twice"):
        with Records(task.parent / name / "records.jsonl", write=False) as records:
            cells = open_study(task.parent / name).about.cells
            (q0,) = [r for r in records.of(cells[0]["cell"]) if r.topic == "q0"]
            assert sorted(q0.ids) == ["t1", "t2", "t3", "t4"]
            assert q0.missing == 0
            orders.append(q0.ids)
    assert orders[0] != orders[1]


def test_both_sides_are_scored_alike_and_without_what_is_excluded(task):
    Run.from_rankings({"q0": ["t0", "t1"], "q1": ["t4", "t3"]}, "one").write(task.parent / "one.run")
    outcomes = []
    for inject in ("", "gold"):
        given = {"size": 2, "inject": inject, "agents": ("two",)}
        outcomes += verify(task, f"pool-{inject}", **given).outcomes
    gold, pooled = gap_tasks(outcomes, ("nDCG@10",))
    assert (gold.judged, pooled.judged) == ("gold", "pooled")
    assert list(gold.retrievers) == ["one"]
    assert list(gold.agents) == ["two"]
    assert gold.retrievers["one"]["nDCG@10"] == {"q0": 1.0, "q1": 0.0}  # t0 is excluded, t1 is first then
    assert gold.recall == {2: {"q0": 1.0, "q1": 0.0}}  # as found: t1 and t4; t4 and t3
    assert gap_tasks(outcomes[1:], ("nDCG@10",))[0].recall == gold.recall  # whatever was put in later
    assert pooled.recall == {2: {"q0": 0.5, "q1": 0.0}}
    assert {(p.name, p.bound): p.values["nDCG@10"] for p in gold.pools} == {
        ("tournament", "lower"): {"q0": 1.0, "q1": 0.0},
        ("tournament", "upper"): {"q0": 1.0, "q1": 1.0},
    }
    assert gold.simulated == {"tournament"}
    assert not gold.in_pools


def test_retrievers_that_ranked_the_pools_of_a_benchmark_are_told(tmp_path):
    out, source = tmp_path / "first", Source("csfcube", str(made_up.csfcube(tmp_path / "cube")))
    run_study(Study((source,), (Recipe.parse("bm25"),), encoders=()), out, tmp_path / "libraries")
    pooling = Pooling((str(out),), size=2)
    assert [s.in_pools for s in replace(source, pooling=pooling).open().systems] == [True]
    both = Study((source,), (Recipe.parse("bm25"),), encoders=(), protocol="both")
    run_study(both, out, tmp_path / "libraries")
    assert [s.in_pools for s in replace(source, pooling=pooling).open().systems] == [False]


def test_pools_of_one_size_are_one_pool(task):
    first = verify(task, "pool", size=2).outcomes
    other = verify(task, "other", size=2, without=("one",)).outcomes
    with pytest.raises(UsageError, match="ranked two different pools of 2"):
        gap_tasks([*first, *other], ("nDCG@10",))
    with pytest.raises(UsageError, match="was not scored by RR"):
        gap_tasks(first, ("RR",))
    with pytest.raises(UsageError, match="no part ranks pools"):
        gap_tasks([], ("nDCG@10",))
