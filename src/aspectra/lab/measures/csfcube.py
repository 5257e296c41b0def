"""The measures of CSFCube's own tool, where they differ from the standard ones."""

from __future__ import annotations

import numpy as np

from aspectra.lab.measures._common import REL, WIDEST
from aspectra.lab.measures.protocol import Measure, measure
from aspectra.lab.runs.judged import Array, Judged


def dcg(ranks: Array, grades: Array) -> float:
    """Discounted gain of CSFCube's tool: positions 1 and 2 undiscounted, then 1 / log2(position).

    >>> dcg(np.array([1, 2, 4]), np.array([3.0, 2.0, 2.0]))
    6.0
    """
    return float((grades / np.log2(np.maximum(ranks, 2))).sum())


def _ndcg(topic: Judged, cut: int) -> float:
    ranks, grades = topic.gained()
    kept = int(np.searchsorted(ranks, cut, "right"))
    best = topic.ideal(ranked_only=True)[:cut]
    ideal = dcg(np.arange(1, len(best) + 1), best)
    return dcg(ranks[:kept], grades[:kept]) / ideal if ideal else 0.0


@measure("csfcube_ndcg", cut="optional")
def csfcube_ndcg(measure: Measure, topic: Judged) -> float:
    """The nDCG of CSFCube's tool: no discount at ranks 1 and 2, ideal from the ranked documents only.

    The whole pool must be ranked for it to mean anything. Range [0, 1]; 0 where nothing ranked has a positive
    grade. Source: CSFCube (Mysore et al. 2021), evaluation scripts.
    """
    return _ndcg(topic, measure.cut or WIDEST)


@measure("NDCG%", cut="required", percent=True, needs_pool=True)
def ndcg_percent(measure: Measure, topic: Judged) -> float:
    """The nDCG of CSFCube's tool, cut at a percentage of the ranked pool: int(k / 100 * pool size).

    Range [0, 1]. Source: CSFCube (Mysore et al. 2021), section 4 and evaluation scripts; not the same
    number as ``csfcube_ndcg@20``.
    """
    return _ndcg(topic, int((measure.cut or 0) / 100 * topic.length))


@measure("csfcube_r_precision", params=(REL,))
def csfcube_r_precision(measure: Measure, topic: Judged) -> float:
    """What CSFCube's tool calls R-precision: precision down to the last relevant document.

    Range [0, 1]. Source: CSFCube's evaluation scripts. The standard measure is ``R-precision``.
    """
    hits = topic.hits(measure["rel"])
    return len(hits) / int(hits[-1]) if len(hits) else 0.0


@measure("F1", cut="required", params=(REL,))
def f1(measure: Measure, topic: Judged) -> float:
    """The harmonic mean of precision and recall in the top k.

    Range [0, 1]; 0 where both are. Source: CSFCube's evaluation scripts (at 20).
    """
    cut = measure.cut or 1
    found = int(np.searchsorted(topic.hits(measure["rel"]), cut, "right"))
    relevant = topic.count(measure["rel"])
    if not found or not relevant:
        return 0.0
    precision, recall = found / cut, found / relevant
    return 2 * precision * recall / (precision + recall)
