"""Rules that tie one search to another: what changes nothing, what is a part of what, what adds up to all."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aspectra.base.values import replace
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import Condition
from aspectra.search.plan import Plan
from aspectra.search.query import Query
from aspectra.search.recipe import Recipe
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

WORDS = "owl mouse night maze wing ear barn survey review wind".split()
VENUES = ("ACL 2021", "Birds", "", "Journal of Owls")
RECIPES = ("bm25", "dense", "hybrid", "guided", "fulltext", "bm25 | top(9) | hybrid", "hybrid | feedback")
INDEX = IndexSettings(encoders=("fake",), chunks=("20w",), batch=7)
# A value or two of each attribute that needs no library of its own.
VALUES = {
    "access": ["fulltext", "open"],
    "affiliation": ["Owl Institute"],
    "artifacts": ["code"],
    "audience": ["expert"],
    "author": ["Ada Li"],
    "boolean": ["owl* AND NOT maze", "owl NEAR/9 maze OR night[ti]"],
    "citations": [">=1", "high"],
    "cites": ["p03"],
    "combination": ["language=en and year=>=2005", "topic=owls and author=Li"],
    "decided": ["include", "none"],
    "format": ["prose"],
    "keyword": ["owl", "maze at night"],
    "kind": ["survey"],
    "known": ["p05"],
    "language": ["en", "de"],
    "length": ["<=20 words", "article", "<=1 minute"],
    "method": ["owl or maze"],
    "population": ["the owl"],
    "publisher": ["Owl Press"],
    "recency": ["new", "old"],
    "reports": ["owl"],
    "sample": [">5"],
    "source": ["name:ACL", "scholarly"],
    "status": ["journal"],
    "tag": ["nightly"],
    "topic": ["maze at night"],
    "venue": ["ACL*", "Birds"],
    "venue_rank": ["top"],
    "year": [">=2010", "2003..2007"],
}


def paper(number: int) -> Paper:
    draw = random.Random(number)
    said = " ".join(f"The {draw.choice(WORDS)} met a {draw.choice(WORDS)}." for _ in range(number % 5))
    body = f"Wir lesen jeden Tag über {WORDS[number % 10]}." if number % 7 == 3 else said
    twin = number - number % 11 if number % 11 == 1 else number  # some are equal but for their ids
    return Paper(
        f"p{number:02d}",
        f"On the {WORDS[twin % 10]} and the {WORDS[twin * 3 % 10]}",
        body,
        ("Ada Li",) if number % 3 else (),
        None if number % 6 == 5 else 2000 + number % 13,
        VENUES[number % 4],
        sections=(Section("Method", f"{said} It was so. " * 3),) if number % 4 == 2 else (),
    )


PAPERS = [paper(number) for number in range(30)]


def searcher_of(folder: Path, *steps: list[Paper]) -> Searcher:
    """A library to which papers were added in steps, indexed after each."""
    encoder = FakeEncoder()
    library = Store.create(folder)
    for papers in steps:
        with library.writing("add") as writer:
            writer.add(papers)
        build_index(library, INDEX, load=lambda _: encoder)
    return Searcher(library, load=lambda _: encoder)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    found = searcher_of(tmp_path_factory.mktemp("whole") / "library", PAPERS)
    with found.library.writing("mark") as writer:
        writer.marks.tag(["p03", "p04", "p20"], ["nightly"])
        writer.marks.decide(["p04", "p09"], "include")
    return found


def found(searcher, text="owl in a barn at night", recipe="hybrid", **more):
    """Ids and scores of every paper that a query finds."""
    ranking = searcher.search(text, recipe, **{"limit": 99, "versions": "all", "literal": True, **more})
    return [(hit.id, hit.score) for hit in ranking]


def ids(pairs):
    return {one for one, _ in pairs}


def test_every_attribute_takes_part():
    assert set(VALUES) <= set(ATTRIBUTES)
    local = {name for name in ATTRIBUTES if type(ATTRIBUTES.get(name)).__name__ != "PromptedAttribute"}
    assert set(VALUES) == local


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in VALUES for value in VALUES[name]])
def test_required_and_excluded_and_unknown_papers_are_all(searcher, name, value):
    """Excluding drops what surely has the value: what is unknown stays, and is not what is required.

    Where nothing is known of any paper, neither drops one.
    """
    everybody = {p.id for p in PAPERS}
    if unapplied(searcher, Condition(name, value, "require")):
        for relation in ("require", "exclude"):
            assert ids(found(searcher, conditions=[Condition(name, value, relation)])) == everybody
        return
    required = ids(found(searcher, conditions=[Condition(name, value, "require")]))
    kept = ids(found(searcher, conditions=[Condition(name, value, "exclude")]))
    assert not required & kept
    assert required | kept == everybody


@pytest.mark.parametrize(
    "conditions",
    [
        ["require year=>=2006"],
        ["require year=>=2006", "require venue=Birds"],
        ["require year=>=2006 unless venue=Birds", "exclude venue=ACL*"],
        ["require venue=Birds", "require venue=Journal of Owls", "require status=journal"],
    ],
)
def test_those_that_are_left_out_for_lack_of_data_are_counted(searcher, conditions):
    """Giving them the benefit of the doubt, by excluding the opposite, lets exactly that many more in."""
    read = [Condition.parse(one) for one in conditions]
    query = Query("owl", conditions=tuple(read), versions="all", limit=99, literal=True)
    left_out = searcher.engine.left_out(searcher.plan(query, "bm25"))
    assert left_out
    for group, count in left_out:
        others = [c for c in read if c not in group]
        without = set(found_ids(searcher, others))
        by_venue = {"venue": ("",), "status": ("", "Birds")}.get(group[0].attribute, ())
        unknown = {
            p.id
            for p in PAPERS
            if (p.venue in by_venue if by_venue else p.year is None)
            and not (group[0].unless and p.venue == "Birds")
        }
        assert count == len(without & unknown)
        assert not unknown & set(found_ids(searcher, read))


def found_ids(searcher, conditions):
    return ids(found(searcher, conditions=conditions))


def unapplied(searcher, condition):
    return searcher.search("owl", "bm25", conditions=[condition], literal=True).not_applied


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("relation", ["require", "exclude"])
def test_a_filter_leaves_a_part_of_the_list_in_its_order(searcher, recipe, relation):
    """Of one probe scores stay too. Fused scores are on the scale of the best paper that may be shown."""
    whole = found(searcher, recipe="bm25" if "|" in recipe else recipe)
    condition = Condition("year", ">=2006", relation)
    part = found(searcher, recipe="bm25" if "|" in recipe else recipe, conditions=[condition])
    assert ids(part) < ids(whole)
    if recipe in ("bm25", "dense"):
        assert part == [pair for pair in whole if pair[0] in ids(part)]


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_plan_that_was_written_down_gives_the_same(searcher, recipe):
    wanted = [Condition("year", ">=2006"), Condition("keyword", "owl", "avoid")]
    query = Query("owl in a barn", limit=40, conditions=tuple(wanted), versions="all")
    plan = searcher.plan(query, recipe)
    shown = searcher.run(plan)
    for text in (plan.to_json(), plan.to_toml()):
        again = Plan.loads(text)
        assert again == plan
        ranking = searcher.run(again)
        assert [(h.id, h.score, h.evidence) for h in ranking] == [(h.id, h.score, h.evidence) for h in shown]
    made = Recipe.parse(recipe)
    spelled = Recipe.parse(" | ".join(map(str, made.steps)))
    assert spelled.hash == made.hash == Recipe.loads(made.to_toml()).hash
    assert searcher.plan(query, spelled).steps == searcher.plan(query, made).steps


@pytest.mark.parametrize("recipe", RECIPES)
def test_an_index_grown_in_steps_is_the_one_built_at_once(searcher, recipe):
    assert found(in_steps(), recipe=recipe) == found(searcher, recipe=recipe)


# The last digit of a product of vectors depends on where a paper stands in its matrix, and that is the order
# of adding: scores may differ by so much, and papers closer than that may change places. In a fusion by ranks
# a change of places is the change of a rank.
LAST_DIGIT = {"bm25": 0.0, "dense": 1e-6, "hybrid": 1e-5, "guided": 1e-5, "fulltext": 2e-3}


@pytest.mark.parametrize("recipe", LAST_DIGIT)
def test_the_order_of_adding_changes_nothing_but_a_last_digit(searcher, recipe):
    whole, turned = found(searcher, recipe=recipe), found(backwards(), recipe=recipe)
    if recipe == "bm25":
        assert turned == whole
    assert dict(turned) == pytest.approx(dict(whole), abs=LAST_DIGIT[recipe])


@cache
def in_steps() -> Searcher:
    return searcher_of(FOLDERS[0] / "steps", PAPERS[:11], PAPERS[11:12], PAPERS[12:])


@cache
def backwards() -> Searcher:
    return searcher_of(FOLDERS[0] / "backwards", PAPERS[::-1])


FOLDERS: list[Path] = []


@pytest.fixture(scope="module", autouse=True)
def folders(tmp_path_factory):
    FOLDERS.append(tmp_path_factory.mktemp("other"))
    yield
    in_steps.cache_clear()
    backwards.cache_clear()
    FOLDERS.clear()


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_condition_given_twice_or_met_by_all_changes_no_order(searcher, recipe):
    owl = Condition("keyword", "owl")
    once = found(searcher, recipe=recipe, conditions=[owl])
    assert found(searcher, recipe=recipe, conditions=[owl, owl]) == once
    nobody = Condition("author", "Nobody At All", "exclude")
    assert found(searcher, recipe=recipe, conditions=[owl, nobody]) == once


@settings(max_examples=25)
@given(recipe=st.sampled_from(RECIPES), limit=st.integers(0, 30), more=st.integers(0, 10), slow=st.booleans())
@example(recipe="bm25", limit=0, more=3, slow=True)
def test_a_limit_is_the_start_of_a_longer_list(searcher, recipe, limit, more, slow):
    """Stages that read the first papers (feedback) read as many as they say, whatever is shown."""
    wanted = [Condition("keyword", "owl")] if slow else []
    short = found(searcher, recipe=recipe, limit=limit, conditions=wanted)
    assert found(searcher, recipe=recipe, limit=limit + more, conditions=wanted)[:limit] == short


def test_the_same_search_gives_the_same_bytes_alone_and_among_others(searcher):
    def bytes_of(recipe):
        shown = searcher.search(
            "owl at night", recipe, limit=12, explain=True, conditions=[Condition("keyword", "owl")]
        )
        held = shown.to_dict()
        held.pop("seconds", None)
        return repr(without_times(held)).encode()

    alone = {recipe: bytes_of(recipe) for recipe in RECIPES}
    assert {recipe: bytes_of(recipe) for recipe in RECIPES} == alone
    asked = [recipe for recipe in RECIPES for _ in range(4)]
    random.Random(1).shuffle(asked)
    with ThreadPoolExecutor(8) as threads:
        given_back = list(threads.map(bytes_of, asked))
    assert given_back == [alone[recipe] for recipe in asked]


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key != "seconds"}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def test_exclusions_and_pools_are_parts_of_the_whole(searcher):
    plan = replace(searcher.plan(Query("owl", versions="all", limit=99), "bm25"), exclude=("p00", "p04"))
    pool = replace(plan, exclude=(), within=tuple(p.id for p in PAPERS if p.id not in ("p00", "p04")))
    assert [(h.id, h.score) for h in searcher.run(plan)] == [(h.id, h.score) for h in searcher.run(pool)]
