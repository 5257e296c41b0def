"""Standardised scores and fused ranks, computed by hand; and papers that take no place."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.search.scoring.chain import Scale, highest, reciprocal_ranks, scale


def test_a_score_is_its_distance_to_the_mean_and_the_unknown_is_the_middle():
    scores = np.array([5.0, 1.0, np.nan, 3.0], np.float32)
    assert Scale(3.0, 2.0).apply(scores).tolist() == [1.0, -1.0, 0.0, 0.0]
    assert Scale(3.0, 0.0).apply(scores).tolist() == [0.0] * 4


def test_a_scale_is_of_the_sample_and_the_best_paper_is_at_most_twenty_deviations_up():
    sample = np.array([1.0, np.nan, 3.0], np.float32)
    assert scale(sample, 4.0) == Scale(2.0, 1.0)
    assert scale(sample, 42.0) == Scale(2.0, 2.0)  # not 40 deviations
    assert scale(np.array([np.nan], np.float32), None) == Scale(0.0, 0.0)


def test_the_best_is_of_papers_that_may_be_ranked():
    scores = np.array([9.0, np.nan, 4.0], np.float32)
    assert highest(scores) == 9.0
    assert highest(scores[1:]) == 4.0
    assert highest(scores[1:2]) is highest(scores[:0]) is None


def test_ranks_count_from_one_and_weights_count():
    fused = reciprocal_ranks([(np.array([2, 0]), 1.0), (np.array([0]), -0.5)], 4, 60)
    assert fused.tolist() == pytest.approx([1 / 62 - 0.5 / 61, 0.0, 1 / 61, 0.0])


def test_a_removed_paper_takes_no_place(searcher, library):
    before = searcher.search("owls and mice at night", "bm25", limit=2).ids
    assert len(before) == 2
    with library.writing("remove") as writer:
        writer.remove(before[:1])
    assert searcher.search("owls and mice at night", "bm25", limit=1).ids == before[1:]
