"""What every planner promises; a new one joins by its file alone."""

from __future__ import annotations

import pytest

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.base.values import replace
from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import DEFAULT_PLANNER, PLANNERS, ViewNames
from aspectra.search.query import Query
from aspectra.search.recipe import Recipe

READERS = ("question", "method", "experiment")
EVERYTHING = ViewNames(
    (
        *(f"{base}@{scorer}" for base in ("abstract", "chunks-250w") for scorer in ("bm25", "fake")),
        "full@bm25",
        "sentences@fake",
        "tokens@fake",
        "lens-style@delta",
        "lens-stance@bm25",
        "citations@graph",
        "notes@bm25",
        *(f"{reader}@fake" for reader in READERS),
    ),
    "fake",
    ("roles", "style"),
    {"stance": ("in favour",)},
)
WORDS_ALONE = ViewNames(("abstract@bm25",), "")


@pytest.fixture(params=list(PLANNERS))
def planner(request: pytest.FixtureRequest):
    return PLANNERS.get(request.param)


def test_it_says_what_it_does_in_one_line(planner):
    assert 10 < len(planner.summary) <= 90
    assert planner.summary.endswith(".")


def test_it_plans_a_search_that_bears_its_name(planner):
    search = planner(Query("owls", ("owl",)), EVERYTHING)
    assert isinstance(search, Search)
    assert search.planner == planner.name
    assert all(probe.view in EVERYTHING.names for probe in search.probes)


def test_it_searches_what_it_declares(planner):
    views = [probe.view for probe in planner(Query("owls", ("owl",)), EVERYTHING).probes]
    assert any("@fake" in view for view in views) == bool(planner.vectors)
    assert any(view.startswith(("chunks-", "full@")) for view in views) == bool(planner.full_text)
    assert {view for view in views if view.startswith("lens-style")} == (
        {"lens-style@delta"} if "style" in planner.lenses else set()
    )


def test_what_it_needs_and_does_not_get_is_named(planner):
    query = Query("owls", ("owl",))
    missing = planner.vectors == "needed" or planner.full_text == "needed" or planner.lenses or planner.views
    if missing:
        with pytest.raises(ViewMismatch):
            planner(query, WORDS_ALONE)
    else:
        assert planner(query, WORDS_ALONE).probes
    if planner.seeds:
        with pytest.raises(UsageError, match="starts from a paper") as refused:
            planner(Query("owls"), EVERYTHING)
        assert refused.value.hint == f"aspectra similar ID -r {planner.name}"
    else:
        assert planner(Query("owls"), EVERYTHING).probes


def test_lenses_and_directions_are_used_or_refused(planner):
    for asked, takes in (
        (Query("owls", ("owl",), lenses=("stance",)), planner.takes_lenses),
        (Query("owls", ("owl",), direction="builds-on"), planner.takes_directions),
    ):
        if not takes:
            with pytest.raises(UsageError, match="does not use") as refused:
                planner(asked, EVERYTHING)
            assert refused.value.hint.startswith("-r ")
            continue
        assert planner(asked, EVERYTHING).probes != planner(Query("owls", ("owl",)), EVERYTHING).probes


def test_the_default_planner_is_one() -> None:
    assert DEFAULT_PLANNER in PLANNERS


def test_options_of_the_default_planner():
    query, views = Query("", ("owl",), same=("method",)), replace(EVERYTHING, lenses=("roles",))

    def probes(step):
        return Recipe.parse(step).plan(query, views).search.probes

    assert [p.matching for p in probes("guided(matching=transport)") if p.matching] == ["transport"] * 2
    assert not any(p.weight < 0 for p in probes("guided(contrast=0)"))
    assert sum(p.weight for p in probes("guided(contrast=0.8)") if p.weight < 0) == pytest.approx(-0.8)
    assert Recipe.parse("guided(contrast=0.4)").steps == ("guided",)


@pytest.mark.parametrize(
    "step", ["guided(contrast=much)", "guided(matching=best)", "guided(colour=red)", "bm25(contrast=1)"]
)
def test_options_that_a_planner_does_not_take_are_refused(step):
    with pytest.raises(UsageError):
        Recipe.parse(step)


def test_options_are_not_lost_where_lenses_change_the_planner():
    with pytest.raises(UsageError, match="lensed has no such options"):
        Recipe.parse("guided(contrast=0)").plan(Query("owls", lenses=("stance",)), EVERYTHING)
