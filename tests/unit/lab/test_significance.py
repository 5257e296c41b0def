"""Tests of significance: against scipy, and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.statistics.significance import (
    TESTS,
    beta_regularised,
    bonferroni,
    cohen_kappa,
    compare,
    holm,
    krippendorff_alpha,
    mean_interval,
    paired_t,
    randomisation,
    student_isf,
    student_sf,
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
            assert student_sf(t, df) == pytest.approx(stats.t.sf(t, df), rel=1e-8, abs=0)


def test_quantiles_of_student_against_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy comes with the dev extra")
    for df in (1, 2, 3, 10, 49, 600, 100_000):
        for tail in (1e-6, 0.001, 0.025, 0.3):
            assert student_isf(tail, df) == pytest.approx(stats.t.isf(tail, df), rel=1e-8)


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


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.3])
@pytest.mark.parametrize("n", [2, 3, 24, 597])
def test_t_intervals_against_scipy(n: int, alpha: float) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy comes with the dev extra")
    a, b = made(n, n)
    paired = paired_t(keyed(a), keyed(b), alpha=alpha).interval
    theirs = stats.ttest_rel(a, b).confidence_interval(1 - alpha)
    assert paired == pytest.approx((theirs.low, theirs.high, 1 - alpha), rel=1e-9)
    alone = stats.ttest_1samp(a, 0.0).confidence_interval(1 - alpha)
    assert mean_interval(keyed(a), alpha=alpha) == pytest.approx((alone.low, alone.high, 1 - alpha), rel=1e-9)


def test_a_t_interval_by_hand() -> None:
    """Differences 1, 2, 3: mean 2, standard error 1 / sqrt(3), and t = 4.302653 for 2 degrees of freedom."""
    half = 4.302652729911275 / math.sqrt(3)
    assert paired_t(keyed([1, 2, 3]), keyed([0, 0, 0])).interval == pytest.approx((2 - half, 2 + half, 0.95))


def test_a_randomisation_interval_by_hand() -> None:
    """p >= 0.05 needs 4 of the 64 choices of signs: none, all, one end alone, and all but that end."""
    found = randomisation(keyed([1, 2, 3, 4, 5, 6]), keyed([0] * 6))
    assert found.p == 2 / 64
    assert found.interval == (1.0, 6.0, 0.95)
    found = randomisation(keyed([-1, 2, 3, 4, 5, 6]), keyed([0] * 6))
    assert found.p == 4 / 64
    assert found.interval == (-1.0, 6.0, 0.95)
    assert randomisation(keyed([1, 2, 3, 4, 5]), keyed([0] * 5)).interval is None, "p is never below 2 / 32"


@pytest.mark.parametrize("rounds", [100_000, 999])
def test_a_randomisation_interval_is_what_the_test_does_not_reject(rounds: int) -> None:
    """Against the test itself on shifted values, and (where it is exact) against scipy's."""
    stats = pytest.importorskip("scipy.stats", reason="scipy comes with the dev extra")
    a, b = made(3, 12)
    span = randomisation(keyed(a), keyed(b), rounds=rounds, seed=5).interval
    assert span is not None
    for shift, kept in (
        (span.low - 1e-6, False),
        (span.low, True),
        (span.high, True),
        (span.high + 1e-6, False),
    ):
        p = randomisation(keyed(a), keyed(b + shift), rounds=rounds, seed=5).p
        assert p is not None
        assert (p >= 0.05) is kept, shift
        if rounds > 2**12:
            theirs = stats.permutation_test(
                (a - shift, b),
                lambda x, y, axis: (x - y).mean(axis=axis),
                permutation_type="samples",
                n_resamples=np.inf,
                vectorized=True,
            )
            assert theirs.pvalue == pytest.approx(p)


def test_edges_of_intervals() -> None:
    same = keyed([0.5] * 4)
    assert mean_interval(same) == (0.5, 0.5, 0.95)
    assert mean_interval({"u": 0.5}) is None
    assert mean_interval({}) is None
    assert paired_t(same, dict(same)).interval == (0.0, 0.0, 0.95)
    assert paired_t(keyed([0.3, 0.5, 0.9]), keyed([0.2, 0.4, 0.8])).interval == pytest.approx(
        (0.1, 0.1, 0.95)
    )
    a, b = (keyed(x) for x in made(6, 40))
    assert wilcoxon(a, b).interval is None
    for test in (paired_t, randomisation):
        assert test(a, b, "greater").interval is None
        low, high, level = test(b, a).interval
        assert test(a, b).interval == pytest.approx((-high, -low, level))
        assert test(dict(reversed(a.items())), b) == test(a, b)
        with pytest.raises(UsageError, match="between 0 and 1"):
            test(a, b, alpha=95)
    with pytest.raises(BadInput, match="NaN"):
        mean_interval({"a": math.nan, "b": 1.0})


def test_win_tie_loss() -> None:
    assert win_tie_loss(keyed([1, 0.1 + 0.2, 0]), keyed([0, 0.3, 1])) == (1, 1, 1)
    with pytest.raises(BadInput):
        win_tie_loss({"a": 1.0}, {})


NAN = math.nan
# Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011: sections A (two observers) and C (four).
TWO = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
FOUR = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


@pytest.mark.parametrize(
    ("observers", "ordinal", "alpha"), [(TWO, False, 0.095), (FOUR, False, 0.743), (FOUR, True, 0.815)]
)
def test_alpha_is_that_of_the_published_examples(observers, ordinal: bool, alpha: float) -> None:
    ratings = np.array(observers, float).T
    found = krippendorff_alpha(ratings, ordinal=ordinal)
    assert found.value == pytest.approx(alpha, abs=0.0005)
    assert found.units == ((~np.isnan(ratings)).sum(1) > 1).sum()
    assert found.interval.low < found.value < found.interval.high <= 1
    assert str(krippendorff_alpha(ratings[::-1, ::-1], ordinal=ordinal)) == str(found)  # in any order


def test_kappa_by_hand() -> None:
    ratings = np.array([[1, 1]] * 20 + [[1, 0]] * 5 + [[0, 1]] * 10 + [[0, 0]] * 15, float)
    found = cohen_kappa(np.vstack([ratings, [[1, NAN]]]))
    assert found.value == pytest.approx(0.4)
    assert found.units == 50
    error = math.sqrt(0.7 * 0.3 / (50 * 0.5**2))  # Cohen's large-sample error
    assert found.interval[:2] == pytest.approx((0.4 - 1.96 * error, 0.4 + 1.96 * error), abs=0.03)


@pytest.mark.parametrize("ratings", [[[1, 1], [1, 1]], [[1, NAN], [NAN, 2]], [[NAN, NAN]]])
def test_agreement_is_not_defined_without_two_grades(ratings) -> None:
    for found in (cohen_kappa(np.array(ratings, float)), krippendorff_alpha(np.array(ratings, float))):
        assert math.isnan(found.value)
        assert found.interval is None
