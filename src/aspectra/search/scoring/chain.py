"""Chain-of-Retrieval: papers found for an aspect ask again, and what they find is folded back.

The root is the seed paper with one list per probe. In each round every list of an aspect promotes one paper,
which is asked about in all probes; the new lists are fused into one, and that is fused with the list it grew
from, from the deepest round up. Readings of papers are stored, so that no text is written or encoded at query
time: a round is one product of all its vectors with the view.

Source: Chain-of-Retrieval (arXiv 2507.10057): depth 3, k = 60, lists of 300, one promoted paper a list. The
weight of the parent's own list, agreement, nearness to the root and reciprocal ranks per chunk are this
project's options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.view import top_positions

__all__ = ["Chain", "Node", "Ranked", "fold", "promote"]

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
Pool = Literal["first", "sum"]


@dataclass(frozen=True)
class Chain:
    """How far and how a chain goes.

    Attributes:
        depth: rounds, the first included; 1 is one round, which is no chain.
        parent: weight of a list itself beside what grew from it; 1 is the published method.
        keep: papers kept of every list.
        start: how many of a list's first papers are passed over when one is promoted. (The method skips one,
            since the query paper may be in the corpus; here seeds are never on a list.)
        agree: lists of one round that must have a paper among their ``keep`` before it is promoted.
        near: least rank in the root's abstract list, as a share of ``keep``; 1 prunes nothing.
        pool: ``first``: a paper counts once in a list, at its best chunk; ``sum``: once for every chunk.
    """

    depth: int = 3
    parent: float = 10.0
    keep: int = 300
    start: int = 0
    agree: int = 1
    near: float = 1.0
    pool: Pool = "first"

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= 5:
            raise UsageError(f"the chain's depth is {self.depth}", why="it must be from 1 to 5")
        if self.keep < 1 or self.start < 0 or self.agree < 1 or self.parent <= 0 or not 0 < self.near <= 1:
            raise UsageError(
                "the numbers of a chain are out of range",
                why="keep and agree are 1 or more, start 0 or more, parent above 0, near in (0, 1]",
            )
        if self.pool not in get_args(Pool):
            raise UsageError(f"unknown pool {self.pool!r}", why="known: first, sum")


@dataclass(frozen=True)
class Ranked:
    """One list: positions of papers, best first; repeats where every chunk counts."""

    papers: Positions

    def fused(self, weight: float, k: int, into: Floats) -> None:
        """Add weight / (k + rank) for every place."""
        np.add.at(into, self.papers, weight / (k + 1.0 + np.arange(len(self.papers))))


@dataclass
class Node:
    """A list, the paper it promoted, and what that paper found.

    Attributes:
        ranked: what the probe found.
        branch: the root list it grew from.
        leaf: whether it promotes nothing (abstract lists).
        children: one list per probe, asked with the promoted paper; [] where none was.
    """

    ranked: Ranked
    branch: int
    leaf: bool
    children: list[Node] = field(default_factory=list)


def promote(
    node: Node, chain: Chain, gone: set[int], siblings: Sequence[Node], near: set[int] | None
) -> int | None:
    """The paper that a list promotes, or None.

    Args:
        node: the list.
        chain: the options.
        gone: promoted before in this branch, and the seeds; the chosen one is added.
        siblings: all lists of the same parent, the node included.
        near: the papers near enough to the root, or None for all.
    """
    held = [set(other.ranked.papers.tolist()) for other in siblings] if chain.agree > 1 else []
    seen = list(dict.fromkeys(node.ranked.papers.tolist()))
    for paper in seen[chain.start :]:
        if paper in gone or (near is not None and paper not in near):
            continue
        if held and sum(paper in other for other in held) < chain.agree:
            continue
        gone.add(paper)
        return int(paper)
    return None


def fold(roots: Sequence[Node], chain: Chain, id_order: NDArray[np.int32], k: int) -> Floats:
    """(papers,) fused scores, from the deepest lists up; 0 for a paper on no list.

    Args:
        roots: the lists of the seed paper.
        chain: the options.
        id_order: (papers,) rank of each paper's id, for ties.
        k: the constant of reciprocal rank fusion.
    """

    def own(node: Node) -> Ranked:
        if not node.children:
            return node.ranked
        merged = np.zeros(len(id_order))
        for child in node.children:
            own(child).fused(1.0, k, merged)
        both = np.zeros(len(id_order))
        Ranked(top_positions(merged, chain.keep, id_order, merged > 0)).fused(1.0, k, both)
        node.ranked.fused(chain.parent, k, both)
        return Ranked(top_positions(both, chain.keep, id_order, both > 0))

    total = np.zeros(len(id_order))
    for root in roots:
        own(root).fused(1.0, k, total)
    return total
