"""Normalised discounted cumulative gain."""

from __future__ import annotations

import numpy as np

from aspectra.lab.measures._common import UNJUDGED, WIDEST, discounts, topic_of
from aspectra.lab.measures.protocol import Measure, Param, measure
from aspectra.lab.runs.judged import Array, Judged


def gains(grades: Array, kind: str) -> Array:
    """Gain of positive grades: the grade itself, or 2^grade - 1.

    >>> gains(np.array([1.0, 2.0, 3.0]), "exp").tolist()
    [1.0, 3.0, 7.0]
    """
    return np.exp2(grades) - 1.0 if kind == "exp" else grades


@measure(
    "nDCG",
    cut="optional",
    params=(
        Param("gain", "linear", "the grade, or 2^grade - 1", ("linear", "exp")),
        Param("ties", "order", "equal scores in order, or the mean over their orders", ("order", "average")),
        UNJUDGED,
    ),
)
def ndcg(measure: Measure, topic: Judged) -> float:
    """Normalised discounted cumulative gain: sum of gain / log2(rank + 1), over its greatest possible value.

    The ideal is taken from all judged documents and cut at the same k. Negative grades gain nothing. Range
    [0, 1]; 0 where nothing is relevant. Sources: Järvelin and Kekäläinen 2002; trec_eval ``ndcg_cut``
    (linear); ``ties=average`` is the expectation over all orders of equal scores (McSherry and Najork
    2008).

    Grades 0, 2, 1 by rank: (2/log2(3) + 1/log2(4)) / (2/log2(2) + 1/log2(3)).

    >>> from aspectra.lab import evaluate
    >>> judgements, run = {"q": {"a": 2, "b": 1}}, {"q": {"c": 3.0, "a": 2.0, "b": 1.0}}
    >>> round(evaluate(["nDCG@10"], judgements, run)["nDCG@10"].mean, 4)
    0.6697
    """
    topic = topic_of(measure, topic)
    cut = measure.cut or WIDEST
    kind = measure["gain"]
    best = gains(topic.ideal()[:cut], kind)
    if not len(best):
        return 0.0
    ideal = float((best * discounts(len(best))).sum())
    if measure["ties"] == "average":
        return _expected(topic, cut, kind) / ideal
    ranks, grades = topic.gained()
    if cut < WIDEST:
        kept = int(np.searchsorted(ranks, cut, "right"))
        ranks, grades = ranks[:kept], grades[:kept]
    if not len(ranks):
        return 0.0
    return float((gains(grades, kind) * discounts(int(ranks[-1]))[ranks - 1]).sum()) / ideal


def _expected(topic: Judged, cut: int, kind: str) -> float:
    """Expected discounted gain when equal scores come in any order."""
    positive = (topic.grades > 0) & topic.ranked
    order = np.lexsort((topic.grades[positive], topic.above[positive]))
    above = topic.above[positive][order]
    tied = topic.tied[positive][order]
    total = np.concatenate(([0.0], np.cumsum(discounts(min(cut, topic.length)))))
    last = len(total) - 1
    mean = (total[np.minimum(above + tied, last)] - total[np.minimum(above, last)]) / tied
    return float((gains(topic.grades[positive][order], kind) * mean).sum())
