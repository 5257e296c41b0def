"""Intervals of shares."""

from __future__ import annotations

import pytest

from aspectra.lab.statistics.proportions import wilson_interval


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(9, 10, 0.5958, 0.9821), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (50, 100, 0.4038, 0.5962)],
)
def test_wilson_by_hand(hits, trials, low, high):
    found = wilson_interval(hits, trials)
    assert found.low == pytest.approx(low, abs=1e-4)
    assert found.high == pytest.approx(high, abs=1e-4)
    assert found.level == 0.95


def test_nothing_tried_tells_nothing_and_a_lower_level_more():
    assert wilson_interval(0, 0)[:2] == (0.0, 1.0)
    wide, narrow = wilson_interval(5, 10), wilson_interval(5, 10, alpha=0.5)
    assert wide.low < narrow.low < 0.5 < narrow.high < wide.high
