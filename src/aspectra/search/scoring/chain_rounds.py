"""Running a chain: rounds of probes asked of an index, each round's vectors at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.search.plan import Search
from aspectra.search.scoring.chain import Chain, Node, Ranked, fold, promote
from aspectra.views.index import Index
from aspectra.views.view import Probe

__all__ = ["run_chain"]

Allowed = NDArray[np.bool_] | None


def run_chain(index: Index, search: Search, chain: Chain, allowed: Allowed) -> NDArray[np.float64]:
    """(papers,) fused scores of a search whose lists promote papers; 0 for a paper on no list.

    Raises:
        UsageError: no probe of the search could be asked again with a paper that was found.
    """
    probes = search.probes
    if len(probes) < 2 or not any(probe.asking for probe in probes):
        raise UsageError(
            f"a chain cannot follow the search by {search.planner}",
            why="it needs several probes, some of which ask with a reading of the paper",
            hint="prism | chain",
        )
    seeds = {index.position(seed) for seed in search.seeds}
    able = np.ones(len(index), dtype=np.bool_) if allowed is None else allowed.copy()
    able[list(seeds)] = False
    roots = _lists(index, probes, chain, able)
    for number, root in enumerate(roots):
        root.branch = number
    gone = {number: set(seeds) for number in range(len(roots))}
    near = None
    if chain.near < 1.0:
        leaves = [root for root in roots if root.leaf] or roots
        near = set(leaves[0].ranked.papers[: int(chain.near * chain.keep)].tolist())
    level: list[list[Node]] = [roots]
    for _ in range(chain.depth - 1):
        grown: list[tuple[Node, int]] = []
        for siblings in level:
            for node in siblings:
                if not node.leaf:
                    paper = promote(node, chain, gone[node.branch], siblings, near)
                    grown += [] if paper is None else [(node, paper)]
        if not grown:
            break
        asked = [replace(probe, seeds=(index.ids[paper],), text="") for _, paper in grown for probe in probes]
        found = _lists(index, asked, chain, able)
        level = []
        for number, (node, _) in enumerate(grown):
            node.children = found[number * len(probes) : (number + 1) * len(probes)]
            for child in node.children:
                child.branch = node.branch
            level.append(node.children)
    return fold(roots, chain, index.id_order, search.fusion.k)


def _lists(index: Index, probes: Sequence[Probe], chain: Chain, able: NDArray[np.bool_]) -> list[Node]:
    out = []
    for probe, scored in zip(probes, index.score(index.look_up(probes)), strict=True):
        if chain.pool == "sum" and scored.by_unit is not None:
            ranked = _by_unit(index, probe, scored.by_unit, chain, able)
        else:
            ranked = Ranked(scored.best(chain.keep, index.id_order, able, drop_unknown=True).papers)
        out.append(Node(ranked, 0, leaf=not probe.asking))
    return out


def _by_unit(
    index: Index, probe: Probe, scores: NDArray[np.float32], chain: Chain, able: NDArray[np.bool_]
) -> Ranked:
    """The papers of the best chunks, a paper as often as it has chunks among them."""
    units = index.view(probe.view).units
    if units is None:  # a view without units has no scores by unit
        return Ranked(np.zeros(0, np.int64))
    owner = np.repeat(np.arange(len(index)), np.diff(units.offsets))
    values = np.where(able[owner], scores, np.float32(-np.inf))
    order = np.lexsort((-index.id_order[owner], -values))[: chain.keep]
    return Ranked(owner[order][np.isfinite(values[order])])
