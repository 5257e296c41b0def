"""Units of SciFullBench in a study: query papers bring their full text and are never ranked."""

from __future__ import annotations

import json

import pytest

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.lab.experiments.directory import FILES, Source, Study
from aspectra.lab.experiments.execute import run_study
from aspectra.lab.experiments.experiment import Records, prompts_hash
from aspectra.papers.paper import Paper
from aspectra.search.plan import Search
from aspectra.search.planning.planners.plain import UNITS
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames
from aspectra.search.query import Query
from aspectra.search.recipe import Recipe
from benchmark_fixtures import scifullbench
from fake_encoder import FakeEncoder
from small_library import searcher_over

RECIPES = (
    *(f"unit({name})" for name in UNITS),
    *(f"unit({name},full=first,metric=l2)" for name in ("A2F", "F2A", "F2F", "F2C")),
    "prism",
    "prism | write",
    "prism(aspects=method,abstract=no) | write",
    "prism | write(agents=one)",
    "prism(aspects=base) | write",
    "prism | write | chain(depth=2,parent=1)",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("units")
    options = {"text": "chunks"}
    study = Study(
        (Source("scifullbench", str(scifullbench(folder / "data")), options),),
        tuple(Recipe.parse(text) for text in RECIPES),
        protocol="collection",
        depth=20,
        measures=("R@100",),
        encoders=("fake",),
        index={"chunks": ["4000t"], "readers": ["question", "method", "experiment", "base", "first"]},
        oracle="error=0",
    )
    done = run_study(study, folder / "out", folder / "libraries", load=lambda _: FakeEncoder())
    return done, folder / "out"


def test_every_recipe_ranks_every_document_and_no_query_paper(run):
    done, folder = run
    assert not done.failures
    with Records(folder / FILES["records"], write=False) as records:
        for outcome in done.outcomes:
            benchmark = outcome.cell.benchmark
            held = records.of(outcome.cell.key)
            assert len(held) == len(benchmark.topics) == 2
            for record in held:
                assert not set(record.ids) & benchmark.unranked
                assert len(record.ids) == 5


def test_rankings_with_written_queries_depend_on_the_prompts_of_lenses():
    written, plain = (prompts_hash(Recipe.parse(text)) for text in ("prism | write", "prism | rewrite"))
    assert written != plain
    assert plain == prompts_hash(Recipe.parse("bm25 | rerank"))


def test_rows_that_a_model_took_part_in_are_simulated(run):
    names = {outcome.name for outcome in run[0].outcomes}
    written = {text for text in RECIPES if "write" in text}
    assert {name.removesuffix(" [simulated]") for name in names if name.endswith("[simulated]")} == {
        Recipe.parse(text).name for text in written
    }


def test_the_ranking_of_a_unit_is_that_of_its_vectors(tmp_path):
    given = json.loads(
        """[["owls", "Owls hunt mice by ear at night."], ["bats", "Bats find moths by echo in the dark."],
        ["chess", "Chess openings are stored in a book."]]"""
    )
    papers = [Paper(name, f"On {name}", f"We study {name}. {text}") for name, text in given]
    with searcher_over(tmp_path / "library", papers, FakeEncoder()) as searcher:
        one = searcher.similar("owls", recipe="unit(A2A)")
        other = searcher.similar("owls", recipe="dense")
        assert [(h.id, h.score) for h in one] == [(h.id, h.score) for h in other]
        with pytest.raises(ViewMismatch) as error:
            searcher.similar("owls", recipe="unit(F2F,full=first)")
        assert "--reader first" in error.value.hint
        with pytest.raises(ViewMismatch, match="chunks"):
            searcher.similar("owls", recipe="unit(A2C)")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("full", ["mean", "first"])
def test_a_unit_names_its_views(unit, full):
    names = {
        "A": "abstract@fake",
        "F": "first@fake" if full == "first" else "full@fake",
        "C": "chunks-20w@fake",
    }
    views = ViewNames((*names.values(), "chunks-20w@bm25"), "fake")
    planner = PLANNERS.get("unit")
    made: Search = planner(Query(seeds=("owls",)), views, planner.options(of=unit, full=full))
    (probe,) = made.probes
    assert probe.view == names[unit[-1]]
    assert (probe.asking or probe.view) == names[unit[0]]


def test_units_of_words():
    views = ViewNames(("abstract@bm25", "full@bm25", "chunks-20w@bm25"), "")
    planner = PLANNERS.get("unit")
    for unit, view, asking in (
        ("A2A", "abstract@bm25", ""),
        ("A2F", "full@bm25", "abstract@bm25"),
        ("F2F", "full@bm25", ""),
        ("A2C", "chunks-20w@bm25", "abstract@bm25"),
    ):
        (probe,) = planner(Query(seeds=("owls",)), views, planner.options(of=unit, words=True)).probes
        assert (probe.view, probe.asking) == (view, asking)


@pytest.mark.parametrize(
    "wrong",
    [
        "unit(C2A)",
        "unit(A2A,full=last)",
        "unit(A2C,pooling=most)",
        "unit(A2C,width=2)",
        "unit(F2C,words=yes)",
        "unit(A2A,of=A2C)",
    ],
)
def test_units_that_are_none_are_refused(wrong):
    with pytest.raises(UsageError):
        Recipe.parse(wrong)
