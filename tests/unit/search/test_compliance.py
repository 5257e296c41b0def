"""Conditions in rankings: what is dropped, what moves, and what never changes places."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, field_text
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.condition import Condition, Exemption
from aspectra.search.conditions.grading import (
    Grader,
    apply_conditions,
    conditions_mask,
    field_mean,
    lead,
    unknown_papers,
    without_data,
)
from aspectra.search.plan import Plan, Search
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.settings import IndexSettings
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder


class Given(Attribute):
    """An attribute whose grades are said by the test."""

    name = "given"

    def __init__(self, cheap: bool = True) -> None:
        self.cheap = cheap
        self.table: dict[str, list[float]] = {}

    def check(self, value: str) -> None:
        if value == "nonsense":
            raise UsageError("no such value")

    def grades(self, value, index, papers):
        return np.array(self.table[value], dtype=np.float32)[papers]

    def span(self, value, paper, index):
        return TextSpan("title", 0, 4)


@pytest.fixture
def attribute():
    name = "given"
    made = Given()
    ATTRIBUTES._members[name] = made
    yield made
    del ATTRIBUTES._members[name]


class FakeIndex:
    """Only a number of papers, of a library that does not change."""

    library = SimpleNamespace(revision=0)

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count


def _applied(conditions, scores, weight=1.0):
    papers = np.arange(len(scores))
    return apply_conditions(
        Grader(FakeIndex(len(scores))), conditions, papers, weight * lead(np.asarray(scores, float))
    )


SCORES = [9.0, 8.5, 7.0, 3.0, 2.0, 1.0]


def test_a_wish_raises_and_its_opposite_lowers_by_the_same(attribute):
    attribute.table["v"] = [0, 1, 0, 1, 0.5, np.nan]
    wanted = _applied([Condition("given", "v", "prefer")], SCORES)
    unwanted = _applied([Condition("given", "v", "avoid")], SCORES)
    assert np.allclose(wanted.moves[0], -unwanted.moves[0])
    assert wanted.moves[0][1] > 0 > wanted.moves[0][0]
    assert wanted.moves[0][4] == pytest.approx(0, abs=1e-9)
    assert wanted.moves[0][5] == 0  # nothing known, nothing moved
    assert wanted.passed.all()


def test_require_and_exclude_drop(attribute):
    attribute.table["v"] = [0, 1, 0.4, 0.5, 0.9, np.nan]
    passed = _applied([Condition("given", "v", "require")], SCORES).passed
    assert passed.tolist() == [False, True, False, True, True, False]
    passed = _applied([Condition("given", "v", "exclude")], SCORES).passed
    assert passed.tolist() == [True, False, True, False, False, True]


def test_alternatives_need_one_and_bounds_need_all(attribute):
    attribute.table |= {"a": [1, 0, 0, 1], ">b": [1, 1, 0, 0], "c": [0, 1, 0, 0]}
    either = [Condition("given", "a", "require"), Condition("given", "c", "require")]
    assert _applied(either, SCORES[:4]).passed.tolist() == [True, True, False, True]
    both = [Condition("given", "a", "require"), Condition("given", ">b", "require")]
    assert _applied(both, SCORES[:4]).passed.tolist() == [True, False, False, False]
    wishes = _applied([Condition(c.attribute, c.value) for c in either], SCORES[:4])
    total = sum(wishes.moves)
    assert total[0] == pytest.approx(total[1])
    assert total[0] == pytest.approx(total[3])
    assert total[2] < 0


def test_a_combination_is_met_by_what_meets_all_of_it(attribute):
    attribute.table |= {"a": [1, 1, 0, np.nan, np.nan, 0.6], "b": [1, 0, 1, 1, 0, 0.5]}
    both = "given=a and given=b"
    graded = _applied([Condition("combination", both, "exclude")], SCORES)
    assert np.array_equal(graded.grades[0], np.float32([1, 0, 0, np.nan, 0, 0.5]), equal_nan=True)
    assert graded.passed.tolist() == [False, True, True, True, True, False]
    assert _applied([Condition("combination", both, "require")], SCORES).passed.tolist() == [
        True, False, False, False, False, True,
    ]  # fmt: skip
    spelled = Condition("combination", both, "exclude", unless=(Exemption("given", "c"),))
    assert Condition.parse(spelled.spelling) == spelled


def test_a_combination_of_which_nothing_is_known_is_not_applied(attribute):
    attribute.table |= {"a": [np.nan] * 3, "b": [1, 1, 0]}
    unknown = Condition("combination", "given=b and given=a", "exclude")
    assert without_data(Grader(FakeIndex(3)), [unknown]) == [
        (unknown, "no paper of this library states its given")
    ]
    assert (
        without_data(Grader(FakeIndex(3)), [Condition("combination", "given=b and given=b", "exclude")]) == []
    )


@given(
    scores=st.lists(st.floats(-50, 50), min_size=2, max_size=40),
    grade=st.floats(0, 1),
    weight=st.floats(0, 5),
    relation=st.sampled_from(["prefer", "avoid"]),
)
def test_equal_grades_never_change_places(scores, grade, weight, relation):
    made = Given()
    made.table["v"] = [grade] * len(scores)
    ATTRIBUTES._members["given"] = made
    try:
        found = _applied([Condition("given", "v", relation)], scores, weight)
    finally:
        del ATTRIBUTES._members["given"]
    moved = np.asarray(scores) + found.moves[0]
    assert np.all(np.isfinite(moved))
    assert np.ptp(found.moves[0]) == pytest.approx(0, abs=1e-9)


def test_an_exclusion_lowers_what_it_leaves_in_doubt_and_never_below_the_field(attribute):
    attribute.table |= {"v": [0, 0.25, 0.49, 0.5, np.nan, 0.4], "w": [0, 0.25, 0, 0, 0, 0]}
    above = np.array([4.0, 4.0, 2.0, 3.0, 1.0, 0.0])
    condition = Condition("given", "v", "exclude")

    def moves(*conditions):
        return apply_conditions(Grader(FakeIndex(6)), conditions, np.arange(6), 9.0, above).moves

    assert not moves(condition)[0].any()  # a grade below a half is absence here
    attribute.doubtful = True
    found = moves(condition)[0]
    assert found == pytest.approx([0, -2, -1.96, -3, 0, 0], abs=1e-6)
    assert (above + found >= 0).all()
    both = sum(moves(condition, Condition("given", "w", "exclude")))
    assert both[1] == pytest.approx(-3)  # half of what is left
    assert not moves(Condition("given", "v", "require"))[0].any()
    assert not apply_conditions(Grader(FakeIndex(6)), [condition], np.arange(6), 9.0).moves[0].any()
    attribute.table["special"] = [0, 1, 0, 0, 0, 0]
    assert moves(Condition("given", "v", "exclude", "", unless()))[0][1] == 0


def test_the_field_grows_with_what_may_be_ranked():
    scores = np.arange(300.0)
    assert field_mean(scores) == 249.5
    assert lead(scores) == lead(scores, 20_000) == 49.5
    assert lead(scores, 40_000) == 99.5
    assert lead(scores, 10**6) == 149.5
    assert lead(scores[:1]) == 1.0


def test_the_field_is_of_the_papers_that_pass(small, attribute, monkeypatch):
    attribute.table["v"] = [1, 0, 1]
    counted = []
    monkeypatch.setattr(
        "aspectra.search.scoring.phases.lead", lambda scores, among: counted.append(among) or 1
    )
    wanted = Condition("given", "v", "prefer")
    small.search("alpha", conditions=[wanted])
    small.search("alpha", conditions=[wanted, Condition("given", "v", "require")])
    assert counted == [3, 2]


def test_a_mask_bounds_before_anything_is_scored(attribute):
    attribute.table["v"] = [1, 0, np.nan]
    mask = conditions_mask(Grader(FakeIndex(3)), [Condition("given", "v", "require")])
    assert mask.tolist() == [True, False, False]
    assert conditions_mask(Grader(FakeIndex(3)), [Condition("given", "v", "prefer")]) is None
    attribute.cheap = False
    assert conditions_mask(Grader(FakeIndex(3)), [Condition("given", "v", "require")]) is None


def test_spellings_read_back_and_refuse_nonsense(attribute):
    written = Condition("given", "a b=c", "avoid")
    assert Condition.parse(written.spelling) == written
    assert Condition.parse("given=x").relation == "prefer"
    assert Condition.from_dict(written.to_dict()) == written
    for bad in ("given", "given=nonsense", "hate given=x", "nothing=x"):
        with pytest.raises(UsageError):
            Condition.parse(bad)


PAPERS = [
    Paper("first", "alpha beta gamma", "Alpha beta gamma delta."),
    Paper("second", "alpha beta", "Alpha beta and something else."),
    Paper("third", "alpha", "Alpha alone here."),
]


@pytest.fixture
def small(tmp_path) -> Searcher:
    library = Store.create(tmp_path / "library")
    with library.writing("add") as writer:
        writer.add(PAPERS)
    encoder = FakeEncoder()
    build_index(library, IndexSettings(encoders=("fake",), chunks=()), load=lambda _: encoder)
    return Searcher(library, load=lambda _: encoder)


def test_a_ranking_says_what_each_condition_found(small, attribute):
    attribute.table["v"] = [0.0, 1.0, 1.0]
    wish = Condition("given", "v", "prefer", "please")
    plain = small.search("alpha beta gamma", recipe="bm25")
    made = small.plan(Query("alpha beta gamma", conditions=(wish,)), "bm25")
    ranking = small.run(replace(made, compliance=2.0))
    assert plain.ids[0] == "first"
    assert ranking.ids[0] == "second"
    kept = ranking[0].conditions[0]
    assert (kept.met, kept.grade, kept.quote) == (True, 1.0, "alph")
    assert kept.moved > 0 > ranking[[h.id for h in ranking].index("first")].conditions[0].moved
    assert Plan.loads(ranking.plan.to_toml()) == ranking.plan
    assert Plan.loads(ranking.plan.to_json()) == ranking.plan
    assert "please" in ranking.plan.describe()
    assert "met" in ranking.explain()


def test_slow_attributes_are_asked_of_candidates_only(small, attribute):
    attribute.cheap = False
    attribute.table["v"] = [0.0, 1.0, 0.0]
    ranking = small.search("alpha", conditions=[Condition("given", "v", "require")])
    assert ranking.ids == ["second"]


def test_why_not_names_what_drops_a_paper_and_quotes_it(small, attribute):
    attribute.table["v"] = [1.0, 0.0, 0.0]
    plan = small.plan(Query("alpha beta gamma", conditions=(Condition("given", "v", "exclude"),)))
    assert "first" not in small.run(plan).ids
    found = small.why_not(plan, "first")
    assert found.reasons[0].drops
    assert found.rank == 1
    assert "alph" in found.reasons[0].quote
    assert "kept out" in found.describe()
    other = small.why_not(plan, "second")
    assert not any(r.drops for r in other.reasons)
    assert "among the hits" in other.describe()
    assert field_text(PAPERS[0], "title")[:4] == "alph"


def unless(value="special"):
    return (Exemption("given", value),)


def test_what_is_exempt_is_neither_dropped_nor_moved(attribute):
    attribute.table |= {"v": [0, 1, 0, 1], "special": [0, 0, 1, 1]}
    assert _applied([Condition("given", "v", "require", "", unless())], SCORES[:4]).passed.tolist() == [
        *(False, True, True, True)
    ]
    assert _applied([Condition("given", "v", "exclude", "", unless())], SCORES[:4]).passed.tolist() == [
        *(True, False, True, True)
    ]
    wanted = _applied([Condition("given", "v", "prefer", "", unless())], SCORES[:4]).moves[0]
    assert wanted[1] > 0 > wanted[0]
    assert wanted[2] == wanted[3] == 0


def test_what_exempts_from_one_of_several_alternatives_exempts_from_all(attribute):
    attribute.table |= {"a": [1, 0, 0], "b": [0, 1, 0], "special": [0, 0, 1]}
    both = [Condition("given", "a", "require"), Condition("given", "b", "require", "", unless())]
    assert _applied(both, SCORES[:3]).passed.tolist() == [True, True, True]


def test_exemptions_of_one_attribute_are_alternatives_and_others_must_all_be_met(small, attribute):
    attribute.table |= {"v": [1, 1, 1], "here": [1, 0, 0], "there": [0, 1, 0]}
    other = Given(cheap=False)  # its exemption is graded on candidates
    other.table["late"] = [0, 1, 1]
    ATTRIBUTES._members["other"] = other
    try:
        places = (Exemption("given", "here"), Exemption("other", "late"), Exemption("given", "there"))
        condition = Condition("given", "v", "exclude", "", places)
        plan = small.plan(Query("alpha beta gamma", conditions=(condition,)), "bm25")
        (only,) = small.run(plan)
        assert (only.id, only.conditions[0].exempt) == ("second", "given=there; other=late")
        for paper in ("first", "third"):
            (reason,) = small.why_not(plan, paper).reasons
            assert reason.drops
            assert "exempt" not in str(reason)
        mask = conditions_mask(Grader(small.index), [condition])
        assert mask.tolist() == [True, True, False]  # of the other nothing is known quickly
        other.possible = lambda value, index: np.array([False, True, True])
        assert conditions_mask(Grader(small.index), [condition]).tolist() == [False, True, False]
        moved = apply_conditions(
            Grader(small.index), [replace(condition, relation="avoid")], np.arange(3), 1.0
        )
        assert moved.moves[0].astype(bool).tolist() == [True, False, True]
    finally:
        del ATTRIBUTES._members["other"]


def test_an_exception_that_is_apart_exempts_alone(small, attribute):
    attribute.table |= {
        "v": [1, 1, 1],
        "here": [1, 0, 0],
        "late": [1, 1, 0],
        "named": [0, 0, 1],
        "<low": [0, 0, 1],
    }
    unless = (Exemption("given", "<low"), Exemption("given", "here"), Exemption("given", "late", apart=True))
    condition = Condition("given", "v", "exclude", "", unless)
    found = {
        hit.id: hit.conditions[0].exempt for hit in small.search("alpha beta gamma", conditions=[condition])
    }
    assert found == {"first": "given=late", "second": "given=late"}
    assert conditions_mask(Grader(small.index), [condition]).tolist() == [True, True, False]
    spelled = condition.spelling
    assert spelled == "exclude given=v unless given=<low; given=here or given=late"
    assert Condition.parse(spelled) == condition
    assert Condition.parse("exclude given=v unless given=a or b").unless == (Exemption("given", "a or b"),)


@pytest.mark.parametrize(
    "value",
    (
        "learning unless supervised|exit unless kind=survey|x unless|unless x|a; given=b|a or given=b|a; b|"
        r"a or b|a \unless b|a \or given=b|a\\; given=b"
    ).split("|"),
)
def test_a_value_survives_its_spelling(attribute, value):
    exemption, other = Exemption("given", value), Exemption("given", "late", apart=True)
    for unless in ((), (exemption,), (exemption, other)):
        condition = Condition("given", value, "exclude", "", unless)
        assert Condition.parse(condition.spelling) == condition


def test_bounds_among_exemptions_must_all_be_met(attribute):
    attribute.table |= {"v": [1, 1, 1, 1], ">low": [0, 1, 1, 0], "<high": [1, 1, 0, 0]}
    both = (Exemption("given", ">low"), Exemption("given", "<high"))
    found = _applied([Condition("given", "v", "exclude", "", both)], SCORES[:4])
    assert found.passed.tolist() == [False, True, False, False]


def test_what_is_missing_is_found_once(attribute):
    attribute.table["v"] = [np.nan] * 3
    calls = []
    attribute.missing = lambda value, index: calls.append(value) or "nothing is known"
    grader = Grader(FakeIndex(3))
    condition = Condition("given", "v", "require")
    conditions_mask(grader, [condition])
    apply_conditions(grader, [condition], np.arange(3), 1.0)
    assert without_data(grader, [condition]) == [(condition, "nothing is known")]
    assert calls == ["v"]


@given(
    grades=st.lists(st.sampled_from([0.0, 0.4, 0.5, 1.0, np.nan]), min_size=2, max_size=12),
    special=st.integers(0, 2**12 - 1),
    relation=st.sampled_from(["require", "exclude", "prefer", "avoid"]),
    cheap=st.booleans(),
    possible=st.booleans(),
)
def test_a_mask_never_drops_what_passes(grades, special, relation, cheap, possible):
    """Whichever of the condition and its exemption is slow to grade, and whatever is known quickly of it."""
    exempt = [float(special >> n & 1) for n in range(len(grades))]
    one, two = Given(), Given(cheap=cheap)
    one.table["v"], two.table["special"] = grades, exempt
    if possible:
        two.possible = lambda value, index: np.array(two.table[value]) > 0
    ATTRIBUTES._members |= {"given": one, "other": two}
    try:
        condition = Condition("given", "v", relation, "", (Exemption("other", "special"),))
        index = FakeIndex(len(grades))
        papers = np.arange(len(grades))
        found = apply_conditions(Grader(index), [condition], papers, 1.0)
        mask = conditions_mask(Grader(index), [condition])
        assert mask is None or mask[found.passed].all()
        assert condition.cheap == cheap
        if cheap and condition.filters:
            assert mask is None or mask.tolist() == found.passed.tolist()
        whole = Condition("given", "v", relation, "", (Exemption("other", "all"),))
        two.table["all"] = [1.0] * len(grades)
        nothing = apply_conditions(Grader(index), [whole], papers, 1.0)  # exempting everybody is no condition
        assert nothing.passed.all()
        assert not nothing.moves[0].any()
    finally:
        del ATTRIBUTES._members["given"], ATTRIBUTES._members["other"]


def test_what_nothing_is_known_of_is_not_applied(attribute):
    attribute.table |= {"v": [np.nan] * 3, "w": [1, np.nan, 0]}
    index = FakeIndex(3)
    unknown, known = Condition("given", "v", "require"), Condition("given", "w", "require")
    assert without_data(Grader(index), [unknown, known]) == [
        (unknown, "no paper of this library states its given")
    ]
    assert conditions_mask(Grader(index), [unknown]) is None
    assert _applied([unknown], SCORES[:3]).passed.all()
    assert conditions_mask(Grader(index), [unknown, known]).tolist() == [True, False, False]
    assert unknown_papers(Grader(index), [unknown]) is None
    assert unknown_papers(Grader(index), [known]).tolist() == [False, True, False]
    assert unknown_papers(Grader(index), [Condition("given", "w", "exclude")]) is None


def test_exempt_papers_are_not_left_out_for_lack_of_data(attribute):
    attribute.table |= {"w": [1, np.nan, np.nan], "special": [0, 0, 1]}
    condition = Condition("given", "w", "require", "", unless())
    assert unknown_papers(Grader(FakeIndex(3)), [condition]).tolist() == [False, True, False]


def test_a_ranking_says_what_was_not_applied_and_who_was_left_out(small, attribute):
    attribute.table |= {"v": [np.nan] * 3, "w": [1.0, np.nan, np.nan], "x": [1.0, 1.0, 0.0]}
    unknown = Condition("given", "v", "require")
    ranking = small.search("alpha", conditions=[unknown])
    assert set(ranking.ids) == {"first", "second", "third"}
    assert ranking.not_applied == ((unknown, "no paper of this library states its given"),)
    assert ranking.to_dict()["requests"]["not_applied"][0]["words"] == "require given=v"
    assert any("not applied: [require given=v]" in warning for warning in ranking.warnings)
    assert ranking[0].conditions[0].reason == "given unknown"
    ranking = small.search("alpha", conditions=[Condition("given", "w", "require")])
    assert ranking.ids == ["first"]
    assert "2 papers of unknown given were left out by [require given=w]" in ranking.warnings
    both = [Condition("given", "w", "require"), Condition("given", "x", "exclude")]
    ranking = small.search("alpha", conditions=both)  # the second is dropped by what it has
    assert "1 paper of unknown given were left out by [require given=w]" not in ranking.warnings
    assert "1 paper of unknown given was left out by [require given=w]" in ranking.warnings


def test_an_exemption_of_which_nothing_is_known_is_said(small, attribute):
    attribute.table |= {"v": [0.0, 1.0, 0.0], "special": [np.nan] * 3}
    ranking = small.search("alpha", conditions=[Condition("given", "v", "require", "", unless())])
    assert ranking.ids == ["second"]
    assert any("nothing is exempt by given=special" in warning for warning in ranking.warnings)


def test_long_values_are_cut_in_messages(attribute):
    condition = Condition("given", "v" * 900)
    assert len(condition.label) == 120
    assert condition.label.endswith("…")
    assert Condition("given", "v").label == "prefer given=v"


def test_a_hit_says_what_exempts_it_and_why_not_does_too(small, attribute):
    attribute.table |= {"v": [0.0, 1.0, 0.0], "special": [1.0, 0.0, 0.0]}
    attribute.reason = lambda value, paper, index: f"the record of {paper.id}"
    condition = Condition("given", "v", "require", "", unless())
    plan = small.plan(Query("alpha beta gamma", conditions=(condition,)), "bm25")
    found = {hit.id: hit.conditions[0] for hit in small.run(plan)}
    assert set(found) == {"first", "second"}
    assert (found["first"].exempt, found["first"].met) == ("given=special", True)
    assert (found["second"].exempt, found["second"].reason) == ("", "the record of second")
    assert "exempt by given=special" in str(found["first"])
    assert found["first"].to_dict()["exempt"] == "given=special"
    assert "exempt" in small.why_not(plan, "first").describe()
    assert small.why_not(plan, "third").reasons[0].drops
    assert "the record of third" in small.why_not(plan, "third").describe()


def test_slow_exemptions_are_graded_on_candidates(small, attribute):
    slow = Given(cheap=False)
    slow.table["special"] = [0.0, 0.0, 1.0]
    ATTRIBUTES._members["other"] = slow
    try:
        attribute.table["v"] = [1.0, 0.0, 0.0]
        condition = Condition("given", "v", "require", "", (Exemption("other", "special"),))
        assert set(small.search("alpha", conditions=[condition]).ids) == {"first", "third"}
    finally:
        del ATTRIBUTES._members["other"]


def test_exemptions_are_spelled_and_read_back(attribute):
    written = Condition("given", "v", "exclude", "", (Exemption("given", "a; b"), Exemption("given", "c=d")))
    assert written.spelling == "exclude given=v unless given=a; b; given=c=d"
    assert Condition.parse(written.spelling) == written
    assert Plan.loads(replace_conditions(written).to_toml()).conditions == (written,)


def replace_conditions(condition):
    return Plan((Search(probes=(Probe("abstract@bm25", text="owl"),)),), conditions=(condition,))
