"""An interval agrees with the test beside it: it excludes 0 exactly if p < alpha."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspectra.lab.statistics.significance import compare, paired_t, randomisation

ALPHA = 0.05
# Grades on a grid give ties and equal differences; the others are as measures are.
VALUES = st.one_of(
    st.integers(0, 8).map(lambda n: n / 8), st.floats(0, 1, allow_subnormal=False), st.just(0.1 + 0.2)
)
SAMPLES = st.integers(0, 14).flatmap(
    lambda n: st.lists(st.tuples(VALUES, VALUES), min_size=n, max_size=n).flatmap(
        # A common shift, so that many samples lie near the border of significance.
        lambda pairs: st.floats(-0.4, 0.4).map(lambda shift: [(a + shift, b) for a, b in pairs])
    )
)


def keyed(values):
    return {f"u{n:03}": float(value) for n, value in enumerate(values)}


def excludes_0(interval):
    return interval is not None and not interval.low <= 0.0 <= interval.high


@settings(max_examples=400, deadline=None)
@given(SAMPLES)
@pytest.mark.parametrize(
    "test",
    [paired_t, randomisation, lambda a, b: randomisation(a, b, rounds=199)],
    ids=["t", "exact", "sampled"],
)
def test_an_interval_excludes_0_exactly_if_the_test_is_significant(test, pairs):
    found = test(keyed(a for a, _ in pairs), keyed(b for _, b in pairs))
    assert excludes_0(found.interval) == found.significant(ALPHA)
    if found.interval is not None:
        assert found.interval.low <= found.interval.high
        assert found.interval.low - 1e-9 <= found.difference <= found.interval.high + 1e-9


@settings(max_examples=150, deadline=None)
@given(
    st.integers(2, 12).flatmap(
        lambda n: st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=2, max_size=5)
    ),
    st.sampled_from(["t", "randomisation"]),
)
def test_intervals_under_a_correction(systems, test):
    base, *others = map(keyed, systems)
    named = {f"s{n}": values for n, values in enumerate(others)}
    for found in compare(base, named, test=test, correction="bonferroni").values():
        assert excludes_0(found.interval) == found.significant(ALPHA)
    for found in compare(base, named, test=test, correction="holm").values():
        assert not excludes_0(found.interval) or found.significant(ALPHA)
