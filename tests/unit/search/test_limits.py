"""Limits are conditions, conditions count once, and a query is read in one place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.papers.paper import Paper
from aspectra.search.conditions.condition import Condition, limits
from aspectra.search.instructions.understanding import understand
from aspectra.search.plan import Plan
from aspectra.search.planning.aspects import AspectRequests
from aspectra.search.query import Query, Unread
from aspectra.search.recipe import Recipe
from aspectra.search.searcher import Searcher
from fake_encoder import FakeEncoder
from small_library import searcher_over

# Records on which `--venue ACL` and `require venue=ACL` once disagreed, and so did the two for English.
PAPERS = [
    Paper("a", "Reading the weather", "We read it every day.", ("Ada Li",), 2019, "ACL 2021"),
    Paper("b", "Das Wetter", "Wir lesen es jeden Tag und nicht nur heute.", ("Bo Li",), 2021, "Proc. of ACL"),
    Paper("c", "The weather again", "It is the same as it was.", ("Cy Young",), 2023, "Findings of ACL"),
    Paper("d", "The wind", "This is about the wind.", (), None, "", language="en"),
    Paper("e", "Rain", "When it rains, it pours.", ("Ada Li", "Dee"), 2021, "Nature"),
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return small_searcher(tmp_path_factory.mktemp("limits") / "library")


def small_searcher(folder: Path, papers: list[Paper] = PAPERS) -> Searcher:
    return searcher_over(folder, papers, FakeEncoder())


@pytest.mark.parametrize(
    ("made", "written", "expected"),
    [
        (limits(venues="ACL"), "require venue=ACL", {"a", "b"}),
        (limits(venues="*acl*"), "require venue=*acl*", {"a", "b", "c"}),
        (limits(languages="en"), "require language=en", {"a", "c", "d", "e"}),
        (limits(authors="Li"), "require author=Li", {"a", "b", "e"}),
        (limits(since=2021), "require year=>=2021", {"b", "c", "e"}),
        (limits(until=2020), "require year=<=2020", {"a"}),
    ],
)
def test_a_limit_is_the_condition_of_that_name(searcher, made, written, expected):
    assert made == (Condition.parse(written),)
    assert set(searcher.search("weather", limit=9, conditions=made).ids) == expected


FLAGS = {"venue": "venues", "author": "authors", "language": "languages"}
NAMES = st.one_of(
    st.sampled_from(["ACL", "acl", "Nature", "*a*", "Li", "li, ada", "en", "de", "zh-Hant", "Findings of *"]),
    st.text("abcil* ", min_size=1, max_size=8).filter(lambda name: name.strip(" *")),
)


@given(st.sampled_from(sorted(FLAGS)), NAMES)
def test_a_limit_and_its_condition_give_the_same_papers(searcher, attribute, name):
    try:
        asked = Condition.parse(f"require {attribute}={name}")
    except UsageError:
        with pytest.raises(UsageError):
            limits(**{FLAGS[attribute]: name})
        return
    made = limits(**{FLAGS[attribute]: name})
    assert (
        searcher.search("weather", conditions=made).ids == searcher.search("weather", conditions=[asked]).ids
    )


@given(st.integers(2015, 2025), st.integers(2015, 2025))
def test_years_within_both_bounds_are_the_range(searcher, since, until):
    if since > until:
        with pytest.raises(UsageError, match="no year"):
            limits(since, until)
        return
    asked = [Condition("year", f"{since}..{until}", "require")]
    assert (
        searcher.search("weather", conditions=limits(since, until)).ids
        == searcher.search("weather", conditions=asked).ids
    )


def test_one_of_several_names_is_enough_and_bounds_must_both_hold(searcher):
    either = limits(authors=("Ada Li", "Cy Young"))
    assert set(searcher.search("weather", conditions=either).ids) == {"a", "c", "e"}
    both = limits(since=2020, until=2022, venues=("ACL", "Nature"))
    assert set(searcher.search("weather", conditions=both).ids) == {"b", "e"}
    found = searcher.why_not(searcher.plan(Query("weather", conditions=either)), "c")
    assert not any(reason.drops for reason in found.reasons)  # the other author would do as well
    found = searcher.why_not(searcher.plan(Query("weather", conditions=either)), "b")
    assert sum(reason.drops for reason in found.reasons) == 2


def test_every_required_term_must_occur(searcher):
    terms = [Condition("keyword", term, "require") for term in ("weather", "again")]
    assert searcher.search("weather", conditions=terms).ids == ["c"]


def test_a_condition_given_twice_counts_once(searcher):
    once = Condition("language", "de", words="in German")
    twice = (once, Condition("language", "de"))
    assert Query("weather", conditions=twice).conditions == (once,)
    plans = [searcher.plan(Query("weather", conditions=c, versions="all")) for c in ((once,), twice)]
    one, two = (searcher.run(plan) for plan in plans)
    assert [(h.id, h.score) for h in one] == [(h.id, h.score) for h in two]
    edited = Plan.from_dict({**plans[0].to_dict(), "conditions": [c.to_dict() for c in twice]})
    assert edited.conditions == (once,)
    other = Condition("language", "de", "require")
    assert Query("weather", conditions=(*twice, other)).conditions == (once, other)


@pytest.mark.parametrize(
    "bad",
    [
        {"text": "x", "versions": "nonsense"},
        {"text": "x", "seeds": "id"},
        {"text": "x", "limit": "ten"},
        {"text": "x", "conditions": [{"attribute": "language", "value": 3}]},
        {"text": "x", "conditions": [{"attribute": "language", "value": "de", "relation": "love"}]},
        {"text": "x", "colour": "red"},
    ],
)
def test_a_query_refuses_what_it_cannot_mean(bad):
    with pytest.raises(UsageError):
        Query.from_dict(bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"exclude": "id"},
        {"versions": "nonsense"},
        {"limit": "ten"},
        {"conditions": [{"attribute": "language", "value": ["de"]}]},
        {"conditions": ["require language=de"]},
    ],
)
def test_a_plan_refuses_wrong_types(searcher, bad):
    plan = searcher.plan(Query("weather")).to_dict()
    assert Plan.from_dict(plan)
    with pytest.raises(UsageError):
        Plan.from_dict({**plan, **bad})


def test_a_query_reads_back():
    query = Query("weather", ("a",), conditions=limits(2020), same="method", direction="both", literal=True)
    assert Query.from_dict(query.to_dict()) == query
    assert Query.loads(query.to_toml()) == query


def test_every_way_to_plan_reads_the_text_the_same(searcher):
    query = Query("the weather, only in German")
    plan = searcher.plan(query)
    assert [c.spelling for c in plan.conditions] == ["require language=de"]
    assert Recipe.parse("guided").plan(query, searcher.view_names) == plan
    probes = searcher.plan(query, "hybrid").search.probes
    assert (
        Recipe.parse("hybrid").plan(query, searcher.view_names).search.probes == probes == plan.search.probes
    )
    assert searcher.search(query.text).ids == ["b"]
    assert searcher.similar("a", text=query.text).ids == ["b"]
    literal = searcher.plan(Query(query.text, literal=True))
    assert literal.conditions == ()
    assert literal.search.probes[0].text == query.text
    assert len(searcher.search(query.text, literal=True)) == 5


def test_what_was_not_understood_is_said(searcher):
    ranking = searcher.search("contrastive learning, since 2015, well written")
    why = "a judgement that no record or text states"
    assert ranking.plan.unread == (Unread("well written", why),)
    assert f"not applied: “well written” ({why})" in ranking.warnings
    assert f"not applied: “well written” ({why})" in ranking.plan.describe()
    assert Plan.loads(ranking.plan.to_json()) == ranking.plan
    assert ranking.requests == AspectRequests(
        ranking.plan.conditions, (), ranking.plan.unread, ("contrastive learning",)
    )
    said = {"request": "require year=>=2015", "words": "since 2015"}
    assert ranking.to_dict()["requests"]["applied"] == [said]
    assert ranking.requests.rows == [
        ("applied", "require year=>=2015 “since 2015”"),
        ("not applied", f"“well written” ({why})"),
        ("searched for", "contrastive learning"),
    ]
    assert ranking.to_dict()["requests"]["not_applied"] == [{"words": "well written", "why": why}]
    assert searcher.search("contrastive learning").requests.rows == []


def test_alternatives_are_one_request_and_the_others_have_a_row_each():
    wanted = [Condition("venue", name, "require", "ACL or EMNLP") for name in ("ACL", "EMNLP")]
    unwanted = [Condition("kind", name, "exclude", "no surveys") for name in ("survey", "thesis")]
    why = "no paper states its year"
    requests = AspectRequests(
        (*wanted, *unwanted), ("same method",), (Unread("late", why), Unread("late", why))
    )
    assert requests.rows == [
        ("applied", "require venue=ACL or require venue=EMNLP “ACL or EMNLP”"),
        ("", "exclude kind=survey “no surveys”"),
        ("", "exclude kind=thesis “no surveys”"),
        ("", "same method"),
        ("not applied", f"“late” ({why})"),
    ]


def test_a_text_of_constraints_alone_is_searched_and_applied():
    query = understand(Query("only papers in German")).query
    assert query.text == "only papers in German"
    assert [c.spelling for c in query.conditions] == ["require language=de"]


TIMED = [
    Paper("seed", "The weather", "We read the weather every day.", (), 2021),
    Paper("old", "Rain on Mondays", "Buckets are full of it.", (), 2015),
    Paper("same", "The wind", "It blows from the west.", (), 2021),
    Paper("after", "The weather again", "We read the weather every day, again.", (), 2022),
    Paper("young", "The weather at last", "We read the weather every day, at last.", (), 2023),
    Paper("before", "Weather before", "We read the weather every day, before.", (), 2020),
    Paper("long ago", "Weather long ago", "We read the weather every day, long ago.", (), 2019),
    Paper("undated", "The weather every day", "We read the weather every day.", (), None),
]


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return small_searcher(tmp_path_factory.mktemp("timed") / "library", TIMED)


@pytest.mark.parametrize(
    ("seeds", "direction", "written", "groups"),
    [  # groups: in time, a year out of it, of unknown year
        (
            ("seed",),
            "builds-on",
            "exclude year=>=2023",
            [{"old", "same", "before", "long ago"}, {"after"}, {"undated"}],
        ),
        (
            ("seed",),
            "built-on-by",
            "exclude year=<=2019",
            [{"same", "after", "young"}, {"before"}, {"undated"}],
        ),
        (
            ("seed", "old"),
            "builds-on",
            "exclude year=>=2023",
            [{"same", "before", "long ago"}, {"after"}, {"undated"}],
        ),
        (
            ("seed", "before"),
            "built-on-by",
            "exclude year=<=2018",
            [{"same", "after", "young"}, {"long ago"}, {"undated"}],
        ),
        (
            ("seed", "long ago"),
            "built-on-by",
            "exclude year=<=2017",
            [{"same", "after", "young", "before"}, {"undated"}],
        ),
    ],
)
@pytest.mark.parametrize(
    "recipe", ["guided", "directional", "directional | top(6)", "hybrid | top(8) | directional"]
)
def test_a_direction_respects_time(timed, seeds, direction, written, groups, recipe):
    plan = timed.plan(Query(seeds=seeds, direction=direction), recipe)
    assert [condition.spelling for condition in plan.conditions] == [written]
    assert f"[{written}]" in plan.describe()
    bound = int(written[-4:])
    kept = f"<={bound - 2}" if direction == "builds-on" else f">={bound + 2}"
    assert plan.search.years == kept
    ranking = timed.run(Plan.loads(plan.to_json()))
    places = iter(ranking.ids)
    assert [{next(places) for _ in group} for group in groups] == groups
    assert not list(places)
    assert [hit.score for hit in ranking] == sorted((hit.score for hit in ranking), reverse=True)
    assert any("1 of the papers shown come last: their year is unknown" in w for w in ranking.warnings)
    explained = timed.run(plan, explain=True)  # every group was ranked by the search, none added to it
    assert all(probe.rank for hit in explained for probe in hit.probes if probe.score is not None)
    first = timed.run(plan.with_limit(2))
    assert first.ids == ranking.ids[:2]
    assert not any("unknown" in warning for warning in first.warnings)


@pytest.mark.parametrize("recipe", ["guided", "directional"])
def test_any_year_switches_it_off(timed, recipe):
    query = Query(seeds=("seed",), direction="builds-on", any_year=True)
    plan = timed.plan(query, recipe)
    assert plan.conditions == ()
    assert "of any year" in plan.describe()
    assert Plan.loads(plan.to_json()).search.years == "any"
    assert plan.hash != timed.plan(replace(query, any_year=False), recipe).hash
    ranking = timed.run(plan)
    assert len(ranking) == len(TIMED) - 1
    assert ranking.ids[0] == "undated"
    assert not ranking.warnings
    with pytest.raises(UsageError, match="belongs to a direction"):
        timed.plan(Query(seeds=("seed",), any_year=True))


def test_a_step_of_a_recipe_takes_any_year(timed):
    recipe = "directional(direction=builds-on,any_year=yes)"
    assert timed.plan(Query(seeds=("seed",)), recipe).search.years == "any"
    assert Recipe.parse(recipe).steps == (recipe,)


@pytest.mark.parametrize("recipe", ["guided", "directional"])
@pytest.mark.parametrize("seeds", [("undated",), ("seed", "undated")])
def test_a_seed_of_unknown_year_limits_nothing_and_is_named(timed, recipe, seeds):
    ranking = timed.similar(*seeds, direction="builds-on", recipe=recipe)
    assert len(ranking) == len(TIMED) - len(seeds)
    assert "the year of undated is unknown: papers of every year are ranked" in ranking.warnings


def test_both_directions_leave_every_year(timed):
    ranking = timed.similar("seed", direction="both", recipe="directional")
    assert len(ranking) == len(TIMED) - 1
    assert ranking.plan.conditions == ()
    assert not ranking.warnings


@pytest.mark.parametrize("years", ["2021", "<2021", "<=21", "all"])
def test_years_of_a_plan_are_checked(timed, years):
    plan = timed.plan(Query(seeds=("seed",), direction="builds-on")).to_dict()
    plan["steps"][0]["years"] = years
    with pytest.raises(UsageError, match="years is"):
        Plan.from_dict(plan)
