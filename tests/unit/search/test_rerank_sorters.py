"""What each sorter guarantees with a judge that never errs, what it costs, and what errors do to it."""

from __future__ import annotations

import asyncio
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.lab.simulation.oracle import Oracle
from aspectra.llm.chat import BudgetReached, Transient
from aspectra.llm.scripted import Scripted
from aspectra.search.rerank.asker import in_parallel
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.rerank.sorters.protocol import SORTERS
from aspectra.search.rerank.sorters.sorts import AllPairs, Bubble, Heapsort, Merge, Tournament, Window
from aspectra.search.stages.rerank import Method, rerank
from long import LONG, some

QUESTION = Question("owls at night")
METHODS = [
    "points+single",
    "yes-no+single",
    "pairwise+all-pairs",
    "pairwise+heapsort",
    "pairwise+heapsort(depth=25,conflict=not-greater)",
    "pairwise+bubble",
    "pairwise+bubble(depth=3)",
    "pairwise+merge",
    "listwise(width=2)+all-pairs",
    "listwise+heapsort",
    "listwise+bubble(depth=2)",
    "listwise+window",
    "listwise+window(passes=3)",
    "listwise+window(size=15,step=4)",
    "listwise(width=10)+window(size=10,step=9)",
    "listwise+tournament",
    "listwise+tournament(batch=12,top=5,seed=3)",
    "think-first+tournament",
    "listwise+merge",
    "listwise(width=7)+merge",
    "think-first(width=9)+merge(size=5)",
]
FIXED = ("single", "all-pairs", "window", "tournament")


class Perfect:
    """Knows the right order (ids are numbers, the smallest best) without any model."""

    needs_model = False

    def __init__(self, answers, width):
        self.answers, self.width, self.name = answers, width, f"perfect-{answers}"
        self.asked = []
        self.flying = self.most_flying = 0


class PerfectPairs(Perfect):
    def __init__(self):
        super().__init__("pairs", 2)
        self.count = 0

    async def first_wins(self, first, second, asker):
        self.count += 1
        return int(first.id) < int(second.id)


class PerfectLists(Perfect):
    def __init__(self, width=20):
        super().__init__("lists", width)

    async def order(self, papers, asker):
        self.asked.append(len(papers))
        assert 2 <= len(papers) <= self.width
        return sorted((p.id for p in papers), key=int)


def numbered(count, seed=0):
    ids = [str(n) for n in range(count)]
    random.Random(seed).shuffle(ids)
    return [Candidate(i, f"Paper {i}. It is about owls.") for i in ids]


def grades(count):
    return {str(n): float(count - n) for n in range(count)}


def run(method, papers, model=None, **options):
    method = Method.parse(method) if isinstance(method, str) else method
    return asyncio.run(rerank(QUESTION, papers, method, model, **options))


def right(count):
    return tuple(str(n) for n in range(count))


@pytest.mark.parametrize("spelling", METHODS)
def test_a_judge_without_mistakes_gives_what_the_sorter_guarantees(spelling):
    method = Method.parse(spelling)
    count = 40 if "all-pairs" in spelling else 100
    for seed in some(range(3), spelling):
        papers = numbered(count, seed)
        result = run(method, papers, Oracle(grades(count)))
        certain = method.certain(count)
        assert certain >= 1
        assert result.order[:certain] == right(count)[:certain]
        assert sorted(result.order) == sorted(right(count))
        assert result.tally.defects == {}
        assert result.tally.simulated
        assert not result.tally.degraded
        calls = method.calls(count)
        assert calls.low <= result.tally.cost.calls <= calls.high
        if method.sorter.name in FIXED:
            assert calls.low == calls.high


@pytest.mark.parametrize("spelling", ["yes-no+single", "pairwise+all-pairs"])
def test_who_compares_all_with_all_is_certain_of_every_place(spelling):
    assert Method.parse(spelling).certain(7) == 7


MANY = [
    ("yes-no+single", 1000, 1000),
    ("listwise+window", 1 + math.ceil((1000 - 20) / 10), 10),
    ("listwise+window(passes=3)", 3 * 99, 30),
    ("listwise+tournament", 50 + 10 + 2 + 1, 4),
    ("pairwise+heapsort", None, 10),
    ("pairwise+bubble(depth=2)", None, 2),
    ("listwise+merge", None, 1000),
    ("pairwise+merge", None, 250),
]


@pytest.mark.parametrize(("spelling", "calls", "certain"), MANY if LONG else MANY[::2])
def test_many_papers(spelling, calls, certain):
    method, count = Method.parse(spelling), 250 if spelling == "pairwise+merge" else 1000
    result = run(method, numbered(count), Oracle(grades(count)))
    assert method.certain(count) == certain
    assert result.order[:certain] == right(count)[:certain]
    bounds = method.calls(count)
    assert bounds.low <= result.tally.cost.calls <= bounds.high
    if calls is not None:
        assert result.tally.cost.calls == bounds.low == bounds.high == calls


def test_all_pairs_of_hundreds():
    judge = PerfectPairs()
    result = run(Method(judge, AllPairs()), numbered(400))
    assert judge.count == 159_600 == AllPairs().calls(400, judge).high
    assert result.order == right(400)
    assert result.scores[0] == 1.0
    assert result.scores[-1] == 0.0


@pytest.mark.parametrize(
    ("count", "calls"), [(100, 9), (20, 1), (21, 2), (30, 2), (31, 3), (2, 1), (1, 0), (0, 0)]
)
def test_windows(count, calls):
    judge = PerfectLists()
    result = run(Method(judge, Window()), numbered(count))
    assert len(judge.asked) == calls == Window().calls(count, judge).high
    assert sorted(result.order) == sorted(right(count))


@pytest.mark.parametrize(("count", "calls"), [(300, 15 + 3 + 1), (100, 5 + 1), (20, 1), (21, 2 + 1), (1, 0)])
def test_tournament_calls(count, calls):
    judge = PerfectLists()
    run(Method(judge, Tournament()), numbered(count))
    assert len(judge.asked) == calls == Tournament().calls(count, judge).low


@given(st.integers(2, 90), st.integers(2, 9), st.integers(1, 8), st.integers(1, 12), st.integers(0, 99))
def test_each_pass_of_windows_settles_size_less_step_more(count, size, step, passes, seed):
    if step >= size:
        with pytest.raises(UsageError):
            Window(size, step)
        return
    judge = PerfectLists(size)
    sorter = Window(size, step, passes)
    result = run(Method(judge, sorter), numbered(count, seed))
    certain = sorter.certain(count, judge)
    assert certain >= min(count, passes * (size - step))
    assert result.order[:certain] == right(count)[:certain]
    assert len(judge.asked) <= sorter.calls(count, judge).high


@given(
    st.integers(2, 70), st.integers(1, 80), st.integers(0, 999), st.sampled_from(["heap", "bubble", "merge"])
)
def test_pair_sorters_within_their_bounds(count, depth, seed, kind):
    sorter = {"heap": Heapsort(depth), "bubble": Bubble(depth), "merge": Merge()}[kind]
    judge = PerfectPairs()
    result = run(Method(judge, sorter), numbered(count, seed))
    certain, bounds = sorter.certain(count, judge), sorter.calls(count, judge)
    assert result.order[:certain] == right(count)[:certain]
    assert bounds.low <= judge.count <= bounds.high
    if kind != "merge":
        rest = [p.id for p in numbered(count, seed) if p.id not in set(result.order[: min(depth, count)])]
        assert kind == "bubble" or list(result.order[min(depth, count) :]) == rest


@given(st.integers(2, 120), st.integers(2, 23), st.integers(2, 23), st.integers(0, 999))
def test_merge_of_lists_within_its_bounds(count, width, size, seed):
    judge, sorter = PerfectLists(width), Merge(size)
    result = run(Method(judge, sorter), numbered(count, seed))
    bounds = sorter.calls(count, judge)
    assert result.order == right(count)
    assert bounds.low <= len(judge.asked) <= bounds.high
    assert max(judge.asked) <= min(width, size)


def test_the_bounds_of_heapsort_are_met_and_no_wider():
    """Every order of six papers: the build never takes more than the bound, and some order takes it."""
    from itertools import permutations

    counts = set()

    async def all_orders():
        for ids in permutations("012345"):
            judge = PerfectPairs()
            await rerank(QUESTION, [Candidate(i, "") for i in ids], Method(judge, Heapsort(1)))
            counts.add(judge.count)

    asyncio.run(all_orders())
    bounds = Heapsort(1).calls(6, PerfectPairs())
    assert (min(counts), max(counts)) == (bounds.low, bounds.high) == (10, 14)


def test_a_papers_place_does_not_decide_a_tournament():
    """The best papers win from any place, the order is that of the rounds written out by hand."""
    papers = numbered(100, 5)
    judge = PerfectLists()
    order = [int(i) for i in run(Method(judge, Tournament(seed=8)), papers).order]
    assert judge.asked == [20] * 6
    draw = random.Random(8)
    pool = list(range(100))
    draw.shuffle(pool)
    batches = [sorted(pool[n : n + 20], key=lambda place: int(papers[place].id)) for n in range(0, 100, 20)]
    final = sorted(int(papers[place].id) for batch in batches for place in batch[:4])
    tail = [(rank, place) for batch in batches for rank, place in enumerate(batch) if rank >= 4]
    assert order == final + [int(papers[place].id) for _, place in sorted(tail)]
    assert [int(i) for i in run(Method(PerfectLists(), Tournament(seed=9)), papers).order] != order


def test_those_eliminated_last_stand_first():
    """Three rounds written out by hand."""
    papers = numbered(300, 6)
    order = run(Method(PerfectLists(), Tournament(seed=2)), papers).order
    draw, pool, tails = random.Random(2), list(range(300)), []
    for batches in (15, 3):
        draw.shuffle(pool)
        size = len(pool) // batches
        lists = [
            sorted(pool[n * size : (n + 1) * size], key=lambda p: int(papers[p].id)) for n in range(batches)
        ]
        beaten = sorted((rank, place) for batch in lists for rank, place in enumerate(batch) if rank >= 4)
        tails = [place for _, place in beaten] + tails
        pool = [place for batch in lists for place in batch[:4]]
    best = sorted(pool, key=lambda p: int(papers[p].id))
    assert order == tuple(papers[place].id for place in best + tails)


def test_in_a_batch_without_an_answer_the_first_stage_decides():
    papers = numbered(40)
    lost = []

    class Half(PerfectLists):
        async def order(self, shown, asker):
            if len(self.asked) == 0:
                lost.extend(paper.id for paper in shown)
                self.asked.append(len(shown))
                return None
            return await super().order(shown, asker)

    judge = Half()
    order = run(Method(judge, Tournament()), papers).order
    first_stage = [paper.id for paper in papers if paper.id in set(lost)]
    assert first_stage != lost
    assert judge.asked == [20, 20, 8]
    assert set(order[:8]) & set(lost) == set(first_stage[:4])


def test_equal_papers_keep_the_first_stage_order():
    papers = numbered(25)
    ids = tuple(p.id for p in papers)
    for spelling in METHODS:
        if not any(word in spelling for word in ("tournament", "merge", "not-greater")):
            assert run(spelling, papers, Oracle({})).order == ids, spelling


def test_a_judge_that_prefers_a_place_changes_nothing_by_pairs():
    papers = numbered(20)
    ids = tuple(p.id for p in papers)
    for spelling in ("pairwise+all-pairs", "pairwise+heapsort", "pairwise+bubble", "pairwise+merge"):
        result = run(spelling, papers, Oracle(grades(20), bias=1.0))
        assert result.order == ids
        assert result.tally.defects["conflict"] == result.tally.questions / 2
        assert not result.tally.degraded
    rates = run("pairwise+all-pairs", papers, Oracle(grades(20), bias=1.0)).scores
    assert set(rates) == {0.5}


def test_conflicts_as_not_greater_leave_the_heap_as_it_is():
    papers = numbered(8)
    ids = [p.id for p in papers]
    earlier = run("pairwise+heapsort(depth=8)", papers, Oracle({}, bias=1.0)).order
    other = run("pairwise+heapsort(depth=8,conflict=not-greater)", papers, Oracle({}, bias=1.0)).order
    assert list(earlier) == ids
    # The root leaves, the last leaf takes its place and stays: 0, 7, 6, 5 ...
    assert list(other) == [ids[0], *reversed(ids[1:])]


@pytest.mark.parametrize("spelling", METHODS)
@pytest.mark.parametrize("error", [Transient("down"), BudgetReached("spent")], ids=["each", "fatal"])
def test_without_answers_the_first_stage_order_stands(spelling, error):
    papers = numbered(50)
    model = Scripted(lambda request: error)
    result = run(spelling, papers, model, concurrency=1)
    assert result.order == tuple(p.id for p in papers)
    assert result.tally.degraded
    assert result.tally.repairs == result.tally.questions > 0
    assert result.error is error
    if error.fatal:
        assert len(model.asked) == 1
        assert result.tally.cost.calls == 0
        assert result.stopped is error
        assert result.tally.defects.get("not-asked", 0) == result.tally.questions - 1
    else:
        assert result.stopped is None
        assert result.tally.defects == {"failed": result.tally.questions}


@pytest.mark.parametrize("spelling", METHODS)
@pytest.mark.parametrize("after", [1, 3, 20])
def test_a_budget_reached_on_the_way_leaves_the_first_stage_order(spelling, after):
    papers = numbered(50)
    oracle, count = Oracle(grades(50)), 0

    async def some(request):
        nonlocal count
        count += 1
        return await oracle.complete(request) if count <= after else BudgetReached("spent")

    result = run(spelling, papers, Scripted(some, cut=False), concurrency=1)
    assert sorted(result.order) == sorted(right(50))
    if count > after:
        assert result.order == tuple(p.id for p in papers)
        assert (result.tally.cost.calls, count) == (after, after + 1)
        assert result.tally.degraded
        assert result.stopped.exit_code == 5


def test_answers_that_are_had_move_papers_and_the_others_stay():
    papers = [Candidate(name, "") for name in "abcde"]
    points = {"a": "10", "b": None, "c": "90", "d": None, "e": "50"}
    result = run("points", papers, Scripted(lambda request: points[request.subjects[0]] or Transient("down")))
    assert result.order == ("c", "b", "e", "d", "a")
    assert result.scores == (90.0, None, 50.0, None, 10.0)


RATES = [{"error": 0.3}, {"malformed": 0.5}, {"malformed": 1.0}, {"bias": 0.5}]


@pytest.mark.parametrize(("spelling", "rates"), [(s, rates) for s in METHODS for rates in some(RATES, s)])
def test_a_bad_judge_loses_no_paper_and_is_the_same_at_any_concurrency(spelling, rates):
    count = 15 if "all-pairs" in spelling else 45  # 105 pairs
    papers = numbered(count)
    results = [run(spelling, papers, Oracle(grades(count), **rates), concurrency=n) for n in (1, 7)]
    assert sorted(results[0].order) == sorted(right(count))
    assert results[0] == results[1]
    tally = results[0].tally
    assert tally.degraded == (tally.repairs > 0.2 * tally.questions)
    if rates == {"malformed": 1.0}:
        assert results[0].tally.degraded


def test_depth_leaves_the_rest_behind():
    papers = numbered(30)
    result = run("points", papers, Oracle(grades(30)), depth=10)
    head = sorted((p.id for p in papers[:10]), key=int)
    assert result.order == (*head, *(p.id for p in papers[10:]))
    assert result.scores[10:] == (None,) * 20
    assert result.tally.cost.calls == 10
    assert run("points", papers, Oracle(grades(30)), depth=0).order == tuple(p.id for p in papers)


def test_calls_in_flight_are_bounded():
    flying = most = 0

    async def slow(request):
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.001)
        flying -= 1
        return '{"better": "A"}' if "pairwise" in request.prompt else "2"

    for spelling in ("grade", "pairwise+all-pairs", "pairwise+heapsort"):
        most = 0
        run(spelling, numbered(14), Scripted(slow), concurrency=5)
        assert 2 <= most <= 5


def test_an_error_in_one_worker_stops_the_others():
    started = []

    async def work(item):
        started.append(item)
        await asyncio.sleep(0)
        if item == 3:
            raise ValueError("three")
        await asyncio.sleep(0.01)

    with pytest.raises(ValueError, match="three"):
        asyncio.run(in_parallel(work, range(100), 4))
    assert len(started) < 12


def test_what_cannot_be_reranked():
    twice = [Candidate("a", "x"), Candidate("a", "y")]
    with pytest.raises(UsageError, match="ids"):
        run("points", twice, Oracle({}))
    with pytest.raises(UsageError, match="none was named"):
        run("points", numbered(3))
    with pytest.raises(UsageError, match="-1"):
        run("points", numbered(3), Oracle({}), depth=-1)
    assert run("points", [], Oracle({})).order == ()
    assert run("listwise", [Candidate("a", "")], Oracle({})).order == ("a",)


def test_a_sorter_that_loses_a_paper_is_refused():
    class Lossy:
        name, asks, least_width = "lossy", ("pairs",), 2

        async def sort(self, papers):
            from aspectra.search.rerank.sorters.protocol import Sorted

            return Sorted([0, 0, 1])

    with pytest.raises(UsageError, match="lossy"):
        run(Method(PerfectPairs(), Lossy()), numbered(3))


def test_every_sorter_is_named_as_it_is_registered():
    for name in SORTERS:
        assert SORTERS.get(name)().name == name


def test_impossible_options():
    for make in (
        lambda: Window(step=0),
        lambda: Window(passes=0),
        lambda: Tournament(top=0),
        lambda: Tournament(batch=20, top=11),
        lambda: Heapsort(0),
        lambda: Heapsort(conflict="never"),
        lambda: Bubble(0),
        lambda: Merge(1),
    ):
        with pytest.raises(UsageError):
            make()
