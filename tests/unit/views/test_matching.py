"""Scorers between units: against plain loops and POT, and what must hold whatever the vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.views.dense.matching import (
    Matches,
    Sinkhorn,
    _masses,
    _widen,
    max_sim,
    similarities,
    single_match,
    transport,
    transport_plans,
)
from long import LONG

Array = np.ndarray[Any, Any]
SCORERS: dict[str, Callable[..., Matches]] = {
    "single": single_match,
    "single l2": lambda *a, **k: single_match(*a, **k, metric="l2"),
    "mean": max_sim,
    "mean l2": lambda *a, **k: max_sim(*a, **k, metric="l2"),
    "transport": transport,
}


def unit(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


class Case:
    """Query rows, rows grouped by paper (some papers without rows, some rows of zeros), weights."""

    def __init__(self, seed: int, papers: int = 9, query_rows: int = 0, longest: int = 7) -> None:
        self.rng = rng = np.random.default_rng(seed)
        dimensions = int(rng.integers(2, 40))
        counts = rng.integers(0, longest, papers)
        counts[-1] += 1
        self.offsets = np.concatenate(([0], np.cumsum(counts)))
        self.rows = unit(rng.normal(size=(self.offsets[-1], dimensions)))
        self.rows[rng.random(len(self.rows)) < 0.1] = 0
        self.query = unit(rng.normal(size=(query_rows or int(rng.integers(1, 6)), dimensions)))
        self.query_weights = rng.choice([0.0, 0.3, 1.0, 0.7], len(self.query)).astype(np.float32)
        self.row_weights = rng.choice([0.0, 0.4, 1.0, 0.9], len(self.rows)).astype(np.float32)

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return self.query, self.rows, self.offsets

    @property
    def weighted(self) -> tuple[Array, Array, Array, Array, Array]:
        return *self.arrays, self.query_weights, self.row_weights


cases = st.integers(0, 2**32 - 1).map(Case)


def plain(case: Case, metric: str, weighted: bool) -> tuple[list[float], list[float], list[tuple[int, int]]]:
    """Single match, mean MaxSim and the best pair, one pair at a time, as the documentation says."""
    low = -2.0 if metric == "l2" else -1.0
    wq = case.query_weights if weighted else np.ones(len(case.query))
    wr = case.row_weights if weighted else np.ones(len(case.rows))
    single, mean, pairs = [], [], []
    for start, end in zip(case.offsets, case.offsets[1:], strict=False):
        best, where, means, total = -np.inf, (-1, -1), 0.0, 0.0
        for i, q in enumerate(case.query.astype(np.float64)):
            top = -np.inf
            for j, r in enumerate(case.rows[start:end].astype(np.float64), start):
                if not r.any() or wr[j] == 0 or wq[i] == 0:
                    continue
                similarity = -np.linalg.norm(q - r) if metric == "l2" else q @ r
                top = max(top, wr[j] * (similarity - low) + low)
                value = wq[i] * wr[j] * (similarity - low) + low
                if value > best:
                    best, where = value, (i, j)
            if wq[i] > 0:
                means += wq[i] * top
                total += wq[i]
        single.append(best)
        mean.append(means / total if total else -np.inf)
        pairs.append(where)
    return single, mean, pairs


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_single_match_and_max_sim_are_what_a_plain_loop_gives(metric: Any, weighted: bool, seed: int) -> None:
    case = Case(seed, papers=30)
    given_ = case.weighted if weighted else case.arrays
    single, mean, pairs = plain(case, metric, weighted)
    found = single_match(*given_, metric=metric)
    np.testing.assert_allclose(found.scores, single, atol=2e-5)
    assert list(zip(found.query_rows.tolist(), found.rows.tolist(), strict=True)) == pairs
    pooled = max_sim(*given_, metric=metric)
    np.testing.assert_allclose(pooled.scores, mean, atol=2e-5)
    assert pooled.rows.tolist() == found.rows.tolist()


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(3, papers=40, query_rows=6, longest=30)
    assert np.count_nonzero(case.query_weights) > 2
    whole = [scorer(*case.weighted) for scorer in SCORERS.values()]
    monkeypatch.setattr("aspectra.views.dense.matching._BLOCK", 5)
    monkeypatch.setattr("aspectra.views.dense.matching._CELLS", 1)
    monkeypatch.setattr("aspectra.views.dense.matching._PRODUCT", 400)
    monkeypatch.setattr("aspectra.views.dense.matching._CELLS", 1)
    for before, scorer in zip(whole, SCORERS.values(), strict=True):
        after = scorer(*case.weighted)
        np.testing.assert_allclose(after.scores, before.scores, atol=1e-5)
        np.testing.assert_array_equal(after.rows, before.rows)


def test_halves_are_widened_exactly() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    every = every[np.isfinite(every)].reshape(-1, 16)
    np.testing.assert_array_equal(_widen(every, np.empty(every.shape, np.int32)), every.astype(np.float32))


@pytest.mark.parametrize("name", SCORERS)
def test_halves_score_as_floats(name: str) -> None:
    case = Case(5, papers=50)
    half = case.rows.astype(np.float16)
    ours = SCORERS[name](case.query, half, case.offsets)
    theirs = SCORERS[name](case.query, half.astype(np.float32), case.offsets)
    np.testing.assert_allclose(ours.scores, theirs.scores, atol=1e-5)


@pytest.mark.parametrize("name", SCORERS)
@given(case=cases, weighted=st.booleans())
def test_no_nan_and_pairs_point_at_rows_of_the_paper(name: str, case: Case, weighted: bool) -> None:
    found = SCORERS[name](*(case.weighted if weighted else case.arrays))
    assert [a.dtype for a in found] == [np.float32, np.int64, np.int64]
    assert not np.isnan(found.scores).any()
    takes_part = case.rows.any(axis=1) & ((case.row_weights > 0) | (not weighted))
    asks = bool((case.query_weights > 0).any()) or not weighted
    for i, (start, end) in enumerate(zip(case.offsets, case.offsets[1:], strict=False)):
        if asks and takes_part[start:end].any():
            assert np.isfinite(found.scores[i])
            assert start <= found.rows[i] < end
            assert takes_part[found.rows[i]]
            assert not weighted or case.query_weights[found.query_rows[i]] > 0
        else:
            assert found.scores[i] == -np.inf
            assert found.rows[i] == found.query_rows[i] == -1


@pytest.mark.parametrize("name", SCORERS)
@given(case=cases)
def test_weights_of_0_and_1_are_the_removal_of_rows(name: str, case: Case) -> None:
    wq, wr = np.ceil(case.query_weights), np.ceil(case.row_weights)
    weighted = SCORERS[name](*case.arrays, wq, wr)
    kept_q, kept = np.flatnonzero(wq), np.flatnonzero(wr)
    removed = SCORERS[name](case.query[kept_q], case.rows[kept], np.searchsorted(kept, case.offsets))
    np.testing.assert_allclose(weighted.scores, removed.scores, atol=1e-5)
    some = removed.rows >= 0
    # Near ties may fall either way; the pair's own similarity may not differ.
    pair = np.einsum("ij,ij->i", case.query[weighted.query_rows[some]], case.rows[weighted.rows[some]])
    other = np.einsum(
        "ij,ij->i", case.query[kept_q[removed.query_rows[some]]], case.rows[kept[removed.rows[some]]]
    )
    if name != "transport":
        np.testing.assert_allclose(pair, other, atol=1e-3)


@pytest.mark.parametrize("name", SCORERS)
@given(case=cases)
def test_order_of_rows_papers_and_query_rows_is_no_matter(name: str, case: Case) -> None:
    before = SCORERS[name](*case.weighted)
    counts = np.diff(case.offsets)
    papers = case.rng.permutation(len(counts))
    inside = [case.offsets[p] + case.rng.permutation(counts[p]) for p in papers]
    at = np.concatenate(inside).astype(np.int64)
    turned = case.rng.permutation(len(case.query))
    after = SCORERS[name](
        case.query[turned],
        case.rows[at],
        np.concatenate(([0], np.cumsum(counts[papers]))),
        case.query_weights[turned],
        case.row_weights[at],
    )
    np.testing.assert_allclose(after.scores, before.scores[papers], atol=2e-5)


@pytest.mark.parametrize("name", SCORERS)
@given(case=cases)
def test_a_paper_scores_the_same_alone(name: str, case: Case) -> None:
    together = SCORERS[name](*case.weighted)
    for i, (start, end) in enumerate(zip(case.offsets, case.offsets[1:], strict=False)):
        alone = SCORERS[name](
            case.query,
            case.rows,  # the rows around it are none of its own
            np.array([start, end]),
            case.query_weights,
            case.row_weights,
        )
        np.testing.assert_allclose(alone.scores[0], together.scores[i], atol=2e-5)
        assert (alone.rows[0] >= 0) == (together.rows[i] >= 0)


@given(case=cases)
def test_the_best_pair_is_above_every_mean_over_pairs(case: Case) -> None:
    for metric, others in (("cosine", [max_sim]), ("l2", [lambda *a: max_sim(*a, metric="l2"), transport])):
        highest = single_match(*case.arrays, metric=metric).scores
        for other in others:
            scores = other(*case.arrays).scores
            assert (scores <= highest + 1e-4).all()


@given(seed=st.integers(0, 2**32 - 1), metric=st.sampled_from(["cosine", "l2"]))
def test_one_query_row_makes_max_sim_a_single_match(seed: int, metric: Any) -> None:
    case = Case(seed, query_rows=1)
    one = np.ones(1, np.float32)
    single = single_match(*case.arrays, one, case.row_weights, metric=metric)
    pooled = max_sim(*case.arrays, one, case.row_weights, metric=metric)
    np.testing.assert_allclose(pooled.scores, single.scores, atol=1e-6)
    np.testing.assert_array_equal(pooled.rows, single.rows)


@pytest.mark.parametrize("name", sorted({*SCORERS} - {"transport"}))
@given(case=cases, by=st.floats(0.05, 1.0))
def test_a_lower_row_weight_never_raises_a_score(name: str, case: Case, by: float) -> None:
    before = SCORERS[name](*case.weighted).scores
    less = (case.row_weights * np.float32(by)).astype(np.float32)
    after = SCORERS[name](*case.arrays, case.query_weights, less).scores
    assert (after <= before + 1e-5).all()


# Transport: plans against their masses and against POT.


def problems(seed: int, count: int = 5) -> tuple[Array, Array, Array]:
    """Costs of unit vectors of few and of many dimensions, and masses, of one shape."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 13, 2)
    costs, left, right = [], [], []
    for k in range(count):
        dimensions = (2, 3, 8, 64, 384)[k % 5]  # in few dimensions plans are nearly split: the hard ones
        a, b = unit(rng.normal(size=(m, dimensions))), unit(rng.normal(size=(n, dimensions)))
        costs.append(np.linalg.norm(a[:, None] - b[None], axis=-1))
        left.append(rng.random(m) + 0.01)
        right.append(rng.random(n) + 0.01)
    as_last = [np.stack(x, axis=-1).astype(np.float32) for x in (costs, left, right)]
    return as_last[0], as_last[1] / as_last[1].sum(0), as_last[2] / as_last[2].sum(0)


@given(seed=st.integers(0, 2**32 - 1))
def test_plans_have_the_masses_asked_for(seed: int) -> None:
    costs, left, right = problems(seed)
    plans = transport_plans(costs, left, right)
    assert (plans >= 0).all()
    np.testing.assert_allclose(plans.sum(axis=1), left, atol=2e-5)
    np.testing.assert_allclose(plans.sum(axis=0), right, atol=2e-5)


@given(seed=st.integers(0, 2**32 - 1), blur=st.sampled_from([0.05, 0.2, 1.0, 2.0]))
def test_plans_are_those_of_the_definition(seed: int, blur: float) -> None:
    # plan = left * right * exp((f + g - costs) / blur) for some f, g: so its logarithm, less masses and
    # kernel, is a sum of a part of rows and a part of columns, and every 2 x 2 interaction vanishes.
    costs, left, right = (x.astype(np.float64) for x in problems(seed))
    plans = transport_plans(*problems(seed), Sinkhorn(blur=blur)).astype(np.float64)
    whole = np.where((plans > 1e-20).all(axis=(0, 1)))[0]
    rest = (
        np.log(plans[:, :, whole] / left[:, None, whole] / right[None, :, whole]) + costs[:, :, whole] / blur
    )
    interaction = rest - rest[:1] - rest[:, :1] + rest[:1, :1]
    np.testing.assert_allclose(interaction, 0, atol=2e-3)


@pytest.mark.parametrize("seed", range(25 if LONG else 6))
@pytest.mark.parametrize("scaling", [0.9, 0.5])
def test_plans_and_costs_are_those_of_pot(seed: int, scaling: float) -> None:
    costs, left, right = problems(seed)
    plans = transport_plans(costs, left, right, Sinkhorn(scaling=scaling))
    for k in range(costs.shape[2]):
        a, b = left[:, k].astype(np.float64), right[:, k].astype(np.float64)
        peer = ot.bregman.sinkhorn_log(
            a / a.sum(), b / b.sum(), costs[:, :, k].astype(np.float64), 0.05, numItermax=100_000, warn=False
        )
        np.testing.assert_allclose(plans[:, :, k], peer, atol=1e-4)
        assert abs(((plans[:, :, k] - peer) * costs[:, :, k]).sum()) < 1e-4


@pytest.mark.parametrize("weighted", [False, True])
def test_transport_of_ragged_papers_is_that_of_pot(weighted: bool) -> None:
    case = Case(11, papers=25)
    case.query_weights[0] = 0.3
    found = transport(*(case.weighted if weighted else case.arrays))
    wq = case.query_weights if weighted else np.ones(len(case.query), np.float32)
    wr = case.row_weights if weighted else np.ones(len(case.rows), np.float32)
    q = np.flatnonzero(wq)
    checked = 0
    for i, (start, end) in enumerate(zip(case.offsets, case.offsets[1:], strict=False)):
        r = [j for j in range(start, end) if wr[j] > 0 and case.rows[j].any()]
        if not r:
            continue
        costs = np.linalg.norm(case.query[q, None].astype(np.float64) - case.rows[None, r], axis=-1)
        a, b = np.exp(-costs.min(1)) * wq[q], np.exp(-costs.min(0)) * wr[r]
        peer = ot.bregman.sinkhorn_log(a / a.sum(), b / b.sum(), costs, 0.05, numItermax=100_000, warn=False)
        assert abs(found.scores[i] + (peer * costs).sum()) < 1e-4
        best = peer[q.tolist().index(found.query_rows[i]), r.index(found.rows[i])]
        assert best >= peer.max() - 1e-4
        checked += 1
    assert checked > 10


def test_the_temperature_evens_masses() -> None:
    near = np.array([[0.1], [1.0]], dtype=np.float32)
    ones = np.ones_like(near)
    np.testing.assert_allclose(
        _masses(near, ones, 1.0)[:, 0], [1 / (1 + np.exp(-0.9)), 1 / (1 + np.exp(0.9))]
    )
    np.testing.assert_allclose(_masses(near, ones, 1e6)[:, 0], [0.5, 0.5], atol=1e-5)
    case = Case(1, query_rows=3)
    assert not np.allclose(transport(*case.arrays).scores, transport(*case.arrays, temperature=9.0).scores)


def test_vectors_that_are_not_of_unit_length_still_find_a_plan() -> None:
    case = Case(2, query_rows=3)
    found = transport(case.query * 200, case.rows * 200, case.offsets)
    some = found.rows >= 0
    assert np.isfinite(found.scores[some]).all()
    assert (found.scores[some] >= -400.1).all()


def test_tiny_weights_are_no_trouble() -> None:
    case = Case(4, query_rows=4)
    tiny = np.full(len(case.rows), 1e-30, dtype=np.float32)
    tiny[::2] = 1e-38
    for scorer in SCORERS.values():
        assert not np.isnan(scorer(*case.arrays, np.full(4, 1e-30, np.float32), tiny).scores).any()


# Edges and refusals.


@pytest.mark.parametrize("name", SCORERS)
def test_nothing_asked_and_nothing_there(name: str) -> None:
    scorer = SCORERS[name]
    rows = unit(np.ones((2, 3)))
    none = np.zeros((0, 3), dtype=np.float32)
    assert scorer(rows, none, np.array([0])).scores.shape == (0,)
    assert scorer(rows, none, np.array([0, 0, 0])).scores.tolist() == [-np.inf] * 2
    assert scorer(none, rows, np.array([0, 2])).scores.tolist() == [-np.inf]
    assert scorer(rows * 0, rows, np.array([0, 2])).rows.tolist() == [-1]
    assert scorer(rows, rows * 0, np.array([0, 2])).rows.tolist() == [-1]


@pytest.mark.parametrize("name", SCORERS)
def test_the_first_of_equal_pairs_is_named(name: str) -> None:
    rows = unit(np.array([[1.0, 0], [1, 0], [0, 1], [1, 0]]))
    found = SCORERS[name](rows[:2], rows, np.array([0, 2, 4]))
    assert found.query_rows.tolist() == [0, 0]
    assert found.rows.tolist() == [0, 3]


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_a_row_of_zeros_has_no_similarity_and_an_orthogonal_one_has(metric: Any) -> None:
    got = similarities(unit(np.array([[1.0, 0]])), np.array([[0, 1], [0, 0]], dtype=np.float32), metric)
    np.testing.assert_allclose(got, [[-np.sqrt(2) if metric == "l2" else 0, -np.inf]], atol=1e-6)


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize(
    "broken",
    [
        {"rows": np.zeros((3, 5), np.float32)},
        {"offsets": np.array([0, 4])},
        {"offsets": np.array([2, 0])},
        {"offsets": np.array([-1, 2])},
        {"offsets": np.array([], dtype=np.int64)},
        {"query_weights": np.ones(2, np.float32)},
        {"row_weights": np.array([0, 1, 2], np.float32)},
        {"row_weights": np.array([0, 1, np.nan], np.float32)},
        {"row_weights": np.array([0, 1, -1], np.float32)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(name: str, broken: dict[str, Any]) -> None:
    whole = {"query": np.eye(1, 3), "rows": np.eye(3, 3), "offsets": np.array([0, 1, 3])}
    SCORERS[name](**whole)
    with pytest.raises(UsageError):
        SCORERS[name](**{**whole, **broken})


@pytest.mark.parametrize(
    "how", [Sinkhorn(blur=0), Sinkhorn(blur=3), Sinkhorn(scaling=1), Sinkhorn(scaling=0.1)]
)
def test_a_schedule_that_leads_nowhere_is_refused(how: Sinkhorn) -> None:
    with pytest.raises(UsageError, match="blur"):
        transport(np.eye(1, 3), np.eye(3, 3), np.array([0, 3]), how=how)
    with pytest.raises(UsageError, match="temperature"):
        transport(np.eye(1, 3), np.eye(3, 3), np.array([0, 3]), temperature=0)
