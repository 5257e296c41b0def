"""Chain-of-Retrieval: papers found for an aspect are searched with again, and what they find is folded back.

The root is the seed paper with one list per probe. In each round every list of an aspect promotes one
paper, whose readings are the queries of all probes. The new lists are fused into one, and that is fused with
the list it grew from, from the deepest round up. Readings of papers are stored, so that no text is written or
encoded at query time: a round is one product of all its vectors with the view.

Source: Chain-of-Retrieval (arXiv 2507.10057): depth 3, k = 60, lists of 300, one promoted paper per list. The
weight of the parent's own list is this project's option.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.search.plan import Search
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions, Probe, top_positions

# A rare word matches nothing in the sample, whose deviation would then be 0: scores are never stretched
# beyond this many deviations for the best paper.
_MOST_DEVIATIONS = 20.0


class Scale(NamedTuple):
    """Mean and deviation that standardise a probe's scores, for one query.

    Attributes:
        mean: score of the sample.
        deviation: of the sample; 0 where every score is the same.
    """

    mean: float
    deviation: float

    def apply(self, scores: Floats) -> NDArray[np.float64]:
        """(n,) scores in deviations from the mean; 0, the middle, for a NaN, of which nothing is known."""
        if self.deviation <= 1e-12:
            return np.zeros(len(scores))
        values = scores.astype(np.float64)
        values -= self.mean
        values /= self.deviation
        values[np.isnan(scores)] = 0.0
        return values


def highest(scores: Floats) -> float | None:
    """The highest known score of papers; None if no score is known."""
    best = float(np.fmax.reduce(scores, initial=np.float32(np.nan)))
    return None if math.isnan(best) else best


def scale(sample: Floats, best: float | None) -> Scale:
    """The scale of a probe's scores.

    The sample is the same whether all papers are scored or only candidates, so the result means the same.

    Args:
        sample: (s,) scores of a fixed random sample of papers under the probe.
        best: the highest score that may be ranked; None if no score is known.

    >>> scale(np.array([0, 2], "f4"), 3.0).apply(np.array([3, 1], "f4")).tolist()
    [2.0, 0.0]
    """
    sample = sample[~np.isnan(sample)]
    mean = float(sample.mean()) if len(sample) else 0.0
    deviation = float(sample.std()) if len(sample) else 0.0
    return Scale(mean, max(deviation, ((mean if best is None else best) - mean) / _MOST_DEVIATIONS))


def reciprocal_ranks(
    lists: Sequence[tuple[NDArray[np.int64], float]], papers: int, k: int
) -> NDArray[np.float64]:
    """Reciprocal rank fusion: sum over lists of weight / (k + rank), ranks from 1.

    Args:
        lists: (positions best first, weight) of each list.
        papers: number of papers in all.
        k: the constant.

    Returns:
        (papers,) fused scores, 0 for a paper on no list.
    """
    out = np.zeros(papers)
    for positions, weight in lists:
        out[positions] += weight / (k + 1.0 + np.arange(len(positions)))
    return out


# (probes, k) -> per probe the positions of the k best papers that it has a score for, best first
Lists = Callable[[Sequence[Probe], int], Sequence[Positions]]


@dataclass(frozen=True)
class Chain:
    """Options of a chain.

    Attributes:
        depth: rounds, the first included; 1 means no further round.
        parent: weight of a list itself beside what grew from it; 1 is the published method.
        keep: papers kept of every list.
    """

    depth: int = 3
    parent: float = 10.0
    keep: int = 300

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= 5:
            raise UsageError(f"the chain's depth is {self.depth}", why="it must be from 1 to 5")
        if self.keep < 1 or self.parent <= 0:
            raise UsageError(
                "the numbers of a chain are out of range", why="keep is 1 or more, parent above 0"
            )


class ChainNode(Struct):
    """A list, and what the paper that it promoted found.

    Attributes:
        papers: positions that the probe found, best first.
        gone: positions that lists of its branch have promoted, and the seeds.
        leaf: whether it promotes nothing (abstract lists).
        children: one list per probe, of the promoted paper; [] where none was promoted.
    """

    papers: Positions
    gone: set[int]
    leaf: bool = False
    children: list[ChainNode] = msgspec.field(default_factory=list)

    def promote(self) -> int | None:
        """The first paper that its branch has not promoted yet, now marked as promoted; None without one."""
        paper = None if self.leaf else next((p for p in self.papers.tolist() if p not in self.gone), None)
        if paper is not None:
            self.gone.add(paper)
        return paper


def run_chain(index: Index, search: Search, chain: Chain, lists: Lists) -> NDArray[np.float64]:
    """(papers,) fused scores of a search whose lists promote papers; 0 for a paper on no list.

    Args:
        index: that holds the papers.
        search: that is continued.
        chain: how far.
        lists: of the papers that may be ranked.

    Raises:
        UsageError: no probe of the search has a reading to search with.
    """
    probes = search.probes
    if len(probes) < 2 or not any(probe.asking for probe in probes):
        raise UsageError(
            f"a chain cannot follow the search by {search.planner}",
            why="it needs several probes, some of which search with a reading of the paper",
            hint="prism | chain",
        )
    seeds = {index.position(seed) for seed in search.seeds}
    leaves = [not probe.asking for probe in probes]
    first = zip(lists(probes, chain.keep), leaves, strict=True)
    roots = [ChainNode(papers, set(seeds), leaf) for papers, leaf in first]
    level = roots
    for _ in range(chain.depth - 1):
        grown = [(node, paper) for node in level if (paper := node.promote()) is not None]
        if not grown:
            break
        found = iter(
            lists(
                [
                    replace(p, seeds=(index.ids[paper],), text="", seeds_as="")
                    for _, paper in grown
                    for p in probes
                ],
                chain.keep,
            )
        )
        for node, _ in grown:
            node.children = [ChainNode(next(found), node.gone, leaf) for leaf in leaves]
        level = [child for node, _ in grown for child in node.children]
    return fold(roots, chain, index.id_order, search.fusion.k)


def fold(
    roots: Sequence[ChainNode], chain: Chain, id_order: NDArray[np.int32], k: int
) -> NDArray[np.float64]:
    """(papers,) fused scores, from the deepest lists up; 0 for a paper on no list.

    Args:
        roots: the lists of the seed paper.
        chain: the options.
        id_order: (papers,) rank of each paper's id, for ties.
        k: the constant of reciprocal rank fusion.
    """

    def total(nodes: Sequence[ChainNode]) -> NDArray[np.float64]:
        return reciprocal_ranks([(folded(node), 1.0) for node in nodes], len(id_order), k)

    def folded(node: ChainNode) -> Positions:
        if not node.children:
            return node.papers
        merged = total(node.children)
        below = top_positions(merged, chain.keep, id_order, merged > 0)
        both = reciprocal_ranks([(below, 1.0), (node.papers, chain.parent)], len(id_order), k)
        return top_positions(both, chain.keep, id_order, both > 0)

    return total(roots)
