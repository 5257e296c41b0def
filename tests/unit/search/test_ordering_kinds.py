"""Kinds that order and do not filter, and the readings by hand that say which these are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.labels.lensed import ORDERING
from aspectra.search.conditions.condition import Condition, limits
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.lenses.kind import KINDS
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

STUDIES = Path(__file__).parents[3] / "studies"

CASE = Paper("case", "Cranes: a case study of one harbour", "Cranes of a harbour are described.")
PAPERS = [
    Paper("fast", "Fast cranes", "We propose a new method that makes cranes faster."),
    Paper("review", "Cranes: a survey", "This survey covers the literature on cranes."),
    CASE,
]
RECORDED = Paper("stated", "Cranes again", "More on cranes.", metadata={"nbib": [["PT", "Letter"]]})
SAID = Paper("said", "Letter to the editor: cranes", "Cranes are tall.")


@pytest.fixture
def searcher(tmp_path):
    def made(*papers: Paper) -> Searcher:
        library = Store.create(tmp_path / "library")
        with library.writing("add") as writer:
            writer.add(papers)
        encoder = FakeEncoder()
        build_index(library, IndexSettings(encoders=("fake",), lenses=("kind",)), load=lambda _: encoder)
        return Searcher(library, load=lambda _: encoder)

    return made


def found(searcher: Searcher, *spellings: str):
    return searcher.search("cranes", limit=9, conditions=[Condition.parse(s) for s in spellings])


def gains(searcher: Searcher, *spellings: str) -> dict[str, float]:
    before = {hit.id: hit.score for hit in found(searcher)}
    return {hit.id: hit.score - before[hit.id] for hit in found(searcher, *spellings)}


def test_a_kind_that_was_not_shown_precise_orders_and_says_so(searcher):
    library = searcher(*PAPERS)
    ranking = found(library, "require kind=case study")
    assert set(ranking.ids) == {"case", "fast", "review"}
    moved = gains(library, "require kind=case study")
    assert moved["case"] > 0 > max(moved["fast"], moved["review"])
    assert [c.spelling for c in ranking.plan.conditions] == ["prefer kind=case study"]
    right, read = ORDERING["case study"]
    (missed,) = ranking.requests.not_applied
    assert missed.words == "require kind=case study"
    assert (
        missed.why
        == f"not as a filter, it orders: kind=case study, right for {right} of {read} papers it marks"
    )
    assert any(missed.why in warning for warning in ranking.warnings)


def test_what_is_excluded_by_such_a_kind_goes_down(searcher):
    ranking = found(searcher(*PAPERS), "exclude kind=case study")
    assert ranking.ids[-1] == "case"
    assert [c.spelling for c in ranking.plan.conditions] == ["avoid kind=case study"]


def test_other_kinds_filter(searcher):
    ranking = found(searcher(*PAPERS), "require kind=survey")
    assert ranking.ids == ["review"]
    assert ranking.requests.not_applied == ()


def test_alternatives_are_one_demand(searcher):
    library, both = searcher(*PAPERS), ("require kind=survey", "require kind=case study")
    ranking, moved = found(library, *both), gains(library, *both)
    assert min(moved["case"], moved["review"]) > 0 > moved["fast"]
    assert {c.relation for c in ranking.plan.conditions} == {"prefer"}
    assert len(ranking.requests.not_applied) == 2


def test_conditions_beside_stay_filters(searcher):
    query = Query("cranes", conditions=(*limits(since=2020), Condition.parse("require kind=case study")))
    plan = searcher(*PAPERS).plan(query)
    assert [c.spelling for c in plan.conditions] == ["require year=>=2020", "prefer kind=case study"]


def test_where_records_state_the_kind_they_alone_filter(searcher):
    library = searcher(*PAPERS, RECORDED, SAID)
    assert found(library, "require kind=letter").ids == ["stated"]
    rest = found(library, "exclude kind=letter")
    assert set(rest.ids) == {"case", "fast", "review", "said"}
    assert rest.requests.not_applied == ()
    assert found(library, "prefer kind=letter").ids[:2] == ["stated", "said"]


def test_a_kind_of_which_no_paper_was_read_says_so(searcher):
    ranking = found(searcher(*PAPERS, SAID), "require kind=letter")
    assert len(ranking) == 4
    assert (
        ranking.requests.not_applied[0].why
        == "not as a filter, it orders: kind=letter, no paper it marks was read"
    )


def test_the_readings_decide_which_kinds_filter():
    spec = importlib.util.spec_from_file_location("graders", STUDIES / "graders.py")
    assert spec is not None
    graders = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(graders)
    read = graders.decisive(STUDIES / "labels" / "alarms.jsonl")
    assert set(ORDERING) <= set(KINDS)
    for kind, counts in read.items():
        assert ORDERING.get(kind, counts) == counts
        assert (kind in ORDERING) != graders.earned(*counts), kind
    assert all(ORDERING[kind] == (0, 0) for kind in ORDERING if kind not in read)
    assert graders.earned(27, 30)
    assert graders.earned(8, 8)
    assert not graders.earned(9, 10)
    assert not graders.earned(26, 30)
    assert not graders.earned(0, 0)
    for counts, low, high in (((9, 10), 0.5958, 0.9821), ((0, 10), 0, 0.2775), ((10, 10), 0.7225, 1)):
        assert graders.wilson(*counts) == pytest.approx((low, high), abs=1e-4)
