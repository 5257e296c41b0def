"""Tests of significance: against scipy, and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.statistics.distributions import beta_regularised, student_sf
from aspectra.lab.statistics.significance import (
    TESTS,
    bonferroni,
    bootstrap,
    compare,
    holm,
    paired_t,
    randomisation,
    wilcoxon,
    win_tie_loss,
)

ALTERNATIVES = ["two-sided", "less", "greater"]


def keyed(values) -> dict[str, float]:
    return {f"u{i:04}": float(v) for i, v in enumerate(values)}


def made(seed: int, n: int, digits: int = 6, shift: float = 0.05):
    rng = np.random.default_rng(seed)
    a, b = rng.random(n).round(digits), rng.random(n).round(digits)
    return (a + shift).round(digits), b


def test_beta_against_scipy() -> None:
    special = pytest.importorskip("scipy.special", reason="scipy comes with the dev extra")
    for a in (0.5, 1.0, 2.5, 30.0, 500.0):
        for b in (0.5, 1.0, 7.0, 250.0):
            for x in (0.0, 1e-9, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0):
                assert beta_regularised(x, a, b) == pytest.approx(
                    special.betainc(a, b, x), rel=1e-9, abs=1e-14
                )


def test_student_against_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy comes with the dev extra")
    for df in (1, 2, 3, 10, 49, 600, 100_000):
        for t in (-40.0, -3.0, -1e-6, 0.0, 0.5, 1.96, 8.0, 200.0):
            assert student_sf(t, df) == pytest.approx(stats.t.sf(t, df), rel=1e-8, abs=1e-15)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [2, 3, 10, 50, 51, 597])
def test_paired_t_against_scipy(n: int, alternative) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy comes with the dev extra")
    a, b = made(n, n)
    ours, theirs = paired_t(keyed(a), keyed(b), alternative), stats.ttest_rel(a, b, alternative=alternative)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-10)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-8)
    assert (ours.units, ours.alternative) == (n, alternative)
    assert ours.difference == pytest.approx((a - b).mean(), abs=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [3, 9, 30, 50])
def test_wilcoxon_exact_against_scipy(n: int, alternative) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy comes with the dev extra")
    a, b = made(n + 1, n)
    theirs = stats.wilcoxon(a, b, alternative=alternative, method="exact")
    assert wilcoxon(keyed(a), keyed(b), alternative).p == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("digits", [1, 6])
def test_wilcoxon_normal_against_scipy_with_ties_and_zeros(alternative, digits: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy comes with the dev extra")
    a, b = made(5, 400, digits, 0.1)
    theirs = stats.wilcoxon((a - b).round(digits), alternative=alternative, method="asymptotic")
    assert wilcoxon(keyed(a), keyed(b), alternative).p == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_wilcoxon_with_ties_is_exact_given_the_ties(alternative) -> None:
    """Against all choices of signs, one by one."""
    differences = np.array([0.1, 0.1, -0.2, 0.3, 0.3, 0.3, -0.1])
    ranks = np.array([2, 2, 4, 6, 6, 6, 2])
    sums = [((np.array([m >> i & 1 for i in range(7)])) * ranks).sum() for m in range(128)]
    observed = ranks[differences > 0].sum()
    greater, less = (np.mean(np.array(sums) >= observed), np.mean(np.array(sums) <= observed))
    expected = {"greater": greater, "less": less, "two-sided": min(1, 2 * min(greater, less))}[alternative]
    assert wilcoxon(keyed(differences), keyed(np.zeros(7)), alternative).p == pytest.approx(expected)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_randomisation_against_scipy(alternative) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy comes with the dev extra")
    a, b = made(3, 12)
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative=alternative,
        vectorized=True,
    )
    exact = randomisation(keyed(a), keyed(b), alternative)
    assert exact.p == pytest.approx(theirs.pvalue, abs=1e-12)
    sampled = randomisation(keyed(a), keyed(b), alternative, rounds=4000)
    assert sampled.p == pytest.approx(theirs.pvalue, abs=0.03)


def test_randomisation_is_seeded_and_blind_to_the_order_of_units() -> None:
    a, b = (keyed(x) for x in made(4, 200))
    turned = dict(reversed(a.items()))
    one = randomisation(a, b, rounds=5000, seed=1)
    assert one == randomisation(turned, b, rounds=5000, seed=1)
    assert one.p != randomisation(a, b, rounds=5000, seed=2).p
    assert 0 < one.p <= 1


@pytest.mark.parametrize("test", list(TESTS))
def test_edges(test: str) -> None:
    run = TESTS[test]
    same = keyed([0.5] * 10)
    assert run(same, dict(same), "two-sided").p == 1.0
    assert run({"u": 0.1}, {"u": 0.2}, "two-sided").p is None
    assert run({}, {}, "two-sided").p is None
    assert not run({}, {}, "two-sided").significant()
    with pytest.raises(BadInput, match="not scored on the same units"):
        run({"a": 1.0}, {"b": 1.0}, "two-sided")
    with pytest.raises(BadInput, match="NaN or infinite"):
        run({"a": math.nan}, {"a": 1.0}, "two-sided")
    with pytest.raises(UsageError, match="there is no alternative"):
        run(same, same, "sideways")  # type: ignore[arg-type]
    a, b = (keyed(x) for x in made(8, 20))
    one, other = run(a, b, "two-sided"), run(b, a, "two-sided")
    assert one.p == pytest.approx(other.p)
    assert one.difference == -other.difference
    assert run(a, b, "greater").p == pytest.approx(run(b, a, "less").p)
    assert run(dict(reversed(a.items())), b, "two-sided") == one


def test_equal_differences_have_no_variance() -> None:
    a, b = keyed([0.3, 0.5, 0.9]), keyed([0.2, 0.4, 0.8])
    outcome = paired_t(a, b)
    assert (outcome.statistic, outcome.p) == (math.inf, 0.0)
    assert paired_t(b, a).statistic == -math.inf
    assert paired_t(b, a, "greater").p == 1.0
    assert paired_t(a, dict(a)).statistic == 0.0


def test_corrections() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert bonferroni([0.01, 0.6]) == [0.02, 1.0]
    assert holm([None, 0.02]) == [None, 0.02]
    assert holm([]) == []
    for ps in ([0.2, 0.01, 0.5], [0.04, 0.04, 0.04]):
        assert all(p <= h <= b for p, h, b in zip(ps, holm(ps), bonferroni(ps), strict=True))


def test_compare() -> None:
    base = keyed([0.1] * 5)
    better = {unit: value + 0.1 + i * 0.01 for i, (unit, value) in enumerate(base.items())}
    outcomes = compare(base, {"better": better, "same": dict(base)}, correction="holm")
    assert outcomes["better"].difference > 0
    assert outcomes["better"].significant()
    assert outcomes["better"].adjusted == pytest.approx(2 * outcomes["better"].p)
    assert outcomes["better"].correction == "holm"
    assert not outcomes["same"].significant()
    plain = compare(base, {"better": better}, test="wilcoxon")
    assert plain["better"].adjusted is None
    with pytest.raises(UsageError, match="there is no test"):
        compare(base, {}, test="z")
    with pytest.raises(UsageError, match="there is no correction"):
        compare(base, {}, correction="sidak")


def test_bootstrap() -> None:
    a, b = (keyed(x) for x in made(2, 300))
    interval = bootstrap(a, b, seed=3)
    assert interval is not None
    assert interval == bootstrap(dict(reversed(a.items())), b, seed=3)
    difference = np.array(list(a.values())) - np.array(list(b.values()))
    half = 1.96 * difference.std(ddof=1) / math.sqrt(300)
    assert interval.low == pytest.approx(difference.mean() - half, abs=0.006)
    assert interval.high == pytest.approx(difference.mean() + half, abs=0.006)
    narrow = bootstrap(a, b, level=0.5, seed=3)
    assert narrow is not None
    assert interval.low < narrow.low < narrow.high < interval.high
    assert bootstrap(keyed([0.5] * 4)) == (0.5, 0.5, 0.95)
    assert bootstrap({}) is None
    with pytest.raises(UsageError, match="between 0 and 1"):
        bootstrap(a, level=95)
    with pytest.raises(UsageError, match="rounds"):
        bootstrap(a, rounds=0)


def test_win_tie_loss() -> None:
    assert win_tie_loss(keyed([1, 0.1 + 0.2, 0]), keyed([0, 0.3, 1])) == (1, 1, 1)
    with pytest.raises(BadInput):
        win_tie_loss({"a": 1.0}, {})
