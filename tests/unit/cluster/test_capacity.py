"""What so many papers take: sums of what was measured, and a simulation that says so."""

from __future__ import annotations

import pytest

from aspectra.cluster.capacity import capacity


def test_bytes_add_up_and_more_papers_take_more_nodes():
    small, large = capacity(1_000_000), capacity(100_000_000)
    kept = {"database", "stored vectors in it"}
    index = sum(size for name, size in small.bytes.items() if name not in kept)
    assert small.disk == sum(small.bytes[name] for name in kept) + 2 * index
    assert small.bytes == {name: size // 100 for name, size in large.bytes.items()}
    assert (small.nodes, small.shards) == (1, 1)
    assert large.nodes > large.shards == 10
    assert capacity(100_000_000, memory=1 << 40).nodes == 2
    without = capacity(100_000_000, sentences=False)
    assert without.hot < large.hot
    assert without.disk < large.disk


def test_the_simulation_is_the_same_for_a_seed_and_not_below_what_is_reckoned():
    found = capacity(50_000_000, seed=3)
    assert found == capacity(50_000_000, seed=3)
    assert found.simulated != capacity(50_000_000, seed=4).simulated
    assert found.search < found.simulated[0] < found.simulated[1]


@pytest.mark.parametrize(("papers", "shown"), [("3M", "18.1 GB"), ("86,638", "521.7 MB")])
def test_the_command_prints_it_and_says_what_is_simulated(run, papers, shown):
    code, out, err = run("cluster", "plan", papers)
    assert not code
    assert shown in out
    assert "simulated" in out
    assert "constants of" in err


def test_more_nodes_than_a_collection_has_shards_are_said(run):
    code, _, err = run("cluster", "plan", "200M")
    assert not code
    assert "10 shards at most" in err


@pytest.mark.parametrize("papers", ["x", "0", "3G", "nan", "1e99", ","])
def test_what_is_no_number_of_papers_is_said(run, papers):
    code, _, err = run("cluster", "plan", papers)
    assert code == 2
    assert "no number of papers" in err
