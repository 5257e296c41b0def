"""The nDCG of LitSearch's own code."""

from __future__ import annotations

import numpy as np

from aspectra.lab.measures._common import REL, WIDEST
from aspectra.lab.measures.protocol import Measure, measure
from aspectra.lab.runs.judged import Judged


@measure("litsearch_ndcg", cut="optional", params=(REL,))
def litsearch_ndcg(measure: Measure, topic: Judged) -> float:
    """Binary nDCG of LitSearch's code: discount 1/rank, and an ideal that is not cut.

    Range [0, 1], and 1 cannot be reached with more than k relevant documents: not comparable with nDCG@k.
    Source: LitSearch (Ajith et al. 2024), repository utilities.

    >>> from aspectra.lab import evaluate
    >>> judgements, run = {"q": {"a": 1, "b": 1}}, {"q": {"x": 2.0, "a": 1.0}}
    >>> round(evaluate(["litsearch_ndcg@10"], judgements, run)["litsearch_ndcg@10"].mean, 4)
    0.3333
    """
    relevant = topic.count(measure["rel"])
    if not relevant:
        return 0.0
    hits = topic.hits(measure["rel"])
    kept = hits[: int(np.searchsorted(hits, measure.cut or WIDEST, "right"))]
    return float((1.0 / kept).sum()) / float((1.0 / np.arange(1, relevant + 1)).sum())
