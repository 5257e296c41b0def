"""Rules that hold for every condition: filters part the papers, and their order makes no difference."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.conditions.condition import Condition
from aspectra.search.plan import Plan
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings

WORDS = "owls hunt mice at night survey of foxes we prove a theorem dataset for crabs".split()
VALUES = [
    *("year=>=2000", "year=<=2003", "year=2001..2002", "venue=Dens", "venue=*est*", "language=en"),
    *("keyword=owls", "author=Lovelace", "kind=survey", "length=<=paragraph", "source=blog"),
]
conditions = st.lists(
    st.builds(
        lambda value, relation: Condition.parse(f"{relation} {value}"),
        st.sampled_from(VALUES),
        st.sampled_from(["require", "exclude", "prefer", "avoid"]),
    ),
    max_size=4,
)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    draw = random.Random(5)
    papers = [
        Paper(
            f"p{n:02}",
            f"Number {n} {' '.join(draw.choices(WORDS, k=3))}",
            " ".join(draw.choices(WORDS, k=draw.randint(0, 30))),
            ("Ada Lovelace",) if n % 3 else (),
            draw.choice([None, 1999, 2000, 2001, 2003, 2004]),
            draw.choice(["", "Dens", "Nests"]),
            language=draw.choice(["", "en", "zh"]),
        )
        for n in range(40)
    ]
    with Store.create(tmp_path_factory.mktemp("rules") / "library") as store:
        with store.writing("add") as writer:
            writer.add(papers)
        build_index(store, IndexSettings(encoders=()))
        with Searcher(store) as found:
            yield found


def ids(searcher, *given):
    plan = searcher.plan(Query("owls hunt foxes crabs", conditions=given, limit=100, literal=True), "guided")
    return searcher.run(plan).ids


@pytest.mark.parametrize("value", VALUES)
def test_required_and_excluded_part_the_papers(searcher, value):
    """What is required and what is left when it is excluded are all papers, and none twice."""
    every = ids(searcher)
    required = ids(searcher, Condition.parse(f"require {value}"))
    without = ids(searcher, Condition.parse(f"exclude {value}"))
    assert set(required) | set(without) == set(every)
    assert not set(required) & set(without)
    assert [i for i in every if i in set(required)] == required  # a filter keeps the order
    assert [i for i in every if i in set(without)] == without


def test_years_and_the_unknown_are_all_papers(searcher):
    parts = [ids(searcher, Condition.parse(f"require year={v}")) for v in ("<=2000", ">=2001")]
    unknown = [i for i in searcher.index.ids if not searcher.index.years[searcher.index.positions[i]]]
    found = [*parts[0], *parts[1], *(i for i in unknown if i in ids(searcher))]
    assert sorted(found) == sorted(ids(searcher))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(conditions, st.randoms(use_true_random=False))
def test_the_order_of_conditions_makes_no_difference(searcher, given, random):
    mixed = list(given)
    random.shuffle(mixed)
    assert ids(searcher, *given) == ids(searcher, *mixed)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(conditions)
def test_a_plan_that_was_written_and_read_ranks_the_same(searcher, given):
    plan = searcher.plan(Query("owls hunt foxes", conditions=given, limit=20), "guided")
    one = searcher.run(plan).to_dict()["hits"]
    for spelled in (plan.to_toml(), plan.to_json()):
        assert searcher.run(Plan.loads(spelled)).to_dict()["hits"] == one
