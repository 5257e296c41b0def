"""The chain's lists folded by hand, what it promotes, and its options."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import UsageError
from aspectra.search.scoring.chain import Chain, ChainNode, fold
from aspectra.search.stages.protocol import read_stages

IDS = np.arange(10, dtype=np.int32)[::-1].copy()  # the first position has the greatest id


def _node(*papers, leaf=False, children=(), gone=()):
    return ChainNode(np.array(papers, np.int64), set(gone), leaf, list(children))


def test_lists_are_folded_from_the_deepest_up():
    # The root list [1, 2] promoted 1, which found [3] and [2, 3].
    root = _node(1, 2, children=[_node(3), _node(2, 3)])
    abstract = _node(2, leaf=True)
    found = fold([root, abstract], Chain(2, parent=1.0), IDS[:5], 60)
    # Children: 3 has 1/61 + 1/62, 2 has 1/61. Merged [3, 2]; with [1, 2]: 2 has 2/62, 1 and 3 have 1/61 each.
    merged = {3: 1 / 61, 2: 1 / 62 + 1 / 62, 1: 1 / 61}
    order = sorted(merged, key=lambda p: (-merged[p], p))
    assert order == [2, 1, 3]
    expected = np.zeros(5)
    expected[order] = [1 / 61, 1 / 62, 1 / 63]
    expected[2] += 1 / 61
    np.testing.assert_allclose(found, expected)


def test_a_heavy_parent_keeps_its_order():
    root = _node(1, 2, children=[_node(3, 2), _node(3, 2)])
    light = fold([root], Chain(2, parent=1.0), IDS[:4], 60)
    heavy = fold([root], Chain(2, parent=100.0), IDS[:4], 60)
    assert light.argmax() == 2
    assert heavy.argmax() == 1
    assert heavy[1] > heavy[2] > heavy[3]


def test_a_list_promotes_its_first_paper_that_is_new_in_its_branch():
    node = _node(4, 5, 6, gone={4})
    assert node.promote() == 5
    child = ChainNode(np.array([5, 6], np.int64), node.gone)
    assert child.promote() == 6
    assert node.promote() is None
    assert node.gone == {4, 5, 6}


def test_an_abstract_list_promotes_nothing():
    assert _node(4, leaf=True).promote() is None


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"depth": 6}, {"parent": 0.0}, {"keep": 0}])
def test_options_out_of_range_are_refused(wrong):
    with pytest.raises(UsageError):
        Chain(**wrong)


def test_a_chain_is_a_step_that_is_written_and_read():
    assert read_stages(["chain(depth=2, parent=3,keep=50)"]) == ("chain(depth=2,parent=3.0,keep=50)",)
    with pytest.raises(UsageError, match="unknown option"):
        read_stages(["chain(width=2)"])


def test_equal_papers_are_in_order_of_their_ids():
    rising = np.arange(5, dtype=np.int32)
    found = fold([_node(1, children=[_node(4), _node(2)])], Chain(2, parent=1.0, keep=2), rising, 60)
    # Of the equal papers 4 goes before 2, and so it ties with the own 1 of the parent; again 4 is first.
    assert found[4] > found[1] > found[2] == 0
