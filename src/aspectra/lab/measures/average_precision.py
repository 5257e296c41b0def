"""Average precision."""

from __future__ import annotations

import numpy as np

from aspectra.lab.measures._common import REL, UNJUDGED, WIDEST, topic_of
from aspectra.lab.measures.protocol import Measure, Param, measure
from aspectra.lab.runs.judged import Judged


@measure(
    "AP",
    aliases=("MAP",),
    params=(
        REL,
        Param("cut", 0, "sum down to this rank only, still over all relevant (0: no cut)", low=0),
        Param(
            "base", "relevant", "divide by all relevant, or by those in the ranking", ("relevant", "found")
        ),
        UNJUDGED,
    ),
)
def average_precision(measure: Measure, topic: Judged) -> float:
    """Average precision: the sum of the precisions at relevant ranks, over the number of relevant documents.

    Range [0, 1]; 0 where nothing is relevant. Sources: trec_eval ``map`` and ``map_cut``; PRISM's MAP@30 is
    ``AP(cut=30)``; CSFCube's tool divides by the relevant documents found (``base=found``).

    Relevant at ranks 1 and 3 of three relevant: (1 + 2/3) / 3.

    >>> from aspectra.lab import evaluate
    >>> judgements = {"q": {"a": 1, "b": 1, "c": 1}}
    >>> round(evaluate(["AP"], judgements, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}})["AP"].mean, 4)
    0.5556
    """
    topic = topic_of(measure, topic)
    hits = topic.hits(measure["rel"])
    relevant = len(hits) if measure["base"] == "found" else topic.count(measure["rel"])
    if not relevant:
        return 0.0
    kept = hits[: int(np.searchsorted(hits, measure["cut"] or WIDEST, "right"))]
    return float((np.arange(1, len(kept) + 1) / kept).sum()) / relevant
